// RUN: kvq-opt %s --kvq-raise-attention --canonicalize -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-raise-attention -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-raise-attention --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Attention of one query token over caches as they are after an update, scores scaled
// behind their contraction.
// CHECK-LABEL: func @decode
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<8x1x64xf32>, %[[K:[^:]+]]: tensor<8x128x64xf32>, %[[V:[^:]+]]: tensor<8x128x64xf32>
// CHECK-NOT:   linalg
// CHECK-DAG:   %[[N:.+]] = arith.constant dense<128> : tensor<1xi64>
// CHECK-DAG:   %[[Q4:.+]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<1x8x1x64xf32>
// CHECK-DAG:   %[[K4:.+]] = tensor.expand_shape %[[K]] {{.*}} into tensor<1x8x128x64xf32>
// CHECK-DAG:   %[[KC:.+]] = kvq.from_components %[[K4]] : tensor<1x8x128x64xf32> -> !cache
// CHECK-DAG:   %[[V4:.+]] = tensor.expand_shape %[[V]] {{.*}} into tensor<1x8x128x64xf32>
// CHECK-DAG:   %[[VC:.+]] = kvq.from_components %[[V4]] : tensor<1x8x128x64xf32> -> !cache
// CHECK:       %[[O:.+]] = kvq.attention ins(%[[Q4]], %[[KC]], %[[VC]] : tensor<1x8x1x64xf32>, !cache, !cache)
// CHECK-SAME:    lengths(%[[N]] : tensor<1xi64>) outs({{.*}}) {scale = 1.250000e-01 : f32}
// CHECK:       tensor.collapse_shape %[[O]] {{.*}} into tensor<8x1x64xf32>
// REMARK:      [[#@LINE+22]]:{{.*}} remark: [Passed] RaiseAttention | Category:kvq-raise-attention | Function=decode
// REMARK-SAME: "attention is raised"
func.func @decode(%q: tensor<8x1x64xf32>, %k: tensor<8x128x64xf32>, %v: tensor<8x128x64xf32>) -> tensor<8x1x64xf32> {
  %zero = arith.constant 0.0 : f32
  %eighth = arith.constant 0.125 : f32
  %s0 = tensor.empty() : tensor<8x1x128xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
  %t0 = tensor.empty() : tensor<8x64x128xf32>
  %t = linalg.transpose ins(%k : tensor<8x128x64xf32>) outs(%t0 : tensor<8x64x128xf32>) permutation = [0, 2, 1]
  %s2 = linalg.batch_matmul ins(%q, %t : tensor<8x1x64xf32>, tensor<8x64x128xf32>)
      outs(%s1 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
  %s3 = linalg.generic {
      indexing_maps = [affine_map<(h, i, t) -> (h, i, t)>, affine_map<(h, i, t) -> (h, i, t)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s2 : tensor<8x1x128xf32>) outs(%s0 : tensor<8x1x128xf32>) {
  ^bb0(%s: f32, %out: f32):
    %scaled = arith.mulf %s, %eighth : f32
    linalg.yield %scaled : f32
  } -> tensor<8x1x128xf32>
  %p = linalg.softmax dimension(2) ins(%s3 : tensor<8x1x128xf32>) outs(%s0 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
  %o0 = tensor.empty() : tensor<8x1x64xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x1x128xf32>, tensor<8x128x64xf32>)
      outs(%o1 : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  return %o : tensor<8x1x64xf32>
}
