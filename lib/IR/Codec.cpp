//===- Codec.cpp - The numbers that codes stand for -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "SmallFloat.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// Integers: signed ones symmetric, within +-(2^(b-1)-1), or 0 .. 2^b-1.
class IntegerCodec : public Codec {
public:
  explicit IntegerCodec(IntegerType type) : type(type) {}

  unsigned getBits() const override { return type.getWidth(); }
  bool isSigned() const override { return !type.isUnsigned(); }
  bool isUnsigned() const override { return type.isUnsigned(); }
  double getLargest() const override {
    return (1 << (getBits() - (isSigned() ? 1 : 0))) - 1;
  }
  bool needsCoveringScale() const override { return getBits() > 4; }

  Value buildCode(OpBuilder &b, Location loc, Value number) const override {
    Value rounded = math::RoundEvenOp::create(b, loc, number);
    Value clamped = buildClamp(b, loc, rounded,
                               isSigned() ? -getLargest() : 0.0, getLargest());
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
};

/// Small floats: a code is the bit pattern.
class FloatCodec : public Codec {
public:
  explicit FloatCodec(FloatType type) : type(type) {}

  unsigned getBits() const override { return type.getIntOrFloatBitWidth(); }
  double getLargest() const override {
    return APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  }
  Value buildCode(OpBuilder &b, Location loc, Value number) const override {
    return buildSmallFloatBits(b, loc, buildClampToFinite(b, loc, number, type),
                               type);
  }
  Value buildNumber(OpBuilder &b, Location loc, Value code) const override {
    return buildSmallFloatValue(b, loc, code, type);
  }

private:
  FloatType type;
};

} // namespace

std::unique_ptr<Codec> kvq::getCodec(Attribute codes) {
  if (auto codebook = dyn_cast_or_null<CodebookAttr>(codes))
    return getCodebookCodec(codebook.getValues());
  auto typed = dyn_cast_or_null<TypeAttr>(codes);
  if (!typed)
    return nullptr;
  Type type = typed.getValue();
  if (auto integer = dyn_cast<IntegerType>(type);
      integer && !integer.isSigned() &&
      llvm::is_contained({2u, 3u, 4u, 5u, 6u, 8u}, integer.getWidth()))
    return std::make_unique<IntegerCodec>(integer);
  if (isa<Float8E4M3FNType, Float8E5M2Type, Float6E2M3FNType, Float6E3M2FNType,
          Float4E2M1FNType>(type))
    return std::make_unique<FloatCodec>(cast<FloatType>(type));
  return nullptr;
}
