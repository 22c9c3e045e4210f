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
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class KVQ_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<KVQ_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def KVQ_RangePolicy : I32Enum<"RangePolicy",
    "how the range of a group is taken from its values", [
  I32EnumCase<"AbsMax", 0, "absmax">,
  I32EnumCase<"MinMax", 1, "minmax">
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

def KVQ_TokenRegionAttr : EnumAttr<KVQ_Dialect, KVQ_TokenRegion, "region"> {
  let summary = "part of a sequence that is stored in one way";
  let description = [{
    The tokens of a sequence lie in up to three parts, in this order: `first`
    (exact, `exact_first` tokens), `codes` (quantized, as many as are flushed),
    `recent` (exact, the newest tokens, in a ring).
  }];
  let assemblyFormat = "`<` $value `>`";
}

def KVQ_FormatAttr : KVQ_Attr<"Format", "format",
    [DeclareAttrInterfaceMethods<KVQ_FormatInterface>]> {
  let summary = "how the elements of one side of a KV cache are stored";
  let description = [{
    ```mlir
    #kvq.format<codes = i4, group = [1, 32], scale = f16>
    #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
    #kvq.format<codes = none>
    ```

    | field | values | meaning |
    |---|---|---|
    | `codes` | `i2 i4 i8` | signed codes, symmetric: within ±(2^(b-1)-1) |
    | | `ui2 ui4 ui8` | unsigned codes, 0 .. 2^b-1; need `zero` |
    | | `none` | elements kept exact; no other field |
    | `group` | `[tokens, channels]` | elements that share one scale, inside one sequence and one head; `*` for channels is the whole head dimension |
    | `scale` | `f16 f32` | stored type of a scale |
    | `zero` | absent | symmetric |
    | | `min f16`, `min f32` | the real minimum of the group; code 0 means it |
    | `range` | `absmax` | the range is ±max abs x; default without a zero |
    | | `minmax` | the range is [min x, max x]; default with one |

    A format prints in full, with `range` spelled out. Which tokens a group spans
    decides when its range can be known: with one token at append; with n tokens
    only when n are there, so that the newest tokens wait in an exact window.
    A group over all tokens (`[*, c]`) has an honest range only when that is
    given; as no static range can be written yet, the verifier rejects it.

    Errors: an unknown or repeated field, a missing `group` or `scale`, signed
    codes with a zero, unsigned codes without one, a metadata type other than
    f16 and f32, `range` that does not fit the zero, several tokens and several
    channels in one group.
  }];
  let parameters = (ins
    "::mlir::Type":$codes,
    "int64_t":$tokens,
    "int64_t":$channels,
    "::mlir::Type":$scale,
    "::mlir::Type":$zero,
    "::mlir::kvq::RangePolicy":$range);
  let extraClassDeclaration = [{
    /// Stands for `*`: the whole axis.
    static constexpr int64_t kWholeAxis = -1;
    /// The exact format: elements kept as they are.
    static FormatAttr getExact(::mlir::MLIRContext *context);
    /// Largest code as a float: 2^(b-1)-1 if signed, 2^b-1 if not.
    double getMaxCode() const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // KVQ_IR_KVQATTRS_TD
