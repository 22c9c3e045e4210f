//===- ExpandFloats.cpp - What a processor has no instruction for ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM makes a call of the library of what is not there, for each lane. Here it
// becomes arithmetic on whole vectors, with the same results.
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_EXPANDFLOATSPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

/// Builds arithmetic on f32 and its bits, on numbers or on vectors alike.
class LaneMath {
public:
  LaneMath(OpBuilder &b, Location loc, Type shape)
      : b(b), loc(loc), shape(shape) {}

  Type getType(Type element) const {
    if (auto vector = dyn_cast<VectorType>(shape))
      return vector.clone(element);
    return element;
  }
  Value getConstant(TypedAttr value) const {
    if (auto vector = dyn_cast<VectorType>(getType(value.getType())))
      value = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(b, loc, value);
  }
  Value getBits(uint32_t bits) const {
    return getConstant(b.getI32IntegerAttr(int32_t(bits)));
  }
  Value getNumber(float value) const {
    return getConstant(b.getF32FloatAttr(value));
  }
  Value toBits(Value number) const {
    return arith::BitcastOp::create(b, loc, getType(b.getI32Type()), number);
  }
  Value toNumber(Value bits) const {
    return arith::BitcastOp::create(b, loc, getType(b.getF32Type()), bits);
  }
  template <typename Op, typename... Args> Value make(Args &&...args) const {
    return Op::create(b, loc, std::forward<Args>(args)...).getResult();
  }

  OpBuilder &b;
  Location loc;

private:
  Type shape;
};

constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7F800000;

/// Matches ops between f16 and f32 alone.
template <typename CastOp, bool fromHalf>
struct HalfPattern : OpRewritePattern<CastOp> {
  using OpRewritePattern<CastOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op,
                                PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType()),
         to = getElementTypeOrSelf(op.getType());
    if (!(fromHalf ? from : to).isF16() || !(fromHalf ? to : from).isF32())
      return rewriter.notifyMatchFailure(op, "not between f16 and f32");
    LaneMath math(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, fromHalf ? extend(math, op.getIn())
                                    : round(math, op.getIn()));
    return success();
  }

  /// Exponent and mantissa where those of f32 lie, times what the exponents'
  /// biases differ by: exact, subnormal numbers included.
  static Value extend(const LaneMath &math, Value half) {
    Type i16 = math.getType(math.b.getI16Type());
    Type i32 = math.getType(math.b.getI32Type());
    Value bits =
        math.make<arith::ExtUIOp>(i32, math.make<arith::BitcastOp>(i16, half));
    Value magnitude = math.make<arith::ShLIOp>(
        math.make<arith::AndIOp>(bits, math.getBits(0x7FFF)), math.getBits(13));
    Value scaled = math.toBits(math.make<arith::MulFOp>(
        math.toNumber(magnitude), math.getNumber(0x1p112f)));
    // Infinity and NaN.
    Value isSpecial = math.make<arith::CmpIOp>(
        arith::CmpIPredicate::uge, magnitude, math.getBits(0x1F << 23));
    Value special = math.make<arith::OrIOp>(magnitude, math.getBits(kInfinity));
    Value sign = math.make<arith::ShLIOp>(
        math.make<arith::AndIOp>(bits, math.getBits(0x8000)), math.getBits(16));
    Value result = math.make<arith::SelectOp>(isSpecial, special, scaled);
    return math.toNumber(math.make<arith::OrIOp>(result, sign));
  }

  /// To nearest, ties to even.
  static Value round(const LaneMath &math, Value number) {
    constexpr uint32_t kLeastNormal = 0x38800000, kBeyond = 0x47800000;
    Value bits = math.toBits(number);
    Value sign = math.make<arith::AndIOp>(bits, math.getBits(kSign));
    Value magnitude = math.make<arith::XOrIOp>(bits, sign);
    // The exponent's bias changes by 112; half a step less the last bit that
    // stays is added, so that ties go to even. A carry goes into the exponent.
    Value odd = math.make<arith::AndIOp>(
        math.make<arith::ShRUIOp>(magnitude, math.getBits(13)),
        math.getBits(1));
    Value normal = math.make<arith::AddIOp>(
        math.make<arith::AddIOp>(magnitude,
                                 math.getBits(0xFFFu - (112u << 23))),
        odd);
    normal = math.make<arith::ShRUIOp>(normal, math.getBits(13));
    // Added to 1/2, whose last bit is f16's least number, f32 rounds.
    Value half = math.getNumber(0.5f);
    Value subnormal = math.make<arith::SubIOp>(
        math.toBits(math.make<arith::AddFOp>(math.toNumber(magnitude), half)),
        math.toBits(half));
    Value isNaN = math.make<arith::CmpIOp>(arith::CmpIPredicate::ugt, magnitude,
                                           math.getBits(kInfinity));
    Value special = math.make<arith::SelectOp>(isNaN, math.getBits(0x7E00),
                                               math.getBits(0x7C00));
    auto isBelow = [&](uint32_t bound) {
      return math.make<arith::CmpIOp>(arith::CmpIPredicate::ult, magnitude,
                                      math.getBits(bound));
    };
    Value result =
        math.make<arith::SelectOp>(isBelow(kLeastNormal), subnormal, normal);
    result = math.make<arith::SelectOp>(isBelow(kBeyond), result, special);
    result = math.make<arith::OrIOp>(
        result, math.make<arith::ShRUIOp>(sign, math.getBits(16)));
    result =
        math.make<arith::TruncIOp>(math.getType(math.b.getI16Type()), result);
    return math.make<arith::BitcastOp>(math.getType(math.b.getF16Type()),
                                       result);
  }
};

using ExtendHalfPattern = HalfPattern<arith::ExtFOp, true>;
using RoundToHalfPattern = HalfPattern<arith::TruncFOp, false>;

/// The nearest integer, ties to even: 2^23 + |x| has no bits behind the point.
static Value buildNearest(const LaneMath &math, Value number) {
  Value bits = math.toBits(number);
  Value sign = math.make<arith::AndIOp>(bits, math.getBits(kSign));
  Value magnitude = math.toNumber(math.make<arith::XOrIOp>(bits, sign));
  Value magic = math.getNumber(0x1p23f);
  Value whole = math.make<arith::SubFOp>(
      math.make<arith::AddFOp>(magnitude, magic), magic);
  // Larger ones are whole; NaN stays.
  Value isSmall =
      math.make<arith::CmpFOp>(arith::CmpFPredicate::OLT, magnitude, magic);
  whole = math.make<arith::SelectOp>(isSmall, whole, magnitude);
  return math.toNumber(math.make<arith::OrIOp>(math.toBits(whole), sign));
}

template <typename RoundOp> struct RoundPattern : OpRewritePattern<RoundOp> {
  using OpRewritePattern<RoundOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(RoundOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not of f32");
    LaneMath math(rewriter, op.getLoc(), op.getType());
    Value number = op.getOperand();
    Value result = buildNearest(math, number);
    constexpr bool isCeil = std::is_same_v<RoundOp, math::CeilOp>;
    if (isCeil || std::is_same_v<RoundOp, math::FloorOp>) {
      // One farther where that was to the wrong side.
      Value isWrong = math.make<arith::CmpFOp>(
          isCeil ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT,
          result, number);
      Value next = math.make<arith::AddFOp>(
          result, math.getNumber(isCeil ? 1.0f : -1.0f));
      // 0 keeps the sign of what it comes from.
      Value sign =
          math.make<arith::AndIOp>(math.toBits(number), math.getBits(kSign));
      next = math.toNumber(math.make<arith::OrIOp>(math.toBits(next), sign));
      result = math.make<arith::SelectOp>(isWrong, next, result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Two roundings where that is good enough.
struct FmaPattern : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
      return rewriter.notifyMatchFailure(op, "a single rounding is asked for");
    auto product =
        arith::MulFOp::create(rewriter, op.getLoc(), op.getA(), op.getB());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getC());
    return success();
  }
};

/// The larger of two where neither NaN nor the sign of zero matters, in the
/// form that x86 has an instruction for. It promises nothing: a NaN makes some
/// result of it, and no poison.
struct MaximumPattern : OpRewritePattern<arith::MaximumFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MaximumFOp op,
                                PatternRewriter &rewriter) const override {
    using arith::FastMathFlags;
    if (!bitEnumContainsAll(op.getFastmath(),
                            FastMathFlags::nnan | FastMathFlags::nsz))
      return rewriter.notifyMatchFailure(op, "NaN or the sign of 0 matters");
    Value lhs = op.getLhs(), rhs = op.getRhs();
    Value isLarger = arith::CmpFOp::create(rewriter, op.getLoc(),
                                           arith::CmpFPredicate::OGT, lhs, rhs);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isLarger, lhs, rhs);
    return success();
  }
};

struct ExpandFloatsPass : kvq::impl::ExpandFloatsPassBase<ExpandFloatsPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MaximumPattern>(&getContext());
    if (half)
      patterns.add<ExtendHalfPattern, RoundToHalfPattern>(&getContext());
    if (rounding)
      patterns.add<RoundPattern<math::RoundEvenOp>, RoundPattern<math::CeilOp>,
                   RoundPattern<math::FloorOp>>(&getContext());
    if (fma)
      patterns.add<FmaPattern>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
