// RUN: not kvq-opt %s --transform-interpreter 2>&1 | FileCheck %s

// The other strategy of the interface, which keeps a partial result for each
// position within a tile, would keep as many states as a tile has tokens. The op
// refuses it: its transform op, tile_reduction_using_for, does not apply.

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #f>

// CHECK: error: 'kvq.partial_attention' op only outer-parallel partial reduction keeps one state per token range
// CHECK: error: failed to tile using partial reduction
func.func @outer_reduction(%q: tensor<4x128xf32>, %k: !c, %v: !c, %b: index,
                           %h: index, %f: index, %lo: index, %hi: index,
                           %acc: tensor<4x128xf32>, %max: tensor<4xf32>,
                           %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !c, !c)
      at [%b, %h] tokens [%lo to %hi] flushed [%f, %f]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.partial_attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %fills:3, %part, %merge, %loop = transform.structured.tile_reduction_using_for %op
        by tile_sizes = [256]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op,
                                  !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
