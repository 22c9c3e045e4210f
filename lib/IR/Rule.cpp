//===- Rule.cpp - Syntax and checks of #kvq.rule -------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "FloatText.h"

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::kvq;

FailureOr<APFloat> kvq::detail::parseRuleNumber(AsmParser &parser) {
  APFloat number(APFloat::IEEEsingle());
  if (parser.parseFloat(number.getSemantics(), number))
    return failure();
  return number;
}

void kvq::detail::printRuleNumber(AsmPrinter &printer, const APFloat &number) {
  printer << toShortestText(number.convertToFloat());
}

RuleAttr RuleAttr::getDefault(MLIRContext *context) {
  return RuleAttr::get(
      context, RuleTies::Even, RuleQuotient::Divide, RuleMetadata::Stored,
      RuleBounds::Symmetric, RuleExtremum::Absolute, RuleSpan::WithZero,
      RuleScale::Covering, /*least=*/APFloat(0.0f), /*constant=*/APFloat(0.0f),
      RuleFit::None, /*precision=*/FloatType());
}

bool RuleAttr::hasSignedScales() const {
  return getExtremum() == RuleExtremum::Signed || getFit() != RuleFit::None;
}

LogicalResult RuleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               RuleTies, RuleQuotient, RuleMetadata metadata,
                               RuleBounds, RuleExtremum extremum, RuleSpan,
                               RuleScale scale, APFloat least, APFloat constant,
                               RuleFit fit, FloatType precision) {
  for (const APFloat &number : {least, constant})
    if (!number.isFinite() || number.isNegative())
      return emitError() << "expected positive numbers as 'least' and "
                            "'constant' of a rule, got "
                         << number.convertToFloat();
  if (precision && !precision.isF16() && !precision.isBF16())
    return emitError() << "expected precision f16 or bf16, or none for f32, "
                          "got "
                       << precision;
  bool isPlain = metadata == RuleMetadata::Stored &&
                 extremum == RuleExtremum::Absolute && least.isZero() &&
                 constant.isZero() && fit == RuleFit::None && !precision;
  if (!isPlain && scale != RuleScale::Nearest)
    return emitError() << "'metadata', 'extremum', 'least', 'constant', 'fit' "
                          "and 'precision' of a rule need scale = nearest, got "
                       << stringifyRuleScale(scale);
  if (fit == RuleFit::Squares && metadata != RuleMetadata::Unrounded)
    return emitError() << "fit = squares needs metadata = unrounded, as codes "
                          "are not computed with the scale that is stored";
  return success();
}

/// What a field of a rule needs of the zero of a format.
static LogicalResult verifyZero(function_ref<InFlightDiagnostic()> emitError,
                                RuleAttr rule, ZeroKind kind, Type zero) {
  auto fail = [&](const Twine &expected) -> LogicalResult {
    InFlightDiagnostic diagnostic = emitError() << expected << ", got ";
    if (kind == ZeroKind::None)
      return diagnostic << "no zero";
    return diagnostic << "'" << stringifyZeroKind(kind) << " " << zero << "'";
  };
  bool hasZero = kind != ZeroKind::None;
  if (hasZero && rule.getExtremum() == RuleExtremum::Signed)
    return fail("extremum = signed takes no zero");
  if (hasZero && rule.getFit() == RuleFit::Squares)
    return fail("fit = squares takes no zero");
  if (kind != ZeroKind::Min && rule.getFit() == RuleFit::End)
    return fail("fit = end needs 'zero = min T'");
  if (kind != ZeroKind::Point && rule.getSpan() == RuleSpan::Elements)
    return fail("span = elements needs 'zero = point T'");
  if (kind != ZeroKind::Point && rule.getQuotient() == RuleQuotient::Fused)
    return fail("quotient = fused needs 'zero = point T'");
  return success();
}

LogicalResult
RuleAttr::verifyFormat(function_ref<InFlightDiagnostic()> emitError,
                       Attribute codes, const Codec &codec, Type scale,
                       ZeroKind zeroKind, Type zero, RangePolicy range) const {
  bool isExponent = isa<Float8E8M0FNUType>(scale);
  if (isExponent && getScale() == RuleScale::Nearest)
    return emitError() << "scale f8E8M0FNU is not rounded to nearest: expected "
                          "a rule with scale = covering or exponent";
  if (!isExponent && getScale() == RuleScale::Exponent)
    return emitError() << "a rule with scale = exponent needs scale "
                          "f8E8M0FNU, got "
                       << scale;
  if (!codec.supportsTies(getTies()))
    return emitError() << "ties = " << stringifyRuleTies(getTies())
                       << " has no meaning for codes " << codes
                       << "; expected even, away or up for integers, even or "
                          "lower for floats, even or up for codebooks";
  if (getBounds() == RuleBounds::Full && !codec.isSigned())
    return emitError() << "bounds = full needs signed integer codes, got "
                       << codes;
  if (failed(verifyZero(emitError, *this, zeroKind, zero)))
    return failure();
  bool isNorm = range == RangePolicy::Rms || range == RangePolicy::Norm;
  if (isNorm && (getExtremum() == RuleExtremum::Signed ||
                 getScale() == RuleScale::Exponent))
    return emitError() << "extremum = signed and scale = exponent have no "
                          "meaning with range "
                       << stringifyRangePolicy(range)
                       << ", whose scale is no end of a range";
  if (range == RangePolicy::Search && getMetadata() == RuleMetadata::Unrounded)
    return emitError() << "range search finds stored metadata: expected a rule "
                          "with metadata = stored";
  bool hasSign = scale.isF16() || scale.isBF16() || scale.isF32();
  if (hasSignedScales() && !hasSign)
    return emitError() << "scales that may be negative need scale f16, bf16 or "
                          "f32, got "
                       << scale;
  return success();
}
