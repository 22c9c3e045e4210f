//===- CacheView.cpp - The axes of a tensor as those of a cache ----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheView.h"

#include "../ElementTracing/ElementTracer.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

static SmallVector<int64_t> getExtents(Value shaped) {
  return llvm::to_vector(cast<ShapedType>(shaped.getType()).getShape());
}

//===----------------------------------------------------------------------===//
// Following views
//===----------------------------------------------------------------------===//

bool CacheView::isStep(Operation *op) {
  return isa<bufferization::ToTensorOp, bufferization::ToBufferOp,
             memref::TransposeOp, memref::CastOp, linalg::TransposeOp,
             tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
      op);
}

bool CacheView::addStep() {
  Operation *op = source.getDefiningOp();
  if (!op || !isStep(op))
    return false;
  Step step;
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op)) {
    step.permutation = llvm::to_vector(transpose.getPermutation());
  } else if (auto transpose = dyn_cast<memref::TransposeOp>(op)) {
    for (AffineExpr axis : transpose.getPermutation().getResults())
      step.permutation.push_back(cast<AffineDimExpr>(axis).getPosition());
  } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    step.isExpand = true;
    step.groups = expand.getReassociationIndices();
  } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    step.groups = collapse.getReassociationIndices();
  }
  // The rest changes what is known of extents, or tensors to buffers and back.
  bool movesAxes = !step.permutation.empty() || !step.groups.empty();
  step.to = getExtents(source);
  source = op->getOperand(0);
  step.from = getExtents(source);
  if (movesAxes)
    steps.insert(steps.begin(), step);
  return true;
}

CacheView CacheView::get(Value component) {
  CacheView view;
  view.source = component;
  while (view.addStep())
    ;
  return view;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// The only axis of a group that is not of extent 1.
static FailureOr<unsigned> getOnlyAxis(ArrayRef<int64_t> group,
                                       ArrayRef<int64_t> shape) {
  std::optional<unsigned> only;
  for (int64_t axis : group) {
    if (shape[axis] == 1)
      continue;
    if (only)
      return failure();
    only = axis;
  }
  if (!only)
    return failure();
  return *only;
}

FailureOr<unsigned> CacheView::getOperandAxis(const Step &step, unsigned axis) {
  if (!step.isReshape())
    return step.permutation[axis];
  if (!step.isExpand)
    return getOnlyAxis(step.groups[axis], step.from);
  for (auto [operandAxis, group] : llvm::enumerate(step.groups)) {
    if (!llvm::is_contained(group, axis))
      continue;
    FailureOr<unsigned> only = getOnlyAxis(group, step.to);
    if (failed(only) || *only != axis)
      return failure();
    return operandAxis;
  }
  return failure();
}

FailureOr<unsigned> CacheView::getSourceAxis(unsigned axis) const {
  for (const Step &step : llvm::reverse(steps)) {
    FailureOr<unsigned> operandAxis = getOperandAxis(step, axis);
    if (failed(operandAxis))
      return failure();
    axis = *operandAxis;
  }
  return axis;
}

bool CacheView::isTokenMajor() const {
  return steps.size() == 1 &&
         steps.front().permutation == ArrayRef<int64_t>{0, 2, 1, 3};
}

//===----------------------------------------------------------------------===//
// Building the view of new tokens
//===----------------------------------------------------------------------===//

Value CacheView::buildStep(OpBuilder &b, Location loc, const Step &step,
                           Value tokens, unsigned tokenAxis) const {
  // Of the result, whose only extent that differs is the number of tokens.
  SmallVector<int64_t> shape = step.to;
  auto type = cast<RankedTensorType>(tokens.getType());
  FailureOr<unsigned> operandAxis = getOperandAxis(step, tokenAxis);
  assert(succeeded(operandAxis) && "tokens have an axis: see getSourceAxis");
  shape[tokenAxis] = type.getDimSize(*operandAxis);
  SmallVector<OpFoldResult> extents =
      getAsIndexOpFoldResult(b.getContext(), shape);
  if (ShapedType::isDynamic(shape[tokenAxis]))
    extents[tokenAxis] = OpFoldResult(
        tensor::DimOp::create(b, loc, tokens, *operandAxis).getResult());
  RankedTensorType resultType = type.clone(shape);
  if (!step.isReshape()) {
    Value empty =
        tensor::EmptyOp::create(b, loc, extents, type.getElementType());
    return linalg::TransposeOp::create(b, loc, tokens, empty, step.permutation)
        ->getResult(0);
  }
  if (step.isExpand)
    return tensor::ExpandShapeOp::create(b, loc, resultType, tokens,
                                         step.groups, extents);
  return tensor::CollapseShapeOp::create(b, loc, resultType, tokens,
                                         step.groups);
}

Value CacheView::build(OpBuilder &b, Location loc, Value tokens) const {
  SmallVector<unsigned> axes = {kTokens};
  for (const Step &step : llvm::reverse(steps))
    axes.push_back(*getOperandAxis(step, axes.back()));
  for (auto [step, axis] :
       llvm::zip_equal(steps, llvm::drop_begin(llvm::reverse(axes))))
    tokens = buildStep(b, loc, step, tokens, axis);
  return tokens;
}
