//===- KVQTileOps.td - Ops on tiles of tokens --------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQTILEOPS_TD
#define KVQ_IR_KVQTILEOPS_TD

include "kvq/IR/KVQOpBase.td"

def KVQ_PartialAttentionOp : KVQ_Op<"partial_attention", [
    Pure, AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<TilingInterface, [
      "getIterationDomain", "getLoopIteratorTypes", "getTiledImplementation",
      "getResultTilePosition"]>,
    DeclareOpInterfaceMethods<PartialReductionOpInterface, [
      "generateInitialTensorForPartialReduction", "tileToPartialReduction",
      "mergeReductions", "getPartialResultTilePosition"]>]> {
  let summary = "online softmax over a token range of one sequence and KV head";
  let description = [{
    Folds the tokens `[begin, end)` of sequence `batch`, KV head `head`, into a
    running accumulator, maximum and sum:

    ```
    s[r, t] = sum_c query[r, c] k[t, c]
    max'[r] = max(max[r], max_t s[r, t])
    p[r, t] = exp2(s[r, t] - max'[r])
    sum'[r] = sum[r] exp2(max[r] - max'[r]) + sum_t p[r, t]
    acc'[r, c] = acc[r, c] exp2(max[r] - max'[r]) + sum_t p[r, t] v[t, c]
    ```

    `query: rows x head_dim` (f32) is already multiplied by scale * log2(e), so
    scores are in the log2 domain. The identity is acc 0, max -inf, sum 0; an
    empty range changes nothing.

    Where tables of RoPE are given, k[t] is the key of token t turned by row t of
    them, as in `kvq.attention`.

    Rows are those of `query_tokens` = n query tokens that follow each other, for
    each query head one after the other: row r is token r mod n of its head, at
    P[r] = `position` + r mod n.

    What may be done to a score s[r, t], in this order: `bias[r]` is added;
    `softcap` c makes it c tanh(s / c), both in the log2 domain;
    `slopes[r] * (t - P[r])` is added, slopes in the log2 domain; and the element of
    `mask`, `heads x query tokens x tokens` or with 1 for all heads, t a token of the
    sequence: a float of the natural domain, or an i8 that is 0 for a token to hide. The
    mask may have fewer query tokens: the rows of the others are padding. With `causal`
    tokens t > P[r] are hidden, with `window = W` those t <= P[r] - W from `window_first`
    on (0 without). A token that is hidden or whose score is -inf contributes nothing, whatever it holds.

    With `value_channels = [begin, end]` values are these channels of a value
    row, and acc has as many.

    `flushed` are the sequence's quantized token counts, of keys and of values;
    `key_pages` and `value_pages` the page tables of paged caches. `key_region`
    and `value_region` name the region that all tokens of the range
    lie in, as `kvq-split-regions` sets them. `tile` is what a schedule asks for, until
    `kvq-tile-attention` sets what bounds the range's extent;
    `kvq-decompose-attention` needs all three. With regions, keys and values are as they
    are stored there: of a format with a rotation or a mean, codes stand for rotated
    and centred tokens, and query, bias and accumulator are such that this comes to
    the same.

    The tiling domain is the token range, a reduction. Where a region of the range
    is codes with several tokens in a group, it begins at the last group border
    before `begin`, so that tiles of whole groups, or of a divisor of them, hold
    no part of a second group; the range of a tile is clipped to the op's. With
    `within_pages` it begins at a border of pages, or of the tiles of codes that lie
    in tiles, too, so that tiles of the range that divide these lie within one each.
    Partial reduction (`PartialReductionOuterParallel` only) attends to each
    token range from the identity and merges the states by
    `kvq.merge_partials`.

    `query_codes` is that of `kvq.attention`.

    Errors: a query that is not a static `rows x head_dim` of f32 with the keys'
    head_dim; keys and values of different batch or KV heads; `acc` other than
    `rows x channels` of the values; `max`, `sum`, `bias`, `slopes` or `mask` for
    other rows; a number of query tokens that does not divide the rows; a window of
    fewer than one token; `window_first` below 0 or without a window; a position missing for slopes, `causal` or `window`, or given
    without them; `value_channels` that `kvq.attention` would refuse; results of other types than the initial state; one region without
    the other; a tile of fewer than one token; a page table missing for a paged
    cache or given for another; `within_pages` without codes that lie in pages;
    `query_codes` that `kvq.attention` would not take for these caches;
    tables that `kvq.attention` would not take for these keys; a cache whose layout
    is open (`layout = auto`).
  }];
  let arguments = (ins
    KVQ_FloatTensor:$query,
    KVQ_CacheType:$key,
    KVQ_CacheType:$value,
    Index:$batch,
    Index:$head,
    Index:$begin,
    Index:$end,
    Index:$keyFlushed,
    Index:$valueFlushed,
    Optional<KVQ_PageTable>:$keyPages,
    Optional<KVQ_PageTable>:$valuePages,
    2DTensorOf<[F32]>:$acc,
    1DTensorOf<[F32]>:$max,
    1DTensorOf<[F32]>:$sum,
    Optional<1DTensorOf<[F32]>>:$bias,
    Optional<1DTensorOf<[F32]>>:$slopes,
    Optional<Index>:$position,
    Optional<KVQ_MaskTensor>:$mask,
    Optional<KVQ_RopeTable>:$cos,
    Optional<KVQ_RopeTable>:$sin,
    OptionalAttr<F32Attr>:$softcap,
    OptionalAttr<DenseI64ArrayAttr>:$value_channels,
    OptionalAttr<KVQ_RopeStyleAttr>:$rope_style,
    DefaultValuedAttr<I64Attr, "1">:$query_tokens,
    UnitAttr:$causal,
    OptionalAttr<I64Attr>:$window,
    OptionalAttr<I64Attr>:$window_first,
    OptionalAttr<KVQ_TokenRegionAttr>:$key_region,
    OptionalAttr<KVQ_TokenRegionAttr>:$value_region,
    OptionalAttr<I64Attr>:$tile,
    UnitAttr:$within_pages,
    OptionalAttr<TypeAttr>:$query_codes);
  let results = (outs
    2DTensorOf<[F32]>:$accResult,
    1DTensorOf<[F32]>:$maxResult,
    1DTensorOf<[F32]>:$sumResult);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:`
      type($query) `,` type($key) `,` type($value) `)`
    `at` `[` $batch `,` $head `]` `tokens` `[` $begin `to` $end `]`
    `flushed` `[` $keyFlushed `,` $valueFlushed `]`
    (`key_pages` `(` $keyPages^ `:` type($keyPages) `)`)?
    (`value_pages` `(` $valuePages^ `:` type($valuePages) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`slopes` `(` $slopes^ `:` type($slopes) `)`)?
    (`position` `[` $position^ `]`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`rope` `(` $cos^ `,` $sin `:` type($cos) `,` type($sin) `)`)?
    `outs` `(` $acc `,` $max `,` $sum `:`
      type($acc) `,` type($max) `,` type($sum) `)`
    attr-dict `->` type($accResult) `,` type($maxResult) `,` type($sumResult)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
    /// Whether rows see tokens of the range or not by where they stand.
    bool hidesByPosition() { return getCausal() || getWindow(); }
    /// Whether some tokens may be hidden from some rows.
    bool hidesTokens() { return hidesByPosition() || getMask(); }
  }];
}

def KVQ_BlockAttentionOp : KVQ_Op<"block_attention", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "attention over a token range by all threads of a block at once";
  let description = [{
    What `kvq.partial_attention` with regions computes, by the tensor cores of a GPU:
    `convert-kvq-to-gpu` makes it the code that the threads of a block run together,
    each of its warps over a part of the tokens, in steps whose codes it copies to
    workgroup memory ahead of time. `kvq-map-to-tensor-cores` makes it where
    it supports the formats.

    `keys` and `values` are one cache of `key_type` and `value_type` each, or after
    `kvq-expand-caches` the storage components of one, in their order. Operands are
    tensors, and after bufferization buffers, with no results then. Copies of codes may take
    what `held_bytes` leave of `shared_bytes`, which a block may have:
    `convert-kvq-to-gpu` adds to them what scratch takes meanwhile.

    With `overwrites` what `acc` holds is not read, and counts as 0, so that its memory may
    hold something else before.

    Numerics: the query, times codes, and the probabilities, times scales of values, are
    rounded to f16 (bf16 where exact tokens of bf16 are multiplied), products are added in
    f32. The sums' order depends on the op alone, so that the same inputs give the
    same bits. Scores, scales, the maximum and the sum are f32. Probabilities are relative to a maximum
    that is replaced only when an f16 would overflow. With `query_codes = f8E4M3FN`
    the query, times codes of f8E4M3FN or f8E5M2, and the probabilities, times scales
    of such values, are rounded to f8E4M3FN instead (rule R41). With `moves_fp8`
    codes of f8E4M3FN become f16 by moving their bits, for chips that do not convert them.

    Errors: as of `kvq.partial_attention`; keys or values that are neither a cache nor
    the components of one; a mask whose elements of tokens that follow each other do
    not, as a buffer; results without tensors or tensors without results;
    `query_codes` of integers; `held_bytes` that are not from 0 to `shared_bytes`.
  }];
  let arguments = (ins
    AnyTypeOf<[2DTensorOf<[F32]>, MemRefRankOf<[F32], [2]>]>:$query,
    Variadic<AnyType>:$keys,
    Variadic<AnyType>:$values,
    Index:$batch,
    Index:$head,
    Index:$begin,
    Index:$end,
    Optional<AnyTypeOf<[KVQ_PageTable, MemRefRankOf<[I64], [2]>]>>:$keyPages,
    Optional<AnyTypeOf<[KVQ_PageTable, MemRefRankOf<[I64], [2]>]>>:$valuePages,
    AnyTypeOf<[2DTensorOf<[F32]>, MemRefRankOf<[F32], [2]>]>:$acc,
    AnyTypeOf<[1DTensorOf<[F32]>, MemRefRankOf<[F32], [1]>]>:$max,
    AnyTypeOf<[1DTensorOf<[F32]>, MemRefRankOf<[F32], [1]>]>:$sum,
    Optional<AnyTypeOf<[1DTensorOf<[F32]>, MemRefRankOf<[F32], [1]>]>>:$bias,
    Optional<AnyTypeOf<[1DTensorOf<[F32]>, MemRefRankOf<[F32], [1]>]>>:$slopes,
    Optional<Index>:$position,
    Optional<AnyTypeOf<[KVQ_MaskTensor, MemRefRankOf<[F16, BF16, F32, I8], [3]>]>>:$mask,
    TypeAttrOf<KVQ_CacheType>:$key_type,
    TypeAttrOf<KVQ_CacheType>:$value_type,
    KVQ_TokenRegionAttr:$key_region,
    KVQ_TokenRegionAttr:$value_region,
    I64Attr:$shared_bytes,
    OptionalAttr<F32Attr>:$softcap,
    DefaultValuedAttr<I64Attr, "1">:$query_tokens,
    UnitAttr:$causal,
    OptionalAttr<I64Attr>:$window,
    OptionalAttr<I64Attr>:$window_first,
    OptionalAttr<TypeAttr>:$query_codes,
    UnitAttr:$moves_fp8,
    UnitAttr:$overwrites,
    DefaultValuedAttr<I64Attr, "0">:$held_bytes);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `:` type($query) `)`
    `keys` `(` $keys `:` type($keys) `)` `values` `(` $values `:` type($values) `)`
    `at` `[` $batch `,` $head `]` `tokens` `[` $begin `to` $end `]`
    (`key_pages` `(` $keyPages^ `:` type($keyPages) `)`)?
    (`value_pages` `(` $valuePages^ `:` type($valuePages) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`slopes` `(` $slopes^ `:` type($slopes) `)`)?
    (`position` `[` $position^ `]`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `outs` `(` $acc `,` $max `,` $sum `:`
      type($acc) `,` type($max) `,` type($sum) `)`
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
    bool hidesByPosition() { return getCausal() || getWindow(); }
    CacheType getKeyCache() { return ::llvm::cast<CacheType>(getKeyType()); }
    CacheType getValueCache() { return ::llvm::cast<CacheType>(getValueType()); }
  }];
}

def KVQ_MergePartialsOp : KVQ_Op<"merge_partials", [
    Pure, AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<AggregatedOpInterface,
                              ["decomposeOperation"]>]> {
  let summary = "merges partial attentions in a fixed order";
  let description = [{
    Merges partial attentions over disjoint token ranges,
    `acc: splits x ... x head_dim` and `max, sum: splits x ...`, into the
    running state of the outputs, `... x head_dim` and `...`:

    ```
    max'[r] = max(max[r], max_s maxes[s, r])
    w[s, r] = exp2(maxes[s, r] - max'[r])
    sum'[r] = exp2(max[r] - max'[r]) sum[r] + sum_s w[s, r] sums[s, r]
    acc'[r, c] = exp2(max[r] - max'[r]) acc[r, c] + sum_s w[s, r] accs[s, r, c]
    ```

    in f32, splits in order, so the same partials give the same bits. A partial
    that saw no token (max -inf) weighs 0. The result is not normalised: it is
    `acc / sum` only once nothing more is merged.

    Errors: other than three inputs, outputs and results; partial accumulators of
    rank below 2; maxima or sums that are not shaped as the accumulators without
    head_dim; outputs that are not shaped as the inputs without splits.

    ```mlir
    %r:3 = kvq.merge_partials
        ins(%accs, %maxes, %sums : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
        outs(%acc, %max, %sum : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
        -> tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins
    Variadic<RankedTensorOf<[F32]>>:$inputs,
    Variadic<RankedTensorOf<[F32]>>:$inits);
  let results = (outs Variadic<RankedTensorOf<[F32]>>:$results);
  let assemblyFormat = [{
    `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $inits `:` type($inits) `)` attr-dict `->` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitsMutable();
    }
  }];
}

def KVQ_LoadTileOp : KVQ_Op<"load_tile", [Pure]> {
  let summary = "codes and metadata of a token range of one region";
  let description = [{
    Reads tokens `[begin, end)` of sequence `batch`, KV head `head`, all of which
    lie in `region`. Results, with t = end - begin tokens:

    - quantized: codes `t x head_dim` (i8, unpacked), scales, and zeros if the
      format has them: `t x head_dim/g` with one token in a group of g channels,
      and `1 x head_dim/g` with several, for such a range lies within one group
      of tokens. Given scales and zeros are not among them: `kvq.load_given`
      reads these, once for all tiles;
    - exact (`first`, `recent`, or an exact format): values `t x head_dim`.

    `tile` bounds the range's extent, so that what has to be copied or unpacked
    fits into scratch of a static size. A paged cache takes its page table for the
    region `codes`. The range may span pages, and is copied together then;
    `within_page` says that it does not, nor tiles of a layout.

    `as_tile`, with `within_page`: the whole tile of T tokens that the range lies in,
    as the cache's layout has it: codes (unpacked) `head_dim/2 x T x 2` or
    `T/2 x head_dim x 2`, scales and zeros `head_dim/g x T`. What it holds for tokens
    that are not there may be anything. The range is not empty then, or follows a
    token of the same tile. `packed` besides: in place of codes the bytes that hold
    `8/bits` planes of them, `head_dim bits/16 x T x 2` or `T/2 x head_dim bits/8 x 2`.

    Errors: a cache with segments, a region that the cache does not have, result
    types other than these, a tile of fewer than one token, a page table missing for
    the codes of a paged cache or given elsewhere, `within_page` without pages and
    tiles, `as_tile` without tiles or without `within_page`, `packed` without
    `as_tile` or for codes that do not lie in planes. That the range lies in the region, within one group, within `tile` and where it is said
    within one page is up to whoever builds the op.

    ```mlir
    %0:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64}
        : !kvq.cache<1x8x?x128xf16, #v> -> tensor<?x128xi8>, tensor<?x4xf16>
    ```
  }];
  let arguments = (ins
    KVQ_CacheType:$cache,
    Index:$batch,
    Index:$head,
    Index:$begin,
    Index:$end,
    Optional<KVQ_PageTable>:$pages,
    KVQ_TokenRegionAttr:$region,
    OptionalAttr<I64Attr>:$tile,
    UnitAttr:$within_page,
    UnitAttr:$as_tile,
    UnitAttr:$packed);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $cache $region `at` `[` $batch `,` $head `]` `tokens` `[` $begin `to` $end `]`
    (`pages` `(` $pages^ `:` type($pages) `)`)? attr-dict `:` type($cache) `->` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result types for a tile of `cache` in `region`.
    static ::llvm::SmallVector<::mlir::Type> getTileTypes(
        ::mlir::kvq::CacheType cache, ::mlir::kvq::TokenRegion region,
        bool asTile = false, bool packed = false);
    /// True when tokens lie in tiles of the cache's layout.
    static bool hasTiles(::mlir::kvq::CacheType cache,
                         ::mlir::kvq::TokenRegion region);
    /// True when the tile holds codes rather than exact values.
    static bool hasCodes(::mlir::kvq::CacheType cache,
                         ::mlir::kvq::TokenRegion region);
    /// True when the tile lies in pages.
    static bool hasPages(::mlir::kvq::CacheType cache,
                         ::mlir::kvq::TokenRegion region);
  }];
}

def KVQ_LoadGivenOp : KVQ_Op<"load_given", [Pure]> {
  let summary = "the row of a given component that serves a head";
  let description = [{
    Reads what was given when the cache was made, for KV head `head`: `1 x n` for
    a component whose rows have n elements. It is the same for all sequences and
    tokens.

    Errors: a cache with segments, a component that it does not have or that is not
    given, a result of another type than its row.

    ```mlir
    %s = kvq.load_given %c <scales> at [%h]
        : !kvq.cache<1x8x?x128xf16, #static> -> tensor<1x128xf16>
    ```
  }];
  let arguments = (ins
    KVQ_CacheType:$cache,
    KVQ_ComponentAttr:$component,
    Index:$head);
  let results = (outs 2DTensorOf<[AnyType]>:$row);
  let assemblyFormat = [{
    $cache $component `at` `[` $head `]` attr-dict `:` type($cache) `->` type($row)
  }];
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$cache,
                   "::mlir::kvq::ComponentKind":$component,
                   "::mlir::Value":$head)>
  ];
  let extraClassDeclaration = [{
    /// The type of the row of a given component.
    static ::mlir::RankedTensorType getRowType(
        const ::mlir::kvq::StorageComponent &component);
  }];
}

#endif // KVQ_IR_KVQTILEOPS_TD
