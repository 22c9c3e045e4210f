//===- SplitSegments.cpp - Ops on the segments of caches ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_SPLITSEGMENTSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Rebuilds `cache` segment by segment: `change` makes the new part of the old
/// one. A row of all segments lies in the cache of each, so one is changed
/// after the other.
static Value changeSegments(
    OpBuilder &b, Location loc, Value cache, unsigned count,
    function_ref<Value(unsigned segment, TypedValue<CacheType> part)> change) {
  auto type = cast<CacheType>(cache.getType());
  std::vector<CacheType> types = type.getSegmentCaches();
  for (unsigned segment = 0; segment < count; ++segment) {
    auto part =
        ExtractSegmentOp::create(b, loc, types[segment], cache, segment);
    cache = InsertSegmentOp::create(
        b, loc, type, change(segment, part.getPart()), cache, segment);
  }
  return cache;
}

/// Of how many segments all rows are moved where whole rows are.
static unsigned countRowSegments(CacheType type) {
  return type.getSegments().hasRow() ? 1
                                     : type.getSegments().getFormats().size();
}

/// Channels of `tokens` from `begin` on.
static Value extractChannels(OpBuilder &b, Location loc, Value tokens,
                             int64_t begin, int64_t channels) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, tokens);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  offsets.back() = b.getIndexAttr(begin);
  sizes.back() = b.getIndexAttr(channels);
  return tensor::ExtractSliceOp::create(b, loc, tokens, offsets, sizes, ones);
}

/// The flushed counts that a segment's cache takes.
static Value getFlushed(CacheType segment, Value flushed) {
  return segment.hasRecentWindow() ? flushed : Value();
}

static void splitOp(RewriterBase &rewriter, AppendOp op) {
  Location loc = op.getLoc();
  Value saturated = op.getSaturated();
  int64_t begin = 0;
  auto append = [&](unsigned, TypedValue<CacheType> part) -> Value {
    CacheType segment = part.getType();
    Value tokens = extractChannels(rewriter, loc, op.getTokens(), begin,
                                   segment.getHeadDim());
    begin += segment.getHeadDim();
    // Nothing saturates in an exact segment.
    Value counts = segment.isExact() ? Value() : saturated;
    auto append = AppendOp::create(
        rewriter, loc, segment, counts ? counts.getType() : Type(), tokens,
        part, op.getLengths(), getFlushed(segment, op.getFlushed()),
        op.getCounts(), op.getPages(), op.getStarts(), op.getSlots(), counts);
    if (counts)
      saturated = append.getNewSaturated();
    return append.getResult();
  };
  size_t count = op.getCache().getType().getSegments().getFormats().size();
  SmallVector<Value> results = {
      changeSegments(rewriter, loc, op.getCache(), count, append)};
  if (saturated)
    results.push_back(saturated);
  rewriter.replaceOp(op, results);
}

static void splitOp(RewriterBase &rewriter, ReorderOp op) {
  Location loc = op.getLoc();
  auto reorder = [&](unsigned index, TypedValue<CacheType> target) -> Value {
    CacheType segment = target.getType();
    std::vector<CacheType> sources = op.getCache().getType().getSegmentCaches();
    Value source = ExtractSegmentOp::create(rewriter, loc, sources[index],
                                            op.getCache(), index);
    return ReorderOp::create(
        rewriter, loc, segment, source, op.getSources(), op.getLengths(),
        getFlushed(segment, op.getFlushed()), op.getPages(), op.getToPages(),
        op.getShared(), target);
  };
  CacheType type = op.getDestination().getType();
  rewriter.replaceOp(op, changeSegments(rewriter, loc, op.getDestination(),
                                        countRowSegments(type), reorder));
}

static void splitOp(RewriterBase &rewriter, ShiftOp op) {
  Location loc = op.getLoc();
  auto shift = [&](unsigned, TypedValue<CacheType> part) -> Value {
    return ShiftOp::create(rewriter, loc, part.getType(), op.getBegin(),
                           op.getCount(), op.getLengths(),
                           getFlushed(part.getType(), op.getFlushed()),
                           op.getPages(), part);
  };
  CacheType type = op.getCache().getType();
  rewriter.replaceOp(op, changeSegments(rewriter, loc, op.getCache(),
                                        countRowSegments(type), shift));
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
