//===- DecomposeAttention.cpp - Attention tiles to structured ops ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"
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
  /// The tiles of a side's segments, one where its rows have one format.
  struct Segment {
    Value values;
    int64_t begin, channels;
  };
  SmallVector<Segment> loadSegments(Value cache, Value pages,
                                    TokenRegion region);
  Value loadValues(CacheType type, Value cache, Value pages,
                   TokenRegion region);
  Value getInitialScores();
  Value computeScores();
  Value accumulate(Value probabilities, Value acc);
  Value computeTileMaximum(Value scores);
  SmallVector<Value> updateState(Value tileMaximum);
  Value computeProbabilities(Value scores, Value maximum);

  OpBuilder &b;
  PartialAttentionOp op;
  Location loc;
  /// Most tokens in the tile.
  int64_t tile;
  int64_t rows;
  /// Tokens in the tile.
  OpFoldResult tokens;
};

} // namespace

/// The tile of a side, tokens x head_dim: dequantized to f32, or as it is
/// stored where that is exact.
Value TileDecomposer::loadValues(CacheType type, Value cache, Value pages,
                                 TokenRegion region) {
  bool hasPages = LoadTileOp::hasPages(type, region);
  auto load = LoadTileOp::create(
      b, loc, LoadTileOp::getTileTypes(type, region), cache, op.getBatch(),
      op.getHead(), op.getBegin(), op.getEnd(), hasPages ? pages : Value(),
      region, op.getTileAttr(),
      /*withinPage=*/hasPages && op.getWithinPages());
  if (!LoadTileOp::hasCodes(type, region))
    return load.getResult(0);
  SmallVector<Value> stored(load.getResults());
  for (const StorageComponent &component : type.getComponents())
    if (component.given && goesWithCodes(component.kind))
      stored.push_back(
          LoadGivenOp::create(b, loc, cache, component.kind, op.getHead()));
  Value scratch = buildScratch(b, loc, {tile, type.getHeadDim()},
                               {tokens, b.getIndexAttr(type.getHeadDim())});
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

SmallVector<TileDecomposer::Segment>
TileDecomposer::loadSegments(Value cache, Value pages, TokenRegion region) {
  auto type = cast<CacheType>(cache.getType());
  if (!type.getSegments())
    return {{loadValues(type, cache, pages, region), 0, type.getHeadDim()}};
  SmallVector<Segment> segments;
  int64_t begin = 0;
  for (auto [index, partType] : llvm::enumerate(type.getSegmentCaches())) {
    Value part = ExtractSegmentOp::create(b, loc, partType, cache, index);
    // An exact segment has no windows: all its tokens are in one region.
    TokenRegion of = partType.isExact() ? TokenRegion::Codes : region;
    int64_t channels = partType.getHeadDim();
    segments.push_back(
        {loadValues(partType, part, pages, of), begin, channels});
    begin += channels;
  }
  return segments;
}

/// Channels `[begin, begin + channels)` of a matrix; itself if these are all.
static Value extractChannels(OpBuilder &b, Location loc, Value matrix,
                             int64_t begin, int64_t channels) {
  auto type = cast<RankedTensorType>(matrix.getType());
  if (type.getDimSize(1) == channels)
    return matrix;
  SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0),
                                       b.getIndexAttr(begin)};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(type.getDimSize(0)),
                                     b.getIndexAttr(channels)};
  SmallVector<OpFoldResult> ones(2, b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, loc, matrix, offsets, sizes, ones);
}

/// scores[r, t] = bias[r] + sum_c query[r, c] k[t, c], summed over segments.
Value TileDecomposer::computeScores() {
  SmallVector<Segment> keys =
      loadSegments(op.getKey(), op.getKeyPages(), *op.getKeyRegion());
  Value scores = getInitialScores();
  for (const Segment &segment : keys) {
    Value query =
        extractChannels(b, loc, op.getQuery(), segment.begin, segment.channels);
    scores =
        buildContraction(b, loc, "rtc", "c", {query, "rc"},
                         {segment.values, "tc"}, {scores, "rt"}, buildExtend);
  }
  return scores;
}

/// acc[r, c] += sum_t p[r, t] v[t, c], each segment into its channels.
Value TileDecomposer::accumulate(Value probabilities, Value acc) {
  SmallVector<Segment> values =
      loadSegments(op.getValue(), op.getValuePages(), *op.getValueRegion());
  for (const Segment &segment : values) {
    Value part = extractChannels(b, loc, acc, segment.begin, segment.channels);
    Value sum =
        buildContraction(b, loc, "rct", "t", {probabilities, "rt"},
                         {segment.values, "tc"}, {part, "rc"}, buildExtend);
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
             [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               return SmallVector<Value>{
                   buildSoftmaxWeight(b, loc, outs[0], ins[0])};
             })
      .front();
}

SmallVector<Value> TileDecomposer::run() {
  Value scores = computeScores();
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
