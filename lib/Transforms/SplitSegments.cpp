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

static Value joinCache(OpBuilder &b, Location loc, CacheType type,
                       ValueRange parts) {
  return JoinSegmentsOp::create(b, loc, type, parts);
}

/// The flushed counts that a segment's cache takes.
static Value getFlushed(CacheType segment, Value flushed) {
  return segment.hasRecentWindow() ? flushed : Value();
}

static void splitOp(RewriterBase &rewriter, EmptyOp op) {
  CacheType type = op.getCache().getType();
  ValueRange given = op.getGiven();
  SmallVector<Value> parts;
  for (CacheType segment : type.getSegmentCaches()) {
    size_t count = llvm::count_if(
        segment.getComponents(),
        [](const StorageComponent &component) { return component.given; });
    parts.push_back(EmptyOp::create(rewriter, op.getLoc(), segment,
                                    op.getCapacity(), op.getPages(),
                                    given.take_front(count)));
    given = given.drop_front(count);
  }
  rewriter.replaceOp(op, joinCache(rewriter, op.getLoc(), type, parts));
}

static void splitOp(RewriterBase &rewriter, AppendOp op) {
  Location loc = op.getLoc();
  CacheType type = op.getCache().getType();
  Value saturated = op.getSaturated();
  SmallVector<Value> parts;
  for (const CacheSegment &part : splitSegments(rewriter, loc, op.getCache())) {
    CacheType segment = part.getType();
    Value tokens = extractChannels(rewriter, loc, op.getTokens(), part);
    // Nothing saturates in an exact segment.
    Value counts = segment.isExact() ? Value() : saturated;
    auto append = AppendOp::create(
        rewriter, loc, segment, counts ? counts.getType() : Type(), tokens,
        part.cache, op.getLengths(), getFlushed(segment, op.getFlushed()),
        op.getCounts(), op.getPages(), op.getStarts(), op.getSlots(), counts);
    parts.push_back(append.getResult());
    if (counts)
      saturated = append.getNewSaturated();
  }
  SmallVector<Value> results = {joinCache(rewriter, loc, type, parts)};
  if (saturated)
    results.push_back(saturated);
  rewriter.replaceOp(op, results);
}

static void splitOp(RewriterBase &rewriter, ReorderOp op) {
  Location loc = op.getLoc();
  SmallVector<CacheSegment> sources =
      splitSegments(rewriter, loc, op.getCache());
  SmallVector<CacheSegment> targets =
      splitSegments(rewriter, loc, op.getDestination());
  SmallVector<Value> parts;
  for (auto [source, target] : llvm::zip_equal(sources, targets)) {
    CacheType segment = target.getType();
    parts.push_back(ReorderOp::create(
        rewriter, loc, segment, source.cache, op.getSources(), op.getLengths(),
        getFlushed(segment, op.getFlushed()), op.getPages(), op.getToPages(),
        op.getShared(), target.cache));
  }
  rewriter.replaceOp(
      op, joinCache(rewriter, loc, op.getDestination().getType(), parts));
}

static void splitOp(RewriterBase &rewriter, ShiftOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> parts;
  for (const CacheSegment &part : splitSegments(rewriter, loc, op.getCache())) {
    CacheType segment = part.getType();
    parts.push_back(ShiftOp::create(
        rewriter, loc, segment, op.getBegin(), op.getCount(), op.getLengths(),
        getFlushed(segment, op.getFlushed()), op.getPages(), op.getCos(),
        op.getSin(), part.cache, op.getRopeStyleAttr()));
  }
  rewriter.replaceOp(op,
                     joinCache(rewriter, loc, op.getCache().getType(), parts));
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
      if (isa<EmptyOp, AppendOp, ReorderOp, ShiftOp>(op) &&
          llvm::any_of(op->getResultTypes(), isSegmented))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      llvm::TypeSwitch<Operation *>(op)
          .Case<EmptyOp, AppendOp, ReorderOp, ShiftOp>(
              [&](auto op) { splitOp(rewriter, op); });
    }
  }
};

} // namespace
