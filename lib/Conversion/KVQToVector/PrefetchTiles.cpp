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

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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

/// The axis of `part` along which tiles follow each other: its rows are
/// contiguous, and nothing else advances.
static std::optional<unsigned> getTokenAxis(memref::SubViewOp part,
                                            scf::ForOp loop) {
  std::optional<unsigned> axis;
  for (auto [index, offset] : llvm::enumerate(part.getMixedOffsets())) {
    auto value = dyn_cast<Value>(offset);
    if (!value || !advancesWith(value, loop))
      continue;
    if (axis || !isIterationOf(value, loop))
      return std::nullopt;
    axis = index;
  }
  MemRefType source = part.getSourceType();
  if (!axis || !part.hasUnitStride() || !source.getLayout().isIdentity() ||
      getConstantIntValue(part.getMixedSizes()[*axis]))
    return std::nullopt;
  for (unsigned inner = *axis + 1; inner < source.getRank(); ++inner)
    if (source.isDynamicDim(inner) ||
        getConstantIntValue(part.getMixedSizes()[inner]) !=
            source.getDimSize(inner))
      return std::nullopt;
  // One inner axis, which the bytes of a line are found on.
  return *axis + 2 == source.getRank() ? axis : std::nullopt;
}

/// Prefetches what follows `part` in the next iteration of `loop`.
static void prefetchNext(memref::SubViewOp part, unsigned axis,
                         scf::ForOp loop) {
  OpBuilder b(part);
  Location loc = part.getLoc();
  MemRefType type = part.getSourceType();
  int64_t elements = type.getShape().back();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  // Elements of the rows of the next tile: none behind the last tile.
  Value next =
      arith::AddIOp::create(b, loc, loop.getInductionVar(), loop.getStep());
  Value left = arith::SubIOp::create(b, loc, loop.getUpperBound(), next);
  Value rows = arith::MinSIOp::create(b, loc, left, loop.getStep());
  Value end = arith::MulIOp::create(b, loc, rows, bind(elements));
  auto lines = scf::ForOp::create(b, loc, bind(0), end, bind(kLine / bytes));
  b.setInsertionPointToStart(lines.getBody());
  Value element = lines.getInductionVar();
  SmallVector<Value> at;
  for (OpFoldResult offset : part.getMixedOffsets())
    at.push_back(getValueOrCreateConstantIndexOp(b, loc, offset));
  Value row = arith::DivUIOp::create(b, loc, element, bind(elements));
  row = arith::AddIOp::create(b, loc, row, loop.getStep());
  at[axis] = arith::AddIOp::create(b, loc, at[axis], row);
  at.back() = arith::RemUIOp::create(b, loc, element, bind(elements));
  memref::PrefetchOp::create(b, loc, part.getSource(), at, /*isWrite=*/false,
                             /*localityHint=*/3, /*isDataCache=*/true);
}

namespace {

struct PrefetchTilesPass : kvq::impl::PrefetchTilesPassBase<PrefetchTilesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<memref::SubViewOp> parts;
    getOperation()->walk([&](memref::SubViewOp part) {
      if (isa<BlockArgument>(part.getSource()))
        parts.push_back(part);
    });
    for (memref::SubViewOp part : parts) {
      auto loop = dyn_cast<scf::ForOp>(part->getParentOp());
      if (!loop)
        continue;
      if (std::optional<unsigned> axis = getTokenAxis(part, loop))
        prefetchNext(part, *axis, loop);
    }
  }
};

} // namespace
