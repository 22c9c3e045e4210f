//===- Regroup.cpp - Axes of a tensor in another order --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regroup.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SmallBitVector.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Reshapes and transposes
//===----------------------------------------------------------------------===//

/// Axes of extent 1 go with the one after them, the last ones with the one
/// before; nothing where all are of extent 1.
static SmallVector<ReassociationIndices> joinUnits(const DigitAxes &axes) {
  SmallVector<ReassociationIndices> groups;
  ReassociationIndices group;
  for (auto [axis, digits] : llvm::enumerate(axes)) {
    group.push_back(axis);
    if (!digits.empty())
      groups.push_back(std::exchange(group, {}));
  }
  if (!groups.empty())
    llvm::append_range(groups.back(), group);
  return groups;
}

/// Of each axis that has digits, their numbers in the order of all.
static SmallVector<ReassociationIndices> getDigitGroups(const DigitAxes &axes) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (ArrayRef<unsigned> digits : axes) {
    if (digits.empty())
      continue;
    groups.emplace_back();
    for (size_t count = 0; count < digits.size(); ++count)
      groups.back().push_back(next++);
  }
  return groups;
}

static Value buildExpand(OpBuilder &b, Location loc, Value tensor,
                         ArrayRef<OpFoldResult> sizes,
                         ArrayRef<ReassociationIndices> groups) {
  if (sizes.size() ==
      size_t(cast<RankedTensorType>(tensor.getType()).getRank()))
    return tensor;
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  auto type = cast<RankedTensorType>(tensor.getType()).clone(shape);
  return tensor::ExpandShapeOp::create(b, loc, type, tensor, groups, sizes);
}

static Value buildCollapse(OpBuilder &b, Location loc, Value tensor,
                           ArrayRef<ReassociationIndices> groups) {
  if (groups.size() ==
      size_t(cast<RankedTensorType>(tensor.getType()).getRank()))
    return tensor;
  return tensor::CollapseShapeOp::create(b, loc, tensor, groups);
}

static SmallVector<unsigned> getDigits(const DigitAxes &axes) {
  SmallVector<unsigned> digits;
  for (ArrayRef<unsigned> axis : axes)
    llvm::append_range(digits, axis);
  return digits;
}

static Value buildTranspose(OpBuilder &b, Location loc, Value tensor,
                            ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return tensor;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tensor);
  Value empty =
      tensor::EmptyOp::create(b, loc, applyPermutation(sizes, permutation),
                              getElementTypeOrSelf(tensor));
  return linalg::TransposeOp::create(b, loc, tensor, empty, permutation)
      ->getResult(0);
}

/// The axis of `from` that each one of `to` is, where none is split or joined.
static std::optional<SmallVector<int64_t>> getPermutation(const DigitAxes &from,
                                                          const DigitAxes &to) {
  if (from.size() != to.size())
    return std::nullopt;
  // Those without digits in their order.
  llvm::SmallBitVector isTaken(from.size());
  SmallVector<int64_t> permutation;
  for (const SmallVector<unsigned> &axis : to) {
    unsigned found = 0;
    while (found < from.size() && (isTaken.test(found) || from[found] != axis))
      ++found;
    if (found == from.size())
      return std::nullopt;
    isTaken.set(found);
    permutation.push_back(found);
  }
  return permutation;
}

Value kvq::buildRegrouped(OpBuilder &b, Location loc, Value tensor,
                          const DigitAxes &from, const DigitAxes &to,
                          function_ref<OpFoldResult(unsigned)> getSize) {
  if (auto permutation = getPermutation(from, to))
    return buildTranspose(b, loc, tensor, *permutation);
  auto getSizes = [&](ArrayRef<unsigned> digits) {
    return llvm::map_to_vector(digits, getSize);
  };
  SmallVector<unsigned> source = getDigits(from), target = getDigits(to);
  Value value = buildCollapse(b, loc, tensor, joinUnits(from));
  value = buildExpand(b, loc, value, getSizes(source), getDigitGroups(from));
  SmallVector<int64_t> permutation;
  for (unsigned digit : target)
    permutation.push_back(llvm::find(source, digit) - source.begin());
  value = buildTranspose(b, loc, value, permutation);
  value = buildCollapse(b, loc, value, getDigitGroups(to));
  SmallVector<OpFoldResult> sizes;
  for (ArrayRef<unsigned> axis : to) {
    if (axis.empty())
      sizes.push_back(b.getIndexAttr(1));
    else if (axis.size() == 1)
      sizes.push_back(getSize(axis.front()));
    else
      sizes.push_back(b.getIndexAttr(std::accumulate(
          axis.begin(), axis.end(), int64_t(1), [&](int64_t size, unsigned d) {
            return size * *getConstantIntValue(getSize(d));
          })));
  }
  return buildExpand(b, loc, value, sizes, joinUnits(to));
}
