//===- TileDecomposer.cpp - One tile of attention -------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileDecomposer.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/Rope.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

TileDecomposer::TileDecomposer(OpBuilder &b, PartialAttentionOp op,
                               bool rowsInLanes,
                               TransposedQueries &transposedQueries)
    : b(b), op(op), loc(op.getLoc()), rowsInLanes(rowsInLanes),
      transposedQueries(transposedQueries), tile(*op.getTile()),
      rows(cast<RankedTensorType>(op.getQuery().getType()).getDimSize(0)),
      queryTokens(op.getQueryTokens()) {
  AffineExpr begin = b.getAffineDimExpr(0), end = b.getAffineDimExpr(1);
  tokens = affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(2, 0, end - begin),
      {OpFoldResult(op.getBegin()), OpFoldResult(op.getEnd())});
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// The tile of a side as it is stored. Where keys and values share a cache they
/// share its tiles, except for channels that are cut out: of codes that have to
/// be unpacked only those are, then.
LoadTileOp TileDecomposer::load(Value cache, Value pages, TokenRegion region,
                                ChannelRange channels) {
  auto type = cast<CacheType>(cache.getType());
  bool isWhole = channels.count == type.getHeadDim();
  for (LoadTileOp load : loads)
    if (isWhole && load.getCache() == cache && load.getRegion() == region)
      return load;
  bool hasPages = LoadTileOp::hasPages(type, region);
  loads.push_back(LoadTileOp::create(
      b, loc, LoadTileOp::getTileTypes(type, region), cache, op.getBatch(),
      op.getHead(), op.getBegin(), op.getEnd(), hasPages ? pages : Value(),
      region, op.getTileAttr(),
      /*within_page=*/(hasPages || LoadTileOp::hasTiles(type, region)) &&
          op.getWithinPages(),
      /*as_tile=*/false, /*packed=*/false));
  return loads.back();
}

/// Channels of a matrix, of which each column stands for `perColumn`; itself if
/// these are all.
static Value extractColumns(OpBuilder &b, Location loc, Value matrix,
                            ChannelRange channels, int64_t perColumn = 1) {
  auto type = cast<RankedTensorType>(matrix.getType());
  int64_t columns = channels.count / perColumn;
  if (type.getDimSize(1) == columns)
    return matrix;
  SmallVector<OpFoldResult> offsets = {
      b.getIndexAttr(0), b.getIndexAttr(channels.begin / perColumn)};
  SmallVector<OpFoldResult> sizes = {tensor::getMixedSize(b, loc, matrix, 0),
                                     b.getIndexAttr(columns)};
  SmallVector<OpFoldResult> ones(2, b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, matrix, offsets, sizes, ones);
}

/// Channels of the tile of a side, tokens x channels: dequantized to f32, or as
/// they are stored where that is exact. With rows in lanes all is f32, of which
/// values that are channels of keys are a part.
Value TileDecomposer::loadValues(Value cache, Value pages, TokenRegion region,
                                 ChannelRange channels) {
  if (!rowsInLanes)
    return loadStored(cache, pages, region, channels);
  for (const WideTile &tile : wideTiles)
    if (tile.cache == cache && tile.region == region)
      return extractColumns(b, loc, tile.values, channels);
  Value values = widen(loadStored(cache, pages, region, channels));
  if (channels.count == cast<CacheType>(cache.getType()).getHeadDim())
    wideTiles.push_back({cache, region, values});
  return values;
}

Value TileDecomposer::loadStored(Value cache, Value pages, TokenRegion region,
                                 ChannelRange channels) {
  auto type = cast<CacheType>(cache.getType());
  LoadTileOp tileOp = load(cache, pages, region, channels);
  if (!LoadTileOp::hasCodes(type, region))
    return extractColumns(b, loc, tileOp.getResult(0), channels);
  SmallVector<Value> stored(tileOp.getResults());
  for (const StorageComponent &component : type.getComponents())
    if (component.given && goesWithCodes(component.kind))
      stored.push_back(
          LoadGivenOp::create(b, loc, cache, component.kind, op.getHead()));
  // A column of codes is a channel, one of metadata a group of them.
  for (Value &part : stored) {
    int64_t columns = cast<RankedTensorType>(part.getType()).getDimSize(1);
    if (columns > 1)
      part =
          extractColumns(b, loc, part, channels, type.getHeadDim() / columns);
  }
  Value scratch = buildScratch(b, loc, {tile, channels.count},
                               {tokens, b.getIndexAttr(channels.count)});
  return DequantizeOp::create(
             b, loc, scratch.getType(),
             type.getFormat().resolveHeads(type.getHeads()).getCore(), stored,
             scratch)
      .getResult(0);
}

/// Exact values, tokens x channels, as f32.
Value TileDecomposer::widen(Value values) {
  auto type = cast<RankedTensorType>(values.getType());
  if (type.getElementType().isF32())
    return values;
  int64_t channels = type.getDimSize(1);
  Value scratch = buildScratch(b, loc, {tile, channels},
                               {tokens, b.getIndexAttr(channels)});
  return buildStructuredOp(
             b, loc, "tc", "", {{values, "tc"}}, {{scratch, "tc"}},
             [](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
               return SmallVector<Value>{buildExtend(b, loc, ins[0])};
             })
      .front();
}

//===----------------------------------------------------------------------===//
// The query
//===----------------------------------------------------------------------===//

/// The query as channels x rows, made where the query is: once for all tiles.
Value TileDecomposer::getTransposedQuery() {
  Value query = op.getQuery();
  Value &transposed = transposedQueries[query];
  if (transposed)
    return transposed;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(query);
  int64_t channels = cast<RankedTensorType>(query.getType()).getDimSize(1);
  Value init =
      tensor::EmptyOp::create(b, loc, {channels, rows}, b.getF32Type());
  transposed =
      buildStructuredOp(b, loc, "cr", "", {{query, "rc"}}, {{init, "cr"}},
                        [](OpBuilder &, Location, ValueRange ins, ValueRange) {
                          return SmallVector<Value>{ins[0]};
                        })
          .front();
  return transposed;
}

/// Channels of the query: rows x channels, or channels x rows.
Value TileDecomposer::extractQuery(ChannelRange channels) {
  if (!rowsInLanes)
    return extractColumns(b, loc, op.getQuery(), channels);
  Value query = getTransposedQuery();
  if (cast<RankedTensorType>(query.getType()).getDimSize(0) == channels.count)
    return query;
  SmallVector<OpFoldResult> offsets = {b.getIndexAttr(channels.begin),
                                       b.getIndexAttr(0)};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(channels.count),
                                     b.getIndexAttr(rows)};
  SmallVector<OpFoldResult> strides = {b.getIndexAttr(channels.stride),
                                       b.getIndexAttr(1)};
  return tensor::ExtractSliceOp::create(b, loc, query, offsets, sizes, strides);
}

/// The first or the second channels of pairs, for keys before RoPE.
Value TileDecomposer::extractQueryPairs(const SegmentTile &key,
                                        const RopePairs &pairs, bool second) {
  if (!rowsInLanes)
    return buildPairChannels(b, loc, extractQuery(key.channels), pairs, second);
  int64_t begin = key.channels.begin + (second ? pairs.distance : 0);
  return extractQuery({begin, pairs.count, pairs.stride});
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value TileDecomposer::buildScoreScratch() {
  if (rowsInLanes)
    return buildScratch(b, loc, {tile, rows}, {tokens, b.getIndexAttr(rows)});
  return buildScratch(b, loc, {rows, tile}, {b.getIndexAttr(rows), tokens});
}

/// What scores begin with: 0, or the bias of each row.
Value TileDecomposer::getInitialScores() {
  Value scratch = buildScoreScratch();
  if (!op.getBias())
    return buildFill(b, loc, scratch, 0.f);
  StringRef axes = getScoreAxes();
  return buildStructuredOp(
             b, loc, axes, "", {{op.getBias(), "r"}}, {{scratch, axes}},
             [](OpBuilder &, Location, ValueRange ins, ValueRange) {
               return SmallVector<Value>{ins[0]};
             })
      .front();
}

ArrayRef<CacheSegment> TileDecomposer::getSegments(Value cache) {
  for (auto &[known, segments] : segmentsOf)
    if (known == cache)
      return segments;
  segmentsOf.emplace_back(cache, splitSegments(b, loc, cache));
  return segmentsOf.back().second;
}

/// The tiles of the segments of a side, as far as they have some of `channels`.
SmallVector<TileDecomposer::SegmentTile>
TileDecomposer::loadSegments(Value cache, Value pages, TokenRegion region,
                             ChannelRange channels) {
  SmallVector<SegmentTile> tiles;
  for (const CacheSegment &segment : getSegments(cache)) {
    int64_t begin = std::max(channels.begin, segment.begin);
    int64_t end = std::min(channels.begin + channels.count,
                           segment.begin + segment.getChannels());
    if (begin >= end)
      continue;
    // An exact segment has no windows: all its tokens are in one region.
    TokenRegion of = segment.getType().isExact() ? TokenRegion::Codes : region;
    Value values = loadValues(segment.cache, pages, of,
                              {begin - segment.begin, end - begin});
    tiles.push_back({values,
                     {begin - channels.begin, end - begin},
                     segment.getType().isBeforeRope()});
  }
  return tiles;
}

/// Asks for integers of a type in place of the other operand of a contraction
/// with `values`, where these are integer codes.
static void useIntegers(Value contraction, Value values, TypeAttr type) {
  auto dequantize = values.getDefiningOp<kvq::DequantizeOp>();
  if (dequantize && dequantize.getFormat().hasIntegerCodes())
    contraction.getDefiningOp()->setAttr(kQueryCodesAttrName, type);
}

/// The channels of a segment of keys as scores need them. Of what RoPE turns,
/// the first and the second channels of pairs are apart, and those that it
/// leaves as they are.
SmallVector<TileDecomposer::KeyPart>
TileDecomposer::getKeyParts(const SegmentTile &key) {
  if (!key.isBeforeRope)
    return {{extractQuery(key.channels), key.values}};
  RopePairs pairs(op.getRopeStyle().value_or(RopeStyle::Half),
                  op.getCos().getType().getDimSize(1));
  // The token at position p is turned by row p.
  auto getRows = [&](Value table) -> Value {
    SmallVector<OpFoldResult> offsets = {op.getBegin(), b.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes = {tokens, b.getIndexAttr(pairs.count)};
    SmallVector<OpFoldResult> ones(2, b.getIndexAttr(1));
    return tensor::ExtractSliceOp::create(b, loc, table, offsets, sizes, ones);
  };
  auto getScratch = [&] {
    return buildScratch(b, loc, {tile, pairs.count},
                        {tokens, b.getIndexAttr(pairs.count)});
  };
  auto [first, second] =
      buildTurnedRows(b, loc, key.values, pairs, getRows(op.getCos()),
                      getRows(op.getSin()), getScratch(), getScratch());
  SmallVector<KeyPart> parts = {
      {extractQueryPairs(key, pairs, /*second=*/false), first},
      {extractQueryPairs(key, pairs, /*second=*/true), second}};
  int64_t turned = pairs.getChannels(), rest = key.channels.count - turned;
  if (rest != 0)
    parts.push_back({extractQuery({key.channels.begin + turned, rest}),
                     extractColumns(b, loc, key.values, {turned, rest})});
  return parts;
}

/// scores[r, t] = bias[r] + sum_c query[r, c] k[t, c], summed over parts.
Value TileDecomposer::computeScores() {
  SmallVector<SegmentTile> keys =
      loadSegments(op.getKey(), op.getKeyPages(), *op.getKeyRegion(),
                   {0, op.getKey().getType().getHeadDim()});
  Value scores = getInitialScores();
  for (const SegmentTile &key : keys)
    for (const KeyPart &part : getKeyParts(key)) {
      scores = rowsInLanes
                   ? buildContraction(b, loc, "trc", "c", {part.query, "cr"},
                                      {part.values, "tc"}, {scores, "tr"},
                                      buildExtend)
                   : buildContraction(b, loc, "rtc", "c", {part.query, "rc"},
                                      {part.values, "tc"}, {scores, "rt"},
                                      buildExtend);
      if (TypeAttr codes = op.getQueryCodesAttr())
        useIntegers(scores, part.values, codes);
    }
  return scores;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// acc[r, c] += sum_t p[r, t] v[t, c], each segment into its channels.
Value TileDecomposer::accumulateTiles(ArrayRef<SegmentTile> tiles,
                                      Value probabilities, Value acc,
                                      bool hides) {
  for (const SegmentTile &tile : tiles) {
    Value part = extractColumns(b, loc, acc, tile.channels);
    Value sum =
        buildContraction(b, loc, rowsInLanes ? "crt" : "rct", "t",
                         {probabilities, getScoreAxes()}, {tile.values, "tc"},
                         {part, "rc"}, buildExtend, hides);
    if (op.getQueryCodesAttr())
      useIntegers(sum, tile.values, TypeAttr::get(b.getI16Type()));
    if (part == acc) {
      acc = sum;
      continue;
    }
    auto slice = part.getDefiningOp<tensor::ExtractSliceOp>();
    acc = tensor::InsertSliceOp::create(
        b, loc, sum, acc, slice.getMixedOffsets(), slice.getMixedSizes(),
        slice.getMixedStrides());
  }
  return acc;
}

/// Whether the tile has a token that is hidden from a row by where it stands.
Value TileDecomposer::buildMayHide() {
  Value begin = op.getBegin(), end = op.getEnd(), first = op.getPosition();
  Value result;
  auto add = [&](arith::CmpIPredicate predicate, Value token, Value border) {
    Value hides = arith::CmpIOp::create(b, loc, predicate, token, border);
    result = result ? arith::OrIOp::create(b, loc, result, hides) : hides;
  };
  if (op.getCausal()) {
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    add(arith::CmpIPredicate::sgt, end,
        arith::AddIOp::create(b, loc, first, one));
  }
  if (IntegerAttr window = op.getWindowAttr()) {
    Value offset = arith::ConstantIndexOp::create(
        b, loc, queryTokens - 1 - window.getInt());
    add(arith::CmpIPredicate::sle, begin,
        arith::AddIOp::create(b, loc, first, offset));
  }
  return result;
}

/// Whether all values are finite: a sum of products with 0 is 0 then.
Value TileDecomposer::buildIsFinite(ArrayRef<SegmentTile> tiles) {
  Value sum = buildFill(b, loc, buildScratch(b, loc, {}, {}), 0.f);
  for (const SegmentTile &tile : tiles)
    sum = buildStructuredOp(
              b, loc, "tc", "tc", {{tile.values, "tc"}}, {{sum, ""}},
              [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
                Value product = buildMul(b, loc, ins[0], buildF32(b, loc, 0.0));
                return SmallVector<Value>{buildAdd(b, loc, outs[0], product)};
              })
              .front();
  Value total = tensor::ExtractOp::create(b, loc, sum, ValueRange());
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, total,
                               buildF32(b, loc, 0.0));
}

/// Whether what hidden tokens hold has to be kept out of sums: where there are
/// such, and of tiles that are f32 already only if a value times 0 is not 0.
Value TileDecomposer::buildMustHide(ArrayRef<SegmentTile> tiles) {
  Value mayHide = op.getMask()
                      ? arith::ConstantIntOp::create(b, loc, 1, 1).getResult()
                      : buildMayHide();
  if (!rowsInLanes)
    return mayHide;
  auto choice = scf::IfOp::create(
      b, loc, mayHide,
      [&](OpBuilder &nested, Location loc) {
        Value all = arith::ConstantIntOp::create(nested, loc, 1, 1);
        Value isFinite = buildIsFinite(tiles);
        scf::YieldOp::create(
            nested, loc,
            arith::XOrIOp::create(nested, loc, isFinite, all).getResult());
      },
      [&](OpBuilder &nested, Location loc) {
        Value none = arith::ConstantIntOp::create(nested, loc, 0, 1);
        scf::YieldOp::create(nested, loc, none);
      });
  return choice.getResult(0);
}

Value TileDecomposer::accumulate(Value probabilities, Value acc) {
  ChannelRange channels = {0, op.getValue().getType().getHeadDim()};
  if (std::optional<ArrayRef<int64_t>> range = op.getValueChannels())
    channels = {range->front(), range->back() - range->front()};
  SmallVector<SegmentTile> tiles = loadSegments(
      op.getValue(), op.getValuePages(), *op.getValueRegion(), channels);
  if (!op.hidesTokens())
    return accumulateTiles(tiles, probabilities, acc, /*hides=*/false);
  // With a mask any tile may have hidden tokens, and codes can only be kept out
  // of sums one by one.
  if (op.getMask() && !rowsInLanes)
    return accumulateTiles(tiles, probabilities, acc, /*hides=*/true);
  auto choice = scf::IfOp::create(b, loc, TypeRange(acc.getType()),
                                  buildMustHide(tiles), /*withElse=*/true);
  for (bool hides : {true, false}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(hides ? choice.thenBlock() : choice.elseBlock());
    Value sum = accumulateTiles(tiles, probabilities, acc, hides);
    scf::YieldOp::create(b, loc, sum);
  }
  return choice.getResult(0);
}
