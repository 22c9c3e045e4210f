//===- NextBytes.cpp - What a loop over tiles reads next ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NextBytes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

int64_t kvq::countTrips(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         upper = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *upper <= *lower)
    return 0;
  return llvm::divideCeil(*upper - *lower, *step);
}

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

//===----------------------------------------------------------------------===//
// What comes next
//===----------------------------------------------------------------------===//

namespace {

/// Where rows of all heads of a token lie together: the loops over heads, each
/// of which reads its rows of the same tokens, and over these.
struct LoopsOfHeads {
  scf::ForOp heads, tokens;
};

} // namespace

/// Sets the buffer of `part` with one index from `axis` on, and the indices
/// before it.
static void flatten(OpBuilder &b, memref::SubViewOp part, unsigned axis,
                    NextBytes &next) {
  SmallVector<ReassociationIndices> groups;
  for (unsigned i = 0; i <= axis; ++i)
    groups.push_back({i});
  for (unsigned i = 0; i < axis; ++i)
    next.at.push_back(getValueOrCreateConstantIndexOp(
        b, part.getLoc(), part.getMixedOffsets()[i]));
  for (unsigned i = axis + 1; i < part.getSourceType().getRank(); ++i)
    groups.back().push_back(i);
  next.flat = memref::CollapseShapeOp::create(b, part.getLoc(),
                                              part.getSource(), groups);
}

/// The loops whose heads `part` is read for, tokens along axis 1 and heads
/// along axis 2; none where heads are not the inner loop.
static std::optional<LoopsOfHeads> getLoopsOfHeads(memref::SubViewOp part,
                                                   scf::ForOp loop) {
  MemRefType source = part.getSourceType();
  auto heads = dyn_cast<scf::ForOp>(loop->getParentOp());
  if (!heads || source.getRank() != 4 || !part.hasUnitStride() ||
      !source.getLayout().isIdentity() || source.isDynamicDim(2) ||
      source.isDynamicDim(3))
    return std::nullopt;
  auto tokens = dyn_cast<scf::ForOp>(heads->getParentOp());
  SmallVector<OpFoldResult> offsets = part.getMixedOffsets(),
                            sizes = part.getMixedSizes();
  auto token = dyn_cast<Value>(offsets[1]);
  bool isOneHead = dyn_cast<Value>(offsets[2]) == heads.getInductionVar() &&
                   getConstantIntValue(sizes[2]) == 1 &&
                   countTrips(heads) == source.getDimSize(2);
  bool isRow = getConstantIntValue(sizes[3]) == source.getDimSize(3);
  if (!tokens || !token || !isOneHead || !isRow ||
      !isIterationOf(token, loop) || !getConstantIntValue(tokens.getStep()) ||
      !getConstantIntValue(loop.getStep()))
    return std::nullopt;
  return LoopsOfHeads{heads, tokens};
}

/// What follows `part` in the iteration of `loop` that is `distance` behind.
static NextBytes getNextRows(OpBuilder &b, memref::SubViewOp part,
                             TokenAxis tokens, scf::ForOp loop,
                             int64_t distance) {
  Location loc = part.getLoc();
  NextBytes next;
  next.ofRow = 1;
  for (int64_t extent :
       part.getSourceType().getShape().drop_front(tokens.axis + 1))
    next.ofRow *= extent;
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto multiply = [&](Value value, int64_t factor) -> Value {
    return b.createOrFold<arith::MulIOp>(loc, value, bind(factor));
  };
  // None behind the last tile.
  Value token = arith::AddIOp::create(b, loc, loop.getInductionVar(),
                                      multiply(loop.getStep(), distance));
  Value left = arith::SubIOp::create(b, loc, loop.getUpperBound(), token);
  Value rows = arith::MinSIOp::create(b, loc, left,
                                      tokens.isTile ? bind(1) : loop.getStep());
  next.count = multiply(rows, next.ofRow);
  flatten(b, part, tokens.axis, next);
  Value row = arith::AddIOp::create(
      b, loc,
      getValueOrCreateConstantIndexOp(b, loc,
                                      part.getMixedOffsets()[tokens.axis]),
      tokens.isTile ? bind(distance) : multiply(loop.getStep(), distance));
  next.first = multiply(row, next.ofRow);
  next.most = next.ofRow;
  if (!tokens.isTile)
    next.most *= getConstantIntValue(loop.getStep()).value_or(0);
  return next;
}

/// Of the rows of all heads of the tokens that are `distance` iterations of the
/// loop over these behind, the share of the head of `part`: as many bytes as it
/// reads of the tokens at hand, but one after the other.
static NextBytes getShareOfHead(OpBuilder &b, memref::SubViewOp part,
                                LoopsOfHeads loops, scf::ForOp loop,
                                int64_t distance) {
  Location loc = part.getLoc();
  MemRefType source = part.getSourceType();
  NextBytes next;
  next.isNear = false;
  next.ofRow = source.getDimSize(3);
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto multiply = [&](Value value, int64_t factor) -> Value {
    return b.createOrFold<arith::MulIOp>(loc, value, bind(factor));
  };
  Value ahead = bind(*getConstantIntValue(loops.tokens.getStep()) * distance);
  Value token = arith::AddIOp::create(b, loc, loop.getInductionVar(), ahead);
  Value left =
      arith::SubIOp::create(b, loc, loops.tokens.getUpperBound(), token);
  Value rows = arith::MaxSIOp::create(
      b, loc, arith::MinSIOp::create(b, loc, left, loop.getStep()), bind(0));
  next.count = multiply(rows, next.ofRow);
  flatten(b, part, /*axis=*/1, next);
  Value row = arith::AddIOp::create(
      b, loc,
      getValueOrCreateConstantIndexOp(b, loc, part.getMixedOffsets()[1]),
      ahead);
  Value share =
      arith::MulIOp::create(b, loc, loops.heads.getInductionVar(), next.count);
  next.first = arith::AddIOp::create(
      b, loc, multiply(row, next.ofRow * source.getDimSize(2)), share);
  next.most = *getConstantIntValue(loop.getStep()) * next.ofRow;
  return next;
}

/// Whether `part` is rows of a page that the iteration of `loop` says: the
/// first and the third axis of pages x heads x rows x ... advance, and its rows
/// are whole.
static bool areRowsOfPage(memref::SubViewOp part, scf::ForOp loop) {
  MemRefType source = part.getSourceType();
  SmallVector<OpFoldResult> offsets = part.getMixedOffsets(),
                            sizes = part.getMixedSizes();
  auto page = dyn_cast<Value>(offsets[0]);
  if (!page || source.getRank() != 4 || !part.hasUnitStride() ||
      !source.getLayout().isIdentity() || source.isDynamicDim(3) ||
      getConstantIntValue(sizes[3]) != source.getDimSize(3) ||
      getConstantIntValue(sizes[2]) || !getConstantIntValue(loop.getStep()))
    return false;
  auto head = dyn_cast<Value>(offsets[1]), row = dyn_cast<Value>(offsets[2]);
  return advancesWith(page, loop) && row && advancesWith(row, loop) &&
         !(head && advancesWith(head, loop));
}

/// What `value` is in the iteration of `loop` that has `induction`; null where
/// its ops cannot be repeated.
static Value repeatFor(OpBuilder &b, Value value, scf::ForOp loop,
                       Value induction) {
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  SetVector<Operation *> slice;
  if (failed(getBackwardSlice(value, &slice, options)))
    return {};
  // Tables that are read are arguments that nothing writes.
  bool canRepeat = llvm::all_of(slice, [](Operation *op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    return (load && isa<BlockArgument>(load.getMemRef())) ||
           (isPure(op) && op->getNumRegions() == 0);
  });
  if (!canRepeat)
    return {};
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), induction);
  for (Operation *op : slice)
    b.clone(*op, mapping);
  return mapping.lookupOrDefault(value);
}

/// The rows, wherever their page is, that the iteration of `loop` that is
/// `distance` behind takes in place of `part`; behind the last one some of its
/// page.
static std::optional<NextBytes> getRowsOfNextPage(OpBuilder &b,
                                                  memref::SubViewOp part,
                                                  scf::ForOp loop,
                                                  int64_t distance) {
  Location loc = part.getLoc();
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  int64_t step = *getConstantIntValue(loop.getStep());
  // The entries of page tables behind the last token may be anything.
  Value last = arith::SubIOp::create(b, loc, loop.getUpperBound(), bind(1));
  Value ahead = arith::AddIOp::create(b, loc, loop.getInductionVar(),
                                      bind(step * distance));
  Value induction = arith::MinSIOp::create(b, loc, ahead, last);
  SmallVector<OpFoldResult> offsets = part.getMixedOffsets();
  Value page = repeatFor(b, cast<Value>(offsets[0]), loop, induction);
  Value row = repeatFor(b, cast<Value>(offsets[2]), loop, induction);
  if (!page || !row)
    return std::nullopt;
  NextBytes next;
  flatten(b, part, /*axis=*/2, next);
  next.at.front() = page;
  next.ofRow = part.getSourceType().getDimSize(3);
  next.most = step * next.ofRow;
  next.count = bind(next.most);
  next.first = arith::MulIOp::create(b, loc, row, bind(next.ofRow));
  return next;
}

std::optional<NextBytes> kvq::findNextBytes(OpBuilder &b,
                                            memref::SubViewOp part,
                                            scf::ForOp loop, int64_t distance) {
  if (std::optional<TokenAxis> axis = getTokenAxis(part, loop))
    return getNextRows(b, part, *axis, loop, distance);
  if (std::optional<LoopsOfHeads> heads = getLoopsOfHeads(part, loop))
    return getShareOfHead(b, part, *heads, loop, distance);
  if (areRowsOfPage(part, loop))
    return getRowsOfNextPage(b, part, loop, distance);
  return std::nullopt;
}
