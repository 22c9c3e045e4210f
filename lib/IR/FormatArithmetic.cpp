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

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

static const llvm::fltSemantics &getSemantics(Type type) {
  return cast<FloatType>(type).getFloatSemantics();
}

/// The largest value of `type` whose product with `maxCode` is a finite f32
/// (rule R5).
static double getScaleCap(Type type, double maxCode) {
  APFloat cap = APFloat::getLargest(APFloat::IEEEsingle());
  cap.divide(APFloat(static_cast<float>(maxCode)), APFloat::rmTowardZero);
  double largest = APFloat::getLargest(getSemantics(type)).convertToDouble();
  return std::min(largest, cap.convertToDouble());
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

/// The stored scale of a group whose values span `extent`, 0 or more, over
/// `maxCode` steps (rules R3 to R5). Where the type loses precision the scale
/// is rounded up, so that it covers the group and is 0 only for extent 0.
static Value buildScale(OpBuilder &b, Location loc, Value extent,
                        double maxCode, Type type) {
  const llvm::fltSemantics &semantics = getSemantics(type);
  Value steps = buildF32(b, loc, maxCode);
  Value scale = arith::DivFOp::create(b, loc, extent, steps);
  Value capped = buildClamp(b, loc, scale, 0.0, getScaleCap(type, maxCode));

  Value units =
      arith::DivFOp::create(b, loc, buildUnits(b, loc, extent, type), steps);
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
  return arith::TruncFOp::create(b, loc, type, stored);
}

SmallVector<RangeStatistic> FormatAttr::getRangeStatistics() const {
  if (getRange() == RangePolicy::AbsMax)
    return {{/*maximum=*/true, /*absolute=*/true}};
  return {{/*maximum=*/false, /*absolute=*/false},
          {/*maximum=*/true, /*absolute=*/false}};
}

std::pair<Value, Value> FormatAttr::buildMetadata(OpBuilder &b, Location loc,
                                                  ValueRange statistics) const {
  if (getRange() == RangePolicy::AbsMax)
    return {buildScale(b, loc, statistics[0], getMaxCode(), getScale()),
            Value()};
  // Adding +0 turns -0 into +0: which of the two a reduction gives depends on
  // its order (rule R2).
  Value plusZero = buildF32(b, loc, 0.0);
  Value min = arith::AddFOp::create(b, loc, statistics[0], plusZero);
  Value max = arith::AddFOp::create(b, loc, statistics[1], plusZero);
  Value extent = arith::SubFOp::create(b, loc, max, min);
  return {buildScale(b, loc, extent, getMaxCode(), getScale()),
          buildRound(b, loc, min, getZero())};
}

Value FormatAttr::buildEncode(OpBuilder &b, Location loc, Value value,
                              Value scale, Value zero) const {
  scale = buildExtend(b, loc, scale);
  if (zero)
    value = arith::SubFOp::create(b, loc, value, buildExtend(b, loc, zero));
  Value quotient = arith::DivFOp::create(b, loc, value, scale);
  Value rounded = math::RoundEvenOp::create(b, loc, quotient);
  double maxCode = getMaxCode();
  Value clamped =
      buildClamp(b, loc, rounded, hasSignedCodes() ? -maxCode : 0.0, maxCode);
  // Scale 0 or NaN: code 0. Only there is the quotient NaN, which must not
  // reach the conversion to integer (rule R8).
  Value zeroF32 = buildF32(b, loc, 0.0);
  Value usable =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, scale, zeroF32);
  Value code = arith::SelectOp::create(b, loc, usable, clamped, zeroF32);
  Value wide = arith::FPToSIOp::create(b, loc, b.getI32Type(), code);
  return arith::TruncIOp::create(b, loc, b.getI8Type(), wide);
}

Value FormatAttr::buildCodeValue(OpBuilder &b, Location loc, Value code) const {
  if (hasSignedCodes())
    return arith::SIToFPOp::create(b, loc, b.getF32Type(), code);
  return arith::UIToFPOp::create(b, loc, b.getF32Type(), code);
}

Value FormatAttr::buildDecode(OpBuilder &b, Location loc, Value code,
                              Value scale, Value zero) const {
  Value value = arith::MulFOp::create(b, loc, buildCodeValue(b, loc, code),
                                      buildExtend(b, loc, scale));
  if (!zero)
    return value;
  return arith::AddFOp::create(b, loc, value, buildExtend(b, loc, zero));
}
