//===- DecomposeAttention.cpp - Attention tiles to structured ops ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Segments.h"

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"
#include "kvq/IR/Rope.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

namespace mlir::kvq {
#define GEN_PASS_DEF_DECOMPOSEATTENTIONPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// Channels of a row.
struct ChannelRange {
  int64_t begin, count;
};

/// Emits one tile of attention. Axes: r query rows, t tokens, c channels.
class TileDecomposer {
public:
  TileDecomposer(OpBuilder &b, PartialAttentionOp op)
      : b(b), op(op), loc(op.getLoc()), tile(*op.getTile()),
        rows(cast<RankedTensorType>(op.getQuery().getType()).getDimSize(0)) {
    AffineExpr begin = b.getAffineDimExpr(0), end = b.getAffineDimExpr(1);
    tokens = affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(2, 0, end - begin),
        {OpFoldResult(op.getBegin()), OpFoldResult(op.getEnd())});
  }

  SmallVector<Value> run();

private:
  /// The values of a segment, and which channels of the side they are.
  struct SegmentTile {
    Value values;
    ChannelRange channels;
    bool isBeforeRope;
  };
  /// Some channels of keys, tokens x channels, and those of the query that they
  /// are multiplied with.
  struct KeyPart {
    Value query, values;
  };
  SmallVector<SegmentTile> loadSegments(Value cache, Value pages,
                                        TokenRegion region,
                                        ChannelRange channels);
  SmallVector<KeyPart> getKeyParts(const SegmentTile &key);
  Value loadValues(Value cache, Value pages, TokenRegion region,
                   ChannelRange channels);
  LoadTileOp load(Value cache, Value pages, TokenRegion region,
                  ChannelRange channels);
  ArrayRef<CacheSegment> getSegments(Value cache);
  Value getInitialScores();
  Value computeScores();
  Value adjustScores(Value scores);
  Value accumulate(Value probabilities, Value acc);
  StructuredOperand loadMask(Value mask);
  Value computeTileMaximum(Value scores);
  SmallVector<Value> updateState(Value tileMaximum);
  Value computeProbabilities(Value scores, Value maximum);

  OpBuilder &b;
  PartialAttentionOp op;
  Location loc;
  /// What was loaded so far.
  SmallVector<LoadTileOp> loads;
  std::vector<std::pair<Value, SmallVector<CacheSegment>>> segmentsOf;
  /// Most tokens in the tile.
  int64_t tile;
  int64_t rows;
  /// Tokens in the tile.
  OpFoldResult tokens;
};

} // namespace

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
      /*withinPage=*/(hasPages || LoadTileOp::hasTiles(type, region)) &&
          op.getWithinPages(),
      /*asTile=*/false, /*packed=*/false));
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
/// they are stored where that is exact.
Value TileDecomposer::loadValues(Value cache, Value pages, TokenRegion region,
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

/// What scores begin with: 0, or the bias of each row.
Value TileDecomposer::getInitialScores() {
  Value scratch =
      buildScratch(b, loc, {rows, tile}, {b.getIndexAttr(rows), tokens});
  if (!op.getBias())
    return buildFill(b, loc, scratch, 0.f);
  return buildStructuredOp(
             b, loc, "rt", "", {{op.getBias(), "r"}}, {{scratch, "rt"}},
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
  Value query = extractColumns(b, loc, op.getQuery(), key.channels);
  if (!key.isBeforeRope)
    return {{query, key.values}};
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
      {buildPairChannels(b, loc, query, pairs, /*second=*/false), first},
      {buildPairChannels(b, loc, query, pairs, /*second=*/true), second}};
  int64_t turned = pairs.getChannels(), rest = key.channels.count - turned;
  if (rest != 0)
    parts.push_back({extractColumns(b, loc, query, {turned, rest}),
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
      scores =
          buildContraction(b, loc, "rtc", "c", {part.query, "rc"},
                           {part.values, "tc"}, {scores, "rt"}, buildExtend);
      if (TypeAttr codes = op.getQueryCodesAttr())
        useIntegers(scores, part.values, codes);
    }
  return scores;
}

/// What softcap, slopes and mask make of a score; `mask` is an element of the
/// mask, or null, and so are the others.
static Value adjustScore(OpBuilder &b, Location loc, Value score, Value softcap,
                         Value distance, Value slope, Value mask) {
  if (softcap) {
    Value quotient = arith::DivFOp::create(b, loc, score, softcap);
    score = buildMul(b, loc, math::TanhOp::create(b, loc, quotient), softcap);
  }
  if (slope)
    score = buildAdd(b, loc, score, buildMul(b, loc, slope, distance));
  if (!mask)
    return score;
  Value hidden = buildF32(b, loc, -std::numeric_limits<float>::infinity());
  if (mask.getType().isInteger()) {
    Value zero = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
    Value isHidden =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, mask, zero);
    return arith::SelectOp::create(b, loc, isHidden, hidden, score);
  }
  // A hidden token's score may be NaN.
  Value added = buildExtend(b, loc, mask);
  Value isHidden =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, added, hidden);
  Value sum = buildAdd(b, loc, score,
                       buildMul(b, loc, added, buildF32(b, loc, kLog2E)));
  return arith::SelectOp::create(b, loc, isHidden, hidden, sum);
}

/// t - position for each token t of the tile.
static Value buildDistances(OpBuilder &b, PartialAttentionOp op, Value init) {
  Location loc = op.getLoc();
  Value first = arith::SubIOp::create(b, loc, op.getBegin(), op.getPosition());
  return buildStructuredOp(
             b, loc, "t", "", {}, {{init, "t"}},
             [&](OpBuilder &b, Location loc, ValueRange, ValueRange) {
               Value t = linalg::IndexOp::create(b, loc, 0);
               Value distance = arith::AddIOp::create(b, loc, first, t);
               Value narrow =
                   arith::IndexCastOp::create(b, loc, b.getI32Type(), distance);
               return SmallVector<Value>{
                   arith::SIToFPOp::create(b, loc, b.getF32Type(), narrow)};
             })
      .front();
}

/// The scores as the softmax sees them, in place.
Value TileDecomposer::adjustScores(Value scores) {
  if (!op.getSoftcap() && !op.getSlopes() && !op.getMask())
    return scores;
  SmallVector<StructuredOperand> inputs;
  if (op.getSlopes()) {
    Value init = buildScratch(b, loc, {tile}, {tokens});
    inputs.push_back({buildDistances(b, op, init), "t"});
    inputs.push_back({op.getSlopes(), "r"});
  }
  if (Value mask = op.getMask())
    inputs.push_back(loadMask(mask));
  return buildStructuredOp(
             b, loc, "rt", "", inputs, {{scores, "rt"}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value softcap, mask = op.getMask() ? ins.back() : Value();
               Value distance = op.getSlopes() ? ins[0] : Value();
               Value slope = op.getSlopes() ? ins[1] : Value();
               if (op.getSoftcap())
                 softcap = buildF32(b, loc,
                                    op.getSoftcap()->convertToFloat() * kLog2E);
               return SmallVector<Value>{adjustScore(b, loc, outs[0], softcap,
                                                     distance, slope, mask)};
             })
      .front();
}

/// The mask of the tile's tokens, for each row or for all of them.
StructuredOperand TileDecomposer::loadMask(Value mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  bool isShared = type.getDimSize(0) == 1 && rows != 1;
  SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0),
                                       OpFoldResult(op.getBegin())};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(type.getDimSize(0)),
                                     tokens};
  SmallVector<OpFoldResult> ones(2, b.getIndexAttr(1));
  SmallVector<int64_t> shape;
  if (!isShared)
    shape.push_back(rows);
  shape.push_back(getConstantIntValue(tokens).value_or(ShapedType::kDynamic));
  Value slice = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), mask,
      offsets, sizes, ones);
  return {slice, isShared ? "t" : "rt"};
}

/// acc[r, c] += sum_t p[r, t] v[t, c], each segment into its channels.
Value TileDecomposer::accumulate(Value probabilities, Value acc) {
  ChannelRange channels = {0, op.getValue().getType().getHeadDim()};
  if (std::optional<ArrayRef<int64_t>> range = op.getValueChannels())
    channels = {range->front(), range->back() - range->front()};
  SmallVector<SegmentTile> tiles = loadSegments(
      op.getValue(), op.getValuePages(), *op.getValueRegion(), channels);
  for (const SegmentTile &tile : tiles) {
    Value part = extractColumns(b, loc, acc, tile.channels);
    Value sum = buildContraction(b, loc, "rct", "t", {probabilities, "rt"},
                                 {tile.values, "tc"}, {part, "rc"}, buildExtend,
                                 /*hides=*/op.getMask() != nullptr);
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

Value TileDecomposer::computeTileMaximum(Value scores) {
  Value init =
      buildFill(b, loc, buildScratch(b, loc, {rows}, {b.getIndexAttr(rows)}),
                -std::numeric_limits<float>::infinity());
  return buildStructuredOp(
             b, loc, "rt", "t", {{scores, "rt"}}, {{init, "r"}},
             [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               return SmallVector<Value>{
                   arith::MaximumFOp::create(b, loc, outs[0], ins[0])};
             })
      .front();
}

/// Moves the state to the new maximum: acc, max and sum, the first and last
/// weighed by exp2(max - max').
SmallVector<Value> TileDecomposer::updateState(Value tileMaximum) {
  Value weightInit = buildScratch(b, loc, {rows}, {b.getIndexAttr(rows)});
  SmallVector<Value> updated = buildStructuredOp(
      b, loc, "r", "", {{tileMaximum, "r"}},
      {{weightInit, "r"}, {op.getMax(), "r"}, {op.getSum(), "r"}},
      [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
        Value maximum = arith::MaximumFOp::create(b, loc, outs[1], ins[0]);
        Value weight = buildSoftmaxWeight(b, loc, outs[1], maximum);
        return SmallVector<Value>{weight, maximum,
                                  buildMul(b, loc, outs[2], weight)};
      });
  Value acc =
      buildStructuredOp(
          b, loc, "rc", "", {{updated[0], "r"}}, {{op.getAcc(), "rc"}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
            return SmallVector<Value>{buildMul(b, loc, outs[0], ins[0])};
          })
          .front();
  return {acc, updated[1], updated[2]};
}

/// p[r, t] = exp2(scores[r, t] - max[r]), in place.
Value TileDecomposer::computeProbabilities(Value scores, Value maximum) {
  return buildStructuredOp(
             b, loc, "rt", "", {{maximum, "r"}}, {{scores, "rt"}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value weight = buildSoftmaxWeight(b, loc, outs[0], ins[0]);
               if (!op.getMask())
                 return SmallVector<Value>{weight};
               Value isHidden = arith::CmpFOp::create(
                   b, loc, arith::CmpFPredicate::OEQ, outs[0],
                   buildF32(b, loc, -std::numeric_limits<float>::infinity()));
               Value hidden = buildHiddenWeight(b, loc);
               return SmallVector<Value>{
                   arith::SelectOp::create(b, loc, isHidden, hidden, weight)};
             })
      .front();
}

SmallVector<Value> TileDecomposer::run() {
  Value scores = adjustScores(computeScores());
  SmallVector<Value> state = updateState(computeTileMaximum(scores));
  Value p = computeProbabilities(scores, state[1]);
  Value sum =
      buildStructuredOp(
          b, loc, "rt", "t", {{p, "rt"}}, {{state[2], "r"}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
            return SmallVector<Value>{buildAdd(b, loc, outs[0], ins[0])};
          })
          .front();
  return {accumulate(p, state[0]), state[1], sum};
}

namespace {

struct DecomposeAttentionPass
    : kvq::impl::DecomposeAttentionPassBase<DecomposeAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<PartialAttentionOp, MergePartialsOp>(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> results = decompose(rewriter, op);
      if (failed(results))
        return signalPassFailure();
      rewriter.replaceOp(op, *results);
    }
  }

  FailureOr<SmallVector<Value>> decompose(IRRewriter &rewriter, Operation *op) {
    if (auto merge = dyn_cast<MergePartialsOp>(op))
      return merge.decomposeOperation(rewriter);
    auto partial = cast<PartialAttentionOp>(op);
    if (!partial.getTile() || !partial.getKeyRegion())
      return partial.emitOpError("expected a tile bound and the regions of "
                                 "keys and values (run kvq-tile-attention "
                                 "first)");
    return TileDecomposer(rewriter, partial).run();
  }
};

} // namespace
