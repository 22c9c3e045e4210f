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
    handled apart. What dequantized them is erased where nothing else reads it.

    ```mlir
    %c = kvq.unpack #k ins(%bytes : …) outs(…)
    %k = kvq.dequantize #k ins(%c, %scales : …) outs(…) -> tensor<1x2x?x64xf16>
    %o = kvq.attention ins(%q, %k, %v : …) …
    // becomes
    %k = kvq.from_components %bytes, %scales : … -> !kvq.cache<1x2x?x64xf16, #k>
    %o = kvq.attention ins(%q, %k, %v : …) …
    ```

    Between the two it looks through `tensor.cast`, `arith.extf` and
    `arith.truncf`, a `tensor.extract_slice` of the first tokens (the lengths
    bound what is read), reshapes that only add or drop unit axes, and KV heads
    repeated for their query heads (a broadcast along a new axis that is then
    joined to the heads), where keys and values repeat them alike.

    Packed codes are those that a `kvq.unpack` reads, or 8-bit codes themselves.
    With groups of several tokens every token counts as flushed, so there have to
    be whole groups: checked where the number of tokens is static, taken for
    granted where it is not.

    Where it does not fire, a missed remark of category `kvq-fuse-dequantize`
    gives the reason: the codes lie unpacked in memory, a transpose or another op
    stands between, the slice leaves out first tokens or heads, only one side
    has repeated heads, the token groups of both sides start at different tokens.

    Numerics: the attention reads the same codes, in f32: the roundings to the
    float types that the dequantized tensors had are left out.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::kvq::KVQDialect",
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
    `kvq.append`, `kvq.reorder` and `kvq.load_tile` become tensor ops on the components, and
    `kvq.truncate` arithmetic on the counts. Any
    other op that still carries a cache is an error naming it. Attributes of an
    argument or a result hold for each of its components.

    ```mlir
    !c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>
    func.func @load(%c: !c, %b: index, %h: index, %lo: index, %hi: index)
        -> (tensor<?x64xi8>, tensor<?x2xf16>) {
      %0:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64}
          : !c -> tensor<?x64xi8>, tensor<?x2xf16>
      return %0#0, %0#1 : tensor<?x64xi8>, tensor<?x2xf16>
    }
    ```
    becomes
    ```mlir
    func.func @load(%codes: tensor<1x2x?x64xi8>, %scales: tensor<1x2x?x2xf16>,
                    %b: index, %h: index, %lo: index, %hi: index)
        -> (tensor<?x64xi8>, tensor<?x2xf16>) {
      %n = arith.subi %hi, %lo : index
      %c = tensor.extract_slice %codes[%b, %h, %lo, 0] [1, 1, %n, 64] [1, 1, 1, 1]
          : tensor<1x2x?x64xi8> to tensor<?x64xi8>
      %s = tensor.extract_slice %scales[%b, %h, %lo, 0] [1, 1, %n, 2] [1, 1, 1, 1]
          : tensor<1x2x?x2xf16> to tensor<?x2xf16>
      return %c, %s : tensor<?x64xi8>, tensor<?x2xf16>
    }
    ```

    Codes of fewer than 8 bits go through `kvq.unpack` into scratch, tokens of the
    recent window are gathered into scratch; with `tile` it has a static size. An
    append reads and writes the same rows of a component, so that it bufferizes
    in place.

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

def HoistScratchPass : InterfacePass<"kvq-hoist-scratch",
                                     "FunctionOpInterface"> {
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
    Fails, naming the op, where the size of a computation shows that it is done
    to a cache as a whole. Meant for bufferized IR; it runs on tensors too, from
    `kvq-decompose-attention` on, to find what goes wrong where it does. It
    reports an op that

    1. makes float values from codes (`kvq.dequantize`, or a structured op with
       codes as an operand) for more than `max-tokens` tokens at once, or tile by
       tile into a buffer of more than `max-bytes`. Codes are 8-bit integers, and
       integers of up to 32 bits that structured ops make from these. All their
       axes but the channels (the last axis of the buffer that they lie in)
       count as tokens. A value summed over tokens spans none, so that a
       contraction with values may read any number of codes.
    2. allocates more than `max-bytes`, or a size without a constant bound. Not
       so the workspaces of split attention and its output: buffers of floats
       whose dynamic extents derive from those of other floats (the query), never
       from lengths, index arguments or codes, and of which only parts within
       `max-bytes` are used, at positions that induction variables of
       `scf.forall` give. Nor a buffer of static size that is never written: the
       recent window of a cache whose tokens are all quantized.
    3. copies more than `max-bytes`, or a size without a constant bound:
       bufferization copies a cache silently when an old value of it is read
       after an append.

    Functions with the unit attribute `kvq.unfused` are left out: those that
    quantize or dequantize whole tensors, or create caches, because they are
    asked to.

    Numerics: changes nothing.
  }];
  let options = [
    Option<"maxTokens", "max-tokens", "int64_t", /*default=*/"64",
           "Most tokens that a float value derived from codes may span">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"262144",
           "Most bytes of a buffer for a tile: 64 tokens of 1024 channels in f32">
  ];
}

#endif // KVQ_TRANSFORMS_PASSES_TD
