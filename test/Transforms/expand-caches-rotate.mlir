// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse | FileCheck %s
// RUN: kvq-opt %s -kvq-expand-caches -kvq-decompose-values -canonicalize -kvq-bufferize-pipeline -kvq-verify-fused | FileCheck %s --check-prefix=BUFFER

// Tokens are rounded to the cache's type, centred and rotated, then quantized by
// the rest of the format.

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16, rotate = hadamard<64>, center = bf16>
!c = !kvq.cache<1x2x?x64xf16, #f>

// CHECK-DAG: #[[CORE:.*]] = #kvq.format<codes = i8, group = [1, 32], scale = f16, range = absmax>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[MEAN:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @append(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x2x?x64xf16>, %{{[^:]*}}: tensor<1xi64>, %{{[^:]*}}: tensor<1x2x?x64xi8>, %{{[^:]*}}: tensor<1x2x?x2xf16>, %[[MEANS:[^:]*]]: tensor<1x2x1x64xbf16>, %[[SIGNS:[^:]*]]: tensor<1x1x1x64xi8>)
// CHECK:         %[[TOKEN:.*]] = tensor.extract_slice %[[X]]
// CHECK:         %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[TOKEN]] : tensor<1x64xf16>) outs(%{{.*}} : tensor<1x64xf16>)
// CHECK:         %[[M:.*]] = tensor.extract_slice %[[MEANS]][0, %{{.*}}, 0, 0] [1, 1, 1, 64]
// CHECK:         %[[CENTRED:.*]] = linalg.generic {indexing_maps = [#[[ROWS]], #[[MEAN]], #[[ROWS]]]{{.*}} ins(%[[ROUNDED]], %[[M]] : tensor<1x64xf16>, tensor<1x64xbf16>) outs(%{{.*}} : tensor<1x64xf32>)
// CHECK:           arith.subf
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[SIGNS]][0, 0, 0, 0] [1, 1, 1, 64]
// CHECK:         %[[ROTATED:.*]] = kvq.rotate hadamard<64> ins(%[[CENTRED]], %[[S]] : {{.*}}) outs(%[[CENTRED]] :
// CHECK:         kvq.quantize #[[CORE]] ins(%[[ROTATED]] : tensor<1x64xf32>)

// BUFFER-LABEL: func.func @append
// BUFFER-NOT:     memref.alloc(
// BUFFER-NOT:     memref.copy
// BUFFER:         return
func.func @append(%x: tensor<1x2x?x64xf16>, %n: tensor<1xi64>, %c: !c) -> !c {
  %r = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return %r : !c
}
