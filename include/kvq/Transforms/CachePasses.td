//===- CachePasses.td - Passes on caches and models --------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_CACHEPASSES_TD
#define KVQ_TRANSFORMS_CACHEPASSES_TD

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
    segments for a cache of keys that `kvq.append` turns; an append that turns what
    attention reads as values;
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

    A function whose `kvq.attention` is over tensors is left alone. Where tiles are so
    small that they cut those of a layout, which then is read row by row, a missed
    remark of category `kvq-assign-schedule` says so.

    Of test/Transforms/assign-schedule.mlir, with `threads=8`, abridged:

    ```mlir
    %o = kvq.attention ins(%q, %k, %v : tensor<1x8x1x128xf32>, !c, !c) … {scale = 1.0 : f32} -> …
    ```
    becomes
    ```mlir
    %o = kvq.attention ins(%q, %k, %v : tensor<1x8x1x128xf32>, !c, !c) …
        {scale = 1.0 : f32, schedule = #kvq.schedule<tile = 32, splits = 8, heads_inside = 0, prefetch = 1>} -> …
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
           "Processor, as LLVM names it, whose entries of the file hold">,
    Option<"queryTile", "query-tile", "int64_t", /*default=*/"1",
           "Query tokens in a work item, as kvq-split-tokens has them (0: by how "
           "many there are)">
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

#endif // KVQ_TRANSFORMS_CACHEPASSES_TD
