//===- AttentionPasses.td - Passes on attention ------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_ATTENTIONPASSES_TD
#define KVQ_TRANSFORMS_ATTENTIONPASSES_TD

include "mlir/Pass/PassBase.td"

def SplitTokensPass : Pass<"kvq-split-tokens"> {
  let summary = "Splits attention into work items over sequence, query token, "
                "KV head and token range";
  let description = [{
    Rewrites `kvq.attention` to an `scf.forall` over (sequence, KV head, query
    token), each item one `kvq.partial_attention` over each range of tokens that its
    query sees, with the query heads of its KV head as rows: without a window or a
    ring there is one range, with them one more for the first tokens that stay
    visible (and, with both, one between), one after the other in a loop. Rows are multiplied by scale * log2(e)
    first, and divided by the sum of their probabilities last; a row that saw no
    token gives 0. Sinks are the state that items start from, or that their splits
    are merged into.

    Of more than 64 query heads to a KV head, the most that divide them are in an
    item.

    With more than one split (flash decoding) the items are those of (sequence,
    KV head, query token, split). Their states go to a workspace, and a second
    `scf.forall` merges them in order by `kvq.merge_partials`. A split holds
    ceil(tokens / splits) tokens, so that borders depend on nothing else.

    With `heads_inside = T` in the op's `schedule`, and one query token in an item, the
    items are those of (sequence, query token) alone: a loop over T tokens at a time, and in it one over the KV
    heads, each of which takes up the rows of the state that are its query heads'.
    So what lies together in `token_major` caches is read together.

    With `query-tile` = n items have n query tokens that follow each other, and
    their rows are the n tokens of the first query head, then those of the next: they
    share each tile of the caches. A range is then what the first or the last of them
    sees, and `kvq.partial_attention` hides, by where a row's query stands, what
    causality (`causal`) or the window (`window`) keeps from it. In the last item rows
    may be padding: zeros, of which nothing is stored. 0 chooses n for a static number
    of query tokens: the power of two with the least work, padding included, where an
    item costs as much as 4 rows beside its own, with at most 64 rows and rows of at
    most `row-channels` channels in all (of 8192 query and accumulator are 32 KB each); one query
    token for a dynamic number, as decoding has it
    (test/Transforms/split-query-tokens.mlir).

    The op's `schedule` goes before the option. Its tile becomes that of
    `kvq.partial_attention`, its vector width and prefetch distance the function's
    attribute `kvq.schedule`.

    Of test/Transforms/split-tokens.mlir, abridged:

    ```mlir
    %r = kvq.attention ins(%q, %k, %v : tensor<2x32x3x128xf32>, !kc, !vc)
        lengths(%n : tensor<2xi64>) outs(%out : tensor<2x32x3x64xf32>)
        {scale = 0.125 : f32, causal} -> tensor<2x32x3x64xf32>
    ```
    becomes, with one split,
    ```mlir
    %r = scf.forall (%b, %h, %i) in (2, 8, 3) shared_outs(%o = %out) -> … {
      …                                 // %end: the tokens that query token %i sees
      %slice = tensor.extract_slice %q[%b, %row, %i, 0] [1, 4, 1, 128] …
      %rows = linalg.generic … ins(%slice : tensor<4x128xf32>) …  // * 0.125 log2(e)
      %acc, %max, %sum = kvq.partial_attention ins(%rows, %k, %v : tensor<4x128xf32>, !kc, !vc)
          at [%b, %h] tokens [%c0 to %end] flushed [%kf, %vf]
          outs(%zeros, %lowest, %zero : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) -> …
      %result = linalg.generic … ins(%acc, %sum : …) …            // acc / sum
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %result into %o[%b, %row, %i, 0] [1, 4, 1, 64] …
      }
    } {mapping = [#kvq.work_item<0>, #kvq.work_item<1>, #kvq.work_item<2>]}
    ```

    Errors: attention over a float tensor, which has no lowering of its own;
    fewer than one split; fewer than 0 or more than 4096 query tokens in an item; a
    cache whose layout is open (`layout = auto`); schedules of one function with
    different vector widths or prefetch distances.

    Numerics: reassociates f32 sums over tokens; the same numbers of splits and of
    query tokens in an item give the same bits.
  }];
  let options = [
    Option<"splits", "splits", "int64_t", /*default=*/"1",
           "Token ranges of a query token, attended to independently">,
    Option<"queryTile", "query-tile", "int64_t", /*default=*/"1",
           "Query tokens in a work item (0: by how many there are)">,
    Option<"rowChannels", "row-channels", "int64_t", /*default=*/"8192",
           "Most channels of all rows of a work item, with query-tile=0 (of one "
           "query token as many as there are)">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
}

def SplitRegionsPass : Pass<"kvq-split-regions"> {
  let summary = "Splits partial attention by the storage regions of its tokens";
  let description = [{
    Splits each `kvq.partial_attention` by the regions that its tokens lie in: exact
    first tokens, codes, recent window; of keys and of values. The state (accumulator,
    maximum, sum) runs through the parts, one for each pair of regions that may have
    tokens in common: first tokens of one side are none of those behind as many of the
    other.

    Of test/Transforms/tile-attention.mlir, abridged: keys have 4 exact first
    tokens, groups of 32 tokens and a recent window, values have codes alone.

    ```mlir
    %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
        at [%c0, %h] tokens [%lo to %hi] flushed [%kf, %vf]
        outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) -> …
    ```
    becomes
    ```mlir
    %1:3 = kvq.partial_attention … tokens [%lo to %first] … outs(%acc, %max, %sum : …)
        {key_region = #kvq.region<first>, value_region = #kvq.region<codes>} -> …
    %2:3 = kvq.partial_attention … tokens [%first to %codes] … outs(%1#0, %1#1, %1#2 : …)
        {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>} -> …
    %r:3 = kvq.partial_attention … tokens [%codes to %hi] … outs(%2#0, %2#1, %2#2 : …)
        {key_region = #kvq.region<recent>, value_region = #kvq.region<codes>} -> …
    ```

    What acts before quantization is taken over here, once for all tiles: for codes
    of keys the query is rotated (`kvq.rotate`), and its product with the mean is
    the bias of the scores. Parts whose values are codes with a rotation or a mean
    have a state of their own; its accumulator is rotated back, the mean is added
    for the sum of probabilities, and then it is merged (`kvq.merge_partials`).

    Numerics: reassociates f32 sums over tokens.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"];
}

def TileAttentionPass : Pass<"kvq-tile-attention"> {
  let summary = "Tiles partial attention over tokens, within storage regions";
  let description = [{
    Tiles each `kvq.partial_attention` of `kvq-split-regions` by token tiles that start
    at multiples of the token group, through the op's `TilingInterface`. With token
    groups of several tokens the tile is
    cut to a divisor of all of them, so that one row of metadata serves a whole
    tile. Where a tile divides the pages of paged caches it starts at their borders
    (`within_pages`), so that nothing has to be copied together. A `tile` that the
    op has, from a schedule, goes before the option.

    Of test/Transforms/tile-attention.mlir, abridged:

    ```mlir
    %r:3 = kvq.partial_attention … tokens [%lo to %hi] … outs(%acc, %max, %sum : …)
        {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>} -> …
    ```
    becomes
    ```mlir
    %r:3 = scf.for %t = %c0 to … step %c32 iter_args(%a = %acc, …) -> … {
      %1:3 = kvq.partial_attention … outs(%a, %m, %s : …)
          {key_region = #kvq.region<codes>, tile = 32 : i64, value_region = #kvq.region<codes>} -> …
      scf.yield %1#0, %1#1, %1#2 : …
    }
    ```

    Errors: tiles of fewer than one token; an op without regions.

    Numerics: reassociates f32 sums over tokens.
  }];
  let options = [
    Option<"tileTokens", "tile-tokens", "int64_t", /*default=*/"64",
           "Most tokens in a tile">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::kvq::KVQDialect", "::mlir::scf::SCFDialect"];
}

def DecomposeAttentionPass : Pass<"kvq-decompose-attention"> {
  let summary = "Decomposes tiled attention into loads, dequantization, "
                "contractions and online softmax";
  let description = [{
    A tiled `kvq.partial_attention` becomes `kvq.load_tile`, `kvq.dequantize`, a
    contraction with the query, the online softmax, and a contraction with the
    values, all on tile-sized tensors (`linalg.generic`). A tile has a dynamic
    number of tokens: it is a slice of a `tensor.empty` of the bound's size, so
    that scratch has a static size. Exact tokens are not dequantized; the body of
    the contraction widens them. `kvq.merge_partials` is decomposed alike.
    Keys before RoPE are turned in between, by rows of the tables: the first and
    the second channels of pairs, and those that stay as they are, are tensors of
    their own with a contraction each.

    Of test/Transforms/decompose-attention.mlir, abridged:

    ```mlir
    %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
        at [%b, %h] tokens [%lo to %hi] flushed [%kf, %vf]
        outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
        {key_region = #kvq.region<codes>, tile = 32 : i64,
         value_region = #kvq.region<codes>} -> …
    ```
    becomes
    ```mlir
    %n = affine.apply affine_map<()[s0, s1] -> (-s0 + s1)>()[%lo, %hi]
    %kt:3 = kvq.load_tile %k <codes> at [%b, %h] tokens [%lo to %hi] {tile = 32 : i64}
        : !kc -> tensor<?x128xi8>, tensor<1x128xf16>, tensor<1x128xf16>
    %0 = tensor.empty() : tensor<32x128xf32>
    %1 = tensor.extract_slice %0[0, 0] [%n, 128] [1, 1] : … to tensor<?x128xf32>
    %keys = kvq.dequantize #format ins(%kt#0, %kt#1, %kt#2 : …) outs(%1 : …) -> tensor<?x128xf32>
    …
    %scores = linalg.generic … ins(%q, %keys : …) outs(%zeros : tensor<4x?xf32>) …
    %tile_max = linalg.generic … ins(%scores : …) outs(%lowest : tensor<4xf32>) …
    // exp2(max - max'), max', and the sum that the first of them weighs
    %state:3 = linalg.generic … ins(%tile_max : …) outs(%weight0, %max, %sum : …) …
    %acc1 = linalg.generic … ins(%state#0 : …) outs(%acc : tensor<4x64xf32>) …
    %p = linalg.generic … ins(%state#1 : …) outs(%scores : tensor<4x?xf32>) …
    %sum1 = linalg.generic … ins(%p : …) outs(%state#2 : tensor<4xf32>) …
    %vt:2 = kvq.load_tile %v <codes> at [%b, %h] tokens [%lo to %hi] {tile = 32 : i64}
        : !vc -> tensor<?x64xi8>, tensor<?x2xf16>
    %values = kvq.dequantize #format1 ins(%vt#0, %vt#1 : …) outs(…) -> tensor<?x64xf32>
    %acc2 = linalg.generic … ins(%p, %values : …) outs(%acc1 : tensor<4x64xf32>) …
    // results: %acc2, %state#1, %sum1
    ```

    Work items of at least `dequantize-rows` rows have their rows side by side: the
    query is transposed, once before the loops over tiles, and with it scores and
    probabilities are `tokens x rows`. So rows fill the lanes of vectors, and no sum is
    taken over lanes. A tile is widened to f32 then as it is loaded, exact tokens too,
    and `kvq-fold-scales` leaves it: what it costs is shared by all rows, where scales
    and codes in a contraction cost something for each of them. Items with
    `query_codes` stay as they are.

    Errors: a `kvq.partial_attention` without tile bound and regions.

    Numerics: as the ops define; products and sums of attention may be contracted
    to multiply-adds (`fastmath<contract>`).
  }];
  let options = [
    Option<"dequantizeRows", "dequantize-rows", "int64_t", /*default=*/"0",
           "Least rows of a work item whose tiles become f32 once for all rows (0: "
           "none)">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"];
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
    | one token, channels reduced (keys) | partial sums of a channel group times s; with `lanes`, of several groups each code times s | z times the group's sum of the other operand |
    | several tokens, channels reduced (keys) | other operand times s, per tile | sum of other operand times z |
    | one token, tokens reduced (values) | other operand times s, per channel group | sum of other operand times z |
    | several tokens, tokens reduced (values) | tile's sum times s | z times the sum of the other operand |

    A static range is that of all tokens, and goes where one of several tokens
    does. Of a two-level scale the outer one goes into the other operand, and the
    stored one where the table says.

    z is the group's offset, as the format gives it: a real minimum, or minus the
    zero point times the scale.

    The tile has to lie within one group where groups span several tokens (one
    row of scales), and to be a slice of storage of static size, as does the
    number of rows; other contractions stay as they are, among them those with
    keys that RoPE turns as they are read. A `kvq.dequantize` that
    nothing reads any more is erased.

    Of test/Transforms/fold-scales.mlir, abridged: keys in groups of 32 tokens,
    with a zero.

    ```mlir
    %x = kvq.dequantize #channel_zero ins(%c, %s, %z : …) outs(%tile : …) -> tensor<?x64xf32>
    %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>)
        outs(%out : tensor<4x?xf32>) { … } -> tensor<4x?xf32>
    ```
    becomes
    ```mlir
    %sr = tensor.collapse_shape %s [[0, 1]] : tensor<1x64xf16> into tensor<64xf16>
    %qs = linalg.generic … ins(%q, %sr : tensor<4x64xf32>, tensor<64xf16>) …   // q * s
    %dots = linalg.generic … ins(%qs, %c : tensor<4x64xf32>, tensor<?x64xi8>)
        outs(%out : tensor<4x?xf32>) {
    ^bb0(%in: f32, %in_1: i8, %o: f32):
      %0 = arith.uitofp %in_1 : i8 to f32
      %1 = arith.mulf %in, %0 fastmath<contract> : f32
      %2 = arith.addf %o, %1 fastmath<contract> : f32
      linalg.yield %2 : f32
    } -> tensor<4x?xf32>
    %zr = tensor.collapse_shape %z [[0, 1]] : tensor<1x64xf16> into tensor<64xf16>
    %qz = linalg.generic … ins(%q, %zr : tensor<4x64xf32>, tensor<64xf16>) …   // sum of q * z
    %r = linalg.generic … ins(%qz : tensor<4xf32>) outs(%dots : tensor<4x?xf32>) …
    ```

    A contraction with `kvq.query_codes`, which `kvq-decompose-attention` gives it
    where attention has `query_codes`, becomes a sum of products of integers times
    scales: the other operand, times the scales that go into it, is made integers
    (rule R38). If it cannot be folded, that is an error. With `lanes`, for several
    rows of the query, rows of keys are transposed to pairs of channels of all tokens
    of a tile, in which sums are elementwise; what is no token of it is scratch that
    nobody has written, and gives scores that nothing reads. Of a query of i8 four
    channels are multiplied at a time, with codes that count from the least one.

    Codes of which several share a byte of a tile of the layout are contracted as they
    are stored (`packed`): with integers plane by plane, with f32 all planes side by
    side, each in a unit of its own, so that none is shifted.

    Numerics: reassociates f32 sums and products with scales and zeros; with
    `kvq.query_codes`, rounds the other operand.
  }];
  let options = [
    Option<"lanes", "lanes", "bool", /*default=*/"true",
           "Lanes of a vector sum over channels, as a processor's do, and not "
           "threads of their own: fewer sums pay for more products">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::kvq::KVQDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

#endif // KVQ_TRANSFORMS_ATTENTIONPASSES_TD
