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

def RaiseBuffersPass : Pass<"kvq-raise-buffers", "::mlir::ModuleOp"> {
  let summary = "Turns buffers that a model keeps its caches in into tensors";
  let description = [{
    A buffer that a function with attention takes, reads as a tensor, and stores an
    updated tensor in becomes an argument and a result:
    what `kvq-raise-cache-updates` makes a `!kvq.cache` of. It comes behind
    `kvq-raise-attention`.

    Of test/Transforms/raise-buffers.mlir, abridged:

    ```mlir
    func.func @step(%q: …, %kb: memref<1x2x64x32xf32>, …) -> … {
      %k = bufferization.to_tensor %kb restrict : memref<1x2x64x32xf32> to tensor<1x2x64x32xf32>
      %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] …
      …
      bufferization.materialize_in_destination %k1 in writable %kb : …
      return %o : …
    ```
    becomes
    ```mlir
    func.func @step(%q: …, %k: tensor<1x2x64x32xf32>, …) -> … {
      %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] …
      …
      %stored = bufferization.materialize_in_destination %k1 in %k : …
      return %o, %stored : …
    ```

    Whatever becomes of the tensor, it is stored where the buffer was.

    A buffer stays one, with a missed remark of category `kvq-raise-buffers` at the
    op that does not fit, where it is read after it is stored to, stored to more than
    once, or used by another op; where it has strides or a memory space; and so do,
    without a remark, those of functions without attention, of several blocks, or
    that are called.

    Numerics: bit-exact.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def RaiseCacheUpdatesPass
    : Pass<"kvq-raise-cache-updates", "::mlir::ModuleOp"> {
  let summary = "Turns tensors that a model keeps its caches in into caches";
  let description = [{
    A tensor that a function takes, adds tokens to and returns, and that attention
    reads, becomes a `!kvq.cache` of `codes = none`: the argument, the results, and
    what adds tokens, which becomes `kvq.append`. `kvq-apply-policy` can then give
    it another type. It comes behind `kvq-raise-attention`, whose
    `kvq.from_components` say which tensors attention reads as caches.

    Of test/Transforms/raise-cache-updates.mlir, abridged:

    ```mlir
    func.func @grow(%q: …, %k: tensor<1x2x?x32xf16>, …, %kn: tensor<1x2x1x32xf16>, …) -> … {
      %k1 = tensor.concat dim(2) %k, %kn : … -> tensor<1x2x?x32xf16>
      …
      %new = tensor.dim %k1, %c2 : tensor<1x2x?x32xf16>
      …
      %kc = kvq.from_components %k1 : tensor<1x2x?x32xf16> -> !c
      …
      %o = kvq.attention ins(%q, %kc, %vc : …) lengths(%n : tensor<1xi64>) …
      return %o, %old, %k1, %v1 : …
    ```
    becomes
    ```mlir
    func.func @grow(%q: …, %k: !c {kvq.layer = 0}, …, %kn: tensor<1x2x1x32xf16>, …, %length: i64) -> … {
      %before = tensor.from_elements %length : tensor<1xi64>
      %after = arith.addi %length, %c1 : i64
      %k1 = kvq.append ins(%kn : …) lengths(%before : tensor<1xi64>) into(%k : !c) -> !c
      …
      %new = arith.index_cast %after : i64 to index
      …
      %o = kvq.attention ins(%q, %k1, %v1 : …) lengths(%n : tensor<1xi64>) …
      return %o, %old, %k1, %v1 : …
    ```

    | what adds tokens | how many are there before |
    |---|---|
    | `tensor.concat` of the tensor and the new tokens, or the same as two `tensor.insert_slice` of a `tensor.empty` | `length`, an i64 that the function gets as its last argument |
    | `tensor.insert_slice` of whole tokens | its offset along tokens |
    | `tensor.scatter` of the elements or rows of tokens, by indices that are written out | the index of the token, one for all sequences or one for each; of several tokens, the number that their indices are added to |

    `length` is one number for all caches of the function that grow, and all their
    sequences: that they are as long is the host's guarantee, as what is a tensor of
    the model has one extent. The tensor's extents become arithmetic on it. A position is
    taken for the number of tokens before it, which the host guarantees too.

    The tensor's axes may lie in any order, or be reshaped, if tokens have an axis to
    themselves; new tokens are brought to the order of `kvq.append`. Where a token's
    heads follow each other in the tensor the cache is `token_major`: its storage
    is the tensor's. Layers are numbered in the order of the function's attention,
    where arguments have no `kvq.layer` yet. A passed remark says what each cache
    is.

    An updated tensor may be stored in the place of the argument
    (`bufferization.materialize_in_destination`), as `kvq-raise-buffers` leaves it.

    A tensor stays one, with a missed remark of category `kvq-raise-cache-updates` at
    the op that does not fit and names it, where another op makes it than an
    update of an argument, or reads it than attention and `tensor.dim`; where it
    grows from a static extent; where it is returned from before an update; and
    where the function has several blocks or is called (inline it). With `strict`
    that is an error.

    Numerics: bit-exact.
  }];
  let options = [
    Option<"strict", "strict", "bool", /*default=*/"false",
           "What attention reads and stays a tensor is an error">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::kvq::KVQDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def GiveResultsDestinationsPass
    : Pass<"kvq-give-results-destinations", "::mlir::ModuleOp"> {
  let summary = "Gives tensors that functions compute a place to be stored";
  let description = [{
    Compiled functions return nothing: what they compute is stored in their
    arguments. Each tensor that a public function returns, and that is not an
    argument or computed in the place of one, is stored in an argument that the
    function gets for it, behind the others. Tensors that no result takes the place
    of are only read then (`bufferization.writable = false`).

    Of test/Transforms/give-results-destinations.mlir, abridged:

    ```mlir
    func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
      …
      return %y : tensor<4xf32>
    ```
    becomes
    ```mlir
    func.func @double(%x: tensor<4xf32> {bufferization.writable = false}, %out: tensor<4xf32>) -> tensor<4xf32> {
      …
      %0 = bufferization.materialize_in_destination %y in %out : …
      return %0 : tensor<4xf32>
    ```

    Functions of several blocks, and those that others call, stay as they are.

    Numerics: bit-exact.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def ExpandPowersPass : Pass<"kvq-expand-powers"> {
  let summary = "Writes powers with constant exponents as products";
  let description = [{
    `math.fpowi` and `math.powf` with small constant exponents, of which norms and
    GELU of frameworks are full, become products, reciprocals and roots: LLVM has
    none on vectors.

    Of test/Transforms/expand-powers.mlir, abridged:

    ```mlir
    %y = math.fpowi %x, %c3 : f32, i64
    ```
    becomes
    ```mlir
    %0 = arith.mulf %x, %x : f32
    %y = arith.mulf %0, %x : f32
    ```

    Numerics: rounds where the library would, but after each product.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // KVQ_TRANSFORMS_RAISEPASSES_TD
