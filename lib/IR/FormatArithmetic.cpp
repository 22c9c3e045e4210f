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

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::kvq;

static Value buildF32(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

static Value extendToF32(OpBuilder &b, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
}

/// The largest finite value of a metadata type.
static double getLargest(Type type) {
  return APFloat::getLargest(cast<FloatType>(type).getFloatSemantics())
      .convertToDouble();
}

static double getSmallest(Type type) {
  return APFloat::getSmallest(cast<FloatType>(type).getFloatSemantics())
      .convertToDouble();
}

/// Rounds a finite or NaN f32 to a metadata type, clamped to its finite range.
static Value buildStore(OpBuilder &b, Location loc, Value value, Type type) {
  Value largest = buildF32(b, loc, getLargest(type));
  Value lowest = buildF32(b, loc, -getLargest(type));
  value = arith::MinimumFOp::create(b, loc, value, largest);
  value = arith::MaximumFOp::create(b, loc, value, lowest);
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(b, loc, type, value);
}

/// The stored scale of a group whose values span `extent` over `steps` steps:
/// a scale that underflows to 0 becomes the smallest positive one, which covers
/// the group, so that only an extent of 0 gives scale 0.
static Value buildScale(OpBuilder &b, Location loc, Value extent, double steps,
                        Type type) {
  Value scale =
      arith::DivFOp::create(b, loc, extent, buildF32(b, loc, steps));
  Value stored = buildStore(b, loc, scale, type);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  Value smallest = arith::ConstantOp::create(
      b, loc, b.getFloatAttr(type, getSmallest(type)));
  Value underflow = arith::AndIOp::create(
      b, loc,
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, stored, zero),
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, extent,
                            buildF32(b, loc, 0.0)));
  return arith::SelectOp::create(b, loc, underflow, smallest, stored);
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
  Value min = statistics[0], max = statistics[1];
  Value extent = arith::SubFOp::create(b, loc, max, min);
  return {buildScale(b, loc, extent, getMaxCode(), getScale()),
          buildStore(b, loc, min, getZero())};
}

Value FormatAttr::buildEncode(OpBuilder &b, Location loc, Value value,
                              Value scale, Value zero) const {
  scale = extendToF32(b, loc, scale);
  if (zero)
    value =
        arith::SubFOp::create(b, loc, value, extendToF32(b, loc, zero));
  Value quotient = arith::DivFOp::create(b, loc, value, scale);
  Value rounded = math::RoundEvenOp::create(b, loc, quotient);
  double low = hasSignedCodes() ? -getMaxCode() : 0.0;
  Value clamped = arith::MinimumFOp::create(b, loc, rounded,
                                            buildF32(b, loc, getMaxCode()));
  clamped =
      arith::MaximumFOp::create(b, loc, clamped, buildF32(b, loc, low));
  // Scale 0 or NaN: code 0 (the quotient is not used then).
  Value zeroF32 = buildF32(b, loc, 0.0);
  Value usable = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, scale,
                                       zeroF32);
  Value code = arith::SelectOp::create(b, loc, usable, clamped, zeroF32);
  Value wide = arith::FPToSIOp::create(b, loc, b.getI32Type(), code);
  return arith::TruncIOp::create(b, loc, b.getI8Type(), wide);
}

Value FormatAttr::buildCodeValue(OpBuilder &b, Location loc,
                                 Value code) const {
  if (hasSignedCodes())
    return arith::SIToFPOp::create(b, loc, b.getF32Type(), code);
  return arith::UIToFPOp::create(b, loc, b.getF32Type(), code);
}

Value FormatAttr::buildDecode(OpBuilder &b, Location loc, Value code,
                              Value scale, Value zero) const {
  Value value =
      arith::MulFOp::create(b, loc, buildCodeValue(b, loc, code),
                            extendToF32(b, loc, scale));
  if (!zero)
    return value;
  return arith::AddFOp::create(b, loc, value, extendToF32(b, loc, zero));
}
