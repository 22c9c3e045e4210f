//===- FloatArithmetic.cpp - Saturating float conversions ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/FloatArithmetic.h"

#include "SmallFloat.h"

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

static Value asBits(OpBuilder &b, Location loc, Value value) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  return arith::BitcastOp::create(b, loc, b.getIntegerType(width), value);
}

Value kvq::buildExtend(OpBuilder &b, Location loc, Value value) {
  Type type = value.getType();
  if (type.isF32())
    return value;
  if (isa<Float8E8M0FNUType>(type))
    return buildExponentValue(b, loc, asBits(b, loc, value));
  if (type.getIntOrFloatBitWidth() <= 8)
    return buildSmallFloatValue(b, loc, asBits(b, loc, value),
                                cast<FloatType>(type));
  return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
}

Value kvq::buildClampToFinite(OpBuilder &b, Location loc, Value value,
                              Type type) {
  double largest =
      APFloat::getLargest(cast<FloatType>(type).getFloatSemantics())
          .convertToDouble();
  return buildClamp(b, loc, value, -largest, largest);
}

/// The bf16 nearest to the finite or NaN f32 `value`. In integers: processors
/// without bf16 have no instruction for it, and the library call that LLVM
/// makes of `arith.truncf` is not everywhere.
static Value buildRoundToBF16(OpBuilder &b, Location loc, Value value) {
  Type i32 = b.getI32Type();
  auto constant = [&](int64_t bits) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i32, bits));
  };
  Value bits = asBits(b, loc, value), half = constant(16);
  Value upper = arith::ShRUIOp::create(b, loc, bits, half);
  Value odd = arith::AndIOp::create(b, loc, upper, constant(1));
  Value rounded = arith::AddIOp::create(b, loc, bits, constant(0x7FFF));
  rounded = arith::AddIOp::create(b, loc, rounded, odd);
  rounded = arith::ShRUIOp::create(b, loc, rounded, half);
  Value isNaN =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  rounded = arith::SelectOp::create(b, loc, isNaN, constant(0x7FC0), rounded);
  Value narrow = arith::TruncIOp::create(b, loc, b.getI16Type(), rounded);
  return arith::BitcastOp::create(b, loc, b.getBF16Type(), narrow);
}

Value kvq::buildRound(OpBuilder &b, Location loc, Value value, Type type) {
  value = buildClampToFinite(b, loc, value, type);
  if (type.isF32())
    return value;
  if (type.isBF16())
    return buildRoundToBF16(b, loc, value);
  if (type.getIntOrFloatBitWidth() > 8)
    return arith::TruncFOp::create(b, loc, type, value);
  Value bits = buildSmallFloatBits(b, loc, value, cast<FloatType>(type));
  return arith::BitcastOp::create(b, loc, type, bits);
}

Value kvq::buildRoundUp(OpBuilder &b, Location loc, Value value, Type type) {
  Value bits = isa<Float8E8M0FNUType>(type)
                   ? buildExponentBits(b, loc, value)
                   : buildSmallFloatBits(b, loc, value, cast<FloatType>(type),
                                         SmallRounding::Up);
  return arith::BitcastOp::create(b, loc, type, bits);
}
