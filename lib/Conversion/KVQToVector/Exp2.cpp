//===- Exp2.cpp - Powers of two by a polynomial ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 2^x = 2^n * 2^f with n the integer nearest to x and f in [-1/2, 1/2].
//
// The arithmetic is the same for scalars and vectors, and its multiply-adds are
// explicit, so that the lanes of a vector and a scalar remainder have the same
// bits. Relative error below 1e-7 from -126 to 128; below -126 the result is 0
// (no denormal results); 2^x is infinite from 128 on; NaN gives NaN.
//
//===----------------------------------------------------------------------===//

#include "Exp2.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::kvq;

/// Minimax coefficients of 2^f on [-1/2, 1/2], highest power first (Cephes,
/// exp2f). The constant term is exactly 1, so that 2^n is exact.
static constexpr float kPolynomial[] = {1.535336188319500e-4f,
                                        1.339887440266574e-3f,
                                        9.618437357674640e-3f,
                                        5.550332471162809e-2f,
                                        2.402264791363012e-1f,
                                        6.931472028550421e-1f,
                                        1.0f};

/// 1.5 * 2^23: added to a float of smaller magnitude it leaves the nearest
/// integer in the low bits of the sum.
static constexpr float kRoundingMagic = 12582912.0f;

LogicalResult kvq::expandExp2(RewriterBase &rewriter, math::Exp2Op op) {
  Type type = op.getType();
  if (!getElementTypeOrSelf(type).isF32())
    return rewriter.notifyMatchFailure(op,
                                       "expected an operand of f32 elements");
  Location loc = op.getLoc();
  auto like = [&](Type element) -> Type {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return shaped.clone(element);
    return element;
  };
  Type intType = like(rewriter.getI32Type());
  auto constant = [&](Type type, TypedAttr value) -> Value {
    TypedAttr attr = value;
    if (auto shaped = dyn_cast<ShapedType>(type))
      attr = DenseElementsAttr::get(shaped, value);
    return arith::ConstantOp::create(rewriter, loc, attr);
  };
  auto number = [&](float value) {
    return constant(type, rewriter.getF32FloatAttr(value));
  };

  Value x = op.getOperand();
  Value magic = number(kRoundingMagic);
  Value shifted = arith::AddFOp::create(rewriter, loc, x, magic);
  Value whole = arith::SubFOp::create(rewriter, loc, shifted, magic);
  Value fraction = arith::SubFOp::create(rewriter, loc, x, whole);

  Value power = number(kPolynomial[0]);
  for (float coefficient : ArrayRef(kPolynomial).drop_front())
    power = math::FmaOp::create(rewriter, loc, power, fraction,
                                number(coefficient), arith::FastMathFlags::afn);

  // n, in the low bits of `shifted`, moves into the exponent.
  Value bits = arith::BitcastOp::create(rewriter, loc, intType, shifted);
  Value exponent = arith::ShLIOp::create(
      rewriter, loc, bits, constant(intType, rewriter.getI32IntegerAttr(23)));
  Value scaled = arith::AddIOp::create(
      rewriter, loc, arith::BitcastOp::create(rewriter, loc, intType, power),
      exponent);
  Value result = arith::BitcastOp::create(rewriter, loc, type, scaled);

  // Infinite results, and NaN: x + inf is either.
  Value isFinite = arith::CmpFOp::create(
      rewriter, loc, arith::CmpFPredicate::OLT, x, number(128.0f));
  Value special = arith::AddFOp::create(
      rewriter, loc, x, number(std::numeric_limits<float>::infinity()));
  result = arith::SelectOp::create(rewriter, loc, isFinite, result, special);
  Value isTiny = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OLT,
                                       x, number(-126.0f));
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isTiny, number(0.0f),
                                               result);
  return success();
}
