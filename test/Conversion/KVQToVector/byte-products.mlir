// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=16 byte-products=avx512vnni}),canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,VNNI
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=16 byte-products=avxvnni}),canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=8 byte-products=avxvnni}),canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefix=AVX
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=4 byte-products=neon}),canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefix=NEON
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=4 byte-products=dotprod}),canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefix=DOTPROD
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=4 byte-products=i8mm}),canonicalize,cse)' \
// RUN:   | FileCheck %s --check-prefix=I8MM

// On AArch64 neighbours are multiplied apart, or four at once: as signed bytes if
// they are small.
// NEON-LABEL:    func @quads
// NEON-NOT:      llvm.call_intrinsic
// NEON:          %[[EVEN:.*]] = vector.shuffle %[[X:.*]], %[[X]] [0, 2, 4, 6] : vector<8xi32>, vector<8xi32>
// NEON:          arith.muli %{{.*}}, %{{.*}} : vector<4xi32>
// NEON:          arith.muli %{{.*}}, %{{.*}} : vector<4xi32>
// DOTPROD-LABEL: func @quads
// DOTPROD:       llvm.call_intrinsic "llvm.aarch64.neon.sdot"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>
// I8MM-LABEL:    func @quads
// I8MM:          llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<4xi32>, vector<16xi8>, vector<16xi8>) -> vector<4xi32>

// Two rows of pairs of channels, as unsigned codes, are four bytes of each token:
// one instruction where vectors of that length have it, else two sums of pairs. Two
// vectors are interleaved together, in parts, and their sums put in order at the end.

// CHECK-LABEL: func @quads
// VNNI:        %[[P0:.*]] = vector.load %{{.*}} : memref<16x128xi8>, vector<64xi8>
// VNNI:        %[[B0:.*]] = vector.bitcast %[[P0]] : vector<64xi8> to vector<32xi16>
// VNNI:        %[[P1:.*]] = vector.load %{{.*}} : memref<16x128xi8>, vector<64xi8>
// VNNI:        %[[B1:.*]] = vector.bitcast %[[P1]] : vector<64xi8> to vector<32xi16>
// VNNI:        %[[I:.*]] = vector.shuffle %[[B0]], %[[B1]] [0, 32, 1, 33, 2, 34, 3, 35, 8, 40, {{.*}}, 27, 59]
// VNNI:        %[[BYTES:.*]] = vector.bitcast %[[I]] : vector<32xi16> to vector<64xi8>
// VNNI:        %[[HIGH:.*]] = arith.shrui %[[BYTES]], %{{.*}} : vector<64xi8>
// VNNI:        %[[CODES:.*]] = arith.xori %[[HIGH]], %{{.*}} : vector<64xi8>
// VNNI:        %[[Q:.*]] = vector.load {{.*}} : memref<4x8x4xi8>, vector<4xi8>
// VNNI:        vector.bitcast %[[Q]] : vector<4xi8> to vector<1xi32>
// VNNI:        %[[QUERY:.*]] = vector.bitcast %{{.*}} : vector<16xi32> to vector<64xi8>
// VNNI:        llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[CODES]], %[[QUERY]])
// VNNI:        vector.shuffle %{{.*}} [4, 36, {{.*}}, 31, 63] : vector<32xi16>
// VNNI:        vector.shuffle %[[S0:.*]], %[[S1:.*]] [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23] : vector<16xi32>
// VNNI:        vector.shuffle %[[S0]], %[[S1]] [8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31] : vector<16xi32>
// PAIRS-NOT:   llvm.call_intrinsic
// PAIRS:       %[[P:.*]] = vector.load %{{.*}} : memref<16x128xi8>, vector<32xi8>
// PAIRS:       %[[H:.*]] = arith.shrui %[[P]], %{{.*}} : vector<32xi8>
// PAIRS:       %[[X:.*]] = arith.xori %[[H]], %{{.*}} : vector<32xi8>
// PAIRS:       arith.extui %[[X]] : vector<32xi8> to vector<32xi32>
// PAIRS-NOT:   llvm.call_intrinsic
// AVX:         llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"
func.func @quads(%q: memref<4x8x4xi8>, %k: memref<16x64x2xi8>, %s: memref<4xf32>, %out: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, c, q) -> (r, c, q)>,
                                   affine_map<(r, t, c, q) -> (c * 2 + q floordiv 2, t, q mod 2)>,
                                   affine_map<(r, t, c, q) -> (r)>,
                                   affine_map<(r, t, c, q) -> (r, t)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%q, %k, %s : memref<4x8x4xi8>, memref<16x64x2xi8>, memref<4xf32>) outs(%out : memref<4x64xf32>) {
  ^bb0(%a: i8, %b: i8, %f: f32, %o: f32):
    %c4 = arith.constant 4 : i8
    %c8 = arith.constant 8 : i8
    %high = arith.shrui %b, %c4 : i8
    %code = arith.xori %high, %c8 : i8
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extui %code : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %3, %f fastmath<contract> : f32
    %5 = arith.addf %o, %4 fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}

// One vector alone is interleaved with that of the other row.

// VNNI-LABEL: func @oneVector
// VNNI:       %[[P0:.*]] = vector.load %{{.*}} : memref<16x32xi8>, vector<32xi8>
// VNNI:       %[[B0:.*]] = vector.bitcast %[[P0]] : vector<32xi8> to vector<16xi16>
// VNNI:       %[[P1:.*]] = vector.load %{{.*}} : memref<16x32xi8>, vector<32xi8>
// VNNI:       %[[B1:.*]] = vector.bitcast %[[P1]] : vector<32xi8> to vector<16xi16>
// VNNI:       vector.interleave %[[B0]], %[[B1]]
// VNNI:       llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// VNNI-NOT:   vector.shuffle
// VNNI:       return
func.func @oneVector(%q: memref<4x8x4xi8>, %k: memref<16x16x2xi8>, %s: memref<4xf32>, %out: memref<4x16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, c, q) -> (r, c, q)>,
                                   affine_map<(r, t, c, q) -> (c * 2 + q floordiv 2, t, q mod 2)>,
                                   affine_map<(r, t, c, q) -> (r)>,
                                   affine_map<(r, t, c, q) -> (r, t)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%q, %k, %s : memref<4x8x4xi8>, memref<16x16x2xi8>, memref<4xf32>) outs(%out : memref<4x16xf32>) {
  ^bb0(%a: i8, %b: i8, %f: f32, %o: f32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extui %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %3, %f fastmath<contract> : f32
    %5 = arith.addf %o, %4 fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}

// Signed times signed bytes are none of what the instruction multiplies.

// CHECK-LABEL: func @signed
// CHECK-NOT:   llvm.call_intrinsic
// CHECK:       return
func.func @signed(%q: memref<4x8x4xi8>, %k: memref<16x64x2xi8>, %s: memref<4xf32>, %out: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, c, q) -> (r, c, q)>,
                                   affine_map<(r, t, c, q) -> (c * 2 + q floordiv 2, t, q mod 2)>,
                                   affine_map<(r, t, c, q) -> (r)>,
                                   affine_map<(r, t, c, q) -> (r, t)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%q, %k, %s : memref<4x8x4xi8>, memref<16x64x2xi8>, memref<4xf32>) outs(%out : memref<4x64xf32>) {
  ^bb0(%a: i8, %b: i8, %f: f32, %o: f32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %3, %f fastmath<contract> : f32
    %5 = arith.addf %o, %4 fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}
