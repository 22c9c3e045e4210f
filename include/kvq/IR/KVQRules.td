//===- KVQRules.td - How scales and codes are computed -----*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQRULES_TD
#define KVQ_IR_KVQRULES_TD

include "kvq/IR/KVQDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class KVQ_RuleEnum<string name, string summary, list<EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::mlir::kvq";
}

def KVQ_RuleTies : KVQ_RuleEnum<"RuleTies",
    "the code of a number in the middle between two", [
  I32EnumCase<"Even", 0, "even">,
  I32EnumCase<"Away", 1, "away">,
  I32EnumCase<"Up", 2, "up">,
  I32EnumCase<"Lower", 3, "lower">
]>;

def KVQ_RuleQuotient : KVQ_RuleEnum<"RuleQuotient",
    "how elements are divided by a scale", [
  I32EnumCase<"Divide", 0, "divide">,
  I32EnumCase<"Reciprocal", 1, "reciprocal">,
  I32EnumCase<"Fused", 2, "fused">
]>;

def KVQ_RuleMetadata : KVQ_RuleEnum<"RuleMetadata",
    "the scale and zero that codes are computed with", [
  I32EnumCase<"Stored", 0, "stored">,
  I32EnumCase<"Unrounded", 1, "unrounded">
]>;

def KVQ_RuleBounds : KVQ_RuleEnum<"RuleBounds",
    "the signed codes that are used", [
  I32EnumCase<"Symmetric", 0, "symmetric">,
  I32EnumCase<"Full", 1, "full">
]>;

def KVQ_RuleExtremum : KVQ_RuleEnum<"RuleExtremum",
    "the end that a scale without a zero is taken from", [
  I32EnumCase<"Absolute", 0, "absolute">,
  I32EnumCase<"Signed", 1, "signed">
]>;

def KVQ_RuleSpan : KVQ_RuleEnum<"RuleSpan",
    "the range of a group with a zero point", [
  I32EnumCase<"WithZero", 0, "with_zero">,
  I32EnumCase<"Elements", 1, "elements">
]>;

def KVQ_RuleScale : KVQ_RuleEnum<"RuleScale",
    "how a scale is rounded to its stored type", [
  I32EnumCase<"Covering", 0, "covering">,
  I32EnumCase<"Nearest", 1, "nearest">,
  I32EnumCase<"Exponent", 2, "exponent">
]>;

def KVQ_RuleFit : KVQ_RuleEnum<"RuleFit",
    "what is done to a scale after it is found", [
  I32EnumCase<"None", 0, "none">,
  I32EnumCase<"End", 1, "end">,
  I32EnumCase<"Squares", 2, "squares">
]>;

/// An f32 that is written as a bare number; 0 stands for none.
class KVQ_RuleNumber<string desc> : APFloatParameter<desc> {
  let defaultValue = "::llvm::APFloat(0.0f)";
  let parser = "::mlir::kvq::detail::parseRuleNumber($_parser)";
  let printer = "::mlir::kvq::detail::printRuleNumber($_printer, $_self)";
}

def KVQ_RuleAttr : AttrDef<KVQ_Dialect, "Rule"> {
  let mnemonic = "rule";
  let summary = "how the scales, zeros and codes of a format are computed";
  let description = [{
    ```mlir
    #kvq.rule<ties = away, quotient = reciprocal, metadata = unrounded, scale = nearest>
    #kvq.rule<ties = up, bounds = full, extremum = signed, scale = nearest>
    #kvq.rule<scale = exponent>
    #kvq.rule<scale = nearest, least = 1.0e-6>
    ```

    docs/Semantics.md has one rule for each step of quantization, which is the
    default of each field here. A cache whose bytes others read or write follows
    theirs instead (section "Other rules" there). What a stored code means is
    the same under every rule. Fields that are not written are at their default,
    the first value:

    | field | values | meaning |
    |---|---|---|
    | `ties` | `even` | a number in the middle takes the even code (of a codebook the lower index) |
    | | `away` | integers: the code farther from zero |
    | | `up` | integers: `floor(x + 1/2)`, counted from the lowest code; codebooks: the higher index |
    | | `lower` | floats: the lower bit pattern, so the smaller magnitude, and +0 for -0 |
    | `quotient` | `divide` | elements are divided by the scale |
    | | `reciprocal` | they are multiplied by its reciprocal |
    | | `fused` | likewise, and the zero point is added without a rounding in between |
    | `metadata` | `stored` | codes are computed with the scale and zero as stored |
    | | `unrounded` | with the f32 ones that they are rounded from |
    | `bounds` | `symmetric` | signed codes of b bits are within ±(2^(b-1)-1) |
    | | `full` | they go down to -2^(b-1) |
    | `extremum` | `absolute` | without a zero the scale is max abs x over the largest code |
    | | `signed` | it is the first element of the largest magnitude over the lowest code; negative where that element is positive |
    | `span` | `with_zero` | a range under a zero point is widened to contain 0 |
    | | `elements` | it is not, and the zero point may lie beyond the codes |
    | `scale` | `covering` | a scale that loses precision is rounded up |
    | | `nearest` | a scale is rounded to nearest even, to 0 too |
    | | `exponent` | f8E8M0FNU: the exponent of max abs x less that of the largest code |
    | `least` | a number | no scale is smaller |
    | `constant` | a number | the scale of a group whose range is one point |
    | `fit` | `none` | |
    | | `end` | with a minimum: the end farther from zero is met exactly, and so is zero, by a whole number of steps; the scale is negative where that end is positive |
    | | `squares` | without a zero: once there are codes, the scale of least squared error weighted by x² replaces the one that they came from |
    | `precision` | `f32` | type that each result is rounded to on the way to codes: `f32 f16 bf16` |

    Errors: a field that the codes, the zero, the scale or the range of a format
    give no meaning to; `least`, `constant`, `extremum = signed`, `fit`,
    `metadata = unrounded` or a `precision` under `scale = covering`.
  }];
  let parameters = (ins
    DefaultValuedParameter<"::mlir::kvq::RuleTies", "RuleTies::Even">:$ties,
    DefaultValuedParameter<"::mlir::kvq::RuleQuotient",
                           "RuleQuotient::Divide">:$quotient,
    DefaultValuedParameter<"::mlir::kvq::RuleMetadata",
                           "RuleMetadata::Stored">:$metadata,
    DefaultValuedParameter<"::mlir::kvq::RuleBounds",
                           "RuleBounds::Symmetric">:$bounds,
    DefaultValuedParameter<"::mlir::kvq::RuleExtremum",
                           "RuleExtremum::Absolute">:$extremum,
    DefaultValuedParameter<"::mlir::kvq::RuleSpan",
                           "RuleSpan::WithZero">:$span,
    DefaultValuedParameter<"::mlir::kvq::RuleScale",
                           "RuleScale::Covering">:$scale,
    KVQ_RuleNumber<"the smallest scale, or 0">:$least,
    KVQ_RuleNumber<"the scale of constant groups, or 0">:$constant,
    DefaultValuedParameter<"::mlir::kvq::RuleFit", "RuleFit::None">:$fit,
    OptionalParameter<"::mlir::FloatType",
                      "type of intermediate results; null is f32">:$precision);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The rule of docs/Semantics.md.
    static RuleAttr getDefault(::mlir::MLIRContext *context);
    bool isDefault() const { return *this == getDefault(getContext()); }
    /// Whether scales may be below zero.
    bool hasSignedScales() const;
    /// Reports a field that has no meaning for a format of such codes, scales
    /// and zeros.
    ::llvm::LogicalResult verifyFormat(
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::Attribute codes, const Codec &codec, ::mlir::Type scale,
        ZeroKind zeroKind, ::mlir::Type zero, RangePolicy range) const;
  }];
}

#endif // KVQ_IR_KVQRULES_TD
