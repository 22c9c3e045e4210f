//===- SplitSegments.cpp - Ops on the segments of caches ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "Segments.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_SPLITSEGMENTSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Rebuilds `cache` from its first `count` segments: `change` makes the new one
/// of each. A row of all segments lies in the cache of each of them, so one is
/// changed after the other.
static Value changeSegments(
    OpBuilder &b, Location loc, Value cache, unsigned count,
    function_ref<Value(unsigned index, const CacheSegment &segment)> change) {
  for (unsigned index = 0; index < count; ++index) {
    CacheSegment segment = extractSegment(b, loc, cache, index);
    cache = InsertSegmentOp::create(b, loc, cache.getType(),
                                    change(index, segment), cache, index);
  }
  return cache;
}

static unsigned countSegments(CacheType type) {
  return type.getSegments().getEnds().size();
}

/// The segments that have to move for all to do: a row of all moves as a whole.
static unsigned countMoving(CacheType type) {
  return type.getSegments().hasRow() ? 1 : countSegments(type);
}

/// The flushed counts that a segment's cache takes.
static Value getFlushed(CacheType segment, Value flushed) {
  return segment.hasRecentWindow() ? flushed : Value();
}

static void splitOp(RewriterBase &rewriter, AppendOp op) {
  Location loc = op.getLoc();
  Value saturated = op.getSaturated();
  auto append = [&](unsigned index, const CacheSegment &part) -> Value {
    CacheType segment = part.getType();
    Value tokens = extractChannels(rewriter, loc, op.getTokens(), part);
    // Nothing saturates in an exact segment.
    Value counts = segment.isExact() ? Value() : saturated;
    bool isTurned = index == op.getRopeSegment();
    auto getTurning = [&](Value operand) {
      return isTurned ? operand : Value();
    };
    auto append = AppendOp::create(
        rewriter, loc, segment, counts ? counts.getType() : Type(), tokens,
        part.cache, op.getLengths(), getFlushed(segment, op.getFlushed()),
        op.getCounts(), op.getPages(), op.getStarts(), op.getSlots(),
        getTurning(op.getPositions()), getTurning(op.getCos()),
        getTurning(op.getSin()), counts,
        isTurned ? op.getRopeStyleAttr() : RopeStyleAttr(),
        /*rope_segment=*/IntegerAttr());
    if (counts)
      saturated = append.getNewSaturated();
    return append.getResult();
  };
  SmallVector<Value> results = {
      changeSegments(rewriter, loc, op.getCache(),
                     countSegments(op.getCache().getType()), append)};
  if (saturated)
    results.push_back(saturated);
  rewriter.replaceOp(op, results);
}

static void splitOp(RewriterBase &rewriter, ReorderOp op) {
  Location loc = op.getLoc();
  auto reorder = [&](unsigned index, const CacheSegment &target) -> Value {
    CacheSegment source = extractSegment(rewriter, loc, op.getCache(), index);
    CacheType segment = target.getType();
    return ReorderOp::create(
        rewriter, loc, segment, source.cache, op.getSources(), op.getLengths(),
        getFlushed(segment, op.getFlushed()), op.getPages(), op.getToPages(),
        op.getShared(), target.cache);
  };
  rewriter.replaceOp(
      op, changeSegments(rewriter, loc, op.getDestination(),
                         countMoving(op.getDestination().getType()), reorder));
}

static void splitOp(RewriterBase &rewriter, ShiftOp op) {
  Location loc = op.getLoc();
  auto shift = [&](unsigned, const CacheSegment &part) -> Value {
    CacheType segment = part.getType();
    return ShiftOp::create(
        rewriter, loc, segment, op.getBegin(), op.getCount(), op.getLengths(),
        getFlushed(segment, op.getFlushed()), op.getPages(), op.getCos(),
        op.getSin(), part.cache, op.getRopeStyleAttr());
  };
  rewriter.replaceOp(op, changeSegments(rewriter, loc, op.getCache(),
                                        countMoving(op.getCache().getType()),
                                        shift));
}

namespace {

struct SplitSegmentsPass : kvq::impl::SplitSegmentsPassBase<SplitSegmentsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      auto isSegmented = [](Type type) {
        auto cache = dyn_cast<CacheType>(type);
        return cache && cache.getSegments();
      };
      if (isa<AppendOp, ReorderOp, ShiftOp>(op) &&
          llvm::any_of(op->getResultTypes(), isSegmented))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      llvm::TypeSwitch<Operation *>(op).Case<AppendOp, ReorderOp, ShiftOp>(
          [&](auto op) { splitOp(rewriter, op); });
    }
  }
};

} // namespace
