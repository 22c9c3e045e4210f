//===- FormatArithmetic.cpp - The arithmetic of #kvq.format --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar arith ops for the bodies of structured ops. docs/Semantics.md holds
// the rules; every op here is IEEE f32 without fast-math flags, so that codes
// are the same bits on every target.
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "RuleArithmetic.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

static const llvm::fltSemantics &getSemantics(Type type) {
  return cast<FloatType>(type).getFloatSemantics();
}

/// The largest value of `type` whose product with `largest`, the largest number
/// of a code, is a finite f32 (rule R5).
static double getScaleCap(Type type, double largest) {
  APFloat cap = APFloat::getLargest(APFloat::IEEEsingle());
  cap.divide(APFloat(static_cast<float>(largest)), APFloat::rmTowardZero);
  bool losesInfo;
  cap.convert(getSemantics(type), APFloat::rmTowardZero, &losesInfo);
  APFloat limit = APFloat::getLargest(getSemantics(type));
  return cap.isFinite() ? cap.convertToDouble() : limit.convertToDouble();
}

/// The largest scale that `format` stores.
static double getStoredCap(FormatAttr format, const Codec &codec) {
  // An outer scale is small enough for any stored one.
  if (format.getOuter())
    return APFloat::getLargest(getSemantics(format.getScale()))
        .convertToDouble();
  double largest = std::max(codec.getLargest(), -codec.getLowest());
  return getScaleCap(format.getScale(), largest);
}

/// `extent` as a multiple of the smallest positive value of `type`; exact
/// where the scale is subnormal.
static Value buildUnits(OpBuilder &b, Location loc, Value extent, Type type) {
  auto scaleByPowerOfTwo = [&](int exponent) {
    extent = arith::MulFOp::create(b, loc, extent,
                                   buildF32(b, loc, std::ldexp(1.0, exponent)));
  };
  int exponent = -ilogb(APFloat::getSmallest(getSemantics(type)));
  // A power of two beyond f32 is applied in two steps.
  if (exponent > 127) {
    scaleByPowerOfTwo(exponent - exponent / 2);
    exponent /= 2;
  }
  scaleByPowerOfTwo(exponent);
  return extent;
}

/// The smallest multiple of the smallest positive value of `type` that covers
/// `extent`, divided as `divide` does and by `outer`, which may be null.
static Value buildCovering(OpBuilder &b, Location loc, Value extent, Value outer,
                           Type type, function_ref<Value(Value)> divide) {
  Value units;
  if (!outer) {
    units = divide(buildUnits(b, loc, extent, type));
    units = math::CeilOp::create(b, loc, units);
  } else {
    // The second division may underflow (rule R17).
    units = arith::DivFOp::create(b, loc, divide(extent), outer);
    units = math::CeilOp::create(b, loc, buildUnits(b, loc, units, type));
    Value some =
        arith::MaximumFOp::create(b, loc, units, buildF32(b, loc, 1.0));
    Value isPositive = arith::CmpFOp::create(
        b, loc, arith::CmpFPredicate::OGT, extent, buildF32(b, loc, 0.0));
    units = arith::SelectOp::create(b, loc, isPositive, some, units);
  }
  double unit = APFloat::getSmallest(getSemantics(type)).convertToDouble();
  return arith::MulFOp::create(b, loc, units, buildF32(b, loc, unit));
}

/// The stored scale of a group whose range is `range`, 0 or more (rules R3 to R5
/// and R17). Where the type loses precision the scale is rounded up, so that it
/// covers the group and is 0 only for extent 0; coarse types are rounded up
/// everywhere where the codec asks for it. `outer` is the outer scale, or null.
static Value buildCoveringScale(OpBuilder &b, Location loc, FormatAttr format,
                                const Codec &codec, const GroupRange &range,
                                Value outer) {
  Type type = format.getScale();
  const llvm::fltSemantics &semantics = getSemantics(type);
  auto divide = [&](Value value) -> Value {
    if (range.steps == 1.0)
      return value;
    return arith::DivFOp::create(b, loc, value, buildF32(b, loc, range.steps));
  };
  Value scale = divide(range.extent);
  if (outer)
    scale = arith::DivFOp::create(b, loc, scale, outer);
  Value capped = buildClamp(b, loc, scale, 0.0, getStoredCap(format, codec));
  if (isa<Float8E8M0FNUType>(type))
    return buildRoundUp(b, loc, capped, type);

  Value covering = buildCovering(b, loc, range.extent, outer, type, divide);

  Value smallestNormal = buildF32(
      b, loc, APFloat::getSmallestNormalized(semantics).convertToDouble());
  Value underflows = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                           scale, smallestNormal);
  Value stored = arith::SelectOp::create(b, loc, underflows, covering, capped);
  if (type.isF32())
    return stored;
  if (type.isF16())
    return arith::TruncFOp::create(b, loc, type, stored);
  if (codec.needsCoveringScale() && isa<Float8E4M3FNType>(type))
    return buildRoundUp(b, loc, stored, type);
  return buildRound(b, loc, stored, type);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// The codec of a resolved format under its rule.
static std::unique_ptr<Codec> getFormatCodec(FormatAttr format) {
  RuleAttr rule = format.getRule();
  if (format.getRange() == RangePolicy::Norm)
    return getCodebookCodec(format.getCodebookValues(), rule.getTies());
  return getCodec(format.getCodes(), rule.getTies(), rule.getBounds());
}

SmallVector<float> FormatAttr::getCodebookValues() const {
  auto codebook = cast<CodebookAttr>(getCodes());
  if (getRange() != RangePolicy::Norm)
    return SmallVector<float>(codebook.getValues().asArrayRef());
  if (getChannels() == kWholeAxis || getHeads() == kWholeAxis)
    llvm::report_fatal_error("expected a format that was resolved");
  return codebook.getQuotients(std::sqrt(static_cast<float>(getGroupSize())));
}

SmallVector<RangeStatistic> FormatAttr::getRangeStatistics() const {
  if (getRange() == RangePolicy::Rms || getRange() == RangePolicy::Norm)
    return {RangeStatistic::SumOfSquares};
  if (getZeroKind() != ZeroKind::None)
    return {RangeStatistic::Smallest, RangeStatistic::Largest};
  if (getRule().getExtremum() == RuleExtremum::Signed)
    return {RangeStatistic::FirstLargest};
  return {RangeStatistic::LargestMagnitude};
}

int64_t FormatAttr::getRangeCandidates() const { return getSteps(); }

/// What the ends of a range are multiplied by; null where they stay
/// (rules R19 and R20).
static Value buildRatio(OpBuilder &b, Location loc, FormatAttr format,
                        Value candidate) {
  if (format.getRange() == RangePolicy::Clip)
    return buildF32(b, loc, format.getClip().convertToFloat());
  if (!candidate)
    return {};
  Value steps = buildF32(b, loc, 2.0 * format.getSteps());
  return arith::SubFOp::create(b, loc, buildF32(b, loc, 1.0),
                               arith::DivFOp::create(b, loc, candidate, steps));
}

/// The scale, not yet stored, of rms and norm (rule R22).
static Value buildNorm(OpBuilder &b, Location loc, FormatAttr format,
                       Value sumOfSquares) {
  if (format.getRange() == RangePolicy::Rms)
    sumOfSquares = arith::DivFOp::create(
        b, loc, sumOfSquares, buildF32(b, loc, format.getGroupSize()));
  return math::SqrtOp::create(b, loc, sumOfSquares);
}

/// The range of a group (rules R2, R18, R19 and R22).
static GroupRange buildRange(OpBuilder &b, Location loc, FormatAttr format,
                             const RuleArithmetic &rule, ValueRange statistics,
                             Value candidate) {
  if (format.getRangeStatistics().front() == RangeStatistic::SumOfSquares)
    return {buildNorm(b, loc, format, statistics[0]), /*steps=*/1.0, Value(),
            Value()};
  Value ratio = buildRatio(b, loc, format, candidate);
  auto clip = [&](Value end) -> Value {
    return ratio ? arith::MulFOp::create(b, loc, end, ratio).getResult() : end;
  };
  if (format.getZeroKind() == ZeroKind::None)
    return {clip(statistics[0]), rule.steps(), Value(), Value()};

  // Adding +0 turns -0 into +0: which of the two a reduction gives depends on
  // its order (rule R2).
  Value zero = buildF32(b, loc, 0.0);
  Value min = clip(arith::AddFOp::create(b, loc, statistics[0], zero));
  Value max = clip(arith::AddFOp::create(b, loc, statistics[1], zero));
  if (format.getZeroKind() == ZeroKind::Point &&
      format.getRule().getSpan() == RuleSpan::WithZero) {
    // 0 has a code. NaN stays.
    Value above =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, min, zero);
    Value below =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, max, zero);
    min = arith::SelectOp::create(b, loc, above, zero, min);
    max = arith::SelectOp::create(b, loc, below, zero, max);
  }
  Value extent = rule.round(arith::SubFOp::create(b, loc, max, min));
  return {extent, rule.steps(), min, max};
}

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

/// A zero as it is stored.
static Value storeZero(OpBuilder &b, Location loc, Value zero, Type type) {
  if (isa<FloatType>(type))
    return buildRound(b, loc, zero, type);
  Value wide = arith::FPToSIOp::create(b, loc, b.getI32Type(), zero);
  return arith::TruncIOp::create(b, loc, b.getI8Type(), wide);
}

/// The f32 of a stored zero point: no code, and so no integer zero point, is
/// negative.
static Value buildPointValue(OpBuilder &b, Location loc, Value point) {
  if (isa<FloatType>(point.getType()))
    return buildExtend(b, loc, point);
  return arith::UIToFPOp::create(b, loc, b.getF32Type(), point);
}

bool FormatAttr::offsetNeedsScale() const {
  return getZeroKind() == ZeroKind::Point;
}

Value FormatAttr::buildOffset(OpBuilder &b, Location loc, Value scale,
                              Value zero) const {
  if (getZeroKind() != ZeroKind::Point)
    return buildExtend(b, loc, zero);
  Value distance = arith::MulFOp::create(b, loc, buildPointValue(b, loc, zero),
                                         scale);
  return arith::NegFOp::create(b, loc, distance);
}

//===----------------------------------------------------------------------===//
// Metadata and codes
//===----------------------------------------------------------------------===//

/// The least and the largest of what a given zero may be (rule R23).
static std::pair<double, double> getZeroBounds(Type type, const Codec &codec) {
  if (!isa<FloatType>(type))
    return {0.0, codec.getLargest()};
  double largest = APFloat::getLargest(getSemantics(type)).convertToDouble();
  return {-largest, largest};
}

std::pair<double, double>
FormatAttr::getGivenBounds(ComponentKind kind) const {
  std::unique_ptr<Codec> codec = getCodec(getCodes());
  if (kind == ComponentKind::Zeros)
    return getZeroBounds(getZero(), *codec);
  if (kind == ComponentKind::OuterScales)
    return {std::ldexp(1.0, -100), std::ldexp(1.0, 100)};
  if (kind == ComponentKind::Signs)
    return {-1.0, 1.0};
  if (kind == ComponentKind::Means) {
    double largest =
        APFloat::getLargest(getSemantics(getCenter())).convertToDouble();
    return {-largest, largest};
  }
  assert(kind == ComponentKind::Scales && "not a given component");
  double least =
      APFloat::getSmallest(getSemantics(getScale())).convertToDouble();
  return {least, getStoredCap(*this, *codec)};
}

/// `scale` as the rule stores it, over the outer scale where there is one.
static Value storeScale(OpBuilder &b, Location loc, FormatAttr format,
                        const Codec &codec, Value scale,
                        const GroupRange &range, Value outer) {
  if (outer)
    scale = arith::DivFOp::create(b, loc, scale, outer);
  return RuleArithmetic(b, loc, format, codec)
      .store(scale, range, format.getScale(), getStoredCap(format, codec));
}

static Value buildIsNaN(OpBuilder &b, Location loc, Value value) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
}

bool FormatAttr::encodesUnrounded() const {
  return getRule().getMetadata() == RuleMetadata::Unrounded;
}

GroupMetadata FormatAttr::buildMetadata(OpBuilder &b, Location loc,
                                        ValueRange statistics, Value candidate,
                                        Value outer) const {
  std::unique_ptr<Codec> codec = getFormatCodec(*this);
  RuleArithmetic rule(b, loc, *this, *codec);
  GroupRange range = buildRange(b, loc, *this, rule, statistics, candidate);
  GroupMetadata metadata;
  Value scale;
  if (getRule().getScale() == RuleScale::Covering) {
    metadata.scale = buildCoveringScale(b, loc, *this, *codec, range, outer);
  } else {
    scale = rule.scale(range);
    metadata.scale = storeScale(b, loc, *this, *codec, scale, range, outer);
  }
  metadata.encodeScale = encodesUnrounded() ? scale : metadata.scale;
  if (getZeroKind() == ZeroKind::None)
    return metadata;

  Value zero = range.min;
  if (getZeroKind() == ZeroKind::Point)
    zero = rule.zeroPoint(
        zero,
        encodesUnrounded() ? scale
                           : buildScaleValue(b, loc, metadata.scale, outer),
        getZeroType());
  metadata.zero = storeZero(b, loc, zero, getZeroType());
  metadata.encodeZero = encodesUnrounded() ? zero : metadata.zero;
  return metadata;
}

Value FormatAttr::buildScaleValue(OpBuilder &b, Location loc, Value scale,
                                  Value outer) const {
  scale = buildExtend(b, loc, scale);
  return outer ? arith::MulFOp::create(b, loc, scale, outer).getResult()
               : scale;
}

/// The number that is rounded to the code of `value`, where the f32 `scale` is
/// usable (rules R8 and R18).
static Value buildQuotient(OpBuilder &b, Location loc, FormatAttr format,
                           const RuleArithmetic &rule, Value value, Value scale,
                           Value zero) {
  Value point;
  if (format.getZeroKind() == ZeroKind::Min)
    value = rule.round(
        arith::SubFOp::create(b, loc, value, buildExtend(b, loc, zero)));
  if (format.getZeroKind() == ZeroKind::Point)
    point = buildPointValue(b, loc, zero);
  return rule.quotient(value, scale, point);
}

Value FormatAttr::buildEncode(OpBuilder &b, Location loc, Value value,
                              Value scale, Value zero) const {
  std::unique_ptr<Codec> codec = getFormatCodec(*this);
  RuleArithmetic rule(b, loc, *this, *codec);
  Value number = buildQuotient(b, loc, *this, rule, value, scale, zero);
  // Scale 0 or NaN: code 0. Only there is the quotient NaN, which must not
  // reach the conversion to a code (rule R8), or where a NaN has not made the
  // scale one (rule R23).
  Value numberOfZero = buildF32(b, loc, codec->getNumberOfZero());
  if (hasStaticRange())
    number = arith::SelectOp::create(b, loc, buildIsNaN(b, loc, value),
                                     numberOfZero, number);
  number = rule.whereUsable(scale, number, numberOfZero);
  return codec->buildCode(b, loc, number);
}

Value FormatAttr::buildSaturates(OpBuilder &b, Location loc, Value value,
                                 Value scale, Value zero) const {
  std::unique_ptr<Codec> codec = getFormatCodec(*this);
  RuleArithmetic rule(b, loc, *this, *codec);
  auto [low, high] = codec->getBounds();
  Value number = buildQuotient(b, loc, *this, rule, value, scale, zero);
  Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, number,
                                      buildF32(b, loc, low));
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, number,
                                      buildF32(b, loc, high));
  Value beyond = arith::OrIOp::create(b, loc, below, above);
  if (hasStaticRange())
    beyond =
        arith::OrIOp::create(b, loc, beyond, buildIsNaN(b, loc, value));
  return arith::AndIOp::create(b, loc, rule.isUsable(scale), beyond);
}

//===----------------------------------------------------------------------===//
// Fitted scales
//===----------------------------------------------------------------------===//

bool FormatAttr::fitsScale() const {
  return getRule().getFit() == RuleFit::Squares;
}

std::pair<Value, Value> FormatAttr::buildFitTerms(OpBuilder &b, Location loc,
                                                  Value code,
                                                  Value value) const {
  auto multiply = [&](Value lhs, Value rhs) -> Value {
    return arith::MulFOp::create(b, loc, lhs, rhs);
  };
  Value number = buildCodeValue(b, loc, code);
  Value weighted = multiply(multiply(value, value), number);
  return {multiply(weighted, value), multiply(weighted, number)};
}

Value FormatAttr::buildFittedScale(OpBuilder &b, Location loc, Value first,
                                   Value second, Value outer) const {
  std::unique_ptr<Codec> codec = getFormatCodec(*this);
  Value scale = arith::DivFOp::create(b, loc, first, second);
  // Where there is nothing to weight, or a NaN, which shows in the scale.
  Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                       second, buildF32(b, loc, 0.0));
  scale = arith::SelectOp::create(b, loc, isZero, buildF32(b, loc, 0.0), scale);
  return storeScale(b, loc, *this, *codec, scale, GroupRange(), outer);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value FormatAttr::buildCodeValue(OpBuilder &b, Location loc, Value code) const {
  return getFormatCodec(*this)->buildNumber(b, loc, code);
}

Value FormatAttr::buildDecode(OpBuilder &b, Location loc, Value code,
                              Value scale, Value zero) const {
  Value number = buildCodeValue(b, loc, code);
  if (getZeroKind() == ZeroKind::Point)
    number =
        arith::SubFOp::create(b, loc, number, buildPointValue(b, loc, zero));
  Value value = arith::MulFOp::create(b, loc, number, scale);
  if (getZeroKind() != ZeroKind::Min)
    return value;
  return arith::AddFOp::create(b, loc, value, buildExtend(b, loc, zero));
}
