//===- GroupLoops.cpp - Loops over groups of elements ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupLoops.h"
#include "PairwiseSum.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

FormatInterface kvq::resolveFormat(FormatInterface format,
                                   RankedTensorType rows) {
  format = format.resolve(rows.getShape().back());
  if (rows.getRank() == 2)
    return format;
  return format.resolveHeads(rows.getDimSize(rows.getRank() - 3));
}

MetadataRows kvq::getMetadataRows(FormatInterface format) {
  return format.hasStaticRange() ? MetadataRows::Single
                                 : MetadataRows::PerGroup;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

GroupLoops::GroupLoops(FormatInterface format, RankedTensorType rows,
                       MetadataRows metadataRows) {
  MLIRContext *context = format.getContext();
  int64_t rank = rows.getRank(), tokenAxis = rank - 2;
  bool singleRow = metadataRows == MetadataRows::Single;
  groupExtents.assign(rank, 1);
  groupExtents.back() = format.getGroupChannels(rows.getShape().back());
  if (!singleRow)
    groupExtents[tokenAxis] = format.getGroupTokens();
  if (rank > 2)
    groupExtents[tokenAxis - 1] =
        format.getGroupHeads(rows.getDimSize(tokenAxis - 1));

  SmallVector<AffineExpr> groups;
  auto addLoop = [&](int64_t axis, utils::IteratorType type) {
    reassociation[axis].push_back(iterators.size());
    iterators.push_back(type);
    insideExtents.push_back(
        type == utils::IteratorType::reduction ? groupExtents[axis] : 1);
    return getAffineDimExpr(iterators.size() - 1, context);
  };
  reassociation.resize(rank);
  for (int64_t axis = 0; axis < rank; ++axis) {
    AffineExpr group = addLoop(axis, utils::IteratorType::parallel);
    groups.push_back(singleRow && axis == tokenAxis
                         ? getAffineConstantExpr(0, context)
                         : group);
    if (groupExtents[axis] != 1)
      addLoop(axis, utils::IteratorType::reduction);
  }
  rowsMap = AffineMap::getMultiDimIdentityMap(size(), context);
  groupsMap = AffineMap::get(size(), /*symbolCount=*/0, groups, context);
}

/// `map`, but that an axis of extent 1 of `type` serves all indices.
static AffineMap broadcastUnitAxes(AffineMap map, Type type) {
  SmallVector<AffineExpr> results(map.getResults());
  for (auto [expr, extent] :
       llvm::zip_equal(results, cast<RankedTensorType>(type).getShape()))
    if (extent == 1)
      expr = getAffineConstantExpr(0, map.getContext());
  return AffineMap::get(map.getNumDims(), /*symbolCount=*/0, results,
                        map.getContext());
}

AffineMap GroupLoops::getMetadataMap(Type type) const {
  return broadcastUnitAxes(groupsMap, type);
}

Value GroupLoops::split(OpBuilder &b, Location loc, Value rows) const {
  if (!isSplit(rows.getType()))
    return rows;
  SmallVector<OpFoldResult> extents;
  SmallVector<OpFoldResult> rowExtents = tensor::getMixedSizes(b, loc, rows);
  for (auto [extent, inside] : llvm::zip_first(rowExtents, groupExtents)) {
    if (inside == 1) {
      extents.push_back(extent);
      continue;
    }
    extents.push_back(affine::makeComposedFoldedAffineApply(
        b, loc, b.getAffineDimExpr(0).floorDiv(inside), {extent}));
    extents.push_back(b.getIndexAttr(inside));
  }
  auto type = RankedTensorType::get(decomposeMixedValues(extents).first,
                                    getElementTypeOrSelf(rows));
  return tensor::ExpandShapeOp::create(
      b, loc, type, rows, ArrayRef(reassociation).take_front(rowExtents.size()),
      extents);
}

Value GroupLoops::join(OpBuilder &b, Location loc, Value value,
                       Type type) const {
  if (!isSplit(type))
    return value;
  unsigned axes = cast<RankedTensorType>(type).getRank();
  return tensor::CollapseShapeOp::create(
      b, loc, type, value, ArrayRef(reassociation).take_front(axes));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

SmallVector<Value> kvq::mapGroups(OpBuilder &b, Location loc, ValueRange inputs,
                                  ValueRange inits, GroupBody body) {
  int64_t rank = cast<RankedTensorType>(inits.front().getType()).getRank();
  SmallVector<AffineMap> maps(inputs.size() + inits.size(),
                              b.getMultiDimIdentityMap(rank));
  for (auto [map, input] : llvm::zip(maps, inputs))
    if (getShape(input) != getShape(inits.front()))
      map = broadcastUnitAxes(map, input.getType());
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto buildBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    linalg::YieldOp::create(b, loc, body(b, loc, args));
  };
  return linalg::GenericOp::create(b, loc, inits.getTypes(), inputs, inits,
                                   maps, iterators, buildBody)
      .getResults();
}

Value kvq::buildEmptyLike(OpBuilder &b, Location loc, Value value,
                          Type element) {
  return tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, value),
                                 element);
}

SmallVector<Value> kvq::reduceGroups(OpBuilder &b, Location loc,
                                     const GroupLoops &loops, ValueRange inputs,
                                     Value scales, ArrayRef<double> neutrals,
                                     GroupBody body) {
  SmallVector<Value> inits;
  for (double neutral : neutrals) {
    Value empty = buildEmptyLike(b, loc, scales, b.getF32Type());
    inits.push_back(
        linalg::FillOp::create(b, loc, buildF32(b, loc, neutral), empty)
            .getResult(0));
  }
  SmallVector<AffineMap> maps(inputs.size() + inits.size(),
                              loops.getGroupsMap());
  for (auto [map, input] : llvm::zip(maps, inputs))
    if (cast<RankedTensorType>(input.getType()).getRank() ==
        int64_t(loops.size()))
      map = loops.getRowsMap();
  auto buildBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    linalg::YieldOp::create(b, loc, body(b, loc, args));
  };
  return linalg::GenericOp::create(b, loc, ValueRange(inits).getTypes(), inputs,
                                   inits, maps, loops.getReductionIterators(),
                                   buildBody)
      .getResults();
}

Value kvq::buildGroupSum(
    OpBuilder &b, Location loc, const GroupLoops &loops, ValueRange inputs,
    function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<AffineMap> maps = {loops.getRowsMap()};
  for (Value metadata : inputs.drop_front())
    maps.push_back(loops.getMetadataMap(metadata.getType()));
  maps.push_back(loops.getRowsMap());
  Value terms = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, inputs.front()), b.getF32Type());
  terms = linalg::GenericOp::create(
              b, loc, terms.getType(), inputs, terms, maps,
              loops.getParallelIterators(),
              [&](OpBuilder &b, Location loc, ValueRange args) {
                linalg::YieldOp::create(b, loc, body(b, loc, args.drop_back()));
              })
              .getResult(0);
  // Channels come after tokens, and these after heads.
  for (int64_t axis = int64_t(loops.size()) - 1; axis >= 0; --axis)
    if (loops.isInside(axis))
      terms = buildPairwiseSum(b, loc, terms, axis);
  return terms;
}
