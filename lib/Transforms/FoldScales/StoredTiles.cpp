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

/// The planes that the codes of a tile are contracted in; nothing where each is
/// a byte, or where a plane would cut groups of channels elsewhere than between
/// equal parts. They are unpacked then.
std::optional<CodePlanes> ScaleFolder::findPlanes(LoadTileOp load) {
  auto planes = CodePlanes::get(load.getCache().getType());
  if (!planes)
    return std::nullopt;
  int64_t ofPlane = headDim / planes->count, ofGroup = headDim / groups;
  bool fits = ofPlane % ofGroup == 0 || ofGroup % ofPlane == 0;
  return fits ? planes : std::nullopt;
}

/// The channels of each plane; of all where there are none.
SmallVector<ScaleFolder::TilePart>
ScaleFolder::getTileParts(std::optional<CodePlanes> planes) {
  int64_t count = planes ? planes->count : 1;
  int64_t ofPlane = headDim / count, ofGroup = headDim / groups;
  SmallVector<TilePart> parts;
  for (int64_t first = 0; first < headDim; first += ofPlane)
    parts.push_back({first / ofGroup, std::max<int64_t>(ofPlane / ofGroup, 1),
                     first % ofGroup, std::min(ofPlane, ofGroup)});
  return parts;
}

tensor::ExtractSliceOp ScaleFolder::slice(Value value,
                                          ArrayRef<int64_t> offsets,
                                          ArrayRef<int64_t> sizes) {
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      b, loc, value, getAsIndexOpFoldResult(b.getContext(), offsets),
      getAsIndexOpFoldResult(b.getContext(), sizes), ones);
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

/// Element `neighbour` of the pairs that the last axis of `pairs` is.
static Value takeNeighbour(OpBuilder &b, Location loc, Value pairs,
                           int64_t neighbour) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, pairs);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)),
      ones(sizes.size(), b.getIndexAttr(1));
  offsets.back() = b.getIndexAttr(neighbour);
  sizes.back() = b.getIndexAttr(1);
  auto type = cast<RankedTensorType>(pairs.getType());
  return tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType()),
      pairs, offsets, sizes, ones);
}

/// outputs[i] += lefts[i] * codes of part i, summed over `reduced` and over
/// pairs: the last axis of a left operand is a pair, and in the last one of
/// `stored` pairs follow each other along `pairsAlong`. Codes of planes are as
/// much larger as the bits below them say: they are not shifted, and what holds
/// those of several planes is read once.
SmallVector<Value> ScaleFolder::contractPairs(
    StringRef axes, StringRef reduced, ArrayRef<StructuredOperand> lefts,
    StructuredOperand stored, char pairsAlong,
    ArrayRef<StructuredOperand> outputs, std::optional<CodePlanes> planes) {
  auto getMap = [&](int64_t neighbour) {
    SmallVector<AffineExpr> exprs;
    for (char axis : stored.axes) {
      AffineExpr dim = b.getAffineDimExpr(axes.find(axis));
      exprs.push_back(axis == pairsAlong ? dim * 2 + neighbour : dim);
    }
    return AffineMap::get(axes.size(), 0, exprs, b.getContext());
  };
  SmallVector<StructuredOperand> inputs;
  for (const StructuredOperand &left : lefts)
    for (int64_t neighbour : {0, 1})
      inputs.push_back(
          {takeNeighbour(b, loc, left.value, neighbour), left.axes});
  for (int64_t neighbour : {0, 1})
    inputs.push_back({stored.value, "", getMap(neighbour)});
  auto body = [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
    SmallVector<Value> sums;
    for (auto [part, out] : llvm::enumerate(outs)) {
      Value products[2];
      for (int64_t i : {0, 1}) {
        Value element = ins.take_back(2)[i];
        Value code = planes ? planes->buildScaledCode(b, loc, element, part)
                            : format.buildCodeValue(b, loc, element);
        products[i] = multiplyElements(b, loc, ins[2 * part + i], code);
      }
      Value sum = buildAdd(b, loc, products[0], products[1]);
      sums.push_back(buildAdd(b, loc, out, sum));
    }
    return sums;
  };
  return buildStructuredOp(b, loc, axes, reduced, inputs, outputs, body);
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

/// The query's channels of each part as pairs (r, g, c, 2), by as much smaller
/// as the codes of its plane are larger.
SmallVector<Value> ScaleFolder::splitQuery(ArrayRef<TilePart> parts,
                                           std::optional<CodePlanes> planes) {
  OpBuilder::InsertionGuard guard(b);
  leaveLoops({weighted});
  Value query = expandChannels(weighted);
  SmallVector<Value> queries;
  for (int64_t plane = 0, e = parts.size(); plane < e; ++plane) {
    const TilePart &part = parts[plane];
    SmallVector<int64_t> sizes = {rows, part.groups, part.channels};
    Value ofPart = slice(query, {0, part.firstGroup, part.firstChannel}, sizes);
    if (plane > 0)
      ofPart = buildStructuredOp(
                   b, loc, "rgc", "", {{ofPart, "rgc"}},
                   {{buildEmpty(sizes), "rgc"}},
                   [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
                     double unit = planes->getUnit(plane);
                     return SmallVector<Value>{
                         buildMul(b, loc, ins[0], buildF32(b, loc, unit))};
                   })
                   .front();
    queries.push_back(splitPairs(ofPart));
  }
  return queries;
}

/// As foldKeysOfToken.
Value ScaleFolder::foldKeysOfTile(LoadTileOp load) {
  std::optional<CodePlanes> planes = findPlanes(load);
  SmallVector<TilePart> parts = getTileParts(planes);
  SmallVector<Value> queries = splitQuery(parts, planes);
  Value sums;
  if (zeros)
    sums = accumulate(
        "rgc", "c", {expandChannels(offsetOther), "rgc"},
        {zeroScratch({rows, groups}, {fixed(rows), fixed(groups)}), "rg"});
  SmallVector<Value> stored = loadStored(load, planes.has_value());
  Type byte = getElementTypeOrSelf(stored[0]);
  const TilePart &first = parts.front();
  Value tile = tensor::CollapseShapeOp::create(
      b, loc, stored[0], SmallVector<ReassociationIndices>{{0}, {1, 2}});
  tile = tensor::ExpandShapeOp::create(
      b, loc,
      RankedTensorType::get({first.groups, first.channels / 2, 2 * tokenBound},
                            byte),
      tile, SmallVector<ReassociationIndices>{{0, 1}, {2}});
  SmallVector<StructuredOperand> lefts, dots;
  for (Value query : queries) {
    lefts.push_back({query, "rgc"});
    dots.push_back(
        {buildFill(b, loc, buildEmpty({rows, first.groups, tokenBound}), 0.f),
         "rgt"});
  }
  Value scores = buildFill(b, loc, buildEmpty({rows, tokenBound}), 0.f);
  SmallVector<Value> products =
      contractPairs("rgtc", "c", lefts, {tile, "gct"}, 't', dots, planes);
  for (auto [part, product] : llvm::zip_equal(parts, products)) {
    Value ofKeys =
        slice(stored[1], {part.firstGroup, 0}, {part.groups, tokenBound});
    scores =
        contract("rtg", "g", {product, "rgt"}, {ofKeys, "gt"}, {scores, "rt"});
  }
  return finishKeysOfTile(scores, sums, getFirstOfTile(load), stored);
}

/// `result` (r, g, c) with the sums of each plane in their unit.
Value ScaleFolder::addPlanes(Value result, ArrayRef<TilePart> parts,
                             ValueRange sums, const CodePlanes &planes) {
  for (int64_t plane = 0; plane < planes.count; ++plane) {
    const TilePart &part = parts[plane];
    tensor::ExtractSliceOp output =
        slice(result, {0, part.firstGroup, part.firstChannel},
              {rows, part.groups, part.channels});
    Value total =
        buildStructuredOp(
            b, loc, "rgc", "", {{sums[plane], "rgc"}}, {{output, "rgc"}},
            [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
              Value unit = buildF32(b, loc, planes.getUnit(plane));
              return SmallVector<Value>{
                  buildAdd(b, loc, outs[0], buildMul(b, loc, ins[0], unit))};
            })
            .front();
    result = tensor::InsertSliceOp::create(
        b, loc, total, result, output.getMixedOffsets(), output.getMixedSizes(),
        output.getMixedStrides());
  }
  return result;
}

/// As foldValuesOfToken.
Value ScaleFolder::foldValuesOfTile(LoadTileOp load) {
  std::optional<CodePlanes> planes = findPlanes(load);
  SmallVector<TilePart> parts = getTileParts(planes);
  SmallVector<Value> stored = loadStored(load, planes.has_value());
  OpFoldResult first = getFirstOfTile(load);
  Value all = buildFill(b, loc, buildEmpty({rows, groups, tokenBound}), 0.f);
  Value weights =
      multiply("rgt", {weighted, "rt"}, {cutTokens(stored[1], first), "gt"},
               {cutTokens(all, first), "rgt"});
  all = splitPairs(insertTokens(weights, all, first));
  Type byte = getElementTypeOrSelf(stored[0]);
  int64_t ofPart = parts.front().groups, channels = parts.front().channels;
  Value tile = tensor::CollapseShapeOp::create(
      b, loc, stored[0], SmallVector<ReassociationIndices>{{0}, {1, 2}});
  tile = tensor::ExpandShapeOp::create(
      b, loc,
      RankedTensorType::get({tokenBound / 2, ofPart, 2 * channels}, byte), tile,
      SmallVector<ReassociationIndices>{{0}, {1, 2}});
  Value result = expandChannels(op.output);
  SmallVector<StructuredOperand> lefts, outputs;
  for (const TilePart &part : parts) {
    lefts.push_back({slice(all, {0, part.firstGroup, 0, 0},
                           {rows, ofPart, tokenBound / 2, 2}),
                     "rgs"});
    outputs.push_back(
        {planes ? buildFill(b, loc, buildEmpty({rows, ofPart, channels}), 0.f)
                : result,
         "rgc"});
  }
  SmallVector<Value> sums =
      contractPairs("rgcs", "s", lefts, {tile, "sgc"}, 'c', outputs, planes);
  result = planes ? addPlanes(result, parts, sums, *planes) : sums.front();
  return finishValuesOfTile(result, first, stored);
}
