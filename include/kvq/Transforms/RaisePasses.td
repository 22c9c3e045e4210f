//===- RaisePasses.td - Passes from other dialects to kvq --*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_RAISEPASSES_TD
#define KVQ_TRANSFORMS_RAISEPASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseAttentionPass : Pass<"kvq-raise-attention"> {
  let summary = "Turns attention in linalg on tensors into kvq.attention over "
                "exact caches";
  let description = [{
    Scaled dot-product attention that is written out becomes a `kvq.attention`: a
    contraction of queries with keys, a softmax along tokens, a contraction with
    values. The tensors that keys and values come from become exact caches
    (`kvq.from_components` of `codes = none`), which `kvq-apply-policy` and the
    passes after it then treat as any others.

    Of test/Transforms/raise-attention.mlir, abridged:

    ```mlir
    func.func @decode(%q: tensor<8x1x64xf32>, %k: tensor<8x128x64xf32>, %v: …) -> … {
      %t = linalg.transpose ins(%k : …) outs(… : tensor<8x64x128xf32>) permutation = [0, 2, 1]
      %s2 = linalg.batch_matmul ins(%q, %t : …) outs(%s1 : …) -> tensor<8x1x128xf32>
      %s3 = linalg.generic … ins(%s2 : …) { … arith.mulf %s, %eighth … }
      %p = linalg.softmax dimension(2) ins(%s3 : …) …
      %o = linalg.batch_matmul ins(%p, %v : …) outs(%o1 : …) -> tensor<8x1x64xf32>
    ```
    becomes
    ```mlir
      %kc = kvq.from_components %k4 : tensor<1x8x128x64xf32> -> !cache
      %vc = kvq.from_components %v4 : tensor<1x8x128x64xf32> -> !cache
      %r = kvq.attention ins(%q4, %kc, %vc : tensor<1x8x1x64xf32>, !cache, !cache)
          lengths(%n : tensor<1xi64>) outs(%init : …) {scale = 1.250000e-01 : f32} -> …
      %o = tensor.collapse_shape %r …
    ```

    A weight is followed back to scores, and a score to queries and keys, one element
    of a tensor at an affine function of the loops of the contraction with values. What
    only moves elements (transposes, reshapes, broadcasts, slices) and casts of floats
    therefore do not matter, nor whether an op is a named one, a `linalg.generic`,
    fused with others, or `arith` on tensors. In between may be

    - a softmax: `linalg.softmax`, or exp(x - m) / sum(exp(x - m)) or a product with the
      reciprocal, with exp or exp2, and with any m that is the same for all tokens;
      rows of -inf set to 0;
    - products and quotients with constants, of scores, queries or keys;
    - a softcap, c * tanh(x / c);
    - masks, that are added or chosen by `arith.select`. Where a mask compares numbers of
      tokens and query tokens with positions it becomes `lengths`, `causal` and
      `window`, and `positions`; otherwise a tensor of it (f16, bf16, f32 or i1) is the op's mask. A
      number of at most -10000 hides as -inf does.

    Keys and values are the oldest tensors that hold them: function arguments, results of
    updates, and what is computed. Their rows have to lie side by side; other axes may
    lie in any order, and are seen as a cache's by views (as of
    `kvq-fuse-dequantize`). Query heads share KV heads where these are repeated, in any of
    the ways above. Lengths are all tokens that are contracted where masks and
    slices say nothing else. An axis of a dynamic extent that a front end broadcasts if
    the extent is 1 is taken for one that is not broadcast.

    A softmax whose contraction is not raised gets a missed remark of category
    `kvq-raise-attention`, with the reason: the op that attention has no part for. With
    `strict` that is an error. Functions without one are left as they are.

    Keys and values that come from a `kvq.dequantize`, or from arithmetic that does the
    same, stay tensors, which `kvq-fuse-dequantize` makes caches of.

    Ops of other dialects are raised likewise, where they have the interface
    `AttentionLikeOpInterface` (docs/Embedding.md).

    Numerics: sums are f32, in another order, and roundings to narrower floats in
    between are left out. A row of which finite numbers hide all tokens gives 0, where it
    was their mean.
  }];
  let options = [
    Option<"strict", "strict", "bool", /*default=*/"false",
           "Attention that is not raised is an error">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::kvq::KVQDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"];
}

#endif // KVQ_TRANSFORMS_RAISEPASSES_TD
