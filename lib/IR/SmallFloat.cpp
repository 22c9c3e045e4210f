//===- SmallFloat.cpp - Floats of 4 to 8 bits -----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallFloat.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// A small float type: sign, exponent, mantissa, from the top.
struct Layout {
  explicit Layout(FloatType type)
      : semantics(type.getFloatSemantics()), bits(type.getWidth()),
        mantissa(APFloat::semanticsPrecision(semantics) - 1),
        minExponent(APFloat::semanticsMinExponent(semantics)) {}

  /// What an exponent field exceeds the exponent by.
  int bias() const { return 1 - minExponent; }
  unsigned nan() const {
    return APFloat::getQNaN(semantics).bitcastToAPInt().getZExtValue() &
           ((1u << (bits - 1)) - 1);
  }

  const llvm::fltSemantics &semantics;
  unsigned bits, mantissa;
  /// Exponent of the smallest normal number.
  int minExponent;
};

/// Integer ops on values of one type.
class BitMath {
public:
  BitMath(OpBuilder &b, Location loc, Type type) : b(b), loc(loc), type(type) {}

  Value constant(int64_t value) {
    unsigned width = type.getIntOrFloatBitWidth();
    return arith::ConstantOp::create(
        b, loc,
        b.getIntegerAttr(type, APInt(width, value, /*isSigned=*/false,
                                     /*implicitTrunc=*/true)));
  }
  Value bitAnd(Value value, int64_t mask) {
    return arith::AndIOp::create(b, loc, value, constant(mask));
  }
  Value bitOr(Value lhs, Value rhs) {
    return arith::OrIOp::create(b, loc, lhs, rhs);
  }
  Value add(Value value, int64_t addend) {
    return arith::AddIOp::create(b, loc, value, constant(addend));
  }
  Value add(Value lhs, Value rhs) {
    return arith::AddIOp::create(b, loc, lhs, rhs);
  }
  Value shiftLeft(Value value, unsigned amount) {
    return arith::ShLIOp::create(b, loc, value, constant(amount));
  }
  Value shiftRight(Value value, unsigned amount) {
    return arith::ShRUIOp::create(b, loc, value, constant(amount));
  }
  Value shiftRightSigned(Value value, unsigned amount) {
    return arith::ShRSIOp::create(b, loc, value, constant(amount));
  }
  Value extend(Value value) {
    return arith::ExtUIOp::create(b, loc, type, value);
  }
  Value equals(Value value, int64_t other) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, value,
                                 constant(other));
  }
  Value select(Value condition, Value lhs, Value rhs) {
    return arith::SelectOp::create(b, loc, condition, lhs, rhs);
  }
  Value bitcast(Value value) {
    return arith::BitcastOp::create(b, loc, type, value);
  }

private:
  OpBuilder &b;
  Location loc;
  Type type;
};

} // namespace

static Value buildBitcast(OpBuilder &b, Location loc, Type type, Value value) {
  return arith::BitcastOp::create(b, loc, type, value);
}

static Value buildIsNaN(OpBuilder &b, Location loc, Value value) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
}

static Value buildLess(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, lhs, rhs);
}

static int64_t getF32Bits(double value) {
  return APFloat(static_cast<float>(value)).bitcastToAPInt().getZExtValue();
}

/// The bit pattern of the magnitude with the f32 bits `magnitude`, an i32.
static Value buildMagnitude(OpBuilder &b, Location loc, Value magnitude,
                            const Layout &layout, SmallRounding rounding) {
  BitMath math(b, loc, b.getI32Type());
  // The mantissa is cut to its upper bits; a carry goes into the exponent.
  unsigned cut = 23 - layout.mantissa;
  Value rounded = magnitude;
  if (rounding == SmallRounding::NearestEven)
    rounded =
        math.add(rounded, math.bitAnd(math.shiftRight(magnitude, cut), 1));
  int64_t nearly = rounding == SmallRounding::Up ? cut : cut - 1;
  rounded = math.add(rounded, (int64_t(1) << nearly) - 1);
  Value normal =
      math.add(math.shiftRight(rounded, cut),
               -(static_cast<int64_t>(127 - layout.bias()) << layout.mantissa));

  // Below the normal numbers: next to a power of two whose neighbours are as
  // far apart as subnormal numbers, f32 addition rounds to one of these.
  double anchor = std::ldexp(1.0, 23 + layout.minExponent -
                                      static_cast<int>(layout.mantissa));
  Value value = buildBitcast(b, loc, b.getF32Type(), magnitude);
  Value sum = arith::AddFOp::create(b, loc, value, buildF32(b, loc, anchor));
  Value subnormal = math.add(math.bitcast(sum), -getF32Bits(anchor));
  Value smallestNormal = buildF32(b, loc, std::ldexp(1.0, layout.minExponent));
  Value exact;
  if (rounding != SmallRounding::NearestEven)
    exact = arith::SubFOp::create(b, loc, sum, buildF32(b, loc, anchor));
  if (rounding == SmallRounding::Up) {
    // What the sum lost goes one step up.
    Value less = buildLess(b, loc, exact, value);
    subnormal = math.add(subnormal, math.extend(less));
  }
  if (rounding == SmallRounding::NearestLower) {
    // Half a step that the sum gained goes one step down.
    double half = std::ldexp(1.0, layout.minExponent -
                                      static_cast<int>(layout.mantissa) - 1);
    Value gained = arith::SubFOp::create(b, loc, exact, value);
    Value isTie = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                        gained, buildF32(b, loc, half));
    subnormal = math.select(isTie, math.add(subnormal, -1), subnormal);
  }
  return math.select(buildLess(b, loc, value, smallestNormal), subnormal,
                     normal);
}

Value kvq::buildSmallFloatBits(OpBuilder &b, Location loc, Value value,
                               FloatType type, SmallRounding rounding) {
  Layout layout(type);
  BitMath math(b, loc, b.getI32Type());
  Value bits = math.bitcast(value);
  Value magnitude =
      buildMagnitude(b, loc, math.bitAnd(bits, 0x7FFFFFFF), layout, rounding);
  if (APFloat::semanticsHasNaN(layout.semantics))
    magnitude = math.select(buildIsNaN(b, loc, value),
                            math.constant(layout.nan()), magnitude);
  Value sign = math.shiftLeft(math.shiftRight(bits, 31), layout.bits - 1);
  return arith::TruncIOp::create(b, loc, b.getI8Type(),
                                 math.bitOr(magnitude, sign));
}

Value kvq::buildSmallFloatValue(OpBuilder &b, Location loc, Value bits,
                                FloatType type) {
  Layout layout(type);
  // An f16 with the same fields has the value times a power of two: it holds
  // every exponent, subnormal ones too, and its conversion to f32 is one
  // instruction. The code goes to the top; shifted down with its sign, it
  // leaves room for the exponent bits that f16 has more, which are 0.
  constexpr int kHalfExponent = 5, kHalfBias = 15;
  BitMath math(b, loc, b.getIntegerType(16));
  int moreExponent =
      kHalfExponent - static_cast<int>(layout.bits - 1 - layout.mantissa);
  Value half = math.shiftLeft(math.extend(bits), 16 - layout.bits);
  if (moreExponent != 0) {
    int64_t room = ((1 << moreExponent) - 1) << (15 - moreExponent);
    half = math.bitAnd(math.shiftRightSigned(half, moreExponent), ~room);
  }
  Value value = buildExtend(b, loc, buildBitcast(b, loc, b.getF16Type(), half));
  if (layout.bias() != kHalfBias)
    value = arith::MulFOp::create(
        b, loc, value,
        buildF32(b, loc, std::ldexp(1.0, kHalfBias - layout.bias())));
  // Types with the exponent of f16 have its infinities and NaNs; in others NaN
  // would be the number after the largest.
  if (!APFloat::semanticsHasNaN(layout.semantics) ||
      APFloat::semanticsHasInf(layout.semantics))
    return value;
  double largest = APFloat::getLargest(layout.semantics).convertToDouble();
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT,
                                      mlir::math::AbsFOp::create(b, loc, value),
                                      buildF32(b, loc, largest));
  return math.select(isNaN, buildF32(b, loc, std::nan("")), value);
}

Value kvq::buildExponentBits(OpBuilder &b, Location loc, Value value) {
  BitMath math(b, loc, b.getI32Type());
  Value carried = math.add(math.bitcast(value), (1 << 23) - 1);
  Value exponent = math.shiftRight(carried, 23);
  // 2^-127, the smallest, is not normal in f32.
  constexpr double kSmallest = 0x1p-127;
  Value tiny = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, value,
                                     buildF32(b, loc, kSmallest));
  exponent = math.select(tiny, math.constant(0), exponent);
  exponent =
      math.select(buildIsNaN(b, loc, value), math.constant(0xFF), exponent);
  return arith::TruncIOp::create(b, loc, b.getI8Type(), exponent);
}

Value kvq::buildExponentValue(OpBuilder &b, Location loc, Value bits) {
  BitMath math(b, loc, b.getI32Type());
  Value exponent = math.extend(bits);
  Value value = math.shiftLeft(exponent, 23);
  value = math.select(math.equals(exponent, 0), math.constant(1 << 22), value);
  value = math.select(math.equals(exponent, 0xFF),
                      math.constant(getF32Bits(std::nan(""))), value);
  return buildBitcast(b, loc, b.getF32Type(), value);
}
