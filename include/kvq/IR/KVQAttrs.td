//===- KVQAttrs.td - Formats and regions -------------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQATTRS_TD
#define KVQ_IR_KVQATTRS_TD

include "kvq/IR/KVQDialect.td"
include "kvq/IR/KVQInterfaces.td"
include "kvq/IR/KVQRules.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Dialect/SCF/IR/DeviceMappingInterface.td"
include "mlir/IR/EnumAttr.td"

class KVQ_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<KVQ_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def KVQ_RangePolicy : I32Enum<"RangePolicy",
    "how the range of a group is taken from its values", [
  I32EnumCase<"AbsMax", 0, "absmax">,
  I32EnumCase<"MinMax", 1, "minmax">,
  I32EnumCase<"Clip", 2, "clip">,
  I32EnumCase<"Search", 3, "search">,
  I32EnumCase<"Rms", 4, "rms">,
  I32EnumCase<"Norm", 5, "norm">,
  I32EnumCase<"Static", 6, "static">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_ZeroKind : I32Enum<"ZeroKind",
    "what the zero of a group means", [
  I32EnumCase<"None", 0, "none">,
  I32EnumCase<"Min", 1, "min">,
  I32EnumCase<"Point", 2, "point">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_RopeOrder : I32Enum<"RopeOrder",
    "whether keys are stored after RoPE or before", [
  I32EnumCase<"Post", 0, "post">,
  I32EnumCase<"Pre", 1, "pre">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_RopeStyle : I32Enum<"RopeStyle",
    "which channels RoPE turns together", [
  I32EnumCase<"Half", 0, "half">,
  I32EnumCase<"Interleaved", 1, "interleaved">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_OrderKind : I32Enum<"OrderKind",
    "how the codes of a row follow each other in its bytes", [
  I32EnumCase<"Planar", 0, "planar">,
  I32EnumCase<"Stream", 1, "stream">,
  I32EnumCase<"Reversed", 2, "reversed">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_TileKind : I32Enum<"TileKind",
    "which elements of a tile are stored side by side", [
  I32EnumCase<"None", 0, "none">,
  I32EnumCase<"ChannelPairs", 1, "channel_pairs">,
  I32EnumCase<"TokenPairs", 2, "token_pairs">,
  I32EnumCase<"Fragments", 3, "fragments">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_RowField : I32Enum<"RowField",
    "what a part of a packed row holds", [
  I32EnumCase<"Codes", 0, "codes">,
  I32EnumCase<"High", 1, "high">,
  I32EnumCase<"Scale", 2, "scale">,
  I32EnumCase<"Zero", 3, "zero">,
  I32EnumCase<"ScaleZero", 4, "scale_zero">,
  I32EnumCase<"Values", 5, "values">,
  I32EnumCase<"Skip", 6, "skip">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_RecordScope : I32Enum<"RecordScope",
    "what one record of a row is for", [
  I32EnumCase<"None", 0, "none">,
  I32EnumCase<"Group", 1, "record">,
  I32EnumCase<"Row", 2, "row">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_TokenRegion : I32Enum<"TokenRegion",
    "part of a sequence that is stored in one way", [
  I32EnumCase<"First", 0, "first">,
  I32EnumCase<"Codes", 1, "codes">,
  I32EnumCase<"Recent", 2, "recent">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_ComponentKind : I32Enum<"ComponentKind",
    "what a storage component of a cache holds", [
  I32EnumCase<"Codes", 0, "codes">,
  I32EnumCase<"Values", 1, "values">,
  I32EnumCase<"Records", 2, "records">,
  I32EnumCase<"Scales", 3, "scales">,
  I32EnumCase<"Zeros", 4, "zeros">,
  I32EnumCase<"OuterScales", 5, "outer_scales">,
  I32EnumCase<"Means", 6, "means">,
  I32EnumCase<"Signs", 7, "signs">,
  I32EnumCase<"First", 8, "first">,
  I32EnumCase<"Recent", 9, "recent">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_ComponentAttr : EnumAttr<KVQ_Dialect, KVQ_ComponentKind, "component"> {
  let summary = "a storage component of a cache";
  let description = [{
    One of the components that `!kvq.cache` lists, by its name there.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def KVQ_TokenRegionAttr : EnumAttr<KVQ_Dialect, KVQ_TokenRegion, "region"> {
  let summary = "part of a sequence that is stored in one way";
  let description = [{
    The tokens of a sequence lie in up to three parts, in this order: `first`
    (exact, `exact_first` tokens), `codes` (quantized, as many as are flushed),
    `recent` (exact, the newest tokens, in a ring).
  }];
  let assemblyFormat = "`<` $value `>`";
}

def KVQ_RopeStyleAttr : EnumAttr<KVQ_Dialect, KVQ_RopeStyle, "rope_style"> {
  let summary = "which channels RoPE turns together";
  let description = [{
    Of the first n channels of a row, n being twice the width of the tables:
    `half` turns channel c together with c + n/2, `interleaved` 2c with 2c + 1.
    The others stay as they are.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def KVQ_WorkItemAttr : KVQ_Attr<"WorkItem", "work_item",
    [DeclareAttrInterfaceMethods<DeviceMappingAttrInterface>]> {
  let summary = "an axis of an op's work items";
  let description = [{
    Maps a loop of an `scf.forall` to axis `axis` of the work items that an op was
    split into: independent of one another, each for a thread of a CPU or a block
    of a GPU. A mapped loop stays a loop where it has a single iteration.
  }];
  let parameters = (ins "int64_t":$axis);
  let assemblyFormat = "`<` $axis `>`";
  let extraClassDeclaration = [{
    /// The mapping of a loop with `rank` induction variables.
    static ::mlir::ArrayAttr getMapping(::mlir::MLIRContext *context,
                                        int64_t rank);
  }];
}

def KVQ_CodebookAttr : KVQ_Attr<"Codebook", "codebook"> {
  let summary = "the numbers that codes stand for, as a table";
  let description = [{
    ```mlir
    #kvq.codebook<nf4>
    #kvq.codebook<iq4_nl>
    #kvq.codebook<lloyd_max = 3>
    #kvq.codebook<values = [-1.0, -0.25, 0.25, 1.0]>
    ```

    Code i stands for the i-th value, an f32. A codebook is its values: a name is
    short for them, and prints where they are the same.

    | name | values |
    |---|---|
    | `nf4` | the 16 quantiles of a normal source of QLoRA's NormalFloat |
    | `iq4_nl` | the 16 integers, -127 to 113, of ggml's type |
    | `lloyd_max = b` | 2^b values with the least squared error for a normal source, b from 1 to 4 |
    | `values` | 2 to 16 numbers, strictly increasing |

    Codes take as many bits as the number of values needs; a code beyond the last
    value, which quantization never produces, stands for the last one.

    Errors: fewer than 2 or more than 16 values, values that do not increase or
    are not finite, an unknown name, `lloyd_max` of other than 1 to 4 bits.
  }];
  let parameters = (ins "::mlir::DenseF32ArrayAttr":$values);
  let extraClassDeclaration = [{
    /// Bits of a code: as many as the number of values needs.
    unsigned getBits() const;
    /// Whether 0 is one of the values.
    bool hasZero() const;
    /// The values, each divided by `divisor` in f32.
    ::llvm::SmallVector<float> getQuotients(float divisor) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVQ_CodeOrderParameter
    : AttrParameter<"::mlir::kvq::CodeOrder", "an order of codes in bytes">;

def KVQ_TileOrderParameter
    : AttrParameter<"::mlir::kvq::TileOrder", "an order of rows' bytes">;

def KVQ_CodeBlockParameter
    : AttrParameter<"::mlir::kvq::CodeBlock", "the tokens of a row of codes">;

def KVQ_LayoutAttr : KVQ_Attr<"Layout", "layout"> {
  let summary = "how codes and metadata of a row lie in bytes";
  let description = [{
    ```mlir
    #kvq.layout<codes = planar>
    #kvq.layout<codes = stream, bias>
    #kvq.layout<codes = stream<8, 2>, record = [scale, zero]>
    #kvq.layout<codes = planar, high = stream, bias, record = [scale, high, codes]>
    #kvq.layout<codes = planar, row = [codes, scale]>
    #kvq.layout<codes = stream, block = [16, 1]>
    #kvq.layout<codes = planar, block = [32, *], row = [scale, zero, codes]>
    #kvq.layout<codes = planar, tile = channel_pairs<64>>
    #kvq.layout<codes = planar, tile = fragments<64>>
    ```

    | field | values | meaning |
    |---|---|---|
    | `codes` | `planar` (default), `planar<n>` | byte j holds element j in its lowest bits, element j + n/k in the next, and so on, with k = 8/bits codes in a byte; in each n elements by themselves, or in all that the field holds: those of the row, of the group in a `record` |
    | | `stream` | one element after the other, each lowest bit first, across the borders of bytes |
    | | `stream<n, s>` | likewise, in each n elements in the order 0, s, 2s, ..., 1, 1+s, ... |
    | | `reversed` | as `stream`, but the first element of a byte in its highest bits; codes of 1, 2, 4 or 8 bits |
    | `high` | an order, as of `codes` | that of the high parts of codes that are cut; as `codes` by default |
    | `bias` | given or not | what is stored is the code + 2^(bits-1); signed integer codes only |
    | `block` | `[t, c]` | one row holds the codes of t tokens that follow each other: of each c channels (`*`: all that the field holds) those of one token after the other; `[1, *]` by default |
    | `record` | a list of fields | component `records`: the bytes of each group of channels, one group after the other, the fields of each in this order |
    | `row` | a list of fields | component `records`: the fields of a row in this order, each of all groups |
    | `tile` | `channel_pairs<T>` | bytes of T rows together: the first two of each row, one row after the other, then the next two, ... |
    | | `token_pairs<T>` | bytes of each two rows together: their first bytes, then their second ones, ... |
    | | `fragments<T>` | bytes of T rows in the order in which the lanes of a warp load them as operands of products of matrices; integer codes of 2, 4 and 8 bits |

    Planar codes of 3, 5 and 6 bits are cut into low parts of 2, 4 and 4 bits,
    the field `codes`, and the 1, 1 and 2 bits above, the field `high`. Other
    orders keep codes whole.

    | field of `record` and `row` | holds |
    |---|---|
    | `codes` | the codes, or their low parts |
    | `high` | the high parts |
    | `scale`, `zero` | scale or zero, little endian, at any alignment |
    | `scale<s>`, `zero<s>` | in a `row`: those of groups 0, s, 2s, ..., then of 1, 1+s, ... |
    | `scale_zero` | an f32 scale whose lowest mantissa bits, as many as a code has, are an integer zero point; those bits of the scale are lost |
    | `values` | of `codes = none`: the elements, little endian, at any alignment |
    | `skip<n>` | n bytes that are not this format's: neither read nor written |

    Bytes in the order of memory, of one group with the f16 scale 1.0 (`3c00`):

    | codes | layout | bytes |
    |---|---|---|
    | 1 2 3 4 in 4 bits | `codes = planar` | `31 42` in `codes`, `00 3c` in `scales` |
    | 1 2 3 4 | `codes = planar<2>`, `codes = stream` | `21 43` |
    | 1 2 3 4 | `codes = reversed` | `12 34` |
    | 0 to 7 | `codes = stream<8, 2>` | `20 64 31 75` |
    | 1 2 3 4, signed | `codes = planar, bias` | `b9 ca` |
    | 1 2 3 4 | `record = [scale, codes]` | `00 3c 31 42` in `records` |
    | 1 2 3 4 | `row = [codes, scale]` | `31 42 00 3c` in `records` |
    | 16 to 23 in 5 bits | `codes = planar` | `40 51 62 73 ff` |
    | 16 to 23 | `codes = stream` | `30 ca 49 ab bd` |
    | 16 to 23 | `high = stream, record = [scale, high, codes]` | `00 3c ff 40 51 62 73` |
    | 1 2 of a token, 3 4 of the next | `codes = stream, block = [2, 1]` | `31 42` |
    | 1 2 of a token, 3 4 of the next | `codes = stream, block = [2, *]` | `21 43` |

    An order counts the elements of a row, of all its tokens: with `block = [t, c]`
    element i of a field of d channels is channel
    `floor(i / (t c)) c + i mod c` of token `floor(i / c) mod t`.

    In a tile metadata lie by group: those of the first group of all T tokens, then
    those of the next one. What a sequence stores takes whole tiles. Either order
    lets vectors lie along tokens (keys, `channel_pairs`) or channels (values,
    `token_pairs`) with the two elements side by side that an instruction adds.
    `fragments` is for values that tensor cores read (docs/TensorCores.md): two
    bytes of each two tokens are a 32-bit word, the words of a lane follow each
    other, and each byte is of one token, so that appending reads none. Its
    metadata are row by row. Pages are whole tiles, of any kind.

    What a list does not name keeps a component of its own, as without one: the
    codes beside `record = [scale, zero]`, say. A row of codes by themselves is
    that of t tokens, and t divides the tokens of a group. A record is that of one
    group of tokens: with codes in it, t is as many tokens.

    Errors: an unknown or repeated field, an empty or one-field list, an order
    whose n or s is below 1 or does not divide, a block of less than one token or
    channel, or of one token and not of all channels, a stride below 1 or that
    does not divide the groups of a row; with a format, `bias`
    without signed integer codes, `zero` or `scale_zero` without such a zero,
    `high` for codes that are not cut, cut codes with only one of `codes` and
    `high`, metadata in a record with a static range, a block that does not divide
    the tokens of a group, or with codes in a record is not as many, or does not
    divide the channels; with `codes = none` anything but `values` and `skip<n>`
    in a `row`; a tile of an odd number of tokens, with another order than `planar`,
    with a block, a record or a row, or with groups of several tokens or heads or a
    static range; rows of an odd number of bytes in a tile; fragments of a number of
    tokens that 16 does not divide, of other codes than integers of 2, 4 and 8 bits,
    or with rows that are no multiple of 16 bytes.
  }];
  let parameters = (ins
    KVQ_CodeOrderParameter:$codes,
    KVQ_CodeOrderParameter:$high,
    "bool":$bias,
    KVQ_CodeBlockParameter:$block,
    "::mlir::kvq::RecordScope":$scope,
    ArrayRefParameter<"::mlir::kvq::LayoutField">:$fields,
    KVQ_TileOrderParameter:$tile,
    DefaultValuedParameter<"bool", "false",
        "left open, planar until it is assigned">:$open);
  let extraClassDeclaration = [{
    /// Codes planar in the row, each kind of metadata a component of its own.
    static LayoutAttr getPlanar(::mlir::MLIRContext *context);
    /// The one that `kvq-assign-layout` takes the place of.
    static LayoutAttr getOpen(::mlir::MLIRContext *context);
    /// Planar rows in such tiles.
    static LayoutAttr getTiles(::mlir::MLIRContext *context,
                               ::mlir::kvq::TileOrder tile);
    bool hasField(::mlir::kvq::RowField field) const;
    /// The same layout of each row, rows one after the other.
    LayoutAttr withoutTile() const;
    /// The same codes, in a row with these fields.
    LayoutAttr withRow(
        ::llvm::ArrayRef<::mlir::kvq::LayoutField> fields) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVQ_FormatAttr : KVQ_Attr<"Format", "format",
    [DeclareAttrInterfaceMethods<KVQ_FormatInterface>]> {
  let summary = "how the elements of one side of a KV cache are stored";
  let description = [{
    ```mlir
    #kvq.format<codes = i4, group = [1, 32], scale = f16>
    #kvq.format<codes = ui3, group = [32, 8], scale = bf16, zero = min f16>
    #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f32>
    #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32>
    #kvq.format<codes = #kvq.codebook<nf4>, group = [1, 64], scale = f16>
    #kvq.format<codes = none>
    ```

    | field | values | meaning |
    |---|---|---|
    | `codes` | `i2 i3 i4 i5 i6 i8` | signed codes, symmetric: within ±(2^(b-1)-1) |
    | | `ui2 ui3 ui4 ui5 ui6 ui8` | unsigned codes, 0 .. 2^b-1; need `zero` |
    | | `f8E4M3FN f8E5M2 f6E2M3FN f6E3M2FN f4E2M1FN` | floats, rounded to nearest even and saturating; a code is the bit pattern |
    | | `#kvq.codebook<...>` | the nearest value of a table; a code is its index |
    | | `none` | elements kept exact; no other field but `rope` and `layout` |
    | `group` | `[tokens, channels]` | elements that share one scale, inside one sequence and one head; `*` is the whole axis |
    | `heads` | a number, `*` | KV heads that share one scale too: so many that follow each other, or all; default 1 |
    | `scale` | `f16 bf16 f32` | stored type of a scale |
    | | `f8E8M0FNU` | a power of two, rounded up so that nothing saturates |
    | | `f8E4M3FN` | a small float; with integer codes of more than 4 bits rounded up |
    | | `f8E4M3FN of f32` | two levels: the small float times an outer scale, which is given for each head when the cache is made |
    | `zero` | absent | symmetric |
    | | `min T`, T of `f16 bf16 f32` | the real minimum of the group; code 0 means it |
    | | `point T`, T of `i8 ui8 f16 bf16 f32` | the code, not always a whole one, that 0 has; an integer one lies within the codes |
    | `range` | `absmax` | the range is ±max abs x; default without a zero |
    | | `minmax` | the range is [min x, max x]; default with one |
    | | `clip<r>`, 0 < r <= 1 | the ends of either, times r; what lies outside saturates |
    | | `search<n>` | the one of n clip ratios, 1 - i/(2n) for i < n, with the least squared error |
    | | `rms` | codebooks: the scale is the root mean square of the group |
    | | `norm` | codebooks: the scale is the group's Euclidean norm, and its values are divided by the root of the number of its elements |
    | | `static` | scales and zeros are given when the cache is made, one row of them for each head; for groups of all tokens |
    | `rotate` | `hadamard<n>`, n a power of two | a rotation of each n consecutive channels before quantization; their signs are given; `*` for all channels of a row |
    | `center` | `f16 bf16 f32` | a mean of each channel, given, is subtracted before that |
    | `rope` | `post` | keys are stored after RoPE, or have none, and are read as they are; default |
    | | `pre` | keys are stored before RoPE, and turned as attention reads them |
    | `rule` | `#kvq.rule<...>` | how scales, zeros and codes are computed where that is not by docs/Semantics.md |
    | `layout` | absent | as `#kvq.layout<codes = planar>` |
    | | `auto` | `kvq-assign-layout` chooses one for the target, and for keys or values |
    | | `#kvq.layout<...>` | how codes and metadata lie in bytes, on every target |

    `rms` and `norm` are for codebooks of a normal source of variance 1, as
    `lloyd_max`: what they code is x/rms(x), however large the group.

    A format prints in full, with `range` spelled out. Which tokens a group spans
    decides when its range can be known: with one token at append; with n tokens
    only when n are there, so that the newest tokens wait in an exact window.
    A group over all tokens (`[*, c]`) has an honest range only when that is
    given: it goes with `static` and with nothing else. Its tokens are quantized
    one by one, as they are appended.

    Zeros are stored as the type that they are written with; integer ones as
    bytes, `i8` in tensors. A `point ui8` byte counts from 0 to 255.

    Errors: an unknown or repeated field, a missing `group` or `scale`, codes or
    metadata of another type, unsigned codes without a zero and others with one,
    a zero point whose type does not hold the codes, a codebook without the value
    0 under `f8E8M0FNU`, which is never 0, a `range` that does not fit the zero or
    the group or the codes, a clip ratio or a number of search steps out of bounds,
    a rotation of other than a power of two of channels, a rotation or a mean with
    `rope = pre`.
  }];
  let parameters = (ins
    "::mlir::Attribute":$codes,
    "int64_t":$tokens,
    "int64_t":$channels,
    "::mlir::Type":$scale,
    OptionalParameter<"::mlir::Type", "outer scale of a two-level one">:$outer,
    "::mlir::kvq::ZeroKind":$zeroKind,
    "::mlir::Type":$zero,
    "::mlir::kvq::RangePolicy":$range,
    APFloatParameter<"ratio of clip, an f32; 1 with other ranges">:$clip,
    DefaultValuedParameter<"int64_t", "1",
        "ratios that search chooses from; 1 with other ranges">:$steps,
    DefaultValuedParameter<"int64_t", "1",
        "KV heads that share a scale; kWholeAxis for all">:$heads,
    "::mlir::kvq::RuleAttr":$rule,
    OptionalParameter<"::mlir::Type", "type of the mean">:$center,
    DefaultValuedParameter<"int64_t", "0",
        "channels that are rotated together; 0 without, kWholeAxis for all">:
        $rotation,
    "::mlir::kvq::RopeOrder":$rope,
    "::mlir::kvq::LayoutAttr":$layout);
  let extraClassDeclaration = [{
    /// The layout; planar where none is given.
    LayoutAttr getLayoutOrDefault() const;
    /// The same format with another layout, which fits it.
    FormatAttr withLayout(LayoutAttr layout) const;
    /// Stands for `*`: the whole axis.
    static constexpr int64_t kWholeAxis = -1;
    /// The exact format: elements kept as they are.
    static FormatAttr getExact(
        ::mlir::MLIRContext *context,
        ::mlir::kvq::RopeOrder rope = ::mlir::kvq::RopeOrder::Post);
    /// Whether codes lie in two parts, the fields `codes` and `high`.
    bool areCodesCut() const;
    /// What one row of records, if it is one record, holds in a field.
    int64_t getFieldBytes(::mlir::kvq::RowField field, int64_t headDim,
                          ::mlir::Type elementType) const;
    /// Elements of a group, in a resolved format.
    int64_t getGroupSize() const {
      return getHeads() * getTokens() * getChannels();
    }
    /// The numbers that the indices of a codebook stand for, in a resolved
    /// format.
    ::llvm::SmallVector<float> getCodebookValues() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVQ_ScheduleAttr : KVQ_Attr<"Schedule", "schedule"> {
  let summary = "how attention is cut into work and vectors";
  let description = [{
    ```mlir
    #kvq.schedule<tile = 64, splits = 4, vector_width = 16, prefetch = 1>
    ```

    | field | values | meaning | read by |
    |---|---|---|---|
    | `splits` | 1 to 1024 | token ranges of a query token, attended to independently | `kvq-split-tokens` |
    | `tile` | 1 to 256 | most tokens in a tile | `kvq-tile-attention` |
    | `heads_inside` | 0 to 4096 | tokens of which a work item of one query token reads all KV heads in turn; 0 for a work item for each KV head | `kvq-split-tokens` |
    | `vector_width` | a power of two to 64 | elements of f32 in a vector register | `convert-kvq-to-vector` |
    | `prefetch` | 0 to 16 | how many tiles ahead cache lines are prefetched, 0 for none | `kvq-prefetch-tiles` |

    As `schedule` of `kvq.attention` it goes before the options of these passes; a
    field that is absent leaves the option. `kvq-assign-schedule` gives one to ops
    without. The last two fields are those of a function's loops, and
    `kvq-split-tokens` passes them on, as the function's attribute `kvq.schedule`.

    Errors: no field; a number out of bounds.
  }];
  let parameters = (ins
    OptionalParameter<"std::optional<int64_t>">:$tile,
    OptionalParameter<"std::optional<int64_t>">:$splits,
    OptionalParameter<"std::optional<int64_t>">:$heads_inside,
    OptionalParameter<"std::optional<int64_t>">:$vector_width,
    OptionalParameter<"std::optional<int64_t>">:$prefetch);
  let extraClassDeclaration = [{
    static constexpr int64_t kMostTileTokens = 256, kMostSplits = 1024,
                             kMostHeadsInside = 4096, kMostVectorWidth = 64,
                             kMostPrefetch = 16;
    /// This one, with fields of `other` where it has none.
    ScheduleAttr withDefaults(ScheduleAttr other) const;
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def KVQ_SegmentsAttr : KVQ_Attr<"Segments", "segments"> {
  let summary = "formats of ranges of channels, in place of one for the row";
  let description = [{
    ```mlir
    #latent = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>
    #kvq.segments<[0:512] = #latent, [512:576] = none>
    #kvq.segments<[0:512] = #latent, [512:576] = none, row = [codes.0, scale.0, values.1]>
    ```

    As the format of a `!kvq.cache`: the first 512 channels of each row are
    quantized, the others exact. Segments begin at channel 0, each where the one
    before ends, and the last ends at head_dim. A group lies within a segment.
    `none` stands for `#kvq.format<codes = none>`.

    `row` is a list of the fields of all segments, those of segment i named as in
    `#kvq.layout` with `.i` behind: one component `records` holds them in this
    order, one record for each token. A segment's layout then says no more than
    how codes lie in their field.

    Errors: segments that overlap or leave a gap, one that does not end after it
    begins, fewer than two, none with codes, quantized ones that differ in the
    tokens of a group; with `row` a field that no segment has, one that is missing
    or given twice, groups of several tokens, a segment with a record of its own.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "where each segment ends">:$ends,
    ArrayRefParameter<"::mlir::Attribute", "the format of each">:$formats,
    ArrayRefParameter<"::mlir::kvq::SegmentField",
                      "the row of all; empty without">:$row);
  let extraClassDeclaration = [{
    /// The format of a segment as its cache has it, for elements of a type:
    /// where there is a row, with the layout of that.
    ::mlir::kvq::FormatInterface getCacheFormat(
        unsigned segment, ::mlir::Type elementType) const;
    bool hasRow() const { return !getRow().empty(); }
    /// Checks each segment as the cache that it is by itself, of the shape and
    /// with the parameters of the whole.
    ::llvm::LogicalResult verifyCache(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::llvm::ArrayRef<int64_t> shape, ::mlir::Type elementType,
        int64_t exactFirst, std::optional<int64_t> recent,
        std::optional<int64_t> residual, std::optional<int64_t> page,
        std::optional<int64_t> ring, int64_t keepFirst, bool tokenMajor) const;
    int64_t getChannels(unsigned segment) const {
      return getEnds()[segment] - (segment ? getEnds()[segment - 1] : 0);
    }
    /// Tokens of a group in the quantized segments.
    int64_t getGroupTokens() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // KVQ_IR_KVQATTRS_TD
