//===- Passes.td - Passes on the kvq dialect ---------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_PASSES_TD
#define KVQ_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseDequantizePass : Pass<"kvq-fuse-dequantize"> {
  let summary = "Turns attention over dequantized tensors into attention over "
                "caches";
  let description = [{
    A `kvq.attention` whose keys or values are tensors that a `kvq.dequantize`
    made reads the codes itself afterwards: the operand becomes a cache over the
    packed codes, scales and zeros (`kvq.from_components`). Keys and values are
    handled apart. A missed remark gives the reason where it does not fire.

    Numerics: the attention reads the same codes; results differ by f32
    rounding only.
  }];
  let dependentDialects = ["::mlir::kvq::KVQDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SplitTokensPass : Pass<"kvq-split-tokens"> {
  let summary = "Splits attention into work items over sequence, query token, "
                "KV head and token range";
  let description = [{
    Rewrites `kvq.attention` to an `scf.forall` over (sequence, KV head, query
    token, split), each item one `kvq.partial_attention` for the query heads of
    one KV head, merged in order by `kvq.merge_partials` where there is more
    than one split (flash decoding). Split borders are a function of the length
    and the number of splits alone.

    Numerics: reassociates f32 sums over tokens; the same number of splits
    gives the same bits.
  }];
  let options = [
    Option<"splits", "splits", "int64_t", /*default=*/"1",
           "Token ranges per sequence, attended to independently">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def TileAttentionPass : Pass<"kvq-tile-attention"> {
  let summary = "Tiles partial attention over tokens, within storage regions";
  let description = [{
    Splits each `kvq.partial_attention` by the regions that its tokens lie in
    (exact first tokens, codes, recent window; of keys and of values) and tiles
    each part by token tiles that start at multiples of the token group, through
    the op's `TilingInterface`. With token groups of several tokens the tile is
    cut to their greatest common divisor, so that one row of metadata serves a
    whole tile.

    Numerics: reassociates f32 sums over tokens.
  }];
  let options = [
    Option<"tileTokens", "tile-tokens", "int64_t", /*default=*/"64",
           "Most tokens in a tile">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::kvq::KVQDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def DecomposeAttentionPass : Pass<"kvq-decompose-attention"> {
  let summary = "Decomposes tiled attention into loads, dequantization, "
                "contractions and online softmax";
  let description = [{
    A tiled `kvq.partial_attention` becomes `kvq.load_tile`, `kvq.dequantize`, a
    contraction with the query, the online softmax, and a contraction with the
    values, all on tile-sized tensors (`linalg.generic`). `kvq.merge_partials`
    is decomposed alike.

    Numerics: as the ops define; contractions may be fused to multiply-adds.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def FoldScalesPass : Pass<"kvq-fold-scales"> {
  let summary = "Moves scales and zeros of dequantized operands out of "
                "contractions";
  let description = [{
    Rewrites a contraction with a `kvq.dequantize` to a contraction with the
    codes. Where the scale goes follows from the group's shape and from the axis
    that is reduced:

    | group, reduced axis | scale s | zero z |
    |---|---|---|
    | one token, channels reduced (keys) | partial sums of a channel group times s | z times the group's sum of the other operand |
    | several tokens, channels reduced (keys) | other operand times s, per tile | sum of other operand times z |
    | one token, tokens reduced (values) | other operand times s, per channel group | sum of other operand times z |
    | several tokens, tokens reduced (values) | tile's sum times s | z times the sum of the other operand |

    Numerics: reassociates f32 products with the scale.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::kvq::KVQDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def ExpandCachesPass : Pass<"kvq-expand-caches", "::mlir::ModuleOp"> {
  let summary = "Replaces caches by the tensors that they are stored in";
  let description = [{
    Every value of type `!kvq.cache` becomes one tensor per storage component,
    through functions, calls and structured control flow; `kvq.empty`,
    `kvq.append` and `kvq.load_tile` become tensor ops on the components. Any
    other op that still carries a cache is an error naming it.

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def DecomposeValuesPass : Pass<"kvq-decompose-values"> {
  let summary = "Decomposes quantize, dequantize, pack and unpack into "
                "structured ops";
  let description = [{
    The value-level ops become `linalg` ops on tensors whose bodies hold the
    format's own arithmetic. After it no op of the kvq dialect is left that
    computes.

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect"];
}

def DropReturnedArgumentsPass : Pass<"kvq-drop-returned-arguments",
                                     "::mlir::ModuleOp"> {
  let summary = "Drops results of functions that are buffers of their arguments";
  let description = [{
    An append writes its cache in place; once bufferized, its function returns
    the very buffers that it was given. This drops such results and lets callers
    go on with what they passed. Like the upstream
    `drop-equivalent-buffer-results`, but for public functions too: callers
    outside the module see the same signature whether or not a function is
    called inside it.

    Numerics: changes nothing.
  }];
}

def HoistScratchPass : Pass<"kvq-hoist-scratch"> {
  let summary = "Moves stack buffers out of sequential control flow";
  let description = [{
    Each `memref.alloca` of static size moves to the start of the closest
    enclosing function or parallel loop body. Inside a sequential loop it would
    take new stack in every iteration once the loop is lowered to branches. What
    a buffer holds when it is allocated is unspecified, so iterations can share
    it.

    Numerics: changes nothing.
  }];
}

def VerifyFusedPass : Pass<"kvq-verify-fused"> {
  let summary = "Checks that nothing of a cache's size is rebuilt or copied";
  let description = [{
    On bufferized IR: fails, naming the op, where a float value that derives
    from codes spans more tokens than a tile, or where a buffer of a cache's
    size is allocated or copied (bufferization copies a cache silently when an
    old value of it is read later).

    Numerics: changes nothing.
  }];
  let options = [
    Option<"maxTokens", "max-tokens", "int64_t", /*default=*/"64",
           "Most tokens that a float value derived from codes may span">
  ];
}

#endif // KVQ_TRANSFORMS_PASSES_TD
