//===- KVQCacheOps.td - Ops on caches ----------------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQCACHEOPS_TD
#define KVQ_IR_KVQCACHEOPS_TD

include "kvq/IR/KVQOpBase.td"

def KVQ_EmptyOp : KVQ_Op<"empty", [AttrSizedOperandSegments]> {
  let summary = "a cache without tokens";
  let description = [{
    A cache whose storage holds nothing yet: its bytes are unspecified and never
    influence a result. Takes the capacity in tokens where the type leaves it
    dynamic; a paged cache takes the number of pages in its pool instead. What is
    given of its components comes last, in their order.

    It counts as an allocation: two of them are two caches, even where their
    types are the same, and are not merged into one that would have to be copied.

    Errors: a capacity given though the type has one or is paged, or missing
    though it has none; pages given for a cache that is not paged, or missing for
    one that is; another number of given components than the type has, or one of
    another type.

    ```mlir
    %c = kvq.empty(%tokens) : !kvq.cache<1x8x?x128xf16, #k, recent = 64>
    %p = kvq.empty pages(%n) : !kvq.cache<4x8x?x128xf16, #v, page = 16>
    %d = kvq.empty(%tokens) given(%scales : tensor<1x8x1x128xf16>)
        : !kvq.cache<1x8x?x128xf16, #static>
    ```
  }];
  let arguments = (ins Optional<Index>:$capacity, Optional<Index>:$pages,
                       Variadic<AnyRankedTensor>:$given);
  let results = (outs
    Res<KVQ_CacheType, "", [MemAlloc<DefaultResource, 0, FullEffect>]>:$cache);
  let assemblyFormat = [{
    (`(` $capacity^ `)`)? (`pages` `(` $pages^ `)`)?
    (`given` `(` $given^ `:` type($given) `)`)? attr-dict `:` type($cache)
  }];
  let hasVerifier = 1;
}

def KVQ_FromComponentsOp : KVQ_Op<"from_components", [Pure]> {
  let summary = "a cache over given storage components";
  let description = [{
    Takes the storage components of the result type, in their order (see
    `!kvq.cache`), and yields the cache that they are. This is how a cache
    comes from bytes that something else owns, and what `kvq-fuse-dequantize`
    makes from the operands of a dequantize.

    Errors: another number of components than the type has, or one of another
    type; a layout that is open (`layout = auto`). A dynamic capacity is not checked against the extents.

    ```mlir
    %c = kvq.from_components %codes, %scales
        : tensor<1x8x?x64xi8>, tensor<1x8x?x4xf16> -> !kvq.cache<1x8x?x128xf16, #v>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$components);
  let results = (outs KVQ_CacheType:$cache);
  let assemblyFormat = [{
    $components attr-dict `:` type($components) `->` type($cache)
  }];
  let hasVerifier = 1;
}

def KVQ_ExtractSegmentOp : KVQ_Op<"extract_segment", [Pure]> {
  let summary = "a segment of a cache, as a cache";
  let description = [{
    The cache that segment i of a cache with `#kvq.segments` is by itself: its
    channels as head_dim, its format, and the windows of the whole; an exact
    segment has none. Where all segments lie in one row its format has a layout
    that skips the bytes of the others. It is the same storage: expanding the op
    picks components.

    Errors: a cache without segments, or without so many; a result that is not
    that cache.

    ```mlir
    %latent = kvq.extract_segment %c[0] : !c -> !latent
    ```
  }];
  let arguments = (ins
    KVQ_CacheType:$cache, ConfinedAttr<I64Attr, [IntNonNegative]>:$segment);
  let results = (outs KVQ_CacheType:$part);
  let assemblyFormat = [{
    $cache `[` $segment `]` attr-dict `:` type($cache) `->` type($part)
  }];
  let hasVerifier = 1;
}

def KVQ_InsertSegmentOp : KVQ_Op<"insert_segment", [
    Pure, AllTypesMatch<["cache", "result"]>]> {
  let summary = "a cache with a segment replaced";
  let description = [{
    The cache, with what `kvq.extract_segment` gives of segment i replaced. What
    other segments have in the same components is that of `part`: one segment is
    extracted, changed and inserted after the other.

    Errors: those of `kvq.extract_segment`.

    ```mlir
    %new = kvq.insert_segment %latent into %c[0] : !latent into !c
    ```
  }];
  let arguments = (ins
    KVQ_CacheType:$part, KVQ_CacheType:$cache,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$segment);
  let results = (outs KVQ_CacheType:$result);
  let assemblyFormat = [{
    $part `into` $cache `[` $segment `]` attr-dict
    `:` type($part) `into` type($cache)
  }];
  let hasVerifier = 1;
}

def KVQ_AppendOp : KVQ_Op<"append", [Pure, AttrSizedOperandSegments]> {
  let summary = "quantizes and stores new tokens";
  let description = [{
    Appends to sequence b of `cache` its next `counts[b]` tokens (all of them
    without `counts`) of `tokens: batch x kv_heads x new_tokens x head_dim`,
    behind the `lengths[b]` tokens that are there. They are rounded to the
    cache's element type; whole token groups that leave the recent window are
    quantized, packed and stored.

    A cache with a recent window takes `flushed`, the quantized tokens of each
    sequence before the append. The host then holds
    `length = lengths + counts` and `max(flushed, f(length))`, with f as in
    `!kvq.cache`.

    A paged cache takes the page table, `pages`: see `!kvq.cache`. Only pages that
    tokens are written to are read from it.

    Tokens may also be packed, `total x kv_heads x head_dim`, each sequence's one
    after the other:

    - with `starts: batch + 1`, those of sequence b are the rows `[starts[b],
      starts[b+1])`; rows outside of all of these are not read;
    - with `slots: total`, row t is stored in slot `page * P + row` of the pool of
      a paged cache, `slots[t] = -1` (or any negative number) leaves it out. Where
      a token lies is then all that matters: there are neither lengths nor a page
      table, and tokens may come in any order, no two of them for one slot. This
      is for caches without exact windows and groups of one token, which are
      written alike wherever they lie.

    Any split of the same tokens into appends gives the same bytes. The host
    guarantees `lengths[b] + counts[b] <= capacity`, `0 <= counts[b] <=
    new_tokens`, that starts ascend within `[0, total]`, that slots and pages are
    below those of the pool, slots are those of one token each, pages that are
    written to those of one sequence, and that lengths and flushed counts are those of the
    appends before; none of it is checked at run time.

    With tables, `rope(%cos, %sin)`, tokens are keys before RoPE, and what is stored
    are keys after it: each row is turned by the row of the tables that its position
    names, in f32, and then rounded to the cache's element type (rule R42 of
    docs/Semantics.md). Tables are positions x pairs of channels, as those of
    `kvq.attention`; `rope_style` says which channels are a pair (see
    `#kvq.rope_style`; `half` without one), and tables narrower than half of the head
    leave the other channels as they are. The position of a token is its number in
    its sequence; tokens with slots have `positions: total`, read where the slot is
    not negative. Of a cache with segments, `rope_segment` is turned, by itself. The
    host guarantees that tables have a row for each position.

    On request, `saturated: batch x kv_heads` counts, for each sequence and KV
    head, the elements quantized here that their codes cannot hold (rule R24 of
    docs/Semantics.md): they are added to what it held, which is the second
    result. Tokens that wait in a window are counted by the append that quantizes
    them.

    Errors: tokens of another batch, KV heads or head_dim than the cache's (only
    `new_tokens` and `total` may be dynamic); lengths, counts, flushed counts,
    starts, slots or a page table for another number of sequences or tokens;
    `flushed` missing with a recent window or given without one; a page table
    missing for a paged cache, given for another, or too short for its capacity;
    packed tokens with neither or both of `starts` and `slots`, or with `counts`;
    `slots` with lengths or a page table, or for a cache that is not paged, has
    exact windows or groups of several tokens; tables of RoPE of different types, with
    no angle or more than a row has pairs of channels, of fewer rows than the capacity,
    for a cache (a segment) with `rope = pre`, which attention turns as it reads it, or
    for values, where `kvq.side` says so; `positions` missing with tables and `slots`,
    given without both, or for another number of tokens; a `rope_style` or a
    `rope_segment` without tables; a `rope_segment` missing with segments, given without
    them, or of none; counts of
    saturated elements for other sequences or heads, with `codes = none` or
    `slots`, or without their result; a result of another type than the cache.

    ```mlir
    %c1 = kvq.append ins(%x : tensor<1x8x?x128xf32>) lengths(%n : tensor<1xi64>)
        flushed(%f : tensor<1xi64>) into(%c : !kc) -> !kc
    %c2 = kvq.append ins(%y : tensor<?x8x128xf16>) slots(%s : tensor<?xi64>)
        into(%pool : !vc) -> !vc
    %c3 = kvq.append ins(%z : tensor<1x8x?x128xf16>) lengths(%n : tensor<1xi64>)
        rope(%cos, %sin : tensor<?x64xf32>, tensor<?x64xf32>) into(%k : !kr) -> !kr
    ```
  }];
  let arguments = (ins
    KVQ_FloatTensor:$tokens,
    KVQ_CacheType:$cache,
    Optional<KVQ_LengthTensor>:$lengths,
    Optional<KVQ_LengthTensor>:$flushed,
    Optional<KVQ_LengthTensor>:$counts,
    Optional<KVQ_PageTable>:$pages,
    Optional<KVQ_LengthTensor>:$starts,
    Optional<KVQ_LengthTensor>:$slots,
    Optional<KVQ_LengthTensor>:$positions,
    Optional<KVQ_RopeTable>:$cos,
    Optional<KVQ_RopeTable>:$sin,
    Optional<2DTensorOf<[I64]>>:$saturated,
    OptionalAttr<KVQ_RopeStyleAttr>:$rope_style,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$rope_segment);
  let results = (outs KVQ_CacheType:$result,
                      Optional<2DTensorOf<[I64]>>:$newSaturated);
  let assemblyFormat = [{
    `ins` `(` $tokens `:` type($tokens) `)`
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`flushed` `(` $flushed^ `:` type($flushed) `)`)?
    (`counts` `(` $counts^ `:` type($counts) `)`)?
    (`pages` `(` $pages^ `:` type($pages) `)`)?
    (`starts` `(` $starts^ `:` type($starts) `)`)?
    (`slots` `(` $slots^ `:` type($slots) `)`)?
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    (`rope` `(` $cos^ `,` $sin `:` type($cos) `,` type($sin) `)`)?
    (`saturated` `(` $saturated^ `:` type($saturated) `)`)?
    `into` `(` $cache `:` type($cache) `)` attr-dict `->` type($result)
    (`,` type($newSaturated)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True for tokens `total x kv_heads x head_dim`.
    bool isPacked() {
      return ::llvm::cast<::mlir::RankedTensorType>(getTokens().getType())
                 .getRank() == 3;
    }
  }];
}

def KVQ_TruncateOp : KVQ_Op<"truncate", [Pure]> {
  let summary = "drops the newest tokens of each sequence";
  let description = [{
    The counts of a cache of `cache_type` whose sequence b keeps at most its
    first `to[b]` tokens. Storage stays as it is: what lies beyond the counts has
    no influence.

    ```
    lengths'[b] = min(lengths[b], to[b])
    flushed'[b] = min(flushed[b], max(0, lengths'[b] - exact_first))
    ```

    Within the exact tail, `to[b] >= exact_first + flushed[b]`, no trace of the
    dropped tokens is left: later appends write the bytes that they would have
    written without them. A deeper cut leaves fewer exact tokens than the window
    holds, until appends have filled it again.

    The host guarantees `to[b] >= 0` and that a cut among the quantized tokens
    lands on the border of a token group: with groups of n tokens, that
    `to[b] - exact_first` is a multiple of n where it is between 0 and
    `flushed[b]`. It is not checked at run time: compiled code has no way to
    report it. `kvq_mlir.Cache.truncate` checks it.

    ```mlir
    %n, %f = kvq.truncate !kvq.cache<1x8x?x128xf16, #k, recent = 64>
        lengths(%lengths : tensor<1xi64>) flushed(%flushed : tensor<1xi64>)
        to(%to : tensor<1xi64>) -> tensor<1xi64>, tensor<1xi64>
    ```
  }];
  let arguments = (ins
    TypeAttrOf<KVQ_CacheType>:$cache_type,
    KVQ_LengthTensor:$lengths,
    Optional<KVQ_LengthTensor>:$flushed,
    KVQ_LengthTensor:$to);
  let results = (outs
    KVQ_LengthTensor:$newLengths,
    Optional<KVQ_LengthTensor>:$newFlushed);
  let assemblyFormat = [{
    $cache_type `lengths` `(` $lengths `:` type($lengths) `)`
    (`flushed` `(` $flushed^ `:` type($flushed) `)`)?
    `to` `(` $to `:` type($to) `)` attr-dict
    `->` type($newLengths) (`,` type($newFlushed)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::kvq::CacheType getCache() {
      return ::llvm::cast<::mlir::kvq::CacheType>(getCacheType());
    }
  }];
}

def KVQ_ReorderOp : KVQ_Op<"reorder", [Pure, AttrSizedOperandSegments]> {
  let summary = "copies sequences from one cache into another";
  let description = [{
    Sequence b of the result is sequence `sources[b]` of `cache`: its codes,
    metadata and exact tokens, as far as `lengths` and `flushed`, the counts of
    `cache`, say that it has any. Where `sources[b]` is negative it is sequence
    b of `destination`. Nothing is requantized. The types differ at most in
    batch and capacity.

    This is how beams are reordered, how a batch grows, and how prefixes are
    shared: `kvq.truncate` cuts the counts to the prefix, and `sources` names
    one sequence for all that are to start with it.

    Of paged caches, `pages` and `to_pages` are the page tables of `cache` and of
    the destination. Where both caches are the same memory, the destination's
    table may name pages of the source, which are shared then. `shared[b]` is how
    many of the quantized tokens (of the tokens, in an exact format) sequence b of
    the destination shares with its source: they are not copied. Whole groups of
    tokens are shared. So a fork shares the pages that are full, and copies what
    is in the last one.

    The host guarantees `sources[b] < ` the batch of `cache`, and that the
    destination has the capacity and the pages. The host then holds
    `lengths[sources[b]]` and `flushed[sources[b]]` where `sources[b]` is not
    negative.

    Errors: caches that differ in more than batch and capacity, or are the same
    value; sources, lengths, flushed and shared counts or page tables for another
    number of sequences; page tables missing for paged caches, or given for
    others; `shared` for caches without pages.

    Given components are not copied: the host guarantees that both caches have
    the same ones.

    `cache` and `destination` are different values, so that no old value has to
    be kept. Compiled code may be given the same memory for both where no
    sequence is both read and written.

    ```mlir
    %d = kvq.reorder ins(%c : !c) sources(%i : tensor<4xi64>)
        lengths(%n : tensor<4xi64>) flushed(%f : tensor<4xi64>)
        into(%other : !c) -> !c
    ```
  }];
  let arguments = (ins
    KVQ_CacheType:$cache,
    KVQ_LengthTensor:$sources,
    KVQ_LengthTensor:$lengths,
    Optional<KVQ_LengthTensor>:$flushed,
    Optional<KVQ_PageTable>:$pages,
    Optional<KVQ_PageTable>:$toPages,
    Optional<KVQ_LengthTensor>:$shared,
    KVQ_CacheType:$destination);
  let results = (outs KVQ_CacheType:$result);
  let assemblyFormat = [{
    `ins` `(` $cache `:` type($cache) `)`
    `sources` `(` $sources `:` type($sources) `)`
    `lengths` `(` $lengths `:` type($lengths) `)`
    (`flushed` `(` $flushed^ `:` type($flushed) `)`)?
    (`pages` `(` $pages^ `:` type($pages) `)`)?
    (`to_pages` `(` $toPages^ `:` type($toPages) `)`)?
    (`shared` `(` $shared^ `:` type($shared) `)`)?
    `into` `(` $destination `:` type($destination) `)` attr-dict
    `->` type($result)
  }];
  let hasVerifier = 1;
}

def KVQ_ShiftOp : KVQ_Op<"shift", [Pure, AttrSizedOperandSegments]> {
  let summary = "drops tokens in the middle of each sequence and closes the gap";
  let description = [{
    Drops tokens `[begin[b], begin[b] + count[b])` of sequence b; those behind them
    move forward by `count[b]` positions. Codes, metadata and exact tokens are
    moved as they are: nothing is quantized again, and no value changes.

    So it is for caches whose values do not depend on positions: values, keys
    without RoPE, and keys before it (`rope = pre`).

    With tables, `rope(%cos, %sin)`, it is for keys after RoPE: what moves is turned
    back by `count[b]` positions. Row p of a table is for the angles of position p,
    one for each pair of channels (see `#kvq.rope_style`; `half` without one); row
    `count[b]` is read. Quantized tokens are taken back to f32, turned, rounded to
    the element type and quantized again, as an append would (rule R37 of
    docs/Semantics.md); exact ones are turned and rounded. Where `count[b]` is 0
    no bit changes.

    Dropped are whole token groups of quantized tokens (any tokens of an exact
    format): with E = exact_first and n tokens in a group, the host guarantees that
    `begin[b] - E` and `count[b]` are multiples of n, `begin[b] >= E` and `begin[b]
    + count[b] <= E + flushed[b]`, wherever `count[b]` is not 0. It then holds
    `lengths[b] - count[b]` and `flushed[b] - count[b]`.

    A paged cache takes its page table; no page behind the dropped tokens may be
    shared. A host that drops whole pages drops their entries in the table instead,
    where there are no exact windows.

    Errors: a result of another type than the cache; operands for another number of
    sequences; `flushed` missing with a recent window or given without one; a page
    table missing for a paged cache, given for another, or too short; a ring, whose
    slots follow from positions; tables of different types, of no frequency, or of
    more than a row has pairs of channels, for keys before RoPE, or for segments;
    a `rope_style` without tables.

    ```mlir
    %d = kvq.shift drop(%begin, %count : tensor<1xi64>, tensor<1xi64>)
        lengths(%n : tensor<1xi64>) into(%c : !vc) -> !vc
    %k1 = kvq.shift drop(%begin, %count : tensor<1xi64>, tensor<1xi64>)
        lengths(%n : tensor<1xi64>)
        rope(%cos, %sin : tensor<?x64xf32>, tensor<?x64xf32>) into(%k : !kc) -> !kc
    ```
  }];
  let arguments = (ins
    KVQ_LengthTensor:$begin,
    KVQ_LengthTensor:$count,
    KVQ_LengthTensor:$lengths,
    Optional<KVQ_LengthTensor>:$flushed,
    Optional<KVQ_PageTable>:$pages,
    Optional<KVQ_RopeTable>:$cos,
    Optional<KVQ_RopeTable>:$sin,
    KVQ_CacheType:$cache,
    OptionalAttr<KVQ_RopeStyleAttr>:$rope_style);
  let results = (outs KVQ_CacheType:$result);
  let assemblyFormat = [{
    `drop` `(` $begin `,` $count `:` type($begin) `,` type($count) `)`
    `lengths` `(` $lengths `:` type($lengths) `)`
    (`flushed` `(` $flushed^ `:` type($flushed) `)`)?
    (`pages` `(` $pages^ `:` type($pages) `)`)?
    (`rope` `(` $cos^ `,` $sin `:` type($cos) `,` type($sin) `)`)?
    `into` `(` $cache `:` type($cache) `)` attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
}

def KVQ_AttentionOp : KVQ_Op<"attention", [
    Pure, AttrSizedOperandSegments, DestinationStyleOpInterface]> {
  let summary = "attention of queries over a KV cache";
  let description = [{
    `query: batch x query_heads x query_tokens x head_dim`; the result has the
    shape of the query with the value cache's head_dim. Query head i reads KV
    head floor(i / (query_heads / kv_heads)). The score of a query and a token t
    that it sees is

    ```
    s = scale * sum_c q[c] k_t[c]
    s = softcap * tanh(s / softcap)                            with softcap
    s = s + slopes[query_head] * (t - position of the query)   with slopes
    s = s + mask[b, query_head, query, t]                      with a mask
    ```

    and the output is sum_t softmax(s)_t v_t, with f32 accumulation.

    `lengths[b]` is the number of tokens in sequence b, the queries' own
    included: attention reads the cache as it is after the append. Query i of n
    sits at position `positions[b] + i`, which is length - n + i where no
    positions are given: they are for queries that are not the newest tokens.
    With `causal` a query sees the tokens up to its own position, with
    `window = W` the last W positions up to its own and, beside them, the first
    `window_first` tokens. A row that sees no token gives 0.

    `mask` (f16, bf16 or f32: added to scores; i8: 0 hides the token) is
    `batch x query_heads x query_tokens x tokens`, batch and query_heads 1 where
    they share it; tokens that it hides (-inf) contribute nothing, whatever they
    hold. It has to hold as many tokens as the longest sequence, which is not
    checked at run time. `slopes` are those of ALiBi (Press et al. 2022).
    `sinks[query_head]` is a learned logit that takes part in the softmax without
    a value.

    On request, with a second output `lse: batch x query_heads x query_tokens`,
    the op also yields the natural logarithm of the sum of exp(s), sinks included:
    -inf for a row that sees nothing and has no sink.

    With `value_channels = [begin, end]` values are these channels of the rows
    of the value cache, which may be the key cache itself (MLA, where keys and
    values share a latent row); the output has end - begin channels.

    A cache with a recent window needs its `key_flushed` or `value_flushed`, the
    quantized tokens of each sequence, and a paged one its page table, `key_pages`
    or `value_pages` (see `!kvq.cache`).

    Keys before RoPE (`rope = pre`) need tables, `rope(%cos, %sin)`, positions x
    pairs of channels: attention turns the key of the token at position p by row p
    before it multiplies it with the query, which is turned already. Pair (x, y)
    becomes (x cos - y sin, x sin + y cos); `rope_style` says which channels are a
    pair (see `#kvq.rope_style`; `half` without one). Tables narrower than half of
    the head leave the other channels as they are. Of a cache with segments, those
    with `rope = pre` are turned, each by itself.

    Key and value may also be float tensors
    `batch x kv_heads x tokens x head_dim`; such an op has no lowering of its
    own, `kvq-fuse-dequantize` turns it into one over caches.

    Errors: operands not of rank 4; batch, KV heads or head_dim that disagree
    (only `query_tokens` may be dynamic in query and output); query heads that
    are no multiple of the KV heads; an output of another shape than the query
    with the values' channels; lengths, positions or flushed counts for another
    number of sequences; flushed counts missing with a recent window or given
    without one; a page table missing for a paged cache, given for another, or too
    short for its capacity; token groups of both sides that start at different
    tokens (different `exact_first`); a mask, slopes, sinks or lse of another shape;
    a softcap that is not a positive finite number; a window of fewer than one
    token, `window_first` without a window or negative; `value_channels` that are
    not within the rows, cut a group of channels, cut rows (of a segment) that
    are rotated or centred, or choose from those that are turned by RoPE; tables missing for keys before RoPE or
    given for other caches, of different types, with no angle or more than a row
    has pairs of channels, or of fewer rows than the capacity; a `rope_style`
    without tables; values with `rope = pre`; `query_codes` other than i8, i16 and
    f8E4M3FN, or with keys and values neither of which have integer codes, of
    f8E4M3FN neither of which have codes of f8E4M3FN or f8E5M2 (those of keys
    before RoPE are turned in f32). Lengths beyond the capacity or the tables are
    not checked at run time.

    `query_codes = i16` or `i8` allows sums of integer products (rule R38): keys with
    integer codes see the query as integers of that type, with a scale for each
    channel group; values with integer codes see probabilities times scales as i16.
    `query_codes = f8E4M3FN` allows products of floats of 8 bits (rule R41), on tensor
    cores of sm_89 and newer; elsewhere it is an error of `kvq-decompose-attention`.
    Both spend error, which docs/Semantics.md bounds. Without it all is f32.

    `schedule`, a `#kvq.schedule`, says how the op is cut into work items, tiles and
    vectors. It changes the output by no more than the order of f32 sums.

    ```mlir
    %o = kvq.attention ins(%q, %k, %v : tensor<1x32x1x128xf32>, !kc, !vc)
        lengths(%n : tensor<1xi64>) key_flushed(%f : tensor<1xi64>)
        outs(%init : tensor<1x32x1x128xf32>)
        {scale = 0.0883883461 : f32, causal} -> tensor<1x32x1x128xf32>
    ```
  }];
  let arguments = (ins
    KVQ_FloatTensor:$query,
    AnyTypeOf<[KVQ_CacheType, KVQ_FloatTensor]>:$key,
    AnyTypeOf<[KVQ_CacheType, KVQ_FloatTensor]>:$value,
    KVQ_LengthTensor:$lengths,
    Optional<KVQ_LengthTensor>:$keyFlushed,
    Optional<KVQ_LengthTensor>:$valueFlushed,
    Optional<KVQ_PageTable>:$keyPages,
    Optional<KVQ_PageTable>:$valuePages,
    Optional<KVQ_LengthTensor>:$positions,
    Optional<KVQ_MaskTensor>:$mask,
    Optional<1DTensorOf<[F32]>>:$slopes,
    Optional<1DTensorOf<[F32]>>:$sinks,
    Optional<KVQ_RopeTable>:$cos,
    Optional<KVQ_RopeTable>:$sin,
    KVQ_FloatTensor:$init,
    Optional<3DTensorOf<[F32]>>:$lse,
    F32Attr:$scale,
    UnitAttr:$causal,
    OptionalAttr<F32Attr>:$softcap,
    OptionalAttr<I64Attr>:$window,
    OptionalAttr<I64Attr>:$window_first,
    OptionalAttr<DenseI64ArrayAttr>:$value_channels,
    OptionalAttr<TypeAttr>:$query_codes,
    OptionalAttr<KVQ_RopeStyleAttr>:$rope_style,
    OptionalAttr<KVQ_ScheduleAttr>:$schedule);
  let results = (outs KVQ_FloatTensor:$result,
                      Optional<3DTensorOf<[F32]>>:$lseResult);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:`
      type($query) `,` type($key) `,` type($value) `)`
    `lengths` `(` $lengths `:` type($lengths) `)`
    (`key_flushed` `(` $keyFlushed^ `:` type($keyFlushed) `)`)?
    (`value_flushed` `(` $valueFlushed^ `:` type($valueFlushed) `)`)?
    (`key_pages` `(` $keyPages^ `:` type($keyPages) `)`)?
    (`value_pages` `(` $valuePages^ `:` type($valuePages) `)`)?
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`slopes` `(` $slopes^ `:` type($slopes) `)`)?
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`rope` `(` $cos^ `,` $sin `:` type($cos) `,` type($sin) `)`)?
    `outs` `(` $init (`,` $lse^)? `:` type($init) (`,` type($lse)^)? `)`
    attr-dict `->` type($result) (`,` type($lseResult)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable();
    /// Query heads that share one KV head.
    int64_t getGroupSize();
  }];
}

#endif // KVQ_IR_KVQCACHEOPS_TD
