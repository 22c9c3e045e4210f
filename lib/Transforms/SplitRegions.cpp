//===- SplitRegions.cpp - Partial attention within storage regions --------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Transforms.h"

#include "Segments.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

namespace mlir::kvq {
#define GEN_PASS_DEF_SPLITREGIONSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {

/// The tokens `[begin, end)` that lie in one region of a side; without `end`,
/// all from `begin` on, which is at least `leastBegin`.
struct TokenRange {
  TokenRegion region;
  int64_t leastBegin;
  OpFoldResult begin;
  std::optional<OpFoldResult> end;

  /// Whether no token is both here and in `other`, whatever the counts are.
  bool endsBefore(const TokenRange &other) const {
    std::optional<int64_t> last =
        end ? getConstantIntValue(*end) : std::nullopt;
    return last && *last <= other.leastBegin;
  }
};

} // namespace

/// The regions of one side that may hold tokens, in order.
static SmallVector<TokenRange> getRegions(OpBuilder &b, Location loc,
                                          CacheType cache, Value flushed) {
  SmallVector<TokenRange> regions;
  int64_t first = cache.getExactFirst();
  OpFoldResult codesBegin = b.getIndexAttr(first);
  if (first != 0)
    regions.push_back({TokenRegion::First, 0, b.getIndexAttr(0), codesBegin});
  if (!cache.hasRecentWindow()) {
    regions.push_back({TokenRegion::Codes, first, codesBegin, std::nullopt});
    return regions;
  }
  AffineExpr count = b.getAffineDimExpr(0);
  OpFoldResult codesEnd = affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(1, 0, count + first), {OpFoldResult(flushed)});
  regions.push_back({TokenRegion::Codes, first, codesBegin, codesEnd});
  regions.push_back({TokenRegion::Recent, first, codesEnd, std::nullopt});
  return regions;
}

/// The greatest or the least of `values`. Not as affine.max or affine.min:
/// bufferization compares slices of tiles by what is known of their bounds, and
/// it takes long where that goes on to the regions of both sides.
template <typename MaxOrMinOp>
static Value combine(OpBuilder &b, Location loc,
                     ArrayRef<OpFoldResult> values) {
  Value result = getValueOrCreateConstantIndexOp(b, loc, values.front());
  for (OpFoldResult value : values.drop_front())
    result = b.createOrFold<MaxOrMinOp>(
        loc, result, getValueOrCreateConstantIndexOp(b, loc, value));
  return result;
}

/// The part of `op` whose keys lie in `key` and values in `value`, on `state`.
static PartialAttentionOp restrictToRegions(OpBuilder &b, PartialAttentionOp op,
                                            const TokenRange &key,
                                            const TokenRange &value,
                                            ValueRange state) {
  SmallVector<OpFoldResult> begins = {op.getBegin(), key.begin, value.begin};
  SmallVector<OpFoldResult> ends = {op.getEnd()};
  for (const TokenRange &range : {key, value})
    if (range.end)
      ends.push_back(*range.end);
  Location loc = op.getLoc();
  Value begin = combine<arith::MaxSIOp>(b, loc, begins);
  Value end = combine<arith::MinSIOp>(b, loc, ends);
  auto part = cast<PartialAttentionOp>(b.clone(*op.getOperation()));
  part.getBeginMutable().assign(begin);
  part.getEndMutable().assign(end);
  part.getDpsInitsMutable().assign(state);
  part.setKeyRegion(key.region);
  part.setValueRegion(value.region);
  return part;
}

//===----------------------------------------------------------------------===//
// Means and rotations
//===----------------------------------------------------------------------===//

static bool isPrepared(CacheType type) {
  return type.getRotation() != 0 || type.getCenterType();
}

/// The segments of `cache` if any of them has a mean or a rotation, else none.
static SmallVector<CacheSegment> splitPrepared(OpBuilder &b, Location loc,
                                               Value cache) {
  if (!llvm::any_of(cast<CacheType>(cache.getType()).getSegmentCaches(),
                    isPrepared))
    return {};
  return splitSegments(b, loc, cache);
}

/// Those of the op's values, of which the accumulator has `value_channels`:
/// segments among these, counted from the first of them.
static SmallVector<CacheSegment> splitPreparedValues(OpBuilder &b,
                                                     PartialAttentionOp op) {
  SmallVector<CacheSegment> segments =
      splitPrepared(b, op.getLoc(), op.getValue());
  std::optional<ArrayRef<int64_t>> range = op.getValueChannels();
  if (!range)
    return segments;
  SmallVector<CacheSegment> read;
  for (CacheSegment segment : segments) {
    if (segment.begin < range->front() || segment.begin >= range->back())
      continue;
    segment.begin -= range->front();
    read.push_back(segment);
  }
  return read;
}

/// The means of the op's head, without their unit axis.
static Value loadMeans(OpBuilder &b, PartialAttentionOp op,
                       const CacheSegment &segment) {
  Value row = LoadGivenOp::create(b, op.getLoc(), segment.cache,
                                  ComponentKind::Means, op.getHead());
  return tensor::CollapseShapeOp::create(
      b, op.getLoc(), row, SmallVector<ReassociationIndices>{{0, 1}});
}

/// `rows` rotated as the tokens of a segment are, or back, into `init`.
static Value rotate(OpBuilder &b, PartialAttentionOp op,
                    const CacheSegment &segment, Value rows, Value init,
                    bool inverse) {
  Value signs = LoadGivenOp::create(b, op.getLoc(), segment.cache,
                                    ComponentKind::Signs, op.getHead());
  return RotateOp::create(b, op.getLoc(), rows.getType(), rows, signs, init,
                          segment.getType().getRotation(), inverse);
}

/// Makes `part` read codes of keys as they are stored. With k = H(x - m)
/// for the mean m and the rotation H, q·x is (Hq)·k + q·m.
static void readStoredKeys(PartialAttentionOp part, Value query, Value bias) {
  part.getQueryMutable().assign(query);
  if (bias)
    part.getBiasMutable().assign(bias);
}

/// The query as codes of keys see it.
static Value buildStoredQuery(OpBuilder &b, PartialAttentionOp op,
                              ArrayRef<CacheSegment> keys) {
  auto isRotated = [](const CacheSegment &segment) {
    return segment.getType().getRotation() != 0;
  };
  if (llvm::none_of(keys, isRotated))
    return op.getQuery();
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getQuery().getType());
  Value stored =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  for (const CacheSegment &segment : keys) {
    Value rows = extractChannels(b, loc, op.getQuery(), segment);
    Value place = extractChannels(b, loc, stored, segment);
    Value part = isRotated(segment)
                     ? rotate(b, op, segment, rows, place, /*inverse=*/false)
                     : linalg::CopyOp::create(b, loc, rows, place).getResult(0);
    stored = insertChannels(b, loc, part, stored, segment);
  }
  return stored;
}

/// What is added to the scores of codes of keys: the op's own bias, if it has
/// one, and the query times the mean.
static Value buildStoredBias(OpBuilder &b, PartialAttentionOp op,
                             ArrayRef<CacheSegment> keys) {
  Location loc = op.getLoc();
  Value bias = op.getBias();
  for (const CacheSegment &segment : keys) {
    if (!segment.getType().getCenterType())
      continue;
    if (!bias) {
      int64_t rows =
          cast<RankedTensorType>(op.getQuery().getType()).getDimSize(0);
      bias = buildFill(
          b, loc, tensor::EmptyOp::create(b, loc, {rows}, b.getF32Type()), 0.f);
    }
    Value query = extractChannels(b, loc, op.getQuery(), segment);
    bias = buildContraction(b, loc, "rc", "c", {query, "rc"},
                            {loadMeans(b, op, segment), "c"}, {bias, "r"},
                            buildExtend);
  }
  return bias;
}

/// The state that has seen no token.
static SmallVector<Value> buildIdentity(OpBuilder &b, PartialAttentionOp op) {
  constexpr float kIdentity[] = {0.f, -std::numeric_limits<float>::infinity(),
                                 0.f};
  SmallVector<Value> state;
  for (auto [init, value] : llvm::zip_equal(op.getDpsInits(), kIdentity)) {
    auto type = cast<RankedTensorType>(init.getType());
    Value empty = tensor::EmptyOp::create(b, op.getLoc(), type.getShape(),
                                          type.getElementType());
    state.push_back(buildFill(b, op.getLoc(), empty, value));
  }
  return state;
}

/// acc[r, c] += sum[r] mean[c].
static Value addMeans(OpBuilder &b, Location loc, Value sum, Value means,
                      Value acc) {
  return buildStructuredOp(
             b, loc, "rc", "", {{sum, "r"}, {means, "c"}}, {{acc, "rc"}},
             [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value mean = buildExtend(b, loc, ins[1]);
               return SmallVector<Value>{
                   buildAdd(b, loc, outs[0], buildMul(b, loc, ins[0], mean))};
             })
      .front();
}

/// Takes the accumulator of `coded`, summed over codes of values as they are
/// stored, back to values: rotated back, and the mean added for all that was
/// summed. Then merges the state into `state`.
static SmallVector<Value> mergeStoredValues(OpBuilder &b, PartialAttentionOp op,
                                            ArrayRef<CacheSegment> values,
                                            SmallVector<Value> coded,
                                            ValueRange state) {
  Location loc = op.getLoc();
  Value &acc = coded[0];
  for (const CacheSegment &segment : values) {
    CacheType type = segment.getType();
    if (!isPrepared(type))
      continue;
    Value part = extractChannels(b, loc, acc, segment);
    if (type.getRotation() != 0)
      part = rotate(b, op, segment, part, part, /*inverse=*/true);
    if (type.getCenterType())
      part = addMeans(b, loc, coded[2], loadMeans(b, op, segment), part);
    acc = insertChannels(b, loc, part, acc, segment);
  }
  for (Value &part : coded) {
    auto type = cast<RankedTensorType>(part.getType());
    SmallVector<int64_t> shape = {1};
    llvm::append_range(shape, type.getShape());
    SmallVector<ReassociationIndices> axes = {{0, 1}};
    if (type.getRank() == 2)
      axes.push_back({2});
    part = tensor::ExpandShapeOp::create(b, loc, type.clone(shape), part, axes);
  }
  auto merged = MergePartialsOp::create(b, loc, state.getTypes(), coded, state);
  return llvm::to_vector_of<Value>(merged.getResults());
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Replaces `op` by its parts within pairs of regions. Parts whose values are
/// codes with a mean or a rotation have a state of their own, which is merged
/// in the end.
FailureOr<SmallVector<PartialAttentionOp>>
kvq::splitRegions(RewriterBase &rewriter, PartialAttentionOp op) {
  if (op.getKeyRegion())
    return op.emitOpError("expected no key_region and value_region yet, got ")
           << stringifyTokenRegion(*op.getKeyRegion()) << " and "
           << stringifyTokenRegion(*op.getValueRegion());
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<TokenRange> keys =
      getRegions(rewriter, loc, op.getKey().getType(), op.getKeyFlushed());
  SmallVector<TokenRange> values =
      getRegions(rewriter, loc, op.getValue().getType(), op.getValueFlushed());
  SmallVector<Value> state(op.getDpsInits()), coded;
  SmallVector<CacheSegment> preparedKeys =
      splitPrepared(rewriter, loc, op.getKey());
  SmallVector<CacheSegment> preparedValues = splitPreparedValues(rewriter, op);
  bool hasOwnState =
      llvm::any_of(preparedValues, [](const CacheSegment &segment) {
        return isPrepared(segment.getType());
      });
  if (hasOwnState)
    coded = buildIdentity(rewriter, op);
  Value query = buildStoredQuery(rewriter, op, preparedKeys);
  Value bias = buildStoredBias(rewriter, op, preparedKeys);
  SmallVector<PartialAttentionOp> parts;
  for (const TokenRange &key : keys)
    for (const TokenRange &value : values) {
      if (key.endsBefore(value) || value.endsBefore(key))
        continue;
      bool hasCodes = value.region == TokenRegion::Codes;
      SmallVector<Value> &chain = hasOwnState && hasCodes ? coded : state;
      PartialAttentionOp part =
          restrictToRegions(rewriter, op, key, value, chain);
      if (key.region == TokenRegion::Codes)
        readStoredKeys(part, query, bias);
      chain.assign(part->result_begin(), part->result_end());
      parts.push_back(part);
    }
  if (hasOwnState)
    state = mergeStoredValues(rewriter, op, preparedValues, coded, state);
  rewriter.replaceOp(op, state);
  return parts;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct SplitRegionsPass : kvq::impl::SplitRegionsPassBase<SplitRegionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<PartialAttentionOp> ops;
    getOperation()->walk([&](PartialAttentionOp op) {
      if (!op.getKeyRegion())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (PartialAttentionOp op : ops)
      if (failed(splitRegions(rewriter, op)))
        return signalPassFailure();
  }
};

} // namespace
