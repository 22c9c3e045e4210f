// Decode over 8-bit keys and values, groups of 32 channels, as it looks after
// bufferization. Scores are integers and sums are exact, so that the scalar
// loops and the vector loops print the same.

// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' > %t.vector
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' > %t.scalar
// RUN: diff %t.scalar %t.vector
// RUN: FileCheck %s < %t.vector
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -O3 -mtriple=x86_64-linux-gnu -mcpu=znver3 | FileCheck %s --check-prefix=ASM

// The contraction with the keys: codes are converted as they are loaded, into
// full vectors, and no accumulator is spilled.
// ASM-LABEL: decode:
// ASM: vpmovsxbd {{.*}}(%r{{.*}}), %ymm
// ASM-NOT: 32-byte Spill
// ASM: vcvtdq2ps %ymm
// ASM-NOT: 32-byte Spill
// ASM: vhaddps %ymm
// The polynomial of exp2.
// ASM: vfmadd213ps {{.*}}%ymm
// The contraction with the values, 4 query rows x 2 vectors.
// ASM: vpmovsxbd {{.*}}(%r{{.*}}), %ymm
// ASM-NOT: 32-byte Spill
// ASM-COUNT-8: vfmadd231ps %ymm
// ASM-NOT: 32-byte Spill
// ASM: j{{[a-z]+}} .LBB
// ASM-LABEL: _mlir_ciface_decode:

// CHECK: sizes = [4, 128]
// One token: its value, ((3 c + 3) mod 11 - 5) * 2 in group 0.
// CHECK-NEXT: {{\[\[}}-4, 2, 8, -8, -2, 4, 10, -6, 0, 6, -10,

func.func @decode(%q: memref<4x128xf32>, %k: memref<1x8x?x128xi8>, %ks: memref<1x8x?x4xf16>, %v: memref<1x8x?x128xi8>, %vs: memref<1x8x?x4xf16>, %h: index, %len: index, %out: memref<4x128xf32>) attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %tile = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %partial = memref.alloca() {alignment = 64} : memref<4x64x4xf32>
  %pscaled = memref.alloca() {alignment = 64} : memref<4x64x4xf32>
  %scores = memref.alloca() {alignment = 64} : memref<4x64xf32>
  %unp = memref.alloca() {alignment = 64} : memref<64x2x128xi8>
  %m = memref.alloca() {alignment = 64} : memref<4xf32>
  %mn = memref.alloca() {alignment = 64} : memref<4xf32>
  %corr = memref.alloca() {alignment = 64} : memref<4xf32>
  %l = memref.alloca() {alignment = 64} : memref<4xf32>
  %acc = memref.alloca() {alignment = 64} : memref<4x128xf32>
  %q3 = memref.expand_shape %q [[0], [1, 2]] output_shape [4, 4, 32] : memref<4x128xf32> into memref<4x4x32xf32>
  %acc3 = memref.expand_shape %acc [[0], [1, 2]] output_shape [4, 4, 32] : memref<4x128xf32> into memref<4x4x32xf32>
  linalg.fill ins(%ninf : f32) outs(%m : memref<4xf32>)
  linalg.fill ins(%zero : f32) outs(%l : memref<4xf32>)
  linalg.fill ins(%zero : f32) outs(%acc : memref<4x128xf32>)
  scf.for %lo = %c0 to %len step %tile {
    %rest = arith.subi %len, %lo : index
    %n = arith.minsi %rest, %tile : index
    %kt = memref.subview %k[0, %h, %lo, 0] [1, 1, %n, 128] [1, 1, 1, 1] : memref<1x8x?x128xi8> to memref<?x128xi8, strided<[128, 1], offset: ?>>
    %kc = memref.expand_shape %kt [[0], [1, 2]] output_shape [%n, 4, 32] : memref<?x128xi8, strided<[128, 1], offset: ?>> into memref<?x4x32xi8, strided<[128, 32, 1], offset: ?>>

    %kst = memref.subview %ks[0, %h, %lo, 0] [1, 1, %n, 4] [1, 1, 1, 1] : memref<1x8x?x4xf16> to memref<?x4xf16, strided<[4, 1], offset: ?>>
    %pa = memref.subview %partial[0, 0, 0] [4, %n, 4] [1, 1, 1] : memref<4x64x4xf32> to memref<4x?x4xf32, strided<[256, 4, 1]>>
    %ps = memref.subview %pscaled[0, 0, 0] [4, %n, 4] [1, 1, 1] : memref<4x64x4xf32> to memref<4x?x4xf32, strided<[256, 4, 1]>>
    %s = memref.subview %scores[0, 0] [4, %n] [1, 1] : memref<4x64xf32> to memref<4x?xf32, strided<[64, 1]>>
    linalg.fill ins(%zero : f32) outs(%pa : memref<4x?x4xf32, strided<[256, 4, 1]>>)
    linalg.generic {indexing_maps = [affine_map<(r, t, g, c) -> (r, g, c)>, affine_map<(r, t, g, c) -> (t, g, c)>, affine_map<(r, t, g, c) -> (r, t, g)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q3, %kc : memref<4x4x32xf32>, memref<?x4x32xi8, strided<[128, 32, 1], offset: ?>>) outs(%pa : memref<4x?x4xf32, strided<[256, 4, 1]>>) {
      ^bb0(%a: f32, %b: i8, %o: f32):
        %0 = arith.sitofp %b : i8 to f32
        %1 = arith.mulf %a, %0 fastmath<contract> : f32
        %2 = arith.addf %o, %1 fastmath<contract> : f32
        linalg.yield %2 : f32
    }
    linalg.fill ins(%zero : f32) outs(%s : memref<4x?xf32, strided<[64, 1]>>)
    linalg.generic {indexing_maps = [affine_map<(r, t, g) -> (r, t, g)>, affine_map<(r, t, g) -> (t, g)>, affine_map<(r, t, g) -> (r, t)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%pa, %kst : memref<4x?x4xf32, strided<[256, 4, 1]>>, memref<?x4xf16, strided<[4, 1], offset: ?>>) outs(%s : memref<4x?xf32, strided<[64, 1]>>) {
      ^bb0(%a: f32, %b: f16, %o: f32):
        %0 = arith.extf %b : f16 to f32
        %1 = arith.mulf %a, %0 fastmath<contract> : f32
        %2 = arith.addf %o, %1 fastmath<contract> : f32
        linalg.yield %2 : f32
    }
    memref.copy %m, %mn : memref<4xf32> to memref<4xf32>
    linalg.generic {indexing_maps = [affine_map<(r, t) -> (r, t)>, affine_map<(r, t) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : memref<4x?xf32, strided<[64, 1]>>) outs(%mn : memref<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.maximumf %o, %a : f32
        linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%m, %mn : memref<4xf32>, memref<4xf32>) outs(%corr : memref<4xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %0 = arith.subf %a, %b fastmath<contract> : f32
        %1 = math.exp2 %0 : f32
        linalg.yield %1 : f32
    }
    memref.copy %mn, %m : memref<4xf32> to memref<4xf32>
    linalg.generic {indexing_maps = [affine_map<(r, t) -> (r)>, affine_map<(r, t) -> (r, t)>], iterator_types = ["parallel", "parallel"]}
      ins(%mn : memref<4xf32>) outs(%s : memref<4x?xf32, strided<[64, 1]>>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.subf %o, %a fastmath<contract> : f32
        %1 = math.exp2 %0 : f32
        linalg.yield %1 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(r) -> (r)>, affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
      ins(%corr : memref<4xf32>) outs(%l : memref<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.mulf %o, %a fastmath<contract> : f32
        linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(r, t) -> (r, t)>, affine_map<(r, t) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : memref<4x?xf32, strided<[64, 1]>>) outs(%l : memref<4xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.addf %o, %a fastmath<contract> : f32
        linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(r, g, c) -> (r)>, affine_map<(r, g, c) -> (r, g, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%corr : memref<4xf32>) outs(%acc3 : memref<4x4x32xf32>) {
      ^bb0(%a: f32, %o: f32):
        %0 = arith.mulf %o, %a fastmath<contract> : f32
        linalg.yield %0 : f32
    }
    %vst = memref.subview %vs[0, %h, %lo, 0] [1, 1, %n, 4] [1, 1, 1, 1] : memref<1x8x?x4xf16> to memref<?x4xf16, strided<[4, 1], offset: ?>>
    %vt = memref.subview %v[0, %h, %lo, 0] [1, 1, %n, 128] [1, 1, 1, 1] : memref<1x8x?x128xi8> to memref<?x128xi8, strided<[128, 1], offset: ?>>
    %vc = memref.expand_shape %vt [[0], [1, 2]] output_shape [%n, 4, 32] : memref<?x128xi8, strided<[128, 1], offset: ?>> into memref<?x4x32xi8, strided<[128, 32, 1], offset: ?>>

    linalg.generic {indexing_maps = [affine_map<(r, t, g) -> (r, t)>, affine_map<(r, t, g) -> (t, g)>, affine_map<(r, t, g) -> (r, t, g)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %vst : memref<4x?xf32, strided<[64, 1]>>, memref<?x4xf16, strided<[4, 1], offset: ?>>) outs(%ps : memref<4x?x4xf32, strided<[256, 4, 1]>>) {
      ^bb0(%a: f32, %b: f16, %o: f32):
        %0 = arith.extf %b : f16 to f32
        %1 = arith.mulf %a, %0 fastmath<contract> : f32
        linalg.yield %1 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(r, g, c, t) -> (r, t, g)>, affine_map<(r, g, c, t) -> (t, g, c)>, affine_map<(r, g, c, t) -> (r, g, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%ps, %vc : memref<4x?x4xf32, strided<[256, 4, 1]>>, memref<?x4x32xi8, strided<[128, 32, 1], offset: ?>>) outs(%acc3 : memref<4x4x32xf32>) {
      ^bb0(%a: f32, %b: i8, %o: f32):
        %0 = arith.sitofp %b : i8 to f32
        %1 = arith.mulf %a, %0 fastmath<contract> : f32
        %2 = arith.addf %o, %1 fastmath<contract> : f32
        linalg.yield %2 : f32
    }
  }
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%acc, %l : memref<4x128xf32>, memref<4xf32>) outs(%out : memref<4x128xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %0 = arith.divf %a, %b fastmath<contract> : f32
        linalg.yield %0 : f32
    }
  return
}

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @main() {
  %c3 = arith.constant 3 : index
  %k_static = memref.alloc() : memref<1x8x150x128xi8>
  linalg.generic {indexing_maps = [affine_map<(b, h, t, c) -> (b, h, t, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%k_static : memref<1x8x150x128xi8>) {
  ^bb0(%o: i8):
    %h = linalg.index 1 : index
    %t = linalg.index 2 : index
    %c = linalg.index 3 : index
    %a = arith.constant 7 : index
    %b = arith.constant 3 : index
    %0 = arith.muli %t, %a : index
    %1 = arith.muli %c, %b : index
    %2 = arith.addi %0, %1 : index
    %3 = arith.addi %2, %h : index
    %m = arith.constant 11 : index
    %s = arith.constant 5 : index
    %4 = arith.remui %3, %m : index
    %5 = arith.subi %4, %s : index
    %6 = arith.index_cast %5 : index to i8
    linalg.yield %6 : i8
  }
  %k = memref.cast %k_static : memref<1x8x150x128xi8> to memref<1x8x?x128xi8>
  %v_static = memref.alloc() : memref<1x8x150x128xi8>
  linalg.generic {indexing_maps = [affine_map<(b, h, t, c) -> (b, h, t, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%v_static : memref<1x8x150x128xi8>) {
  ^bb0(%o: i8):
    %h = linalg.index 1 : index
    %t = linalg.index 2 : index
    %c = linalg.index 3 : index
    %a = arith.constant 7 : index
    %b = arith.constant 3 : index
    %0 = arith.muli %t, %a : index
    %1 = arith.muli %c, %b : index
    %2 = arith.addi %0, %1 : index
    %3 = arith.addi %2, %h : index
    %m = arith.constant 11 : index
    %s = arith.constant 5 : index
    %4 = arith.remui %3, %m : index
    %5 = arith.subi %4, %s : index
    %6 = arith.index_cast %5 : index to i8
    linalg.yield %6 : i8
  }
  %v = memref.cast %v_static : memref<1x8x150x128xi8> to memref<1x8x?x128xi8>
  %ks_static = memref.alloc() : memref<1x8x150x4xf16>
  linalg.generic {indexing_maps = [affine_map<(b, h, t, c) -> (b, h, t, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%ks_static : memref<1x8x150x4xf16>) {
  ^bb0(%o: f16):
    %h = linalg.index 1 : index
    %t = linalg.index 2 : index
    %c = linalg.index 3 : index
    %a = arith.constant 7 : index
    %b = arith.constant 3 : index
    %0 = arith.muli %t, %a : index
    %1 = arith.muli %c, %b : index
    %2 = arith.addi %0, %1 : index
    %3 = arith.addi %2, %h : index
    %7 = arith.constant 1.0 : f16
    linalg.yield %7 : f16
  }
  %ks = memref.cast %ks_static : memref<1x8x150x4xf16> to memref<1x8x?x4xf16>
  %vs_static = memref.alloc() : memref<1x8x150x4xf16>
  linalg.generic {indexing_maps = [affine_map<(b, h, t, c) -> (b, h, t, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%vs_static : memref<1x8x150x4xf16>) {
  ^bb0(%o: f16):
    %h = linalg.index 1 : index
    %t = linalg.index 2 : index
    %c = linalg.index 3 : index
    %a = arith.constant 7 : index
    %b = arith.constant 3 : index
    %0 = arith.muli %t, %a : index
    %1 = arith.muli %c, %b : index
    %2 = arith.addi %0, %1 : index
    %3 = arith.addi %2, %h : index
    %m = arith.constant 1 : index
    %4 = arith.andi %3, %m : index
    %5 = arith.addi %4, %m : index
    %6 = arith.index_cast %5 : index to i32
    %7 = arith.sitofp %6 : i32 to f16
    linalg.yield %7 : f16
  }
  %vs = memref.cast %vs_static : memref<1x8x150x4xf16> to memref<1x8x?x4xf16>
  // One 1 in each query row, so that scores are integers.
  %q = memref.alloc() : memref<4x128xf32>
  %out = memref.alloc() : memref<4x128xf32>
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      outs(%q : memref<4x128xf32>) {
  ^bb0(%o: f32):
    %r = linalg.index 0 : index
    %c = linalg.index 1 : index
    %a = arith.constant 37 : index
    %0 = arith.muli %r, %a : index
    %b = arith.constant 128 : index
    %1 = arith.remui %0, %b : index
    %2 = arith.cmpi eq, %c, %1 : index
    %3 = arith.uitofp %2 : i1 to f32
    linalg.yield %3 : f32
  }
  %printed = memref.cast %out : memref<4x128xf32> to memref<*xf32>
  %n1 = arith.constant 1 : index
  call @decode(%q, %k, %ks, %v, %vs, %c3, %n1, %out) : (memref<4x128xf32>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, index, index, memref<4x128xf32>) -> ()
  call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
  %n7 = arith.constant 7 : index
  call @decode(%q, %k, %ks, %v, %vs, %c3, %n7, %out) : (memref<4x128xf32>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, index, index, memref<4x128xf32>) -> ()
  call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
  %n63 = arith.constant 63 : index
  call @decode(%q, %k, %ks, %v, %vs, %c3, %n63, %out) : (memref<4x128xf32>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, index, index, memref<4x128xf32>) -> ()
  call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
  %n64 = arith.constant 64 : index
  call @decode(%q, %k, %ks, %v, %vs, %c3, %n64, %out) : (memref<4x128xf32>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, index, index, memref<4x128xf32>) -> ()
  call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
  %n150 = arith.constant 150 : index
  call @decode(%q, %k, %ks, %v, %vs, %c3, %n150, %out) : (memref<4x128xf32>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, memref<1x8x?x128xi8>, memref<1x8x?x4xf16>, index, index, memref<4x128xf32>) -> ()
  call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
  return
}
