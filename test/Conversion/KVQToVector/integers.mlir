// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),canonicalize,cse)' | FileCheck %s

// Products of integers are added in pairs as i32 along the channels of a group,
// and scaled once for the group; lanes are summed in the end.

// CHECK-LABEL: func @keys
// CHECK:       scf.for
// CHECK:         %[[A:.*]]:8 = scf.for %[[G:.*]] = %c0 to %c4 step %c1 iter_args({{.*}}) -> (vector<8xf32>,
// CHECK:           %[[Q:.*]] = vector.load {{.*}} : memref<4x4x32xi16>, vector<16xi16>
// CHECK:           %[[QE:.*]] = arith.extsi %[[Q]] : vector<16xi16> to vector<16xi32>
// CHECK:           %[[K:.*]] = vector.load {{.*}} : memref<?x4x32xi8>, vector<16xi8>
// CHECK:           %[[KE:.*]] = arith.extsi %[[K]] : vector<16xi8> to vector<16xi32>
// CHECK:           %[[P:.*]] = arith.muli %[[QE]], %[[KE]] : vector<16xi32>
// CHECK:           %[[EVEN:.*]] = vector.shuffle %[[P]], %[[P]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK:           %[[ODD:.*]] = vector.shuffle %[[P]], %[[P]] [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK:           arith.addi %[[EVEN]], %[[ODD]] : vector<8xi32>
// CHECK:           %[[F:.*]] = arith.sitofp %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK:           %[[S:.*]] = memref.load {{.*}} : memref<4x?x4xf32>
// CHECK:           %[[SV:.*]] = vector.broadcast %[[S]] : f32 to vector<8xf32>
// CHECK:           arith.mulf %[[F]], %[[SV]] fastmath<contract> : vector<8xf32>
func.func @keys(%q: memref<4x4x32xi16>, %k: memref<?x4x32xi8>, %s: memref<4x?x4xf32>, %out: memref<4x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, g, c) -> (r, g, c)>,
                                   affine_map<(r, t, g, c) -> (t, g, c)>,
                                   affine_map<(r, t, g, c) -> (r, t, g)>,
                                   affine_map<(r, t, g, c) -> (r, t)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%q, %k, %s : memref<4x4x32xi16>, memref<?x4x32xi8>, memref<4x?x4xf32>) outs(%out : memref<4x?xf32>) {
  ^bb0(%a: i16, %b: i8, %f: f32, %o: f32):
    %0 = arith.extsi %a : i16 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %3, %f fastmath<contract> : f32
    %5 = arith.addf %o, %4 fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}

// -----

// Two tokens at a time, their codes interleaved, and one that may be left. The
// storage that a part is of bounds the sum.

// CHECK-LABEL: func @values
// CHECK:       scf.for %[[T:.*]] = %c0 to %{{.*}} step %c2 iter_args({{.*}}) -> (vector<8xi32>,
// CHECK:         %[[P:.*]] = vector.load {{.*}} : {{.*}}, vector<2xi16>
// CHECK:         vector.bitcast %[[P]] : vector<2xi16> to vector<1xi32>
// CHECK:         %[[PB:.*]] = vector.broadcast %{{.*}} : i32 to vector<8xi32>
// CHECK:         vector.bitcast %[[PB]] : vector<8xi32> to vector<16xi16>
// CHECK:         %[[V0:.*]] = vector.load {{.*}} : memref<?x32xi8>, vector<8xi8>
// CHECK:         %[[V1:.*]] = vector.load {{.*}} : memref<?x32xi8>, vector<8xi8>
// CHECK:         %[[V:.*]] = vector.interleave %[[V0]], %[[V1]] : vector<8xi8> -> vector<16xi8>
// CHECK:         arith.extui %[[V]] : vector<16xi8> to vector<16xi32>
// CHECK:       scf.for %{{.*}} step %c1 iter_args({{.*}}) -> (vector<8xi32>,
// CHECK:       arith.sitofp %{{.*}} : vector<8xi32> to vector<8xf32>
func.func @values(%n: index, %v: memref<?x32xi8>, %s: memref<4xf32>, %out: memref<4x32xf32>) {
  %buffer = memref.alloca() : memref<4x64xi16>
  %p = memref.subview %buffer[0, 0] [4, %n] [1, 1] : memref<4x64xi16> to memref<4x?xi16, strided<[64, 1]>>
  linalg.generic {indexing_maps = [affine_map<(r, c, t) -> (r, t)>,
                                   affine_map<(r, c, t) -> (t, c)>,
                                   affine_map<(r, c, t) -> (r)>,
                                   affine_map<(r, c, t) -> (r, c)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v, %s : memref<4x?xi16, strided<[64, 1]>>, memref<?x32xi8>, memref<4xf32>) outs(%out : memref<4x32xf32>) {
  ^bb0(%a: i16, %b: i8, %f: f32, %o: f32):
    %0 = arith.extsi %a : i16 to i32
    %1 = arith.extui %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %f, %3 fastmath<contract> : f32
    %5 = arith.addf %4, %o fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}

// -----

// 1024 products of i16 and i8 may be too many for i32: floats are added.

// CHECK-LABEL: func @too_many
// CHECK-NOT:   arith.addi {{.*}} : vector<8xi32>
// CHECK:       arith.addf
func.func @too_many(%q: memref<4x1024xi16>, %k: memref<8x1024xi8>, %s: memref<4xf32>, %out: memref<4x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, c) -> (r, c)>,
                                   affine_map<(r, t, c) -> (t, c)>,
                                   affine_map<(r, t, c) -> (r)>,
                                   affine_map<(r, t, c) -> (r, t)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k, %s : memref<4x1024xi16>, memref<8x1024xi8>, memref<4xf32>) outs(%out : memref<4x8xf32>) {
  ^bb0(%a: i16, %b: i8, %f: f32, %o: f32):
    %0 = arith.extsi %a : i16 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %3, %f fastmath<contract> : f32
    %5 = arith.addf %o, %4 fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}

// -----

// Pairs of channels that lie side by side for each token: one load for eight
// tokens, and no lanes to add up.

// CHECK-LABEL: func @tile
// CHECK:       scf.for %[[T:.*]] = %c0 to %c64 step %c16 {
// CHECK:         scf.for %[[G:.*]] = %c0 to %c4 step %c1 iter_args({{.*}}) -> (vector<8xf32>,
// CHECK:           scf.for %[[C:.*]] = %c0 to %c16 step %c1 iter_args({{.*}}) -> (vector<8xi32>,
// CHECK:             vector.load {{.*}} : memref<4x4x16x2xi16>, vector<2xi16>
// CHECK:             vector.bitcast %{{.*}} : vector<8xi32> to vector<16xi16>
// CHECK:             %[[FLAT:.*]] = memref.collapse_shape {{.*}} {{\[\[}}0], [1], [2, 3]]
// CHECK:             %[[K:.*]] = vector.load %[[FLAT]][%[[G]], %[[C]], %{{.*}}] : memref<4x16x128xi8>, vector<16xi8>
// CHECK:             arith.extsi %[[K]] : vector<16xi8> to vector<16xi32>
// CHECK:           %[[S:.*]] = vector.load {{.*}} : memref<4x4x64xf32>, vector<8xf32>
// CHECK:           arith.mulf %{{.*}}, %[[S]] fastmath<contract> : vector<8xf32>
func.func @tile(%q: memref<4x4x16x2xi16>, %k: memref<4x16x64x2xi8>, %s: memref<4x4x64xf32>, %out: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, g, c, p) -> (r, g, c, p)>,
                                   affine_map<(r, t, g, c, p) -> (g, c, t, p)>,
                                   affine_map<(r, t, g, c, p) -> (r, g, t)>,
                                   affine_map<(r, t, g, c, p) -> (r, t)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%q, %k, %s : memref<4x4x16x2xi16>, memref<4x16x64x2xi8>, memref<4x4x64xf32>) outs(%out : memref<4x64xf32>) {
  ^bb0(%a: i16, %b: i8, %f: f32, %o: f32):
    %0 = arith.extsi %a : i16 to i32
    %1 = arith.extsi %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.sitofp %2 : i32 to f32
    %4 = arith.mulf %3, %f fastmath<contract> : f32
    %5 = arith.addf %o, %4 fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}
