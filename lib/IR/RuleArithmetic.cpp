//===- RuleArithmetic.cpp - The steps of #kvq.rule -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleArithmetic.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

Value kvq::buildNearestInteger(OpBuilder &b, Location loc, Value number,
                               RuleTies ties, double lowest) {
  switch (ties) {
  case RuleTies::Away:
    return math::RoundOp::create(b, loc, number);
  case RuleTies::Up: {
    // Where the sum is rounded depends on what is counted from (rule R28).
    Value counted =
        arith::AddFOp::create(b, loc, number, buildF32(b, loc, 0.5 - lowest));
    counted = math::FloorOp::create(b, loc, counted);
    if (lowest == 0.0)
      return counted;
    return arith::AddFOp::create(b, loc, counted, buildF32(b, loc, lowest));
  }
  case RuleTies::Even:
  case RuleTies::Lower:
    break;
  }
  return math::RoundEvenOp::create(b, loc, number);
}

//===----------------------------------------------------------------------===//
// Quotients
//===----------------------------------------------------------------------===//

Value RuleArithmetic::constant(double value) const {
  return buildF32(b, loc, value);
}

Value RuleArithmetic::round(Value value) const {
  FloatType precision = rule.getPrecision();
  if (!precision)
    return value;
  return buildExtend(b, loc, buildRound(b, loc, value, precision));
}

Value RuleArithmetic::isUsable(Value scale) const {
  auto predicate = rule.hasSignedScales() ? arith::CmpFPredicate::ONE
                                          : arith::CmpFPredicate::OGT;
  return arith::CmpFOp::create(b, loc, predicate, scale, constant(0.0));
}

Value RuleArithmetic::whereUsable(Value scale, Value value,
                                  Value otherwise) const {
  return arith::SelectOp::create(b, loc, isUsable(scale), value, otherwise);
}

Value RuleArithmetic::quotient(Value value, Value scale, Value point) const {
  auto add = [&](Value sum) -> Value {
    if (!point)
      return sum;
    return round(arith::AddFOp::create(b, loc, sum, point));
  };
  if (rule.getQuotient() == RuleQuotient::Divide)
    return add(round(arith::DivFOp::create(b, loc, value, scale)));
  // The reciprocal of a scale next to 0 stays finite: 0 times it is no NaN.
  Value reciprocal = arith::DivFOp::create(b, loc, constant(1.0), scale);
  reciprocal = round(buildClampToFinite(b, loc, reciprocal, b.getF32Type()));
  if (rule.getQuotient() == RuleQuotient::Fused && point)
    return round(math::FmaOp::create(b, loc, value, reciprocal, point));
  return add(round(arith::MulFOp::create(b, loc, value, reciprocal)));
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

double RuleArithmetic::steps() const {
  return rule.getExtremum() == RuleExtremum::Signed ? codec.getLowest()
                                                    : codec.getLargest();
}

Value RuleArithmetic::scale(GroupRange &range) const {
  Value scale =
      round(arith::DivFOp::create(b, loc, range.extent, constant(range.steps)));
  auto replaceWhere = [&](arith::CmpFPredicate predicate, Value bound,
                          const APFloat &replacement) {
    Value holds = arith::CmpFOp::create(b, loc, predicate, scale, bound);
    scale = arith::SelectOp::create(
        b, loc, holds, constant(replacement.convertToFloat()), scale);
  };
  const APFloat &least = rule.getLeast(), &ofConstant = rule.getConstant();
  if (!least.isZero())
    replaceWhere(arith::CmpFPredicate::OLT, constant(least.convertToFloat()),
                 least);
  if (!ofConstant.isZero())
    replaceWhere(arith::CmpFPredicate::OEQ, constant(0.0), ofConstant);
  if (rule.getFit() == RuleFit::End)
    scale = fitEnd(scale, range);
  return buildClampToFinite(b, loc, scale, b.getF32Type());
}

/// Makes the end of `range` farther from zero a whole number of steps, so that
/// both it and 0 have codes: it becomes the range's `min`, and the scale
/// negative where it is the upper end.
Value RuleArithmetic::fitEnd(Value scale, GroupRange &range) const {
  auto magnitude = [&](Value value) -> Value {
    return math::AbsFOp::create(b, loc, value);
  };
  Value fromMin =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                            magnitude(range.min), magnitude(range.max));
  auto select = [&](Value condition, Value lhs, Value rhs) -> Value {
    return arith::SelectOp::create(b, loc, condition, lhs, rhs);
  };
  scale = select(fromMin, scale, arith::NegFOp::create(b, loc, scale));
  Value end = select(fromMin, range.min, range.max);
  Value steps = buildNearestInteger(
      b, loc, arith::DivFOp::create(b, loc, end, scale), rule.getTies(),
      /*lowest=*/0.0);
  Value none = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, steps,
                                     constant(0.0));
  range.min = select(none, constant(0.0), end);
  return select(none, scale, arith::DivFOp::create(b, loc, end, steps));
}

Value RuleArithmetic::store(Value scale, const GroupRange &range, Type type,
                            double cap) const {
  if (rule.getScale() == RuleScale::Exponent)
    return storeExponent(range.extent, type);
  return buildRound(b, loc, buildClamp(b, loc, scale, -cap, cap), type);
}

/// The f8E8M0FNU 2^(e - m), where the f32 `extent` has the exponent e and the
/// largest code m.
Value RuleArithmetic::storeExponent(Value extent, Type type) const {
  Type i32 = b.getI32Type();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i32, value));
  };
  // The difference of two ends may have overflowed.
  extent = buildClampToFinite(b, loc, extent, b.getF32Type());
  Value bits = arith::BitcastOp::create(b, loc, i32, extent);
  Value exponent = arith::ShRUIOp::create(b, loc, bits, integer(23));
  exponent = arith::SubIOp::create(b, loc, exponent,
                                   integer(std::ilogb(codec.getLargest())));
  exponent = arith::MaxSIOp::create(b, loc, exponent, integer(0));
  constexpr int64_t kNaN = 0xFF;
  Value isNaN =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, extent, extent);
  exponent = arith::SelectOp::create(b, loc, isNaN, integer(kNaN), exponent);
  Value narrow = arith::TruncIOp::create(b, loc, b.getI8Type(), exponent);
  return arith::BitcastOp::create(b, loc, type, narrow);
}

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

Value RuleArithmetic::zeroPoint(Value min, Value scale, Type type) const {
  Value zero = constant(0.0);
  // A range that was widened ends at 0 or below: 0 - 0 is +0, and -0 is not.
  Value distance = rule.getSpan() == RuleSpan::WithZero
                       ? arith::SubFOp::create(b, loc, zero, min).getResult()
                       : arith::NegFOp::create(b, loc, min).getResult();
  Value point = round(arith::DivFOp::create(b, loc, distance, scale));
  point = whereUsable(scale, point, zero);
  if (isa<FloatType>(type))
    return point;
  point = buildNearestInteger(b, loc, point, rule.getTies(), /*lowest=*/0.0);
  return buildClamp(b, loc, point, 0.0, codec.getLargest());
}
