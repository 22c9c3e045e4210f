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
      maps.push_back(getAxisMap(b.getContext(), axes, operand.axes));
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
    function_ref<Value(OpBuilder &, Location, Value)> extendRight) {
  return buildStructuredOp(
             b, loc, axes, reduced, {left, right}, {output},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value product =
                   buildMul(b, loc, ins[0], extendRight(b, loc, ins[1]));
               return SmallVector<Value>{buildAdd(b, loc, outs[0], product)};
             })
      .front();
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
