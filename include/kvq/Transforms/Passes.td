//===- Passes.td - Passes on the kvq dialect ---------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_PASSES_TD
#define KVQ_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyPolicyPass : Pass<"kvq-apply-policy", "::mlir::ModuleOp"> {
  let summary = "Gives exact caches the types that a policy has for them";
  let description = [{
    Caches of `codes = none` get the format and the exact windows that the
    `#kvq.policy` has for their layer, side and heads. The policy is the
    attribute `kvq.policy` of the module, which is then removed, or that of the
    module in `policy-file`, which holds nothing else. Without a policy the pass
    does nothing.

    One cache is all the values that hold it: before and after appends, through
    loops, branches and calls. Its layer is what the attribute `kvq.layer` of a
    function argument, or of a `kvq.attention`, `kvq.append`, `kvq.reorder` or
    `kvq.empty` on it, says; its side follows from the operand of `kvq.attention`
    that it is, and otherwise from `kvq.side`.

    A cache that gets a recent window travels with its flushed counts, right
    behind it: as an argument, a result, through loops. An append yields the new
    counts. A cache of whose heads the policy makes several ranges becomes a
    cache for each, of keys and values alike, and attention one op for each.

    Of test/Transforms/apply-policy.mlir, abridged:

    ```mlir
    module attributes {kvq.policy = #kvq.policy<
        <side = keys, layers = [3], format = #k, recent = 32>,
        <side = values, format = #v>>} {
      func.func @decode(%x: …, %q: …, %k: !exact {kvq.layer = 3}, %v: !exact {kvq.layer = 3},
                        %n: tensor<1xi64>, %after: tensor<1xi64>, %out: …) -> (…, !exact) {
        %k1 = kvq.append ins(%x : …) lengths(%n : tensor<1xi64>) into(%k : !exact) -> !exact
        %o = kvq.attention ins(%q, %k1, %v : …, !exact, !exact)
            lengths(%after : tensor<1xi64>) outs(%out : …) {scale = 0.125 : f32} -> …
        return %o, %k1 : …, !exact
    ```
    becomes
    ```mlir
      func.func @decode(%x: …, %q: …, %k: !keys {kvq.layer = 3}, %f: tensor<1xi64>, %v: !values {kvq.layer = 3},
                        %n: tensor<1xi64>, %after: tensor<1xi64>, %out: …) -> (…, !keys, tensor<1xi64>) {
        %k1 = kvq.append ins(%x : …) lengths(%n : tensor<1xi64>)
            flushed(%f : tensor<1xi64>) into(%k : !keys) -> !keys
        %f1 = scf.for %b = %c0 to %c1 step %c1 iter_args(%f0 = %f) -> (tensor<1xi64>) {
          …                               // max(%f[%b], f(%n[%b] + new tokens))
        %o = kvq.attention ins(%q, %k1, %v : …, !keys, !values)
            lengths(%after : tensor<1xi64>) key_flushed(%f1 : tensor<1xi64>) outs(%out : …) …
        return %o, %k1, %f1 : …, !keys, tensor<1xi64>
    ```

    Errors: an entry, or a layer that it names, without a cache; a head that a
    cache does not have; a cache without a layer where entries name layers; one
    cache for which the policy has two types (used as keys and as values, or by
    calls for several layers); a type that is not valid; `rope = pre` for caches
    without it, or a format without it for caches of keys that attention turns;
    another op on a cache that would change (it is named); `kvq.truncate` of exact caches where caches
    get a recent window; a policy in the module and in a file.

    Numerics: elements are quantized where they were exact.
  }];
  let options = [
    Option<"policyFile", "policy-file", "std::string", /*default=*/"",
           "File with a module that has the attribute kvq.policy and no ops">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::kvq::KVQDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def FuseDequantizePass : Pass<"kvq-fuse-dequantize"> {
  let summary = "Turns attention over dequantized tensors into attention over "
                "caches";
  let description = [{
    A `kvq.attention` whose keys or values are tensors that a `kvq.dequantize`
    made, or arithmetic that does the same, reads the codes itself afterwards: the
    operand becomes a cache over the packed codes, scales and zeros
    (`kvq.from_components`). Keys and values are handled apart. What dequantized
    them is erased where nothing else reads it.

    Of test/Transforms/fuse-dequantize.mlir, abridged:

    ```mlir
    func.func @both_sides(%q: tensor<1x4x1x64xf32>, %kb: tensor<1x2x?x32xi8>,
        %ks: tensor<1x2x?x2xf16>, …) -> tensor<1x4x1x64xf32> {
      …
      %kc = kvq.unpack #k ins(%kb : tensor<1x2x?x32xi8>) outs(%kc0 : …) -> tensor<1x2x?x64xi8>
      %k = kvq.dequantize #k ins(%kc, %ks : tensor<1x2x?x64xi8>, tensor<1x2x?x2xf16>)
          outs(%k0 : tensor<1x2x?x64xf16>) -> tensor<1x2x?x64xf16>
      …
      %o = kvq.attention ins(%q, %k, %v : …, tensor<1x2x?x64xf16>, tensor<1x2x128x64xf32>) …
    ```
    becomes
    ```mlir
      %k = kvq.from_components %kb, %ks : tensor<1x2x?x32xi8>, tensor<1x2x?x2xf16>
          -> !kvq.cache<1x2x?x64xf16, #k>
      …
      %o = kvq.attention ins(%q, %k, %v : …, !kvq.cache<1x2x?x64xf16, #k>,
                                             !kvq.cache<1x2x128x64xf32, #v>) …
    ```

    One element of the operand is followed back, at an affine function of sequence,
    head, token and channel, through whatever only moves elements: `tensor.cast`,
    `arith.extf` and `arith.truncf`, slices (of tokens, from a border of groups on,
    of heads, sequences, layers, channels that lie unpacked), reshapes, and
    structured ops that copy: transposes, broadcasts. Several axes of a cache may lie
    on one of a tensor, heads and channels on that of a token's row, say. KV heads
    that are repeated for their query heads are read once, where keys and values
    repeat them alike. Where the axes lie in another order than a cache's, the components are transposed
    views of the buffers (`memref.transpose`): nothing is copied. Keys of an
    attention with tables of RoPE become a cache with `rope = pre`.

    Packed codes are those that a `kvq.unpack` reads, or 8-bit codes themselves.

    Arithmetic is (code - point) * scale, code * scale - point * scale or
    code * scale + minimum, in `arith` on tensors or in the bodies of structured ops.
    Codes come from `kvq.unpack` or from bytes, by shifts, masks and extensions (what
    `kvq-decompose-values` makes of integer codes, in any order within a row, is found
    to be such), joined by `tensor.concat` or `tensor.insert_slice` or chosen by the channel's
    number: the bits of each channel are followed one by one, and the layout is the
    one in which they lie so. Unsigned codes less their middle are signed ones with a
    bias. What a scale is read at says which tokens, channels and heads share it;
    one for all tokens is a static one. Integer codes may take all values
    (`bounds = full`).

    With groups of several tokens every token counts as flushed, so there have to
    be whole groups: checked where the number of tokens is static, taken for
    granted where it is not.

    Where it does not fire, a missed remark of category `kvq-fuse-dequantize`
    gives the reason: the codes lie unpacked in memory, another op stands between, a
    slice begins within a group, tokens of two tensors are joined, only one side has
    repeated heads, the token groups of both sides start at different tokens, no
    format has such codes, scales or zeros.

    Numerics: the attention reads the same codes, in f32: the roundings to the
    float types that the dequantized tensors had are left out.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::kvq::KVQDialect",
    "::mlir::memref::MemRefDialect", "::mlir::tensor::TensorDialect"];
}

def AssignLayoutPass : Pass<"kvq-assign-layout", "::mlir::ModuleOp"> {
  let summary = "Chooses the layouts that formats leave open";
  let description = [{
    A cache whose format has `layout = auto` gets the layout that suits the target
    and what it holds. Whether that is keys or values is what `kvq.attention` shows,
    or a label `kvq.side` of the cache says; the values of a module that are one
    cache, over appends, loops, branches and calls, get one type.

    | target | cache | layout |
    |---|---|---|
    | `cpu` | keys with integer codes | `tile = channel_pairs<64>` |
    | | values with integer codes | `tile = token_pairs<64>` |
    | | others: in pages, a ring or segments, with token groups, shared heads or a static range, with `exact_first` tokens, before RoPE; keys and values at once, or neither | `codes = planar` |
    | `gpu` | all | `codes = planar` |

    A passed remark says which layout a cache got, a missed one why it got no tiles.
    A `kvq.truncate`, for which only counts matter, gets planar types.

    Other layouts stay, as they hold on every target. With `spell-out` formats that
    say nothing of a layout get `codes = planar`, what they have been taken for: for
    storage that outlives the program that wrote it.

    Of test/Transforms/assign-layout.mlir, abridged:

    ```mlir
    !open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
    func.func @attend(%q: …, %k: !open, %v: !open, %n: …, %out: …) -> …
    ```
    becomes
    ```mlir
    !keys = !kvq.cache<1x2x?x64xf16, #kvq.format<…, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>>
    !values = !kvq.cache<1x2x?x64xf16, #kvq.format<…, layout = #kvq.layout<codes = planar, tile = token_pairs<64>>>>
    func.func @attend(%q: …, %k: !keys, %v: !values, %n: …, %out: …) -> …
    ```

    Errors: an op that carries such a cache and that the pass does not know.

    Numerics: bit-exact; codes and metadata are the same in every layout.
  }];
  let options = [
    Option<"target", "target", "::mlir::kvq::LayoutTarget",
           /*default=*/"::mlir::kvq::LayoutTarget::CPU",
           "What kernels run on",
           [{::llvm::cl::values(
             clEnumValN(::mlir::kvq::LayoutTarget::CPU, "cpu", "a processor"),
             clEnumValN(::mlir::kvq::LayoutTarget::GPU, "gpu", "a GPU"))}]>,
    Option<"spellOut", "spell-out", "bool", /*default=*/"false",
           "Also write planar layouts where formats say nothing">
  ];
}

def AssignSchedulePass : Pass<"kvq-assign-schedule", "::mlir::ModuleOp"> {
  let summary = "Gives attention a schedule: tiles, splits and prefetches";
  let description = [{
    Fills the fields `tile`, `splits`, `heads_inside` and `prefetch` that the
    `schedule` of a `kvq.attention` does not have, in this order from

    1. the options `tile-tokens`, `splits`, `heads-inside` and `prefetch`, where they
       are given;
    2. the entry of `file` for this op, processor and number of threads: what
       `python -m kvq_mlir tune` has found, `vector_width` included;
    3. the cost model of docs/Pipeline.md, from the bytes and operations of a token,
       the number of work items, and the sizes that the other options give.

    A function whose `kvq.attention` is over tensors is left alone.

    Of test/Transforms/assign-schedule.mlir, with `threads=8`, abridged:

    ```mlir
    %o = kvq.attention ins(%q, %k, %v : tensor<1x8x1x128xf32>, !c, !c) … {scale = 1.0 : f32} -> …
    ```
    becomes
    ```mlir
    %o = kvq.attention ins(%q, %k, %v : tensor<1x8x1x128xf32>, !c, !c) …
        {scale = 1.0 : f32, schedule = #kvq.schedule<tile = 64, splits = 8, heads_inside = 0, prefetch = 1>} -> …
    ```

    Errors: options out of bounds, a file that cannot be read, is none that `tune`
    writes or is of another version of kvq.

    Numerics: as the passes that read schedules: the order of f32 sums.
  }];
  let options = [
    Option<"splits", "splits", "int64_t", /*default=*/"0",
           "Token ranges of a query token (0: by the file or the cost model)">,
    Option<"tileTokens", "tile-tokens", "int64_t", /*default=*/"0",
           "Most tokens in a tile (0: by the file or the cost model)">,
    Option<"headsInside", "heads-inside", "int64_t", /*default=*/"-1",
           "Tokens of which a work item reads all KV heads in turn, 0 for a work "
           "item for each head (-1: by the file or the cost model)">,
    Option<"prefetch", "prefetch", "int64_t", /*default=*/"-1",
           "How many tiles ahead lines are prefetched (-1: by the file or the "
           "cost model)">,
    Option<"threads", "threads", "int64_t", /*default=*/"1",
           "Threads that a call runs on">,
    Option<"vectorWidth", "vector-width", "int64_t", /*default=*/"8",
           "Elements of f32 in a vector register">,
    Option<"l1Bytes", "l1-bytes", "int64_t", /*default=*/"32768",
           "Bytes of a core's first data cache">,
    Option<"l2Bytes", "l2-bytes", "int64_t", /*default=*/"524288",
           "Bytes of a core's second cache">,
    Option<"file", "file", "std::string", /*default=*/"\"\"",
           "Schedules that tune has written">,
    Option<"cpu", "cpu", "std::string", /*default=*/"\"\"",
           "Processor, as LLVM names it, whose entries of the file hold">
  ];
  let dependentDialects = ["::mlir::kvq::KVQDialect"];
}

def OutlineKernelsPass : Pass<"kvq-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Gives equal attention and append ops one kernel";
  let description = [{
    `kvq.attention` and `kvq.append` ops that are equal but for the values of their
    operands become calls of one private function: 32 layers that keep their
    caches alike are compiled once. An op without an equal stays where it is, and so
    does one on slices of tensors, which a call would have to copy. Labels
    of layers and sides (`kvq.layer`, `kvq.side`), which `kvq-apply-policy` has
    read, are dropped. An op that reads a value twice, as latent attention its
    cache, is equal to such ops only.

    Of test/Transforms/outline-kernels.mlir, abridged:

    ```mlir
    %0 = kvq.attention ins(%q0, %k0, %v0 : …) lengths(%n : …) outs(%o : …) {scale = 1.0 : f32} -> …
    %1 = kvq.attention ins(%q1, %k1, %v1 : …) lengths(%n : …) outs(%o : …) {scale = 1.0 : f32} -> …
    ```
    becomes
    ```mlir
    %0 = call @kvq_attention(%q0, %k0, %v0, %n, %o) : …
    %1 = call @kvq_attention(%q1, %k1, %v1, %n, %o) : …
    ```

    Numerics: none.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

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
    most 8192 channels in all (query and accumulator are 32 KB each then); one query
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
           "Query tokens in a work item (0: by how many there are)">
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
    maximum, sum) runs through the parts, one for each pair of regions.

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
    | one token, channels reduced (keys) | partial sums of a channel group times s | z times the group's sum of the other operand |
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
    (rule R38). If it cannot be folded, that is an error. For several rows of the
    query, rows of keys are transposed to pairs of channels of all tokens, in which
    sums are elementwise. Codes of which several
    share a byte of a tile of the layout are contracted plane by plane, as they are
    stored (`packed`); of a query of i8 four channels at a time, with codes that
    count from the least one.

    Numerics: reassociates f32 sums and products with scales and zeros; with
    `kvq.query_codes`, rounds the other operand.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::kvq::KVQDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def SplitSegmentsPass : Pass<"kvq-split-segments", "::mlir::ModuleOp"> {
  let summary = "Makes ops on caches with segments ops on the segments";
  let description = [{
    `kvq.append`, `kvq.reorder` and `kvq.shift` of a cache whose format is
    `#kvq.segments` become one op for each segment, each between
    `kvq.extract_segment` and `kvq.insert_segment`; the tokens that are appended
    are sliced. Rows of all segments are moved once. Attention reads segments
    already (`kvq-decompose-attention`), and `kvq-expand-caches` gives a segmented
    cache the components of its segments.

    Of test/Transforms/split-segments.mlir, abridged:

    ```mlir
    %r = kvq.append ins(%x : tensor<1x1x?x576xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
    ```
    becomes
    ```mlir
    %part0 = kvq.extract_segment %c[0] : !c -> !latent
    %x0 = tensor.extract_slice %x[0, 0, 0, 0] [1, 1, %t, 512] [1, 1, 1, 1] : … to tensor<1x1x?x512xf16>
    %0 = kvq.append ins(%x0 : tensor<1x1x?x512xf16>) lengths(%n : tensor<1xi64>) into(%part0 : !latent) -> !latent
    %c0 = kvq.insert_segment %0 into %c[0] : !latent into !c
    %part1 = kvq.extract_segment %c0[1] : !c -> !rope
    %x1 = tensor.extract_slice %x[0, 0, 0, 512] [1, 1, %t, 64] [1, 1, 1, 1] : … to tensor<1x1x?x64xf16>
    %1 = kvq.append ins(%x1 : tensor<1x1x?x64xf16>) lengths(%n : tensor<1xi64>) into(%part1 : !rope) -> !rope
    %r = kvq.insert_segment %1 into %c0[1] : !rope into !c
    ```

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::kvq::KVQDialect", "::mlir::tensor::TensorDialect"];
}

def ExpandCachesPass : Pass<"kvq-expand-caches", "::mlir::ModuleOp"> {
  let summary = "Replaces caches by the tensors that they are stored in";
  let description = [{
    Every value of type `!kvq.cache` becomes one tensor per storage component,
    through functions, calls and structured control flow; `kvq.empty`,
    `kvq.append`, `kvq.reorder`, `kvq.shift`, `kvq.load_tile` and `kvq.load_given`
    become tensor ops on the components, and `kvq.truncate` arithmetic on the
    counts. Any other op that still carries a cache is an error naming it.
    Attributes of an argument or a result hold for each of its components.

    Of test/Transforms/expand-caches.mlir:

    ```mlir
    !c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = ui8, group = [1, 32], scale = f16, zero = min f16>>

    func.func @load_bytes(%c: !c, %b: index, %h: index, %lo: index, %hi: index)
        -> (tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>) {
      %0:3 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64}
          : !c -> tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
      return %0#0, %0#1, %0#2 : tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
    }
    ```
    becomes
    ```mlir
    func.func @load_bytes(%codes: tensor<1x2x?x64xi8>, %scales: tensor<1x2x?x2xf16>,
                          %zeros: tensor<1x2x?x2xf16>, %b: index, %h: index,
                          %lo: index, %hi: index)
        -> (tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>) {
      %n = arith.subi %hi, %lo : index
      %c = tensor.extract_slice %codes[%b, %h, %lo, 0] [1, 1, %n, 64] [1, 1, 1, 1]
          : tensor<1x2x?x64xi8> to tensor<?x64xi8>
      %s = tensor.extract_slice %scales[%b, %h, %lo, 0] [1, 1, %n, 2] [1, 1, 1, 1]
          : tensor<1x2x?x2xf16> to tensor<?x2xf16>
      %z = tensor.extract_slice %zeros[%b, %h, %lo, 0] [1, 1, %n, 2] [1, 1, 1, 1]
          : tensor<1x2x?x2xf16> to tensor<?x2xf16>
      return %c, %s, %z : tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
    }
    ```

    Codes of fewer than 8 bits go through `kvq.unpack` into scratch, tokens of the
    recent window are gathered into scratch; with `tile` it has a static size. So
    are tiles of a paged cache that may span pages (without `within_page`): what lies in each page is a
    slice of the pool, which is unpacked or copied into the tile. Where groups of
    several tokens keep a tile within a page, nothing is copied.

    An append is one `kvq.forall` over sequences and heads, whose items have three
    steps (test/Transforms/expand-caches-append.mlir): new tokens that belong to the
    exact first ones are stored there; token groups that leave the recent window
    are gathered, old tokens from the ring and new ones from the input,
    quantized, packed and stored; the rest goes into the ring. With a page table,
    the page of each group is read from it. Where tokens stand by themselves
    (neither a window nor a ring, no counts of saturated elements) each 16 of a
    sequence (64 of an exact cache) are an item, an append of their own. Tokens with slots are a loop over
    tokens and heads instead. An append reads and
    writes the same rows of a component, so that it bufferizes in place.
    Reordering and shifting are items for each sequence and head, truncating one for
    each sequence.

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def ForwardCopiesPass : Pass<"kvq-forward-copies"> {
  let summary = "Reads what is copied where it was";
  let description = [{
    A structured op that reads the result of a `linalg.copy` on tensors reads its
    input instead, so that nothing is copied where nothing else needs the result.
    Codes of 8 bits in records are read where they lie among scales.

    Of test/Transforms/forward-copies.mlir, abridged:

    ```mlir
    %codes = tensor.extract_slice %records[0, 0, 2] [%n, 4, 32] [1, 1, 1] : tensor<?x4x34xi8> to tensor<?x4x32xi8>
    %copy = linalg.copy ins(%codes : tensor<?x4x32xi8>) outs(%scratch : tensor<?x4x32xi8>) -> tensor<?x4x32xi8>
    %sums = linalg.generic … ins(%q, %copy : tensor<4x4x32xf32>, tensor<?x4x32xi8>) outs(…) { … }
    ```
    becomes
    ```mlir
    %codes = tensor.extract_slice %records[0, 0, 2] [%n, 4, 32] [1, 1, 1] : tensor<?x4x34xi8> to tensor<?x4x32xi8>
    %sums = linalg.generic … ins(%q, %codes : tensor<4x4x32xf32>, tensor<?x4x32xi8>) outs(…) { … }
    ```

    Numerics: changes nothing.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def DecomposeValuesPass : Pass<"kvq-decompose-values"> {
  let summary = "Decomposes quantize, dequantize, pack and unpack into "
                "structured ops";
  let description = [{
    The value-level ops become `linalg` ops on tensors whose bodies hold the
    format's own arithmetic (`AggregatedOpInterface`). After it no op of the kvq
    dialect is left that computes.

    - `kvq.quantize`: one reduction of each group to the statistics of its range,
      one op from these to scales and zeros, one from values to codes. Groups are
      an axis of their own (`tensor.expand_shape`). Sums over a group (ranges
      `rms`, `norm` and `search`) are trees: an op for each level, which adds
      neighbours. Ranges to choose from (`search`) are a loop that keeps the
      metadata of the best one. Where either is needed, loops over rows of groups
      come first, so that scratch is that of one row.
    - `kvq.dequantize`: one op; with several tokens in a group, one more for the
      tokens of a last group that is only partly there.
    - `kvq.pack`: one op, which reads each plane of a row as an input;
      `kvq.unpack`: one op a plane. With 8 bits both are a copy.

    Of test/Transforms/decompose-values.mlir, abridged: one of the four planes of
    2-bit codes.

    ```mlir
    %r = kvq.unpack #f ins(%b : tensor<?x16xi8>) outs(%c : tensor<?x64xi8>) -> tensor<?x64xi8>
    ```
    becomes
    ```mlir
    …
    %place = tensor.extract_slice %0[0, 16] [%n, 16] [1, 1] : tensor<?x64xi8> to tensor<?x16xi8>
    %plane = linalg.generic … ins(%b : tensor<?x16xi8>) outs(%place : tensor<?x16xi8>) {
    ^bb0(%in: i8, %out: i8):
      %4 = arith.shrui %in, %c2_i8 : i8
      %5 = arith.andi %4, %c3_i8 : i8
      %6 = arith.xori %5, %c2_i8 : i8
      %7 = arith.subi %6, %c2_i8 : i8
      linalg.yield %7 : i8
    } -> tensor<?x16xi8>
    %1 = tensor.insert_slice %plane into %0[0, 16] [%n, 16] [1, 1] : … into tensor<?x64xi8>
    …
    ```

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"];
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

    Of test/Transforms/drop-returned-arguments.mlir, abridged:

    ```mlir
    func.func private @private(%a: memref<?xf32>) -> memref<?xf32> {
      return %a : memref<?xf32>
    }
    …
      %0 = call @private(%a) : (memref<?xf32>) -> memref<?xf32>
      %1 = memref.load %0[%i] : memref<?xf32>
    ```
    becomes
    ```mlir
    func.func private @private(%a: memref<?xf32>) {
      return
    }
    …
      call @private(%a) : (memref<?xf32>) -> ()
      %1 = memref.load %a[%i] : memref<?xf32>
    ```

    Numerics: changes nothing.
  }];
}

def HoistScratchPass : InterfacePass<"kvq-hoist-scratch",
                                     "FunctionOpInterface"> {
  let summary = "Moves stack buffers out of sequential control flow";
  let description = [{
    Each `memref.alloca` of static size moves to the start of the closest
    enclosing function, parallel loop body or `omp.parallel`. Inside a sequential
    loop it would take new stack in every iteration once the loop is lowered to
    branches. What a buffer holds when it is allocated is unspecified, so
    iterations can share it: the ones of a thread, where `omp.wsloop` deals them
    out. What lies under an op that is no structured control flow stays within it.

    Of test/Transforms/hoist-scratch.mlir, abridged:

    ```mlir
    func.func @sequential(%n: index, %p: i1) {
      …
      scf.for %i = %c0 to %n step %c1 {
        %a = memref.alloca() : memref<4xf32>
        scf.if %p {
          scf.for %j = %c0 to %n step %c1 {
            %b = memref.alloca() : memref<8xf32>
            "test.use"(%a, %b) : (memref<4xf32>, memref<8xf32>) -> ()
    ```
    becomes
    ```mlir
    func.func @sequential(%n: index, %p: i1) {
      %a = memref.alloca() : memref<4xf32>
      %b = memref.alloca() : memref<8xf32>
      …
      scf.for %i = %c0 to %n step %c1 {
        scf.if %p {
          scf.for %j = %c0 to %n step %c1 {
            "test.use"(%a, %b) : (memref<4xf32>, memref<8xf32>) -> ()
    ```

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

    Of test/Transforms/verify-fused-invalid.mlir: it changes no IR, and says

    ```mlir
    // error: 'kvq.dequantize' op makes float values from the codes of 128 tokens
    // at once, expected at most a tile of 64
    %x = kvq.dequantize #f ins(%codes, %scales : tensor<1x4x32x64xi8>, tensor<1x4x32x1xf32>)
        outs(%init : tensor<1x4x32x64xf32>) -> tensor<1x4x32x64xf32>
    ```

    Numerics: changes nothing.
  }];
  let options = [
    Option<"maxTokens", "max-tokens", "int64_t", /*default=*/"64",
           "Most tokens that a float value derived from codes may span">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"262144",
           "Most bytes of a buffer for a tile: 64 tokens of 1024 channels in f32">
  ];
}

def ReportFootprintPass : Pass<"kvq-report-footprint", "::mlir::ModuleOp"> {
  let summary = "Reports the bytes of caches, temporaries and kernel launches";
  let description = [{
    For each function, and each cache that it takes or makes (arguments,
    `kvq.empty`, `kvq.from_components`), an analysis remark of category
    `kvq-report-footprint` gives the bytes of its storage, split by component.
    They are the bytes that are allocated: both come from the one list of
    components that the type has. With `output` the same goes to the standard
    error stream, as a table or as JSON.

    ```mlir
    #k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
    func.func @keys(%k: !kvq.cache<1x8x?x128xf16, #k, recent = 32>) {
      return
    }
    ```
    With `output=table capacity=4096`:
    ```
    footprint of @keys
      %arg0: !kvq.cache<1x8x?x128xf16, #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>, recent = 32>
        bytes            4096 tokens             fixed         per token
        codes                2080768                 0               512
        scales                260096                 0                64
        zeros                 260096                 0                64
        recent                129024            129024                 0
        padding                    0                 0                 0
        total                2729984            129024               640
        alignment                  0
    ```

    - A capacity that the type leaves open comes from `capacity`. Without it only
      the other two columns are known.
    - `fixed` is what storage for no tokens takes: the exact windows.
    - `per token` is what each further token adds, averaged over a token group.
    - `page_tails`, of paged caches alone, are the rows of each sequence's last page
      that hold no token; no page counts as shared.
    - `padding` is what no code fills at the end of rows; `alignment`, beside the
      total, is what is left unused between components that lie one after the
      other in one block of memory.

    Once buffers are there (from one-shot bufferization to the conversion to LLVM)
    caches are arguments like any others, and the second part of the report
    begins to hold something: the sum of what a function allocates for itself.
    Temporaries of a call are allocated once, such as the workspace of token
    splits, which grows with the query tokens; those of a work item once for each
    iteration of a parallel loop or workgroup of a kernel that runs at a time.
    Each op that allocates counts once, whether or not their lifetimes overlap.
    Launches of kernels are counted too.

    ```
    footprint of @decode
      temporaries of a call: 66560 bytes x dim(%arg0, 2)
      temporaries of a work item: 46800 bytes
      kernel launches: 2
    ```

    Errors: a negative capacity, a cache of 2^63 bytes or more. A buffer whose
    size is not known (a layout, elements without a size) is left out with a
    warning.

    Numerics: changes nothing.
  }];
  let options = [
    Option<"output", "output", "::mlir::kvq::FootprintOutput",
           /*default=*/"::mlir::kvq::FootprintOutput::None",
           "What to print beside remarks",
           [{::llvm::cl::values(
             clEnumValN(::mlir::kvq::FootprintOutput::None, "none", "nothing"),
             clEnumValN(::mlir::kvq::FootprintOutput::Table, "table",
                        "a table for each function"),
             clEnumValN(::mlir::kvq::FootprintOutput::JSON, "json",
                        "a JSON array of the functions"))}]>,
    Option<"capacity", "capacity", "int64_t", /*default=*/"-1",
           "Tokens of caches whose type leaves their capacity open (-1: not "
           "known)">
  ];
}

#endif // KVQ_TRANSFORMS_PASSES_TD
