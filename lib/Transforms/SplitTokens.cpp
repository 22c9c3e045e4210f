//===- SplitTokens.cpp - Attention to independent work items --------------===//
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
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

namespace mlir::kvq {
#define GEN_PASS_DEF_SPLITTOKENSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// The online-softmax state of some query rows.
struct State {
  Value acc, max, sum;

  SmallVector<Value> values() const { return {acc, max, sum}; }
};

/// Emits the work items of one attention op.
class AttentionSplitter {
public:
  AttentionSplitter(IRRewriter &rewriter, AttentionOp op, int64_t splits)
      : b(rewriter), op(op), loc(op.getLoc()), splits(splits),
        rows(op.getGroupSize()),
        queryType(cast<RankedTensorType>(op.getQuery().getType())),
        outputType(cast<RankedTensorType>(op.getInit().getType())),
        key(cast<CacheType>(op.getKey().getType())),
        value(cast<CacheType>(op.getValue().getType())) {}

  void run();

private:
  /// A work item: the query rows of one KV head at one query token.
  struct Item {
    Value sequence, head, token;
    /// The rows' place in query and output, batch x heads x tokens x channels.
    SmallVector<OpFoldResult> offsets;
  };

  Value runUnsplit();
  Value runSplit();
  State createWorkspace();

  scf::ForallOp createWorkItems(ArrayRef<OpFoldResult> extents,
                                ValueRange outputs) {
    return scf::ForallOp::create(
        b, loc, extents, outputs,
        WorkItemAttr::getMapping(b.getContext(), extents.size()));
  }
  Item getItem(ValueRange ivs);
  SmallVector<OpFoldResult> getRowSizes(RankedTensorType type);
  Value loadQuery(const Item &item);
  Value countVisible(const Item &item);
  SmallVector<std::pair<Value, Value>> getVisibleRanges(const Item &item);
  Value countFlushed(CacheType cache, Value flushed, const Item &item);
  State getIdentity();
  State attend(const Item &item, Value begin, Value end, const State &state);
  State attendToSplit(const Item &item, Value split);
  void storeOutput(const Item &item, const State &state, Value output);

  Value getIndex(OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(b, loc, value);
  }
  Value getSequenceCount(Value counts, const Item &item) {
    Value count =
        tensor::ExtractOp::create(b, loc, counts, ValueRange{item.sequence});
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), count);
  }

  IRRewriter &b;
  AttentionOp op;
  Location loc;
  int64_t splits;
  int64_t rows;
  RankedTensorType queryType, outputType;
  CacheType key, value;
};

} // namespace

//===----------------------------------------------------------------------===//
// One work item
//===----------------------------------------------------------------------===//

AttentionSplitter::Item AttentionSplitter::getItem(ValueRange ivs) {
  Item item{ivs[0], ivs[1], ivs[2], {}};
  AffineExpr head = b.getAffineDimExpr(0);
  OpFoldResult firstRow = affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(1, 0, head * rows), {OpFoldResult(item.head)});
  item.offsets = {item.sequence, firstRow, item.token, b.getIndexAttr(0)};
  return item;
}

SmallVector<OpFoldResult>
AttentionSplitter::getRowSizes(RankedTensorType type) {
  return {b.getIndexAttr(1), b.getIndexAttr(rows), b.getIndexAttr(1),
          b.getIndexAttr(type.getDimSize(3))};
}

/// The query rows in f32, in the log2 domain: times scale * log2(e).
Value AttentionSplitter::loadQuery(const Item &item) {
  SmallVector<int64_t> shape = {rows, queryType.getDimSize(3)};
  SmallVector<OpFoldResult> ones(4, b.getIndexAttr(1));
  Value slice = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(shape, queryType.getElementType()),
      op.getQuery(), item.offsets, getRowSizes(queryType), ones);
  constexpr double kLog2E = 1.4426950408889634;
  double factor = op.getScale().convertToFloat() * kLog2E;
  Value init = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
  return buildStructuredOp(
             b, loc, "rc", "", {{slice, "rc"}}, {{init, "rc"}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
               return SmallVector<Value>{buildMul(b, loc,
                                                  buildExtend(b, loc, ins[0]),
                                                  buildF32(b, loc, factor))};
             })
      .front();
}

/// Tokens that the item's query sees: all, or those up to its own position,
/// length - query_tokens + i.
Value AttentionSplitter::countVisible(const Item &item) {
  Value length = getSequenceCount(op.getLengths(), item);
  if (!op.getCausal())
    return length;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1),
             d2 = b.getAffineDimExpr(2);
  AffineMap map = AffineMap::get(
      3, 0, {d0 - d1 + d2 + 1, b.getAffineConstantExpr(0)}, b.getContext());
  OpFoldResult queryTokens =
      tensor::getMixedSize(b, loc, op.getQuery(), /*dim=*/2);
  return getIndex(affine::makeComposedFoldedAffineMax(
      b, loc, map, {length, queryTokens, OpFoldResult(item.token)}));
}

/// The token ranges that the item's query sees, in order. Of a ring these are
/// the first tokens and the newest ones, of a sequence as long as it is: what
/// older queries than the newest one would see beside is gone.
SmallVector<std::pair<Value, Value>>
AttentionSplitter::getVisibleRanges(const Item &item) {
  Value zero = getIndex(b.getIndexAttr(0));
  Value visible = countVisible(item);
  if (!key.isRing())
    return {{zero, visible}};
  int64_t first = key.getKeepFirst();
  AffineExpr length = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {length - key.getNewestTokens(), b.getAffineConstantExpr(first)},
      b.getContext());
  Value newest = getIndex(affine::makeComposedFoldedAffineMax(
      b, loc, map, {OpFoldResult(getSequenceCount(op.getLengths(), item))}));
  Value newestBegin = arith::MinSIOp::create(b, loc, newest, visible);
  if (first == 0)
    return {{newestBegin, visible}};
  Value firstEnd =
      arith::MinSIOp::create(b, loc, getIndex(b.getIndexAttr(first)), visible);
  return {{zero, firstEnd}, {newestBegin, visible}};
}

/// Quantized tokens of the item's sequence: as the host says, or, without a
/// recent window, all but the exact first ones.
Value AttentionSplitter::countFlushed(CacheType cache, Value flushed,
                                      const Item &item) {
  if (flushed)
    return getSequenceCount(flushed, item);
  AffineExpr length = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {length - cache.getExactFirst(), b.getAffineConstantExpr(0)},
      b.getContext());
  return getIndex(affine::makeComposedFoldedAffineMax(
      b, loc, map, {OpFoldResult(getSequenceCount(op.getLengths(), item))}));
}

/// The state that has seen no token.
State AttentionSplitter::getIdentity() {
  auto fill = [&](ArrayRef<int64_t> shape, float value) {
    return buildFill(
        b, loc, tensor::EmptyOp::create(b, loc, shape, b.getF32Type()), value);
  };
  return {fill({rows, outputType.getDimSize(3)}, 0.f),
          fill({rows}, -std::numeric_limits<float>::infinity()),
          fill({rows}, 0.f)};
}

State AttentionSplitter::attend(const Item &item, Value begin, Value end,
                                const State &state) {
  auto partial = PartialAttentionOp::create(
      b, loc, state.acc.getType(), state.max.getType(), state.sum.getType(),
      loadQuery(item), op.getKey(), op.getValue(), item.sequence, item.head,
      begin, end, countFlushed(key, op.getKeyFlushed(), item),
      countFlushed(value, op.getValueFlushed(), item), op.getKeyPages(),
      op.getValuePages(), state.acc, state.max, state.sum, /*bias=*/Value(),
      op.getCos(), op.getSin(), op.getRopeStyleAttr(),
      /*keyRegion=*/nullptr, /*valueRegion=*/nullptr,
      /*tile=*/nullptr, /*withinPages=*/false);
  return {partial.getAccResult(), partial.getMaxResult(),
          partial.getSumResult()};
}

/// The state after one split of each range that the item's query sees:
/// ceil(tokens / splits) tokens each, so that borders depend on nothing else.
/// All of them where there are no splits.
State AttentionSplitter::attendToSplit(const Item &item, Value split) {
  SmallVector<std::pair<Value, Value>> ranges = getVisibleRanges(item);
  State state = getIdentity();
  for (auto [begin, end] : ranges) {
    if (split) {
      AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
      Value extent = getIndex(affine::makeComposedFoldedAffineApply(
          b, loc, AffineMap::get(2, 0, (d1 - d0).ceilDiv(splits)),
          {OpFoldResult(begin), OpFoldResult(end)}));
      Value offset = arith::MulIOp::create(b, loc, split, extent);
      Value first = b.createOrFold<arith::AddIOp>(loc, begin, offset);
      Value last = arith::AddIOp::create(b, loc, first, extent);
      begin = arith::MinUIOp::create(b, loc, first, end);
      end = arith::MinUIOp::create(b, loc, last, end);
    }
    state = attend(item, begin, end, state);
  }
  return state;
}

/// acc / sum, 0 for a row that saw no token, into the rows of the output.
void AttentionSplitter::storeOutput(const Item &item, const State &state,
                                    Value output) {
  SmallVector<int64_t> shape = {rows, outputType.getDimSize(3)};
  Type elementType = outputType.getElementType();
  SmallVector<OpFoldResult> ones(4, b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = getRowSizes(outputType);
  Value init = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(shape, elementType), output, item.offsets,
      sizes, ones);
  Value normalized =
      buildStructuredOp(
          b, loc, "rc", "", {{state.acc, "rc"}, {state.sum, "r"}},
          {{init, "rc"}},
          [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            Value zero = buildF32(b, loc, 0.0);
            Value empty = arith::CmpFOp::create(
                b, loc, arith::CmpFPredicate::OEQ, ins[1], zero);
            Value quotient = arith::DivFOp::create(b, loc, ins[0], ins[1]);
            Value result =
                arith::SelectOp::create(b, loc, empty, zero, quotient);
            return SmallVector<Value>{buildRound(b, loc, result, elementType)};
          })
          .front();
  auto forall = cast<scf::ForallOp>(b.getInsertionBlock()->getParentOp());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, loc, normalized, output,
                                        item.offsets, sizes, ones);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

void AttentionSplitter::run() {
  Value result = splits == 1 ? runUnsplit() : runSplit();
  b.replaceOp(op, result);
}

Value AttentionSplitter::runUnsplit() {
  SmallVector<OpFoldResult> items = {
      b.getIndexAttr(key.getBatch()), b.getIndexAttr(key.getHeads()),
      tensor::getMixedSize(b, loc, op.getQuery(), /*dim=*/2)};
  auto forall = createWorkItems(items, op.getInit());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  Item item = getItem(forall.getInductionVars());
  State state = attendToSplit(item, /*split=*/{});
  storeOutput(item, state, forall.getRegionIterArgs()[0]);
  return forall.getResult(0);
}

/// Partial states of all splits: splits x batch x kv_heads x query_tokens x
/// rows [x channels].
State AttentionSplitter::createWorkspace() {
  SmallVector<OpFoldResult> extents = {
      b.getIndexAttr(splits), b.getIndexAttr(key.getBatch()),
      b.getIndexAttr(key.getHeads()),
      tensor::getMixedSize(b, loc, op.getQuery(), /*dim=*/2),
      b.getIndexAttr(rows)};
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

Value AttentionSplitter::runSplit() {
  OpFoldResult queryTokens =
      tensor::getMixedSize(b, loc, op.getQuery(), /*dim=*/2);
  SmallVector<OpFoldResult> items = {b.getIndexAttr(key.getBatch()),
                                     b.getIndexAttr(key.getHeads()),
                                     queryTokens};
  SmallVector<OpFoldResult> splitItems = items;
  splitItems.push_back(b.getIndexAttr(splits));
  SmallVector<Value> workspace = createWorkspace().values();

  // Every split on its own, into the workspace.
  auto partials = createWorkItems(splitItems, workspace);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(partials.getTerminator());
    SmallVector<Value> ivs = partials.getInductionVars();
    Item item = getItem(ivs);
    State state = attendToSplit(item, ivs[3]);
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
  auto merges = createWorkItems(items, op.getInit());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(merges.getTerminator());
  SmallVector<Value> ivs = merges.getInductionVars();
  Item item = getItem(ivs);
  State identity = getIdentity();
  SmallVector<Value> parts;
  for (auto [whole, state] :
       llvm::zip_equal(partials.getResults(), identity.values())) {
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
  auto merged =
      MergePartialsOp::create(b, loc, ValueRange(identity.values()).getTypes(),
                              parts, identity.values());
  storeOutput(item,
              {merged.getResult(0), merged.getResult(1), merged.getResult(2)},
              merges.getRegionIterArgs()[0]);
  return merges.getResult(0);
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
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : ops) {
      if (failed(expectCaches(op)))
        return signalPassFailure();
      rewriter.setInsertionPoint(op);
      AttentionSplitter(rewriter, op, splits).run();
    }
  }

  /// Attention over float tensors has no lowering: it would read a cache that
  /// was rebuilt in full.
  LogicalResult expectCaches(AttentionOp op) {
    for (auto [name, operand] :
         {std::pair("key", op.getKey()), std::pair("value", op.getValue())})
      if (!isa<CacheType>(operand.getType()))
        return op.emitOpError("expected a cache as the ")
               << name << ", got " << operand.getType()
               << ": attention over tensors has no unfused lowering "
                  "(kvq-fuse-dequantize did not make it one over caches)";
    return success();
  }
};

} // namespace
