//===- Bounds.cpp - Constants that extents do not pass --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Views.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::kvq;

Bound kvq::multiply(Bound left, Bound right) {
  int64_t product;
  if (!left || !right || llvm::MulOverflow(*left, *right, product))
    return std::nullopt;
  return product;
}

/// The axis of a reshape's source that `axis` of its result is, if it is one.
static std::optional<int64_t> getUnreshapedAxis(Operation *reshape,
                                                int64_t axis) {
  bool isExpand = isa<memref::ExpandShapeOp, tensor::ExpandShapeOp>(reshape);
  for (auto [index, group] : llvm::enumerate(getReassociation(reshape))) {
    if (group.size() != 1)
      continue;
    if (isExpand && group.front() == axis)
      return index;
    if (!isExpand && static_cast<int64_t>(index) == axis)
      return group.front();
  }
  return std::nullopt;
}

Bound kvq::getExtentBound(Value value, int64_t axis) {
  Value part = value;
  int64_t partAxis = axis;
  while (true) {
    auto type = cast<ShapedType>(part.getType());
    if (!type.isDynamicDim(partAxis))
      return type.getDimSize(partAxis);
    Operation *op = part.getDefiningOp();
    if (std::optional<SmallVector<int64_t>> kept = getSliceAxes(op))
      partAxis = (*kept)[partAxis];
    else if (isa_and_nonnull<memref::ExpandShapeOp, memref::CollapseShapeOp,
                             tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                 op)) {
      std::optional<int64_t> kept = getUnreshapedAxis(op, partAxis);
      if (!kept)
        break;
      partAxis = *kept;
    }
    Value source = getSource(part);
    if (!source || !isa<ShapedType>(source.getType()))
      break;
    part = source;
  }
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {value, axis}, /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  return succeeded(bound) ? Bound(std::max<int64_t>(*bound, 0)) : std::nullopt;
}

Bound kvq::getByteBound(Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (!type.getElementType().isIntOrFloat())
    return std::nullopt;
  Bound bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t axis = 0, rank = type.getRank(); axis < rank; ++axis)
    bytes = multiply(bytes, getExtentBound(value, axis));
  return bytes;
}

Bound kvq::tighten(Bound left, Bound right) {
  return left && right ? std::min(*left, *right) : left ? left : right;
}

std::string kvq::describe(Bound bound, StringRef unit) {
  if (!bound)
    return ("an unbounded number of " + unit).str();
  return (Twine(*bound) + " " + unit).str();
}
