//===- KVQPolicy.td - Which cache is kept in which format --*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQPOLICY_TD
#define KVQ_IR_KVQPOLICY_TD

include "kvq/IR/KVQAttrs.td"

def KVQ_Side : I32Enum<"CacheSide", "what of a layer a cache holds", [
  I32EnumCase<"Keys", 0, "keys">,
  I32EnumCase<"Values", 1, "values">
]> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_SideAttr : EnumAttr<KVQ_Dialect, KVQ_Side, "side"> {
  let summary = "what of a layer a cache holds";
  let description = [{
    `#kvq.side<keys>` or `#kvq.side<values>`. As the attribute `kvq.side` of a
    function argument or of an op on one cache it tells `kvq-apply-policy` the
    side of a cache that no `kvq.attention` shows.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def KVQ_PolicyEntryAttr : KVQ_Attr<"PolicyEntry", "policy_entry"> {
  let summary = "how some layers, sides and heads of a model are kept";
  let description = [{
    One entry of a `#kvq.policy`, where it is written without its name.

    | field | values | absent |
    |---|---|---|
    | `side` | `keys` or `values` | both |
    | `layers` | numbers and half-open ranges: `[0, 2, 8:16]` | all that no other entry names |
    | `heads` | KV heads, as `layers` | all that no other entry names |
    | `format` | a format, or `#kvq.segments`; `#kvq.format<codes = none>` exempts | required |
    | `exact_first`, `recent`, `residual` | the exact windows of `!kvq.cache` | none |

    Errors: an unknown or repeated field, no format or another attribute in its
    place, an empty range, a layer or
    head named twice, a negative number.
  }];
  let parameters = (ins
    "std::optional<::mlir::kvq::CacheSide>":$side,
    ArrayRefParameter<"int64_t", "ranges of layers, begin and end after one "
                      "another; empty for all others">:$layers,
    ArrayRefParameter<"int64_t", "ranges of KV heads alike">:$heads,
    // A FormatInterface, or SegmentsAttr.
    "::mlir::Attribute":$rowFormat,
    "int64_t":$exactFirst,
    "std::optional<int64_t>":$recent,
    "std::optional<int64_t>":$residual);
  let extraClassDeclaration = [{
    /// Whether the entry is for this side.
    bool hasSide(::mlir::kvq::CacheSide side) const {
      return !getSide() || *getSide() == side;
    }
    /// The type of `cache`, whose heads are those of the entry, under it; null
    /// and an error where there is none.
    ::mlir::kvq::CacheType getCacheType(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::kvq::CacheType cache) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVQ_PolicyAttr : KVQ_Attr<"Policy", "policy"> {
  let summary = "how the caches of a model are kept, layer by layer";
  let description = [{
    ```mlir
    module attributes {kvq.policy = #kvq.policy<
      <side = keys, format = #k, recent = 64>,
      <side = values, format = #v>,
      <layers = [0, 31], format = #kvq.format<codes = none>>,
      <side = values, layers = [7], heads = [0:2], format = #kvq.format<codes = none>>
    >} { … }
    ```

    `kvq-apply-policy` gives exact caches the types that their entries say.
    Layers are those of the attribute `kvq.layer`, an `i64`, of a function
    argument or of an op on caches. For each layer, side and head the entry that
    names the layer counts, else one without `layers`; what no entry is for
    stays as it is.

    The order of entries does not matter: none overrides another.

    Errors: no entries, two entries that name the same side, layer and head.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::kvq::PolicyEntryAttr">:$entries);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // KVQ_IR_KVQPOLICY_TD
