//===- KVQTypes.td - The cache type ------------------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQTYPES_TD
#define KVQ_IR_KVQTYPES_TD

include "kvq/IR/KVQDialect.td"
include "kvq/IR/KVQAttrs.td"

def KVQ_CacheType : TypeDef<KVQ_Dialect, "Cache"> {
  let mnemonic = "cache";
  let summary = "one side (keys or values) of one layer's KV cache";
  let description = [{
    ```mlir
    #k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
    !kvq.cache<1x8x?x128xf16, #k, exact_first = 4, recent = 64>
    ```

    Shape: `batch x kv_heads x capacity x head_dim`; `capacity` counts tokens and
    may be dynamic, the others are static. The element type is what exact
    tokens hold and what values are rounded to before they are quantized.

    - `exact_first = E`: the first E tokens of a sequence stay exact.
    - `recent = R`: at least the newest R tokens stay exact; they are quantized
      a token group at a time, so R to R+n-1 tokens are exact for groups of n.
    - `residual = R`, instead of `recent`: tokens stay exact until R of them are
      there, then all of them are quantized at once, so 0 to R-1 are exact. R is
      a multiple of n.

    One of the two windows is required (`recent` may be 0) when groups span
    several tokens.

    - `page = P`: quantized tokens (all tokens of an exact format) lie in pages
      of P tokens, a multiple of n, from one pool for all sequences. The exact
      windows stay per sequence.

    - `token_major`: the rows of a token's heads follow each other, token after token,
      as engines write them that lay out `tokens x kv_heads x head_dim`. Without it
      rows of a head's tokens do. Exact windows and what is given stay as they are.

    - `ring = W`, `keep_first = F`: of longer sequences the first F tokens and the
      newest W-F are kept; attention sees no others. Without `keep_first`, F is 0.

    Lengths and flushed counts are operands of the ops, owned by the host. A
    sequence of `length` tokens has `flushed` quantized ones,
    `max(flushed before, f(length))`; where a token lies is a function of its
    position and of these two alone:

    | window | f(length) | W, rows of the ring |
    |---|---|---|
    | `recent = R`, or none (R = 0) | floor(max(0, length-E-R)/n)*n | R+n-1 |
    | `residual = R` | floor(max(0, length-E)/R)*R | R-1 |

    | position p | region | row |
    |---|---|---|
    | p < E | `first` | p |
    | E <= p < E+flushed | `codes` | p-E, with rows of t tokens (p-E)/t; its metadata in row (p-E)/n |
    | otherwise | `recent` | (p-E) mod W |

    The ring has no row for a token that completes a group: an append quantizes
    it straight from its input.

    With pages, row r of sequence b of `codes` is row `r mod P` of page
    `table[b, floor(r / P)]`, and its metadata lies in row `floor((r mod P) / n)`
    of the same page. The page table, `batch x max_pages` of i64, is an operand
    of the ops too. Entries for pages behind the last quantized token are never
    read, and two sequences may name the same page.

    With a ring of W tokens, `codes` has K+S rows, K = ceil((F-E)/n)*n for the first
    tokens and S = ceil((W-F)/n)*n for the newest; row r of the tables above is row
    `r < K ? r : K + (r-K) mod S`, and metadata follows. So what is overwritten is
    older than the newest W-F tokens, and a group that holds both kept and evicted
    tokens is there as a whole. With pages as well K and S are whole pages (P in
    place of n above), row r is that of the ring, and a page table has (K+S)/P
    entries: pages are written over as a whole, one after the other.

    Storage components, in this order, contiguous, each only where it is needed
    (C is the capacity, `rows` = f(C), or K+S with a ring, whatever C is):

    | component | shape | element |
    |---|---|---|
    | `codes` | batch x kv_heads x rows/t x packed bytes (of t tokens, 1 but for a layout with blocks) | i8 |
    | `values` (exact formats) | batch x kv_heads x rows x head_dim | T |
    | `records` (of a layout) | batch x kv_heads x rows/n x record bytes | i8 |
    | `scales` | batch x kv_heads/h x rows/n x head_dim/g | scale type |
    | `zeros` | as `scales` | zero type |
    | `scales`, `zeros` (static range) | 1 x kv_heads/h x 1 x head_dim/g | as above |
    | `outer_scales` | 1 x kv_heads/h x 1 x 1 | f32 |
    | `means` | 1 x kv_heads x 1 x head_dim | type of the mean |
    | `codes` (in tiles of T) | batch x kv_heads x rows/T x packed bytes/2 x T x 2, or ... x T/2 x packed bytes x 2 | i8 |
    | `scales`, `zeros` (in tiles of T) | batch x kv_heads x rows/T x head_dim/g x T | as above |
    | `signs` (with `rotate`) | 1 x 1 x 1 x head_dim | i8 |
    | `first` | batch x kv_heads x E x head_dim | T |
    | `recent` | batch x kv_heads x W x head_dim | T |

    Components of a static range, outer scales, means and signs are given: whoever
    makes the cache provides them, they are the same for all sequences, and no op
    writes them. Scales are positive and at most the cap of rule R5, zeros finite,
    integer zero points within the codes, outer scales from 2^-100 to 2^100, means
    finite, signs 1 or -1 (docs/Semantics.md, R17, R23, R26 and R27); that is not
    checked at run time. `kvq_mlir.Cache` checks it.

    With `token_major` the second and third extents of codes, values, records and
    computed metadata change places: batch x rows x kv_heads x ...

    With pages, codes, values and computed metadata are pools, `pages x kv_heads x
    P x ...` (`pages x kv_heads x P/n x ...` for metadata); the number of pages is
    dynamic and does not follow from the capacity, which bounds the tokens of a
    sequence.

    Codes of one row are planar unless the format's layout says otherwise (see
    `#kvq.layout`): with k = 8/bits codes in a byte, byte j holds element j in its
    lowest bits, element j + head_dim/k in the next, and so on; signed codes are
    two's complement. Codes of 3, 5 and 6 bits are two such parts, one behind the
    other in the row: the low 2, 4 and 4 bits, then the remaining 1, 1 and 2.
    What a layout puts into `records` has no component of its own. Rows start at
    a byte. Components start at a multiple of 64 bytes where kvq allocates them.

    A cache whose format has `layout = auto` has no storage until
    `kvq-assign-layout` has chosen a layout.

    With `rope = pre` all regions of the cache hold keys before RoPE, and attention
    turns those of the token at position p by row p of its tables.

    The format may be `#kvq.segments`: then each segment of channels is stored as
    a cache of its own, with its own format and the windows of the whole (an exact
    segment needs none), and the components are those of the segments, one after
    the other, named `codes.0`, `scales.0`, `values.1`, ... With a `row` of all
    segments they share one component `records`, and there are no exact windows.

    R+n-1 rows are enough for the recent window: whole groups leave it before an
    append writes the ring, and are read from the ring or from the input of the
    append. A cache of R+n-1 = 0 rows has no recent window, and ops on it take no
    flushed counts: every token behind the first E is flushed as it is appended.

    Errors: a shape not of 4 extents; a batch, head count or head_dim that is
    dynamic or below 1; an element type other than f16, bf16 and f32; negative
    windows; windows with `codes = none`; no `recent` though groups span several
    tokens; groups that do not divide head_dim or kv_heads; codes of a row that do
    not fill whole bytes; a page of less than one token, or not of whole groups; a
    ring that holds no token beside the first ones, fewer of these than
    `exact_first`, or fewer others than the exact window; more than
    2^40 tokens anywhere; segments that do not end at head_dim, that are no rows by
    these rules, or one exact beside an exact window in pages; exact windows beside
    a row of all segments; tiles in pages, in a ring, of segments or `token_major`;
    groups of several heads with `token_major`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType,
    // A FormatInterface, or SegmentsAttr.
    "::mlir::Attribute":$rowFormat,
    "int64_t":$exactFirst,
    "std::optional<int64_t>":$recent,
    "std::optional<int64_t>":$residual,
    "std::optional<int64_t>":$page,
    "std::optional<int64_t>":$ring,
    "int64_t":$keepFirst,
    "bool":$tokenMajor);
  let extraClassDeclaration = [{
    /// The format of the whole row; null where it has segments.
    ::mlir::kvq::FormatInterface getFormat() const {
      return ::llvm::dyn_cast<::mlir::kvq::FormatInterface>(getRowFormat());
    }
    /// The segments of a row; null where it has one format.
    ::mlir::kvq::SegmentsAttr getSegments() const {
      return ::llvm::dyn_cast<::mlir::kvq::SegmentsAttr>(getRowFormat());
    }
    /// The caches that the segments by themselves are, in order; the cache
    /// itself where its row has one format.
    ::std::vector<CacheType> getSegmentCaches() const;
    /// Whether all elements are kept as they are.
    bool isExact() const;
    /// Whether RoPE turns tokens as they are read, in some segment at least.
    bool isBeforeRope() const;
    /// Channels that a rotation mixes before quantization, and the type of what
    /// is subtracted before; 0 and null without, and for segments.
    int64_t getRotation() const {
      return getFormat() ? getFormat().resolve(getHeadDim()).getRotation() : 0;
    }
    ::mlir::Type getCenterType() const {
      return getFormat() ? getFormat().getCenterType() : ::mlir::Type();
    }

    int64_t getBatch() const { return getShape()[0]; }
    int64_t getHeads() const { return getShape()[1]; }
    int64_t getCapacity() const { return getShape()[2]; }
    int64_t getHeadDim() const { return getShape()[3]; }

    /// Whether the layout of a format, that of a segment say, is open.
    bool hasOpenLayout() const;
    /// How rows of quantized tokens lie together; none for segments.
    ::mlir::kvq::TileOrder getTileOrder() const;
    /// The same cache with rows one after the other.
    CacheType withoutTiles() const;

    /// The token extent of a group.
    int64_t getTokenGroup() const;
    /// KV heads of a group; not for segments.
    int64_t getGroupHeads() const {
      return getFormat().getGroupHeads(getHeads());
    }
    /// Tokens that leave the window together: R with `residual`, else a group.
    int64_t getFlushTokens() const {
      return getResidual().value_or(getTokenGroup());
    }
    /// Tokens that are never quantized: the first ones, and with `recent` R.
    int64_t getHeldTokens() const {
      return getExactFirst() + getRecent().value_or(0);
    }
    /// Rows of the `recent` ring; 0 when every token is quantized as it is
    /// appended.
    int64_t getRecentRows() const;
    bool hasRecentWindow() const { return getRecentRows() != 0; }

    bool isPaged() const { return getPage().has_value(); }
    bool isRing() const { return getRing().has_value(); }
    /// Of a ring, the newest tokens that are kept beside the first ones.
    int64_t getNewestTokens() const { return *getRing() - getKeepFirst(); }
    /// Of a ring, rows of quantized tokens that stay, and those that go round.
    int64_t getKeptRows() const;
    int64_t getRingRows() const;

    /// Tokens of a sequence of `length` (all tokens, in an exact format) that
    /// have been stored as codes by then: f(length).
    int64_t getFlushedTokens(int64_t length) const;
    /// Rows for them in a cache of that capacity.
    int64_t getQuantizedRows(int64_t capacity) const;

    /// The storage components for sequences of `capacity` tokens (dynamic
    /// extents where that is `ShapedType::kDynamic`), with as many pages as they
    /// need where none is shared. The only list of them: allocation, expansion
    /// and byte counts all read it.
    ::llvm::SmallVector<StorageComponent> getComponents(int64_t capacity) const;
    /// Those of the type itself, whose number of pages is dynamic.
    ::llvm::SmallVector<StorageComponent> getComponents() const {
      return getComponents(isPaged() ? ::mlir::ShapedType::kDynamic
                                     : getCapacity());
    }
    /// Those of a paged cache with a pool of `pages`.
    ::llvm::SmallVector<StorageComponent> getPoolComponents(int64_t pages) const;

    /// Why values cannot be the channels `[begin, end)` of rows: empty if they
    /// can.
    ::std::string whyNotChannels(int64_t begin, int64_t end) const;

    /// The same cache with another shape.
    CacheType withShape(::llvm::ArrayRef<int64_t> shape) const;
    /// The same cache with the rows of each sequence one after the other.
    CacheType withoutPages() const;
    /// Index of the component `kind` in `getComponents`; not for segments.
    std::optional<unsigned> findComponent(ComponentKind kind) const;
    /// Which of the components a segment's cache has, in the order of its own.
    ::llvm::SmallVector<unsigned> getSegmentComponents(unsigned segment) const;
    /// Quantized tokens (tokens of an exact cache) that one row of a component
    /// is for; not for segments.
    int64_t getRowTokens(ComponentKind kind) const;
    /// How the rows of the cache lie in bytes; not for segments.
    ::mlir::kvq::RowLayout getRowLayout() const {
      return getFormat().getRowLayout(getHeadDim(), getElementType());
    }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // KVQ_IR_KVQTYPES_TD
