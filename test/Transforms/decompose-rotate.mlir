// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,cse)' | FileCheck %s
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,cse,one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},canonicalize,cse,canonicalize)' | FileCheck %s --check-prefix=BUFFER

// Signs and a clamp that keeps sums finite, butterflies of stride 1 and 2 between
// the output and one scratch, the scaling by 1/2. No fast-math.

// CHECK-LABEL: func.func @forward
// CHECK-SAME:    %[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: tensor<1x8xi8>, %[[Y:.*]]: tensor<?x8xf32>
// CHECK:         %[[Y0:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[S]] : {{.*}}) outs(%[[Y]] :
// CHECK:           arith.sitofp
// CHECK:           arith.mulf %{{.*}} : f32
// CHECK:           arith.cmpf
// CHECK:         %[[OTHER:.*]] = tensor.empty(%{{.*}}) : tensor<?x8xf32>
// CHECK:         %[[E0:.*]] = tensor.expand_shape %[[Y0]] {{\[\[}}0], [1, 2, 3]] output_shape [%{{.*}}, 4, 2, 1]
// CHECK:         %[[E1:.*]] = tensor.expand_shape %[[OTHER]] {{.*}} output_shape [%{{.*}}, 4, 2, 1]
// CHECK:         %[[A:.*]] = tensor.extract_slice %[[E0]][0, 0, 0, 0] [%{{.*}}, 4, 1, 1]
// CHECK:         %[[B:.*]] = tensor.extract_slice %[[E0]][0, 0, 1, 0] [%{{.*}}, 4, 1, 1]
// CHECK:         %[[T0:.*]] = tensor.extract_slice %[[E1]][0, 0, 0, 0]
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[T0]] :
// CHECK:           arith.addf %in, %in_{{.*}} : f32
// CHECK:         %[[E2:.*]] = tensor.insert_slice %[[SUM]] into %[[E1]][0, 0, 0, 0]
// CHECK:         %[[T1:.*]] = tensor.extract_slice %[[E2]][0, 0, 1, 0]
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %[[B]] : {{.*}}) outs(%[[T1]] :
// CHECK:           arith.subf %in, %in_{{.*}} : f32
// CHECK:         tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2, 3]] output_shape [%{{.*}}, 2, 2, 2]
// CHECK:         arith.mulf %{{.*}}, %cst{{.*}} : f32
// BUFFER-LABEL: func.func @forward
// BUFFER-COUNT-1: memref.alloc
// BUFFER-NOT:     memref.alloc
// BUFFER-NOT:     memref.copy
// BUFFER:         return
func.func @forward(%x: tensor<?x8xf32>, %s: tensor<1x8xi8>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = kvq.rotate hadamard<4> ins(%x, %s : tensor<?x8xf32>, tensor<1x8xi8>) outs(%y : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// Back: the signs come last, and nothing is clamped.

// CHECK-LABEL: func.func @inverse
// CHECK-NOT:     arith.cmpf
// CHECK:         arith.subf
// CHECK:         %[[SCALED:.*]] = arith.mulf %{{.*}}, %cst{{.*}} : f32
// CHECK:         arith.mulf %[[SCALED]],
// CHECK:         return
// BUFFER-LABEL: func.func @inverse
// BUFFER-COUNT-1: memref.alloc
// BUFFER-NOT:     memref.alloc
// BUFFER-NOT:     memref.copy
// BUFFER:         return
func.func @inverse(%x: tensor<3x2xf32>, %s: tensor<1x2xi8>) -> tensor<3x2xf32> {
  %r = kvq.rotate hadamard<2> inverse ins(%x, %s : tensor<3x2xf32>, tensor<1x2xi8>) outs(%x : tensor<3x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
