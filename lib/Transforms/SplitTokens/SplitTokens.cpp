//===- SplitTokens.cpp - Attention to independent work items --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkItem.h"

#include "kvq/Transforms/QueryTile.h"
#include "kvq/Transforms/Transforms.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_SPLITTOKENSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Query tokens
//===----------------------------------------------------------------------===//

/// One where the number of query tokens is not known, as it is for decoding.
static int64_t getQueryTile(AttentionOp op, int64_t rowChannels) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto output = cast<RankedTensorType>(op.getInit().getType());
  if (query.isDynamicDim(2))
    return 1;
  return chooseQueryTile(query.getDimSize(2), op.getGroupSize(),
                         std::max(query.getDimSize(3), output.getDimSize(3)),
                         rowChannels);
}

namespace {

/// Emits the work items of one attention op.
class AttentionSplitter {
public:
  AttentionSplitter(RewriterBase &rewriter, const WorkItems &items)
      : b(rewriter), op(items.op), loc(op.getLoc()), items(items),
        outputType(cast<RankedTensorType>(op.getInit().getType())),
        key(cast<CacheType>(op.getKey().getType())) {}

  SmallVector<scf::ForallOp> run();

private:
  scf::ForallOp runUnsplit(ValueRange outputs);
  SmallVector<scf::ForallOp> runSplit(ValueRange outputs);
  AttentionState createWorkspace();

  scf::ForallOp createWorkItems(ArrayRef<OpFoldResult> extents,
                                ValueRange outputs) {
    return scf::ForallOp::create(
        b, loc, extents, outputs,
        WorkItemAttr::getMapping(b.getContext(), extents.size()));
  }
  SmallVector<OpFoldResult> getExtents() {
    return {b.getIndexAttr(key.getBatch()), b.getIndexAttr(items.countParts()),
            items.getCount(b)};
  }
  WorkItem getItem(ValueRange ivs) {
    return {b, items, ivs[0], ivs[1], ivs[2]};
  }

  RewriterBase &b;
  AttentionOp op;
  Location loc;
  WorkItems items;
  RankedTensorType outputType;
  CacheType key;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loops over work items
//===----------------------------------------------------------------------===//

SmallVector<scf::ForallOp> AttentionSplitter::run() {
  SmallVector<Value> outputs = {op.getInit()};
  if (op.getLse())
    outputs.push_back(op.getLse());
  SmallVector<scf::ForallOp> loops =
      items.splits == 1 ? SmallVector<scf::ForallOp>{runUnsplit(outputs)}
                        : runSplit(outputs);
  b.replaceOp(op, loops.back().getResults());
  return loops;
}

scf::ForallOp AttentionSplitter::runUnsplit(ValueRange outputs) {
  auto forall = createWorkItems(getExtents(), outputs);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  WorkItem item = getItem(forall.getInductionVars());
  AttentionState state = item.attend(/*split=*/{}, item.getInitialState());
  item.storeResults(state, forall.getRegionIterArgs());
  return forall;
}

/// Partial states of all splits: splits x batch x parts of query heads x items
/// x rows [x channels].
AttentionState AttentionSplitter::createWorkspace() {
  SmallVector<OpFoldResult> extents = {b.getIndexAttr(items.splits)};
  llvm::append_range(extents, getExtents());
  extents.push_back(b.getIndexAttr(items.getRows()));
  Value max = tensor::EmptyOp::create(b, loc, extents, b.getF32Type());
  Value sum = tensor::EmptyOp::create(b, loc, extents, b.getF32Type());
  extents.push_back(b.getIndexAttr(outputType.getDimSize(3)));
  Value acc = tensor::EmptyOp::create(b, loc, extents, b.getF32Type());
  return {acc, max, sum};
}

/// The slice of a workspace tensor that holds `splitCount` splits of an item.
static void getWorkspaceSlice(OpBuilder &b, RankedTensorType type,
                              OpFoldResult split, OpFoldResult splitCount,
                              ValueRange item,
                              SmallVector<OpFoldResult> &offsets,
                              SmallVector<OpFoldResult> &sizes) {
  offsets = {split, item[0], item[1], item[2]};
  sizes = {splitCount, b.getIndexAttr(1), b.getIndexAttr(1), b.getIndexAttr(1)};
  for (int64_t axis = 4; axis < type.getRank(); ++axis) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(type.getDimSize(axis)));
  }
}

SmallVector<scf::ForallOp> AttentionSplitter::runSplit(ValueRange outputs) {
  int64_t splits = items.splits;
  SmallVector<OpFoldResult> extents = getExtents(), splitExtents = extents;
  splitExtents.push_back(b.getIndexAttr(splits));
  SmallVector<Value> workspace = createWorkspace().values();

  // Every split on its own, into the workspace.
  auto partials = createWorkItems(splitExtents, workspace);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(partials.getTerminator());
    SmallVector<Value> ivs = partials.getInductionVars();
    WorkItem item = getItem(ivs);
    AttentionState state = item.attend(ivs[3], item.getIdentity());
    b.setInsertionPointToStart(partials.getTerminator().getBody());
    for (auto [part, target] :
         llvm::zip_equal(state.values(), partials.getRegionIterArgs())) {
      SmallVector<OpFoldResult> offsets, sizes;
      auto type = cast<RankedTensorType>(target.getType());
      getWorkspaceSlice(b, type, ivs[3], b.getIndexAttr(1), ivs, offsets,
                        sizes);
      SmallVector<OpFoldResult> ones(type.getRank(), b.getIndexAttr(1));
      tensor::ParallelInsertSliceOp::create(b, loc, part, target, offsets,
                                            sizes, ones);
    }
  }

  // Then each item merges its splits, in order.
  auto merges = createWorkItems(extents, outputs);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(merges.getTerminator());
  SmallVector<Value> ivs = merges.getInductionVars();
  WorkItem item = getItem(ivs);
  AttentionState initial = item.getInitialState();
  SmallVector<Value> parts;
  for (auto [whole, state] :
       llvm::zip_equal(partials.getResults(), initial.values())) {
    SmallVector<OpFoldResult> offsets, sizes;
    auto type = cast<RankedTensorType>(whole.getType());
    getWorkspaceSlice(b, type, b.getIndexAttr(0), b.getIndexAttr(splits), ivs,
                      offsets, sizes);
    SmallVector<OpFoldResult> ones(type.getRank(), b.getIndexAttr(1));
    SmallVector<int64_t> shape = {splits};
    llvm::append_range(shape,
                       cast<RankedTensorType>(state.getType()).getShape());
    parts.push_back(tensor::ExtractSliceOp::create(
        b, loc, RankedTensorType::get(shape, b.getF32Type()), whole, offsets,
        sizes, ones));
  }
  auto merged = MergePartialsOp::create(
      b, loc, ValueRange(initial.values()).getTypes(), parts, initial.values());
  item.storeResults(
      {merged.getResult(0), merged.getResult(1), merged.getResult(2)},
      merges.getRegionIterArgs());
  return {partials, merges};
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

/// Attention over float tensors has no lowering: it would read a cache that
/// was rebuilt in full.
static LogicalResult expectCaches(AttentionOp op) {
  for (auto [name, operand] :
       {std::pair("key", op.getKey()), std::pair("value", op.getValue())})
    if (!isa<CacheType>(operand.getType()))
      return op.emitOpError("expected a cache as the ")
             << name << ", got " << operand.getType()
             << ": attention over tensors has no unfused lowering "
                "(kvq-fuse-dequantize did not make it one over caches)";
    else if (failed(
                 verifyAssignedLayout(op, cast<CacheType>(operand.getType()))))
      return failure();
  return success();
}

/// Passes the fields of a schedule that are those of loops, of all of a
/// function alike, on to the function.
static LogicalResult passOn(ScheduleAttr schedule, AttentionOp op) {
  if (!schedule.getVectorWidth() && !schedule.getPrefetch())
    return success();
  auto loops =
      ScheduleAttr::get(op.getContext(), /*tile=*/std::nullopt,
                        /*splits=*/std::nullopt,
                        /*heads_inside=*/std::nullopt,
                        schedule.getVectorWidth(), schedule.getPrefetch());
  // The pass may run on more than one function at once.
  Operation *function = op->getParentOfType<FunctionOpInterface>();
  if (!function)
    return op.emitOpError("expected a function around an op with a vector "
                          "width or a prefetch distance in its schedule");
  auto other = function->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
  if (other && other != loops)
    return op.emitOpError("expected vector width and prefetch distance of "
                          "the function's others, ")
           << other << ", got " << loops;
  function->setAttr(kScheduleAttrName, loops);
  return success();
}

FailureOr<SmallVector<scf::ForallOp>>
kvq::splitTokens(RewriterBase &rewriter, AttentionOp op,
                 const SplitTokensPassOptions &options) {
  if (failed(expectCaches(op)))
    return failure();
  int64_t splits = options.splits;
  if (ScheduleAttr schedule = op.getScheduleAttr()) {
    splits = schedule.getSplits().value_or(splits);
    if (failed(passOn(schedule, op)))
      return failure();
  }
  rewriter.setInsertionPoint(op);
  int64_t queryTokens = options.queryTile == 0
                            ? getQueryTile(op, options.rowChannels)
                            : options.queryTile;
  return AttentionSplitter(rewriter, {op, queryTokens, splits}).run();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct SplitTokensPass : kvq::impl::SplitTokensPassBase<SplitTokensPass> {
  using Base::Base;

  void runOnOperation() override {
    if (splits < 1) {
      emitError(getOperation()->getLoc())
          << "kvq-split-tokens: expected at least 1 split, got "
          << splits.getValue();
      return signalPassFailure();
    }
    if (queryTile < 0 || queryTile > kMostQueryTokens) {
      emitError(getOperation()->getLoc())
          << "kvq-split-tokens: expected 1 to " << kMostQueryTokens
          << " query tokens in a work item, or 0, got " << queryTile.getValue();
      return signalPassFailure();
    }
    if (rowChannels < 1) {
      emitError(getOperation()->getLoc())
          << "kvq-split-tokens: expected rows of at least 1 channel, got "
          << rowChannels.getValue();
      return signalPassFailure();
    }
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : ops)
      if (failed(splitTokens(rewriter, op, {splits, queryTile, rowChannels})))
        return signalPassFailure();
  }
};

} // namespace
