//===- FloatArithmetic.cpp - Saturating float conversions ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

Value kvq::buildF32(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(
      b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

Value kvq::buildClamp(OpBuilder &b, Location loc, Value value, double low,
                      double high) {
  // An ordered comparison with NaN is false, so NaN passes. Each pair is one
  // instruction on x86, where minimumf and maximumf take several.
  Value lowValue = buildF32(b, loc, low), highValue = buildF32(b, loc, high);
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                      highValue, value);
  value = arith::SelectOp::create(b, loc, above, highValue, value);
  Value below =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, lowValue, value);
  return arith::SelectOp::create(b, loc, below, lowValue, value);
}

Value kvq::buildExtend(OpBuilder &b, Location loc, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
}

Value kvq::buildClampToFinite(OpBuilder &b, Location loc, Value value,
                              Type type) {
  double largest =
      APFloat::getLargest(cast<FloatType>(type).getFloatSemantics())
          .convertToDouble();
  return buildClamp(b, loc, value, -largest, largest);
}

Value kvq::buildRound(OpBuilder &b, Location loc, Value value, Type type) {
  value = buildClampToFinite(b, loc, value, type);
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(b, loc, type, value);
}
