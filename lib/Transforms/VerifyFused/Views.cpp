//===- Views.cpp - Views and their roots ----------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors and buffers are followed through views to the value that they are a
// part of, their root. A root of codes has its rows (the channels of a token)
// as last axis; which axes of a view are tokens follows from there.
//
//===----------------------------------------------------------------------===//

#include "Views.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::kvq;

Value kvq::getSource(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
    return init ? init->get() : Value();
  }
  Operation *op = value.getDefiningOp();
  if (isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
          memref::CastOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp>(op))
    return op->getOperand(0);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return insert.getDest();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return destination.getTiedOpOperand(cast<OpResult>(value))->get();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    if (OpOperand *init = loop.getTiedLoopInit(cast<OpResult>(value)))
      return init->get();
  return {};
}

Value kvq::getRoot(Value value) {
  while (Value source = getSource(value)) {
    if (!isa<ShapedType>(source.getType()))
      break;
    value = source;
  }
  return value;
}

/// For each axis of `slice`, the axis of its source.
template <typename SliceOp>
static SmallVector<int64_t> getSourceAxes(SliceOp slice) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<int64_t> axes;
  for (int64_t axis = 0, rank = slice.getSourceType().getRank(); axis < rank;
       ++axis)
    if (!dropped.test(axis))
      axes.push_back(axis);
  return axes;
}

std::optional<SmallVector<int64_t>> kvq::getSliceAxes(Operation *op) {
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
    return getSourceAxes(slice);
  if (auto subview = dyn_cast_or_null<memref::SubViewOp>(op))
    return getSourceAxes(subview);
  return std::nullopt;
}

SmallVector<ReassociationIndices> kvq::getReassociation(Operation *op) {
  if (auto reshape = dyn_cast<tensor::ExpandShapeOp>(op))
    return reshape.getReassociationIndices();
  if (auto reshape = dyn_cast<memref::ExpandShapeOp>(op))
    return reshape.getReassociationIndices();
  if (auto reshape = dyn_cast<tensor::CollapseShapeOp>(op))
    return reshape.getReassociationIndices();
  return cast<memref::CollapseShapeOp>(op).getReassociationIndices();
}

SmallVector<bool> kvq::getTokenAxes(Value codes) {
  int64_t rank = cast<ShapedType>(codes.getType()).getRank();
  Value source = getSource(codes);
  if (!source || !isa<ShapedType>(source.getType())) {
    SmallVector<bool> axes(rank, true);
    if (rank > 1)
      axes.back() = false;
    // Codes in tiles of a layout: which of the axes of a tile are tokens
    // depends on the layout, but a tile is no more than that.
    constexpr int64_t kAxesOutsideTile = 3;
    for (int64_t axis = kAxesOutsideTile; rank > 4 && axis < rank; ++axis)
      axes[axis] = false;
    return axes;
  }
  SmallVector<bool> sourceAxes = getTokenAxes(source);
  Operation *op = codes.getDefiningOp();
  if (std::optional<SmallVector<int64_t>> kept = getSliceAxes(op))
    return llvm::map_to_vector(
        *kept, [&](int64_t axis) { return bool(sourceAxes[axis]); });
  if (isa_and_nonnull<memref::ExpandShapeOp, tensor::ExpandShapeOp>(op)) {
    SmallVector<bool> axes(rank);
    for (auto [isToken, group] : llvm::zip(sourceAxes, getReassociation(op)))
      for (int64_t axis : group)
        axes[axis] = isToken;
    return axes;
  }
  if (isa_and_nonnull<memref::CollapseShapeOp, tensor::CollapseShapeOp>(op)) {
    auto sourceType = cast<ShapedType>(source.getType());
    return llvm::map_to_vector(
        getReassociation(op), [&](const ReassociationIndices &group) {
          return llvm::any_of(group, [&](int64_t axis) {
            return sourceAxes[axis] && sourceType.getDimSize(axis) != 1;
          });
        });
  }
  return sourceAxes;
}
