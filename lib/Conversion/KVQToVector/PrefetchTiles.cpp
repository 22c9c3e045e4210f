//===- PrefetchTiles.cpp - Prefetches the next tile of a cache ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles are small, and the work on one takes longer than its bytes need to
// come: with the next tile under way, tiles are read at the speed of the cache.
//
//===----------------------------------------------------------------------===//

#include "NextBytes.h"

#include "kvq/Conversion/Passes.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_PREFETCHTILESPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Bytes of a cache line.
static constexpr int64_t kLine = 64;

/// The loops of the first read of `part`, innermost first; none where it is not
/// in loops alone.
static SmallVector<scf::ForOp> getLoopsOfReads(memref::SubViewOp part,
                                               scf::ForOp tiles) {
  Value view = part;
  Operation *read = nullptr;
  while (!read) {
    Operation *next = nullptr;
    for (Operation *user : view.getUsers())
      if (isa<vector::LoadOp, memref::LoadOp, ViewLikeOpInterface>(user) &&
          (!next || user->isBeforeInBlock(next) ||
           user->getBlock() != next->getBlock()))
        next = user;
    if (!next)
      return {};
    if (isa<ViewLikeOpInterface>(next))
      view = next->getResult(0);
    else
      read = next;
  }
  SmallVector<scf::ForOp> loops;
  for (Operation *parent = read->getParentOp(); parent != tiles;
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      return {};
    loops.push_back(loop);
  }
  return loops;
}

namespace {

/// What is prefetched in each iteration of some loops: `elements`, the first of
/// which follow from the loops' trips.
struct Share {
  /// Innermost first.
  SmallVector<scf::ForOp> loops;
  /// Elements between those of two iterations of each loop.
  SmallVector<int64_t> strides;
  int64_t elements;
};

} // namespace

/// How `total` elements, `line` of them in a line, are dealt out to the
/// iterations of `loops`: the same number to each. One of the loops may be over
/// tokens, of an unknown number: of these, each reads `ofRow`.
static std::optional<Share> dealOut(ArrayRef<scf::ForOp> loops, int64_t total,
                                    int64_t line, int64_t ofRow) {
  Share share;
  share.loops.assign(loops.begin(), loops.end());
  int64_t iterations = 1, overTokens = 0, ofToken = 0;
  for (scf::ForOp loop : loops) {
    if (int64_t trips = countTrips(loop)) {
      iterations *= trips;
      continue;
    }
    ++overTokens;
    ofToken = getConstantIntValue(loop.getStep()).value_or(1) * ofRow;
  }
  if (loops.empty() || overTokens > 1)
    return std::nullopt;
  int64_t all = overTokens ? ofToken : total;
  if (overTokens && iterations > 1 && all % (iterations * line) != 0)
    return std::nullopt;
  share.elements =
      overTokens && iterations == 1
          ? all
          : llvm::divideCeil(llvm::divideCeil(all, line), iterations) * line;
  int64_t stride = share.elements;
  for (scf::ForOp loop : loops) {
    int64_t trips = countTrips(loop);
    share.strides.push_back(trips ? stride : ofToken);
    stride *= std::max<int64_t>(trips, 1);
  }
  return share;
}

/// Lines are dealt out to all loops but the innermost one, which is short code,
/// unless they are many in each iteration: these would wait for each other, and
/// memory for the next ones. As many as there are buffers for lines on their way
/// are too many already.
static std::optional<Share> chooseShare(ArrayRef<scf::ForOp> loops,
                                        int64_t total, int64_t line,
                                        int64_t ofRow) {
  constexpr int64_t kManyLines = 8;
  if (loops.size() < 2)
    return std::nullopt;
  std::optional<Share> outer = dealOut(loops.drop_front(), total, line, ofRow);
  if (outer && outer->elements <= kManyLines * line)
    return outer;
  std::optional<Share> all = dealOut(loops, total, line, ofRow);
  return all ? all : outer;
}

/// The first of the elements that an iteration prefetches.
static Value getFirst(OpBuilder &b, Location loc, const Share &share) {
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value first = bind(0);
  for (auto [loop, stride] : llvm::zip_equal(share.loops, share.strides)) {
    scf::ForOp each = loop;
    Value passed = arith::SubIOp::create(b, loc, each.getInductionVar(),
                                         each.getLowerBound());
    Value trip = arith::DivUIOp::create(b, loc, passed, each.getStep());
    first = arith::AddIOp::create(
        b, loc, first, arith::MulIOp::create(b, loc, trip, bind(stride)));
  }
  return first;
}

/// Where lines wait until they are read: in the first cache (3) or the second
/// (2). On their way to the first one lines take one of its few buffers each,
/// which is what limits how fast memory is read where many come; the second is
/// a little farther from what is there already.
static int32_t getLocality(const NextBytes &next, int64_t line) {
  constexpr int64_t kManyLines = 128;
  return next.isNear && next.most < kManyLines * line ? 3 : 2;
}

/// Prefetches `next` in front of `part`, or as it is read.
static void prefetch(OpBuilder &b, memref::SubViewOp part, NextBytes next,
                     scf::ForOp loop) {
  Location loc = part.getLoc();
  constexpr int64_t kFewLines = 16;
  int64_t line = kLine * 8 / part.getSourceType().getElementTypeBitWidth();
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value begin = bind(0), end = next.count;
  std::optional<Share> share;
  if (next.most > kFewLines * line)
    share =
        chooseShare(getLoopsOfReads(part, loop), next.most, line, next.ofRow);
  next.at.emplace_back();
  auto prefetchLine = [&](Value element) {
    next.at.back() = arith::AddIOp::create(b, loc, next.first, element);
    memref::PrefetchOp::create(b, loc, next.flat, next.at, /*isWrite=*/false,
                               /*localityHint=*/getLocality(next, line),
                               /*isDataCache=*/true);
  };
  // In short code without a loop, and without a bound: a prefetch may miss.
  constexpr int64_t kInLine = 4;
  if (share && share->elements <= kInLine * line) {
    b.setInsertionPointToStart(share->loops.front().getBody());
    begin = getFirst(b, loc, *share);
    for (int64_t i = 0; i < share->elements; i += line)
      prefetchLine(i == 0 ? begin
                          : arith::AddIOp::create(b, loc, begin, bind(i)));
    return;
  }
  if (share) {
    b.setInsertionPointToStart(share->loops.front().getBody());
    begin = getFirst(b, loc, *share);
    Value behind = arith::AddIOp::create(b, loc, begin, bind(share->elements));
    end = arith::MinSIOp::create(b, loc, behind, end);
  }
  auto lines = scf::ForOp::create(b, loc, begin, end, bind(line));
  b.setInsertionPointToStart(lines.getBody());
  prefetchLine(lines.getInductionVar());
}

namespace {

struct PrefetchTilesPass : kvq::impl::PrefetchTilesPassBase<PrefetchTilesPass> {
  using Base::Base;

  void runOnOperation() override {
    int64_t ahead = distance;
    if (auto schedule =
            getOperation()->getAttrOfType<ScheduleAttr>(kScheduleAttrName)) {
      ahead = schedule.getPrefetch().value_or(ahead);
      // No later pass reads it, and tools without kvq would refuse it.
      getOperation()->removeAttr(kScheduleAttrName);
    }
    if (ahead < 0) {
      emitError(getOperation()->getLoc())
          << "kvq-prefetch-tiles: expected a distance of at least 0 tiles, got "
          << ahead;
      return signalPassFailure();
    }
    if (ahead == 0)
      return markAllAnalysesPreserved();
    SmallVector<memref::SubViewOp> parts;
    getOperation()->walk([&](memref::SubViewOp part) {
      if (isa<BlockArgument>(part.getSource()))
        parts.push_back(part);
    });
    for (memref::SubViewOp part : parts) {
      auto loop = dyn_cast<scf::ForOp>(part->getParentOp());
      if (!loop)
        continue;
      OpBuilder b(part);
      if (auto next = findNextBytes(b, part, loop, ahead))
        prefetch(b, part, std::move(*next), loop);
    }
  }
};

} // namespace
