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

/// The stored scale of a group whose values span `extent`, 0 or more, in
/// `steps` steps, for codes up to `largest` (rules R3 to R5). Where the type
/// loses precision the scale is rounded up, so that it covers the group and is
/// 0 only for extent 0; with `covers` coarse types are rounded up everywhere.
static Value buildScale(OpBuilder &b, Location loc, Value extent, double steps,
                        double largest, Type type, bool covers) {
  const llvm::fltSemantics &semantics = getSemantics(type);
  auto divide = [&](Value value) -> Value {
    if (steps == 1.0)
      return value;
    return arith::DivFOp::create(b, loc, value, buildF32(b, loc, steps));
  };
  Value scale = divide(extent);
  Value capped = buildClamp(b, loc, scale, 0.0, getScaleCap(type, largest));
  if (isa<Float8E8M0FNUType>(type))
    return buildRoundUp(b, loc, capped, type);

  Value units = divide(buildUnits(b, loc, extent, type));
  Value covering = arith::MulFOp::create(
      b, loc, math::CeilOp::create(b, loc, units),
      buildF32(b, loc, APFloat::getSmallest(semantics).convertToDouble()));

  Value smallestNormal = buildF32(
      b, loc, APFloat::getSmallestNormalized(semantics).convertToDouble());
  Value underflows = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                           scale, smallestNormal);
  Value stored = arith::SelectOp::create(b, loc, underflows, covering, capped);
  if (type.isF32())
    return stored;
  if (type.isF16())
    return arith::TruncFOp::create(b, loc, type, stored);
  if (covers && isa<Float8E4M3FNType>(type))
    return buildRoundUp(b, loc, stored, type);
  return buildRound(b, loc, stored, type);
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// The codec of a resolved format.
static std::unique_ptr<Codec> getFormatCodec(FormatAttr format) {
  if (format.getRange() == RangePolicy::Norm)
    return getCodebookCodec(format.getCodebookValues());
  return getCodec(format.getCodes());
}

SmallVector<float> FormatAttr::getCodebookValues() const {
  auto codebook = cast<CodebookAttr>(getCodes());
  if (getRange() != RangePolicy::Norm)
    return SmallVector<float>(codebook.getValues().asArrayRef());
  if (getChannels() == kWholeAxis)
    llvm::report_fatal_error("expected a format that was resolved");
  return codebook.getQuotients(std::sqrt(static_cast<float>(getGroupSize())));
}

SmallVector<RangeStatistic> FormatAttr::getRangeStatistics() const {
  if (getRange() == RangePolicy::Rms || getRange() == RangePolicy::Norm)
    return {RangeStatistic::SumOfSquares};
  if (getZeroKind() == ZeroKind::None)
    return {RangeStatistic::LargestMagnitude};
  return {RangeStatistic::Smallest, RangeStatistic::Largest};
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

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

static Value buildIsPositive(OpBuilder &b, Location loc, Value value) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, value,
                               buildF32(b, loc, 0.0));
}

/// The stored zero point of a group from `min`, 0 or less, on: the number of
/// steps from it to 0 (rule R7). 0 where the scale is 0 or NaN.
static Value buildZeroPoint(OpBuilder &b, Location loc, Value min, Value scale,
                            Type type, double largest) {
  Value zero = buildF32(b, loc, 0.0);
  Value point = arith::DivFOp::create(
      b, loc, arith::SubFOp::create(b, loc, zero, min), scale);
  point = arith::SelectOp::create(b, loc, buildIsPositive(b, loc, scale), point,
                                  zero);
  if (isa<FloatType>(type))
    return buildRound(b, loc, point, type);
  point = math::RoundEvenOp::create(b, loc, point);
  point = buildClamp(b, loc, point, 0.0, largest);
  Value wide = arith::FPToSIOp::create(b, loc, b.getI32Type(), point);
  return arith::TruncIOp::create(b, loc, b.getI8Type(), wide);
}

/// The f32 of a stored zero point: no code, and so no zero point, is negative.
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
                                         buildExtend(b, loc, scale));
  return arith::NegFOp::create(b, loc, distance);
}

//===----------------------------------------------------------------------===//
// Metadata and codes
//===----------------------------------------------------------------------===//

std::pair<Value, Value> FormatAttr::buildMetadata(OpBuilder &b, Location loc,
                                                  ValueRange statistics,
                                                  Value candidate) const {
  std::unique_ptr<Codec> codec = getFormatCodec(*this);
  double largest = codec->getLargest();
  bool covers = codec->needsCoveringScale();
  if (getRangeStatistics().front() == RangeStatistic::SumOfSquares) {
    Value norm = buildNorm(b, loc, *this, statistics[0]);
    return {
        buildScale(b, loc, norm, /*steps=*/1.0, largest, getScale(), covers),
        Value()};
  }
  Value ratio = buildRatio(b, loc, *this, candidate);
  auto clip = [&](Value end) -> Value {
    return ratio ? arith::MulFOp::create(b, loc, end, ratio).getResult() : end;
  };
  auto buildStoredScale = [&](Value extent) {
    return buildScale(b, loc, extent, largest, largest, getScale(), covers);
  };
  if (getZeroKind() == ZeroKind::None)
    return {buildStoredScale(clip(statistics[0])), Value()};

  // Adding +0 turns -0 into +0: which of the two a reduction gives depends on
  // its order (rule R2).
  Value zero = buildF32(b, loc, 0.0);
  Value min = clip(arith::AddFOp::create(b, loc, statistics[0], zero));
  Value max = clip(arith::AddFOp::create(b, loc, statistics[1], zero));
  if (getZeroKind() == ZeroKind::Min) {
    Value extent = arith::SubFOp::create(b, loc, max, min);
    return {buildStoredScale(extent), buildRound(b, loc, min, getZero())};
  }
  // 0 has a code. NaN stays.
  Value above =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, min, zero);
  Value below =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, max, zero);
  min = arith::SelectOp::create(b, loc, above, zero, min);
  max = arith::SelectOp::create(b, loc, below, zero, max);
  Value scale = buildStoredScale(arith::SubFOp::create(b, loc, max, min));
  return {scale, buildZeroPoint(b, loc, min, buildExtend(b, loc, scale),
                                getZeroType(), largest)};
}

Value FormatAttr::buildEncode(OpBuilder &b, Location loc, Value value,
                              Value scale, Value zero) const {
  std::unique_ptr<Codec> codec = getFormatCodec(*this);
  scale = buildExtend(b, loc, scale);
  if (getZeroKind() == ZeroKind::Min)
    value = arith::SubFOp::create(b, loc, value, buildExtend(b, loc, zero));
  Value number = arith::DivFOp::create(b, loc, value, scale);
  if (getZeroKind() == ZeroKind::Point)
    number =
        arith::AddFOp::create(b, loc, number, buildPointValue(b, loc, zero));
  // Scale 0 or NaN: code 0. Only there is the quotient NaN, which must not
  // reach the conversion to a code (rule R8).
  number =
      arith::SelectOp::create(b, loc, buildIsPositive(b, loc, scale), number,
                              buildF32(b, loc, codec->getNumberOfZero()));
  return codec->buildCode(b, loc, number);
}

Value FormatAttr::buildCodeValue(OpBuilder &b, Location loc, Value code) const {
  return getFormatCodec(*this)->buildNumber(b, loc, code);
}

Value FormatAttr::buildDecode(OpBuilder &b, Location loc, Value code,
                              Value scale, Value zero) const {
  Value number = buildCodeValue(b, loc, code);
  if (getZeroKind() == ZeroKind::Point)
    number =
        arith::SubFOp::create(b, loc, number, buildPointValue(b, loc, zero));
  Value value =
      arith::MulFOp::create(b, loc, number, buildExtend(b, loc, scale));
  if (getZeroKind() != ZeroKind::Min)
    return value;
  return arith::AddFOp::create(b, loc, value, buildExtend(b, loc, zero));
}
