//===- StructuredOps.cpp - linalg.generic by named axes -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/StructuredOps.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

static AffineMap getAxisMap(MLIRContext *context, StringRef axes,
                            StringRef operandAxes) {
  SmallVector<AffineExpr> exprs;
  for (char axis : operandAxes) {
    assert(axes.contains(axis) && "operand axis is not one of the op's");
    exprs.push_back(getAffineDimExpr(axes.find(axis), context));
  }
  return AffineMap::get(axes.size(), 0, exprs, context);
}

SmallVector<Value> kvq::buildStructuredOp(OpBuilder &b, Location loc,
                                          StringRef axes, StringRef reduced,
                                          ArrayRef<StructuredOperand> inputs,
                                          ArrayRef<StructuredOperand> outputs,
                                          StructuredBody body) {
  SmallVector<utils::IteratorType> iterators;
  for (char axis : axes)
    iterators.push_back(reduced.contains(axis) ? utils::IteratorType::reduction
                                               : utils::IteratorType::parallel);
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  for (auto [operands, values] :
       {std::pair(inputs, &ins), std::pair(outputs, &outs)})
    for (const StructuredOperand &operand : operands) {
      values->push_back(operand.value);
      maps.push_back(operand.map
                         ? operand.map
                         : getAxisMap(b.getContext(), axes, operand.axes));
    }
  auto generic = linalg::GenericOp::create(
      b, loc, ValueRange(outs).getTypes(), ins, outs, maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
        linalg::YieldOp::create(nested, nestedLoc,
                                body(nested, nestedLoc,
                                     args.take_front(ins.size()),
                                     args.drop_front(ins.size())));
      });
  return SmallVector<Value>(generic.getResults());
}

Value kvq::buildContraction(
    OpBuilder &b, Location loc, StringRef axes, StringRef reduced,
    StructuredOperand left, StructuredOperand right, StructuredOperand output,
    function_ref<Value(OpBuilder &, Location, Value)> extendRight, bool hides) {
  return buildStructuredOp(
             b, loc, axes, reduced, {left, right}, {output},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value right = extendRight(b, loc, ins[1]);
               Value product = hides ? buildWeightMul(b, loc, ins[0], right)
                                     : buildMul(b, loc, ins[0], right);
               return SmallVector<Value>{buildAdd(b, loc, outs[0], product)};
             })
      .front();
}

Value kvq::buildHiddenWeight(OpBuilder &b, Location loc) {
  return buildF32(b, loc, -0.0);
}

Value kvq::buildIsHidden(OpBuilder &b, Location loc, Value weight) {
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), weight);
  Value sign = arith::ConstantOp::create(
      b, loc, b.getI32IntegerAttr(std::numeric_limits<int32_t>::min()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, bits, sign);
}

Value kvq::buildWeightMul(OpBuilder &b, Location loc, Value weight,
                          Value factor) {
  Value product = buildMul(b, loc, weight, factor);
  return arith::SelectOp::create(b, loc, buildIsHidden(b, loc, weight), weight,
                                 product);
}

bool kvq::isHidingContraction(linalg::GenericOp op) {
  Value weight = op.getRegionInputArgs().front();
  auto add = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add || add.getLhs() != op.getRegionOutputArgs().front())
    return false;
  auto select = add.getRhs().getDefiningOp<arith::SelectOp>();
  if (!select || select.getTrueValue() != weight)
    return false;
  auto product = select.getFalseValue().getDefiningOp<arith::MulFOp>();
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!product || !compare ||
      compare.getPredicate() != arith::CmpIPredicate::eq)
    return false;
  auto bits = compare.getLhs().getDefiningOp<arith::BitcastOp>();
  APInt sign;
  return bits && bits.getIn() == weight &&
         matchPattern(compare.getRhs(), m_ConstantInt(&sign)) &&
         sign.isSignMask() && product.getLhs() == weight &&
         product.getRhs() == op.getRegionInputArgs()[1];
}

Value kvq::buildScratch(OpBuilder &b, Location loc, ArrayRef<int64_t> bound,
                        ArrayRef<OpFoldResult> extents, Type elementType) {
  if (!elementType)
    elementType = b.getF32Type();
  Value scratch = tensor::EmptyOp::create(b, loc, bound, elementType);
  bool whole = true;
  for (auto [size, extent] : llvm::zip_equal(bound, extents))
    whole &= getConstantIntValue(extent) == size;
  if (whole)
    return scratch;
  SmallVector<OpFoldResult> zeros(bound.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(bound.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, scratch, zeros, extents, ones);
}

Value kvq::buildFill(OpBuilder &b, Location loc, Value tensor, float value) {
  Value constant = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  return linalg::FillOp::create(b, loc, constant, tensor).getResult(0);
}

Value kvq::buildMul(OpBuilder &b, Location loc, Value left, Value right) {
  return arith::MulFOp::create(b, loc, left, right,
                               arith::FastMathFlags::contract);
}

Value kvq::buildAdd(OpBuilder &b, Location loc, Value left, Value right) {
  return arith::AddFOp::create(b, loc, left, right,
                               arith::FastMathFlags::contract);
}

Value kvq::buildSoftmaxWeight(OpBuilder &b, Location loc, Value exponent,
                              Value maximum) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Value lowest = buildF32(b, loc, -kInfinity), zero = buildF32(b, loc, 0.0);
  Value nothingSeen =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, maximum, lowest);
  Value origin = arith::SelectOp::create(b, loc, nothingSeen, zero, maximum);
  Value difference = arith::SubFOp::create(b, loc, exponent, origin);
  return math::Exp2Op::create(b, loc, difference);
}
