// RUN: kvq-opt %s --transform-interpreter | FileCheck %s

// AggregatedOpInterface, through the upstream transform op (which takes ops of
// one result).

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>

// CHECK-LABEL: func.func @dequantize
// CHECK-NOT: kvq.dequantize
// CHECK: linalg.generic
// CHECK: return
func.func @dequantize(%c: tensor<4x64xi8>, %s: tensor<4x2xf16>,
    %y: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %r = kvq.dequantize #f ins(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>)
      outs(%y : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.dequantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %parts = transform.structured.decompose_interface %op
        : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
