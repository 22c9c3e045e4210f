//===- Extents.cpp - What an extent is known to be ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Extents.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

/// Another tensor and the axis of it that has the same extent.
static std::optional<std::pair<Value, int64_t>> getSameExtent(Value tensor,
                                                              int64_t axis) {
  Operation *op = tensor.getDefiningOp();
  if (auto cast = dyn_cast_or_null<tensor::CastOp>(op);
      cast && isa<RankedTensorType>(cast.getSource().getType()))
    return std::pair(cast.getSource(), axis);
  if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op))
    return std::pair(insert.getDest(), axis);
  if (auto structured = dyn_cast_or_null<linalg::LinalgOp>(op))
    return std::pair(structured.getTiedOpOperand(cast<OpResult>(tensor))->get(),
                     axis);
  auto isLong = [](ArrayRef<int64_t> shape) {
    return [shape](int64_t other) { return shape[other] != 1; };
  };
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
    ReassociationIndices group = collapse.getReassociationIndices()[axis];
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    if (llvm::count_if(group, isLong(shape)) == 1)
      return std::pair(collapse.getSrc(), *llvm::find_if(group, isLong(shape)));
  }
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
    ArrayRef<int64_t> shape = expand.getResultType().getShape();
    for (auto [source, group] :
         llvm::enumerate(expand.getReassociationIndices()))
      if (llvm::is_contained(group, axis) &&
          llvm::count_if(group, isLong(shape)) == 1)
        return std::pair(expand.getSrc(), int64_t(source));
  }
  return std::nullopt;
}

/// The extent, where an op has it as a number.
static OpFoldResult getNumber(Value tensor, int64_t axis) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(axis))
    return Builder(type.getContext()).getIndexAttr(type.getDimSize(axis));
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return empty.getDynamicSize(axis);
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    return expand.getMixedOutputShape()[axis];
  if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
      slice && slice.getDroppedDims().none())
    return slice.getMixedSizes()[axis];
  return {};
}

KnownExtent kvq::findExtent(Value tensor, int64_t axis) {
  while (true) {
    if (OpFoldResult number = getNumber(tensor, axis))
      return {number, tensor, axis};
    auto same = getSameExtent(tensor, axis);
    if (!same)
      return {{}, tensor, axis};
    std::tie(tensor, axis) = *same;
  }
}

OpFoldResult kvq::buildExtent(OpBuilder &b, Location loc, Value tensor,
                              int64_t axis) {
  KnownExtent known = findExtent(tensor, axis);
  if (known.number)
    return known.number;
  return tensor::getMixedSize(b, loc, known.tensor, known.axis);
}

bool kvq::isExtent(Value value, Value tensor, int64_t axis) {
  KnownExtent known = findExtent(tensor, axis);
  if (known.number)
    return known.number == OpFoldResult(value);
  auto dim = value.getDefiningOp<tensor::DimOp>();
  if (!dim || !dim.getConstantIndex())
    return false;
  KnownExtent other = findExtent(dim.getSource(), *dim.getConstantIndex());
  return !other.number && other.tensor == known.tensor &&
         other.axis == known.axis;
}
