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
  I32EnumCase<"Scales", 2, "scales">,
  I32EnumCase<"Zeros", 3, "zeros">,
  I32EnumCase<"OuterScales", 4, "outer_scales">,
  I32EnumCase<"Means", 5, "means">,
  I32EnumCase<"Signs", 6, "signs">,
  I32EnumCase<"First", 7, "first">,
  I32EnumCase<"Recent", 8, "recent">
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
    | | `none` | elements kept exact; no other field |
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
    | `rotate` | `hadamard<n>`, n a power of two | a rotation of each n consecutive channels before quantization; their signs are given |
    | `center` | `f16 bf16 f32` | a mean of each channel, given, is subtracted before that |
    | `rule` | `#kvq.rule<...>` | how scales, zeros and codes are computed where that is not by docs/Semantics.md |

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
    a rotation of other than a power of two of channels.
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
        "channels that are rotated together; 0 without">:$rotation);
  let extraClassDeclaration = [{
    /// Stands for `*`: the whole axis.
    static constexpr int64_t kWholeAxis = -1;
    /// The exact format: elements kept as they are.
    static FormatAttr getExact(::mlir::MLIRContext *context);
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

def KVQ_SegmentsAttr : KVQ_Attr<"Segments", "segments"> {
  let summary = "formats of ranges of channels, in place of one for the row";
  let description = [{
    ```mlir
    #latent = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>
    #kvq.segments<[0:512] = #latent, [512:576] = none>
    ```

    As the format of a `!kvq.cache`: the first 512 channels of each row are
    quantized, the others exact. Segments begin at channel 0, each where the one
    before ends, and the last ends at head_dim. A group lies within a segment.
    `none` stands for `#kvq.format<codes = none>`.

    Errors: segments that overlap or leave a gap, one that does not end after it
    begins, fewer than two, none with codes, quantized ones that differ in the
    tokens of a group.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "where each segment ends">:$ends,
    ArrayRefParameter<"::mlir::Attribute", "the format of each">:$formats);
  let extraClassDeclaration = [{
    /// Tokens of a group in the quantized segments.
    int64_t getGroupTokens() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // KVQ_IR_KVQATTRS_TD
