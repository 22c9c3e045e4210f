// RUN: kvq-opt %s --kvq-raise-attention=strict -verify-diagnostics

// Keys that are stored by channel, which rows of a cache are not.
func.func @channels_first(%q: tensor<4x1x16xf32>, %k: tensor<4x16x32xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<4x1x16xf32>, tensor<4x16x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  // expected-error@+1 {{attention is not raised: its keys: the values of a row do not lie side by side}}
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}
