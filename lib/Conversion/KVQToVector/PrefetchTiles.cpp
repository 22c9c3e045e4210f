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

#include "kvq/Conversion/Passes.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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

/// Whether `value` follows from the iteration of `loop`.
static bool advancesWith(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return false;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  options.filter = [&](Operation *inner) {
    return loop->isProperAncestor(inner);
  };
  SetVector<Operation *> slice;
  if (failed(getBackwardSlice(op, &slice, options)))
    return true;
  return llvm::any_of(slice, [&](Operation *inner) {
    return llvm::is_contained(inner->getOperands(), loop.getInductionVar());
  });
}

/// Whether `value` is the iteration of `loop`, but for a shift that is the same
/// in all of them, and for bounds.
static bool isIterationOf(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<affine::AffineMaxOp, arith::MaxSIOp>(op))
    return llvm::count_if(op->getOperands(), [&](Value operand) {
             return isIterationOf(operand, loop);
           }) == 1;
  if (auto sub = dyn_cast_or_null<arith::SubIOp>(op))
    return isIterationOf(sub.getLhs(), loop) &&
           !advancesWith(sub.getRhs(), loop);
  return false;
}

namespace {

/// How parts of a buffer follow each other in the iterations of a loop.
struct TokenAxis {
  unsigned axis;
  /// Whether an iteration takes one whole row of the axis, a tile of a layout;
  /// otherwise a row for each step of the loop.
  bool isTile;
};

} // namespace

/// The axis of `part` along which tiles follow each other: its rows are
/// contiguous, and nothing else advances.
static std::optional<TokenAxis> getTokenAxis(memref::SubViewOp part,
                                             scf::ForOp loop) {
  std::optional<TokenAxis> found;
  for (auto [index, offset] : llvm::enumerate(part.getMixedOffsets())) {
    auto value = dyn_cast<Value>(offset);
    if (!value || !advancesWith(value, loop))
      continue;
    bool isTile = false;
    if (auto division = value.getDefiningOp<arith::DivUIOp>())
      if (getConstantIntValue(division.getRhs()) ==
          getConstantIntValue(loop.getStep())) {
        isTile = true;
        value = division.getLhs();
      }
    if (found || !isIterationOf(value, loop))
      return std::nullopt;
    found = TokenAxis{static_cast<unsigned>(index), isTile};
  }
  MemRefType source = part.getSourceType();
  if (!found || !part.hasUnitStride() || !source.getLayout().isIdentity() ||
      getConstantIntValue(part.getMixedSizes()[found->axis]).has_value() !=
          found->isTile ||
      found->axis + 1 == source.getRank())
    return std::nullopt;
  for (unsigned inner = found->axis + 1; inner < source.getRank(); ++inner)
    if (source.isDynamicDim(inner) ||
        getConstantIntValue(part.getMixedSizes()[inner]) !=
            source.getDimSize(inner))
      return std::nullopt;
  return found;
}

/// Iterations of a loop whose bounds are known; 0 where they are not.
static int64_t countTrips(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *upper <= *lower)
    return 0;
  return llvm::divideCeil(*upper - *lower, *step);
}

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
/// what is read meanwhile with them.
static std::optional<Share> chooseShare(ArrayRef<scf::ForOp> loops,
                                        int64_t total, int64_t line,
                                        int64_t ofRow) {
  constexpr int64_t kManyLines = 32;
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

/// Prefetches what follows `part` in the iteration of `loop` that is `distance`
/// behind.
static void prefetchNext(memref::SubViewOp part, TokenAxis tokens,
                         scf::ForOp loop, int64_t distance) {
  OpBuilder b(part);
  Location loc = part.getLoc();
  ArrayRef<int64_t> shape = part.getSourceType().getShape();
  int64_t bytes = part.getSourceType().getElementTypeBitWidth() / 8;
  int64_t ofRow = 1;
  for (int64_t extent : shape.drop_front(tokens.axis + 1))
    ofRow *= extent;
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto multiply = [&](Value value) -> Value {
    return b.createOrFold<arith::MulIOp>(loc, value, bind(distance));
  };
  // Elements of the rows of that tile: none behind the last tile.
  Value zero = bind(0);
  Value next = arith::AddIOp::create(b, loc, loop.getInductionVar(),
                                     multiply(loop.getStep()));
  Value left = arith::SubIOp::create(b, loc, loop.getUpperBound(), next);
  Value rows = arith::MinSIOp::create(b, loc, left,
                                      tokens.isTile ? bind(1) : loop.getStep());
  Value end = arith::MulIOp::create(b, loc, rows, bind(ofRow));
  // Rows are contiguous: one index for what a part takes of them.
  SmallVector<ReassociationIndices> groups;
  SmallVector<Value> at;
  for (unsigned axis = 0; axis <= tokens.axis; ++axis) {
    groups.push_back({axis});
    at.push_back(
        getValueOrCreateConstantIndexOp(b, loc, part.getMixedOffsets()[axis]));
  }
  for (unsigned axis = tokens.axis + 1; axis < shape.size(); ++axis)
    groups.back().push_back(axis);
  Value flat =
      memref::CollapseShapeOp::create(b, loc, part.getSource(), groups);
  Value row = arith::AddIOp::create(b, loc, at.back(),
                                    tokens.isTile ? bind(distance)
                                                  : multiply(loop.getStep()));
  Value first = arith::MulIOp::create(b, loc, row, bind(ofRow));
  constexpr int64_t kFewLines = 16;
  int64_t line = kLine / bytes;
  int64_t total = tokens.isTile
                      ? ofRow
                      : ofRow * getConstantIntValue(loop.getStep()).value_or(0);
  std::optional<Share> share;
  if (total > kFewLines * line)
    share = chooseShare(getLoopsOfReads(part, loop), total, line, ofRow);
  auto prefetch = [&](Value element) {
    at.back() = arith::AddIOp::create(b, loc, first, element);
    memref::PrefetchOp::create(b, loc, flat, at, /*isWrite=*/false,
                               /*localityHint=*/3, /*isDataCache=*/true);
  };
  // In short code without a loop, and without a bound: a prefetch may miss.
  constexpr int64_t kInLine = 4;
  if (share && share->elements <= kInLine * line) {
    b.setInsertionPointToStart(share->loops.front().getBody());
    zero = getFirst(b, loc, *share);
    for (int64_t i = 0; i < share->elements; i += line)
      prefetch(i == 0 ? zero : arith::AddIOp::create(b, loc, zero, bind(i)));
    return;
  }
  if (share) {
    b.setInsertionPointToStart(share->loops.front().getBody());
    zero = getFirst(b, loc, *share);
    Value behind = arith::AddIOp::create(b, loc, zero, bind(share->elements));
    end = arith::MinSIOp::create(b, loc, behind, end);
  }
  auto lines = scf::ForOp::create(b, loc, zero, end, bind(line));
  b.setInsertionPointToStart(lines.getBody());
  prefetch(lines.getInductionVar());
}

namespace {

struct PrefetchTilesPass : kvq::impl::PrefetchTilesPassBase<PrefetchTilesPass> {
  using Base::Base;

  void runOnOperation() override {
    int64_t ahead = distance;
    if (auto schedule =
            getOperation()->getAttrOfType<ScheduleAttr>(kScheduleAttrName))
      ahead = schedule.getPrefetch().value_or(ahead);
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
      if (std::optional<TokenAxis> axis = getTokenAxis(part, loop))
        prefetchNext(part, *axis, loop, ahead);
    }
  }
};

} // namespace
