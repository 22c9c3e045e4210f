//===- StoredTiles.cpp - Contractions with tiles of a layout --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a tile of attention is a tile of the cache's layout, codes are
// contracted in the order that they are stored in, all tokens of the tile: of
// keys, scores of what is no token are not read; of values, its weight is 0.
//
//===----------------------------------------------------------------------===//

#include "ScaleFolder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvq;

/// The load that codes and metadata come from, if they are integers in one tile
/// of a layout whose pairs lie along the axis that is reduced. Elsewhere a tile
/// is read row by row: what is no token's may stand for a NaN, or pairs lie the
/// other way.
LoadTileOp ScaleFolder::findTile() {
  auto load = codes.getDefiningOp<LoadTileOp>();
  if (!load || !load.getWithinPage() || !format.hasIntegerCodes() ||
      scales.getDefiningOp() != load)
    return nullptr;
  TileOrder order = load.getCache().getType().getTileOrder();
  TileKind kind =
      op.reducesChannels ? TileKind::ChannelPairs : TileKind::TokenPairs;
  bool cutsPairs = op.reducesChannels && headDim / groups % 2 != 0;
  if (order.kind != kind || order.tokens != tokenBound || cutsPairs)
    return nullptr;
  // Nothing reads the rows by themselves any more, not even their number.
  AffineExpr begin = b.getAffineDimExpr(0), end = b.getAffineDimExpr(1);
  tokens = affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(2, 0, end - begin),
      {OpFoldResult(load.getBegin()), OpFoldResult(load.getEnd())});
  return load;
}

/// Codes (with `packed`, their bytes) and metadata of the whole tile, in its
/// order.
SmallVector<Value> ScaleFolder::loadStored(LoadTileOp load, bool packed) {
  auto stored = LoadTileOp::create(
      b, loc,
      LoadTileOp::getTileTypes(load.getCache().getType(), load.getRegion(),
                               /*asTile=*/true, packed),
      load.getCache(), load.getBatch(), load.getHead(), load.getBegin(),
      load.getEnd(), load.getPages(), load.getRegion(), load.getTileAttr(),
      /*within_page=*/true, /*as_tile=*/true, packed);
  return llvm::to_vector_of<Value>(stored.getResults());
}

/// Where in its tile the first token of `load` is.
OpFoldResult ScaleFolder::getFirstOfTile(LoadTileOp load) {
  CacheType cache = load.getCache().getType();
  AffineExpr begin = b.getAffineDimExpr(0);
  return affine::makeComposedFoldedAffineApply(
      b, loc,
      AffineMap::get(
          1, 0, (begin - cache.getExactFirst()) % cache.getTileOrder().tokens),
      {OpFoldResult(load.getBegin())});
}

/// Of a matrix whose columns are all tokens of a tile, those from `first` on
/// that are the load's.
Value ScaleFolder::cutTokens(Value matrix, OpFoldResult first) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, matrix);
  SmallVector<OpFoldResult> offsets(sizes.size(), zero),
      ones(sizes.size(), one);
  offsets.back() = first;
  sizes.back() = tokens;
  return tensor::ExtractSliceOp::create(b, loc, matrix, offsets, sizes, ones);
}

/// The inverse: `part`, of these tokens, into `matrix`.
Value ScaleFolder::insertTokens(Value part, Value matrix, OpFoldResult first) {
  auto slice = cutTokens(matrix, first).getDefiningOp<tensor::ExtractSliceOp>();
  return tensor::InsertSliceOp::create(
      b, loc, part, matrix, slice.getMixedOffsets(), slice.getMixedSizes(),
      slice.getMixedStrides());
}

/// `value` with its last axis as `count` x `size`.
Value ScaleFolder::splitLast(Value value, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<ReassociationIndices> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    axes.push_back({axis});
  axes.back().push_back(type.getRank());
  shape.back() /= size;
  shape.push_back(size);
  return tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), value, axes);
}

/// output += left * codes, summed over `reduced` and over pairs: the last axis
/// of `left` is a pair, and in the last one of `codes` pairs follow each other
/// along `pairsAlong`.
Value ScaleFolder::contractPairs(StringRef axes, StringRef reduced,
                                 StructuredOperand left,
                                 StructuredOperand codes, char pairsAlong,
                                 StructuredOperand output) {
  auto getMap = [&](StringRef operandAxes, int64_t neighbour) {
    SmallVector<AffineExpr> exprs;
    for (char axis : operandAxes) {
      AffineExpr dim = b.getAffineDimExpr(axes.find(axis));
      exprs.push_back(axis == pairsAlong ? dim * 2 + neighbour : dim);
    }
    return AffineMap::get(axes.size(), 0, exprs, b.getContext());
  };
  SmallVector<StructuredOperand> inputs;
  for (int64_t neighbour : {0, 1}) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, left.value);
    SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)),
        ones(sizes.size(), b.getIndexAttr(1));
    offsets.back() = b.getIndexAttr(neighbour);
    sizes.back() = b.getIndexAttr(1);
    auto type = cast<RankedTensorType>(left.value.getType());
    Value element = tensor::ExtractSliceOp::create(
        b, loc,
        RankedTensorType::get(type.getShape().drop_back(),
                              type.getElementType()),
        left.value, offsets, sizes, ones);
    inputs.push_back({element, left.axes});
  }
  for (int64_t neighbour : {0, 1})
    inputs.push_back({codes.value, "", getMap(codes.axes, neighbour)});
  return buildStructuredOp(
             b, loc, axes, reduced, inputs, {output},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value products[2];
               for (int64_t i : {0, 1})
                 products[i] = multiplyElements(
                     b, loc, ins[i], format.buildCodeValue(b, loc, ins[2 + i]));
               Value sum = buildAdd(b, loc, products[0], products[1]);
               return SmallVector<Value>{buildAdd(b, loc, outs[0], sum)};
             })
      .front();
}

/// The scores of the load's tokens, with offsets, added to the output.
Value ScaleFolder::finishKeysOfTile(Value scores, Value sums,
                                    OpFoldResult first,
                                    ArrayRef<Value> stored) {
  if (zeros) {
    scales = stored[1];
    zeros = stored[2];
    scores = contractOffsets("rtg", "g", {sums, "rg"}, "gt", {scores, "rt"});
  }
  return accumulate("rt", "", {cutTokens(scores, first), "rt"},
                    {op.output, "rt"});
}

/// The output from `result` (r, g, c), with the offsets of the load's tokens.
Value ScaleFolder::finishValuesOfTile(Value result, OpFoldResult first,
                                      ArrayRef<Value> stored) {
  if (zeros) {
    Value shift = zeroScratch({rows, groups}, {fixed(rows), fixed(groups)});
    scales = cutTokens(stored[1], first);
    zeros = cutTokens(stored[2], first);
    shift =
        contractOffsets("rgt", "t", {offsetOther, "rt"}, "gt", {shift, "rg"});
    result = accumulate("rgc", "", {shift, "rg"}, {result, "rgc"});
  }
  return collapseChannels(result, op.output.getType());
}

/// As foldKeysOfToken.
Value ScaleFolder::foldKeysOfTile(LoadTileOp load) {
  SmallVector<int64_t> ofGroups = {rows, groups, tokenBound};
  SmallVector<int64_t> ofRows = {rows, tokenBound};
  Value query = expandChannels(weighted), sums;
  if (zeros)
    sums = accumulate(
        "rgc", "c", {expandChannels(offsetOther), "rgc"},
        {zeroScratch({rows, groups}, {fixed(rows), fixed(groups)}), "rg"});
  SmallVector<Value> stored = loadStored(load);
  Type byte = getElementTypeOrSelf(stored[0]);
  Value tile = tensor::CollapseShapeOp::create(
      b, loc, stored[0], SmallVector<ReassociationIndices>{{0}, {1, 2}});
  tile = tensor::ExpandShapeOp::create(
      b, loc,
      RankedTensorType::get({groups, headDim / groups / 2, 2 * tokenBound},
                            byte),
      tile, SmallVector<ReassociationIndices>{{0, 1}, {2}});
  Value dots =
      contractPairs("rgtc", "c", {splitPairs(query), "rgc"}, {tile, "gct"}, 't',
                    {buildFill(b, loc, buildEmpty(ofGroups), 0.f), "rgt"});
  Value scores = contract("rtg", "g", {dots, "rgt"}, {stored[1], "gt"},
                          {buildFill(b, loc, buildEmpty(ofRows), 0.f), "rt"});
  return finishKeysOfTile(scores, sums, getFirstOfTile(load), stored);
}

/// As foldValuesOfToken.
Value ScaleFolder::foldValuesOfTile(LoadTileOp load) {
  SmallVector<Value> stored = loadStored(load);
  OpFoldResult first = getFirstOfTile(load);
  Value all = buildFill(b, loc, buildEmpty({rows, groups, tokenBound}), 0.f);
  Value weights =
      multiply("rgt", {weighted, "rt"}, {cutTokens(stored[1], first), "gt"},
               {cutTokens(all, first), "rgt"});
  all = insertTokens(weights, all, first);
  Type byte = getElementTypeOrSelf(stored[0]);
  Value tile = tensor::CollapseShapeOp::create(
      b, loc, stored[0], SmallVector<ReassociationIndices>{{0}, {1, 2}});
  tile = tensor::ExpandShapeOp::create(
      b, loc,
      RankedTensorType::get({tokenBound / 2, groups, 2 * headDim / groups},
                            byte),
      tile, SmallVector<ReassociationIndices>{{0}, {1, 2}});
  Value result =
      contractPairs("rgcs", "s", {splitPairs(all), "rgs"}, {tile, "sgc"}, 'c',
                    {expandChannels(op.output), "rgc"});
  return finishValuesOfTile(result, first, stored);
}
