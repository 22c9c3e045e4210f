//===- CodeBlocks.cpp - Codes of tokens in the order of fields ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes are split into the axes of blocks,
//
//   ... x rows x tokens x records x runs x channels,
//
// and these are put into the order of elements,
//
//   ... x rows x records x (runs x tokens x channels).
//
// Axes of extent 1 are left out.
//
//===----------------------------------------------------------------------===//

#include "CodeBlocks.h"

#include "CodePacking.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

CodeBlocks::CodeBlocks(const RowLayout &layout, int64_t headDim)
    : tokens(layout.getCodeTokens()), records(layout.getRowOfCodes().records),
      runs(1), channels(headDim / records) {
  // With one token channels lie in order, whatever runs they come in.
  if (tokens == 1)
    return;
  runs = channels / layout.block.channels;
  channels = layout.block.channels;
}

/// The axes of blocks of some codes.
struct CodeBlocks::Axes {
  /// Of codes: each of their axes by the axes that it is split into.
  SmallVector<ReassociationIndices> ofCodes;
  /// Of elements, by axes of the elements in their order.
  SmallVector<ReassociationIndices> ofElements;
  /// For each axis of the split elements, that of the split codes.
  SmallVector<int64_t> order;
  SmallVector<int64_t> extents;
};

CodeBlocks::Axes CodeBlocks::getAxes(Value codes) const {
  Axes axes;
  int64_t rank = getRank(codes);
  for (int64_t axis = 0; axis + 2 < rank; ++axis) {
    axes.ofCodes.push_back({axis});
    axes.ofElements.push_back({axis});
    axes.order.push_back(axis);
    axes.extents.push_back(ShapedType::kDynamic);
  }
  int64_t rows = rank - 2, token = rank - 1, next = rank;
  axes.extents.append({ShapedType::kDynamic, tokens});
  axes.ofCodes.push_back({rows, token});
  axes.ofCodes.emplace_back();
  auto addAxis = [&](int64_t extent, bool always = false) -> int64_t {
    if (extent == 1 && !always)
      return -1;
    axes.ofCodes.back().push_back(next);
    axes.extents.push_back(extent);
    return next++;
  };
  int64_t record = addAxis(records), run = addAxis(runs);
  int64_t channel = addAxis(channels, /*always=*/records == 1 && runs == 1);

  auto addElements = [&](ArrayRef<int64_t> group) {
    axes.ofElements.emplace_back();
    for (int64_t axis : group)
      if (axis >= 0) {
        axes.ofElements.back().push_back(axes.order.size());
        axes.order.push_back(axis);
      }
  };
  addElements({rows});
  if (records != 1)
    addElements({record});
  addElements({run, token, channel});
  return axes;
}

Value CodeBlocks::splitCodes(OpBuilder &b, Location loc, Value codes) const {
  Axes axes = getAxes(codes);
  SmallVector<OpFoldResult> whole = tensor::getMixedSizes(b, loc, codes);
  SmallVector<OpFoldResult> extents;
  for (int64_t extent : axes.extents)
    extents.push_back(ShapedType::isDynamic(extent) ? whole[extents.size()]
                                                    : b.getIndexAttr(extent));
  int64_t rows = whole.size() - 2;
  extents[rows] = affine::makeComposedFoldedAffineApply(
      b, loc, b.getAffineDimExpr(0).floorDiv(tokens), {whole[rows]});
  auto type = RankedTensorType::get(decomposeMixedValues(extents).first,
                                    getElementTypeOrSelf(codes));
  return tensor::ExpandShapeOp::create(b, loc, type, codes, axes.ofCodes,
                                       extents);
}

Value CodeBlocks::toElements(OpBuilder &b, Location loc, Value codes) const {
  if (tokens == 1)
    return splitLastAxis(b, loc, codes, records);
  Axes axes = getAxes(codes);
  Value split = splitCodes(b, loc, codes);
  if (isView())
    return tensor::CollapseShapeOp::create(b, loc, split, axes.ofElements);
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, split);
  SmallVector<OpFoldResult> ordered;
  for (int64_t axis : axes.order)
    ordered.push_back(extents[axis]);
  Value scratch = tensor::EmptyOp::create(b, loc, ordered, b.getI8Type());
  AffineMap read = inversePermutation(
      AffineMap::getPermutationMap(axes.order, b.getContext()));
  scratch = buildMap(b, loc, split, {read}, scratch,
                     [](OpBuilder &, Location, ValueRange args) -> Value {
                       return args.front();
                     });
  return tensor::CollapseShapeOp::create(b, loc, scratch, axes.ofElements);
}

Value CodeBlocks::getDestination(OpBuilder &b, Location loc,
                                 Value codes) const {
  if (tokens == 1 || isView())
    return toElements(b, loc, codes);
  Axes axes = getAxes(codes);
  SmallVector<OpFoldResult> extents =
      tensor::getMixedSizes(b, loc, splitCodes(b, loc, codes));
  SmallVector<OpFoldResult> joined;
  for (const ReassociationIndices &group : axes.ofElements) {
    // Only axes that are by themselves are dynamic.
    OpFoldResult extent = extents[axes.order[group.front()]];
    for (int64_t axis : ArrayRef(group).drop_front())
      extent = b.getIndexAttr(*getConstantIntValue(extent) *
                              axes.extents[axes.order[axis]]);
    joined.push_back(extent);
  }
  return tensor::EmptyOp::create(b, loc, joined, b.getI8Type());
}

Value CodeBlocks::fromElements(OpBuilder &b, Location loc, Value elements,
                               Value codes) const {
  if (tokens == 1)
    return joinLastAxis(b, loc, elements, codes.getType());
  Axes axes = getAxes(codes);
  Value split = splitCodes(b, loc, codes);
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, split);
  SmallVector<OpFoldResult> ordered;
  for (int64_t axis : axes.order)
    ordered.push_back(extents[axis]);
  auto type =
      RankedTensorType::get(decomposeMixedValues(ordered).first, b.getI8Type());
  elements = tensor::ExpandShapeOp::create(b, loc, type, elements,
                                           axes.ofElements, ordered);
  if (!isView()) {
    AffineMap read = AffineMap::getPermutationMap(axes.order, b.getContext());
    elements = buildMap(b, loc, elements, {read}, split,
                        [](OpBuilder &, Location, ValueRange args) -> Value {
                          return args.front();
                        });
  }
  return tensor::CollapseShapeOp::create(b, loc, codes.getType(), elements,
                                         axes.ofCodes);
}
