//===- Codec.cpp - The numbers that codes stand for -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "RuleArithmetic.h"
#include "SmallFloat.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

/// The largest f32 below `value`, which is above 0.
static float getFloatBelow(double value) {
  float nearest = static_cast<float>(value);
  return nearest < value ? nearest : std::nextafter(nearest, 0.0f);
}

namespace {

/// Integers: signed ones, symmetric within +-(2^(b-1)-1) or from -2^(b-1) on,
/// or 0 .. 2^b-1.
class IntegerCodec : public Codec {
public:
  IntegerCodec(IntegerType type, RuleTies ties, RuleBounds bounds)
      : type(type), ties(ties), bounds(bounds) {}

  unsigned getBits() const override { return type.getWidth(); }
  bool isSigned() const override { return !type.isUnsigned(); }
  bool isUnsigned() const override { return type.isUnsigned(); }
  double getLargest() const override {
    return (1 << (getBits() - (isSigned() ? 1 : 0))) - 1;
  }
  double getLowest() const override {
    if (!isSigned())
      return 0.0;
    return -getLargest() - (bounds == RuleBounds::Full ? 1 : 0);
  }
  bool supportsTies(RuleTies ties) const override {
    return ties != RuleTies::Lower;
  }
  bool needsCoveringScale() const override { return getBits() > 4; }
  std::pair<float, float> getBounds() const override;

  Value buildCode(OpBuilder &b, Location loc, Value number) const override {
    Value rounded = buildNearestInteger(b, loc, number, ties, getLowest());
    Value clamped = buildClamp(b, loc, rounded, getLowest(), getLargest());
    Value wide = arith::FPToSIOp::create(b, loc, b.getI32Type(), clamped);
    return arith::TruncIOp::create(b, loc, b.getI8Type(), wide);
  }

  Value buildNumber(OpBuilder &b, Location loc, Value code) const override {
    if (isSigned())
      return arith::SIToFPOp::create(b, loc, b.getF32Type(), code);
    return arith::UIToFPOp::create(b, loc, b.getF32Type(), code);
  }

private:
  IntegerType type;
  RuleTies ties;
  RuleBounds bounds;
};

std::pair<float, float> IntegerCodec::getBounds() const {
  // Where the middle beyond the largest code goes to a code that is not there.
  double beyond = getLargest() + 0.5;
  if (ties == RuleTies::Up) {
    // As does what the sum with it rounds to a whole number (rule R28).
    float codes = static_cast<float>(getLargest() - getLowest() + 1);
    beyond -= (double(codes) - std::nextafter(codes, 0.0f)) / 2;
  }
  // The largest code is odd, the lowest odd or even.
  bool leavesLowest =
      ties == RuleTies::Away ||
      (ties == RuleTies::Even && std::fmod(getLowest(), 2.0) != 0.0);
  double below = 0.5 - getLowest();
  float lowest = leavesLowest ? getFloatBelow(below) : float(below);
  return {-lowest, getFloatBelow(beyond)};
}

/// Small floats: a code is the bit pattern.
class FloatCodec : public Codec {
public:
  FloatCodec(FloatType type, RuleTies ties) : type(type), ties(ties) {}

  unsigned getBits() const override { return type.getIntOrFloatBitWidth(); }
  double getLargest() const override {
    return APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  }
  bool supportsTies(RuleTies ties) const override {
    return ties == RuleTies::Even || ties == RuleTies::Lower;
  }
  std::pair<float, float> getBounds() const override {
    APFloat largest = APFloat::getLargest(type.getFloatSemantics());
    APFloat previous = largest;
    previous.next(/*nextDown=*/true);
    double value = largest.convertToDouble();
    double middle = value + (value - previous.convertToDouble()) / 2;
    bool leaves = ties == RuleTies::Even && largest.bitcastToAPInt()[0];
    float highest = leaves ? getFloatBelow(middle) : static_cast<float>(middle);
    return {-highest, highest};
  }
  Value buildCode(OpBuilder &b, Location loc, Value number) const override {
    Value clamped = buildClampToFinite(b, loc, number, type);
    if (ties == RuleTies::Even)
      return buildSmallFloatBits(b, loc, clamped, type);
    Value code =
        buildSmallFloatBits(b, loc, clamped, type, SmallRounding::NearestLower);
    // Zero is one number of two codes, the lower of which is +0.
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          b, loc, b.getIntegerAttr(b.getI8Type(), APInt(8, value)));
    };
    Value minusZero = arith::CmpIOp::create(
        b, loc, arith::CmpIPredicate::eq, code, constant(1 << (getBits() - 1)));
    return arith::SelectOp::create(b, loc, minusZero, constant(0), code);
  }
  Value buildNumber(OpBuilder &b, Location loc, Value code) const override {
    return buildSmallFloatValue(b, loc, code, type);
  }

private:
  FloatType type;
  RuleTies ties;
};

} // namespace

std::unique_ptr<Codec> kvq::getCodec(Attribute codes, RuleTies ties,
                                     RuleBounds bounds) {
  if (auto codebook = dyn_cast_or_null<CodebookAttr>(codes))
    return getCodebookCodec(codebook.getValues(), ties);
  auto typed = dyn_cast_or_null<TypeAttr>(codes);
  if (!typed)
    return nullptr;
  Type type = typed.getValue();
  if (auto integer = dyn_cast<IntegerType>(type);
      integer && !integer.isSigned() &&
      llvm::is_contained({2u, 3u, 4u, 5u, 6u, 8u}, integer.getWidth()))
    return std::make_unique<IntegerCodec>(integer, ties, bounds);
  if (isa<Float8E4M3FNType, Float8E5M2Type, Float6E2M3FNType, Float6E3M2FNType,
          Float4E2M1FNType>(type))
    return std::make_unique<FloatCodec>(cast<FloatType>(type), ties);
  return nullptr;
}

bool kvq::isExactCodes(Attribute codes) {
  auto type = dyn_cast<TypeAttr>(codes);
  return type && isa<NoneType>(type.getValue());
}
