// RUN: kvq-opt %s --kvq-decompose-attention -verify-diagnostics
// RUN: not kvq-opt %s --kvq-decompose-attention=dequantize-rows=-1 2>&1 | FileCheck %s

// CHECK: kvq-decompose-attention: expected at least 1 row for tiles that become f32, or 0, got -1

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #f>

func.func @untiled(%q: tensor<4x128xf32>, %k: !c, %v: !c, %h: index, %f: index,
                   %lo: index, %hi: index, %acc: tensor<4x128xf32>,
                   %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expected a tile bound and the regions of keys and values (run kvq-tile-attention first)}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !c, !c)
      at [%c0, %h] tokens [%lo to %hi] flushed [%f, %f]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}
