//===- SplitTokens.cpp - Attention to independent work items --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleTokens.h"

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

  scf::ForallOp runUnsplit();
  scf::ForallOp runSplit();
  State createWorkspace();

  scf::ForallOp createWorkItems(ArrayRef<OpFoldResult> extents,
                                ValueRange outputs) {
    return scf::ForallOp::create(
        b, loc, extents, outputs,
        WorkItemAttr::getMapping(b.getContext(), extents.size()));
  }
  /// What work items write: the output and lse, if it is asked for.
  SmallVector<Value> getOutputs() {
    SmallVector<Value> outputs = {op.getInit()};
    if (op.getLse())
      outputs.push_back(op.getLse());
    return outputs;
  }
  Item getItem(ValueRange ivs);
  SmallVector<OpFoldResult> getRowSizes(RankedTensorType type);
  Value loadQuery(const Item &item);
  Value loadMask(const Item &item);
  Value loadPerHead(Value operand, const Item &item, double factor);
  Value countFlushed(CacheType cache, Value flushed, const Item &item);
  State getIdentity();
  State getInitialState(const Item &item);
  State attend(const Item &item, Value begin, Value end, const State &state);
  State attendToSplit(const Item &item, Value split, State state);
  void storeResults(const Item &item, const State &state, ValueRange outputs);
  void storeOutput(const Item &item, const State &state, Value output);
  void storeLse(const Item &item, const State &state, Value output);

  /// The tile that the op's schedule asks for; null without.
  IntegerAttr getTile() {
    std::optional<int64_t> tile;
    if (ScheduleAttr schedule = op.getScheduleAttr())
      tile = schedule.getTile();
    return tile ? b.getI64IntegerAttr(*tile) : IntegerAttr();
  }

  Value getIndex(OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(b, loc, value);
  }
  VisibleTokens getVisible(const Item &item) {
    return {b, op, item.sequence, item.token};
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

/// The rows of an operand with an element for each query head, times `factor`;
/// null without operand.
Value AttentionSplitter::loadPerHead(Value operand, const Item &item,
                                     double factor) {
  if (!operand)
    return {};
  SmallVector<OpFoldResult> offset = {item.offsets[1]},
                            size = {b.getIndexAttr(rows)},
                            one = {b.getIndexAttr(1)};
  Value slice =
      tensor::ExtractSliceOp::create(b, loc, operand, offset, size, one);
  Value init = tensor::EmptyOp::create(b, loc, {rows}, b.getF32Type());
  return buildStructuredOp(
             b, loc, "r", "", {{slice, "r"}}, {{init, "r"}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
               return SmallVector<Value>{
                   buildMul(b, loc, ins[0], buildF32(b, loc, factor))};
             })
      .front();
}

/// The mask of the item's rows, or of all of them alike, for each token; null
/// without a mask.
Value AttentionSplitter::loadMask(const Item &item) {
  if (!op.getMask())
    return {};
  auto type = cast<RankedTensorType>(op.getMask().getType());
  bool perSequence = type.getDimSize(0) != 1, perHead = type.getDimSize(1) != 1;
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  int64_t maskRows = perHead ? rows : 1;
  SmallVector<OpFoldResult> offsets = {
      perSequence ? OpFoldResult(item.sequence) : zero,
      perHead ? item.offsets[1] : zero, item.token, zero};
  SmallVector<OpFoldResult> sizes = {
      one, b.getIndexAttr(maskRows), one,
      tensor::getMixedSize(b, loc, op.getMask(), 3)};
  SmallVector<OpFoldResult> ones(4, one);
  return tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get({maskRows, type.getDimSize(3)},
                            type.getElementType()),
      op.getMask(), offsets, sizes, ones);
}

/// Quantized tokens of the item's sequence: as the host says, or, without a
/// recent window, all but the exact first ones.
Value AttentionSplitter::countFlushed(CacheType cache, Value flushed,
                                      const Item &item) {
  if (flushed)
    return loadCount(b, loc, flushed, item.sequence);
  AffineExpr length = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {length - cache.getExactFirst(), b.getAffineConstantExpr(0)},
      b.getContext());
  return getIndex(affine::makeComposedFoldedAffineMax(
      b, loc, map,
      {OpFoldResult(loadCount(b, loc, op.getLengths(), item.sequence))}));
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

/// The state before any token: sinks have no value.
State AttentionSplitter::getInitialState(const Item &item) {
  State state = getIdentity();
  if (!op.getSinks())
    return state;
  state.max = loadPerHead(op.getSinks(), item, kLog2E);
  state.sum = buildFill(
      b, loc, tensor::EmptyOp::create(b, loc, {rows}, b.getF32Type()), 1.f);
  return state;
}

State AttentionSplitter::attend(const Item &item, Value begin, Value end,
                                const State &state) {
  auto partial = PartialAttentionOp::create(
      b, loc, state.acc.getType(), state.max.getType(), state.sum.getType(),
      loadQuery(item), op.getKey(), op.getValue(), item.sequence, item.head,
      begin, end, countFlushed(key, op.getKeyFlushed(), item),
      countFlushed(value, op.getValueFlushed(), item), op.getKeyPages(),
      op.getValuePages(), state.acc, state.max, state.sum, /*bias=*/Value(),
      loadPerHead(op.getSlopes(), item, kLog2E),
      op.getSlopes() ? getIndex(getVisible(item).getPosition()) : Value(),
      loadMask(item), op.getCos(), op.getSin(), op.getSoftcapAttr(),
      op.getValueChannelsAttr(), op.getRopeStyleAttr(),
      /*keyRegion=*/nullptr, /*valueRegion=*/nullptr, getTile(),
      /*withinPages=*/false, op.getQueryCodesAttr());
  return {partial.getAccResult(), partial.getMaxResult(),
          partial.getSumResult()};
}

/// `state` after one split of each range that the item's query sees:
/// ceil(tokens / splits) tokens each, so that borders depend on nothing else.
/// All of them where there are no splits.
State AttentionSplitter::attendToSplit(const Item &item, Value split,
                                       State state) {
  SmallVector<std::pair<Value, Value>> ranges = getVisible(item).getRanges();
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

/// (max + log2(sum)) / log2(e), -inf where there was nothing: the logarithm of
/// a sum that exp2 made.
void AttentionSplitter::storeLse(const Item &item, const State &state,
                                 Value output) {
  SmallVector<OpFoldResult> ones(3, b.getIndexAttr(1));
  SmallVector<OpFoldResult> offsets(ArrayRef(item.offsets).take_front(3));
  SmallVector<OpFoldResult> sizes = ones;
  sizes[1] = b.getIndexAttr(rows);
  Value init = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get({rows}, b.getF32Type()), output, offsets,
      sizes, ones);
  Value lse =
      buildStructuredOp(
          b, loc, "r", "", {{state.max, "r"}, {state.sum, "r"}}, {{init, "r"}},
          [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            Value exponent =
                buildAdd(b, loc, ins[0], math::Log2Op::create(b, loc, ins[1]));
            Value result =
                buildMul(b, loc, exponent, buildF32(b, loc, 1 / kLog2E));
            Value isEmpty =
                arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, ins[1],
                                      buildF32(b, loc, 0.0));
            Value none =
                buildF32(b, loc, -std::numeric_limits<float>::infinity());
            return SmallVector<Value>{
                arith::SelectOp::create(b, loc, isEmpty, none, result)};
          })
          .front();
  auto forall = cast<scf::ForallOp>(b.getInsertionBlock()->getParentOp());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, loc, lse, output, offsets, sizes,
                                        ones);
}

void AttentionSplitter::storeResults(const Item &item, const State &state,
                                     ValueRange outputs) {
  storeOutput(item, state, outputs.front());
  if (outputs.size() == 2)
    storeLse(item, state, outputs.back());
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

void AttentionSplitter::run() {
  scf::ForallOp items = splits == 1 ? runUnsplit() : runSplit();
  b.replaceOp(op, items.getResults());
}

scf::ForallOp AttentionSplitter::runUnsplit() {
  SmallVector<OpFoldResult> items = {
      b.getIndexAttr(key.getBatch()), b.getIndexAttr(key.getHeads()),
      tensor::getMixedSize(b, loc, op.getQuery(), /*dim=*/2)};
  auto forall = createWorkItems(items, getOutputs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  Item item = getItem(forall.getInductionVars());
  State state = attendToSplit(item, /*split=*/{}, getInitialState(item));
  storeResults(item, state, forall.getRegionIterArgs());
  return forall;
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

scf::ForallOp AttentionSplitter::runSplit() {
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
    State state = attendToSplit(item, ivs[3], getIdentity());
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
  auto merges = createWorkItems(items, getOutputs());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(merges.getTerminator());
  SmallVector<Value> ivs = merges.getInductionVars();
  Item item = getItem(ivs);
  State initial = getInitialState(item);
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
  storeResults(item,
               {merged.getResult(0), merged.getResult(1), merged.getResult(2)},
               merges.getRegionIterArgs());
  return merges;
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
      std::optional<int64_t> own;
      if (ScheduleAttr schedule = op.getScheduleAttr()) {
        own = schedule.getSplits();
        if (failed(passOn(schedule, op)))
          return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      AttentionSplitter(rewriter, op, own.value_or(splits)).run();
    }
  }

  /// The fields of a schedule that are those of loops, of all of a function
  /// alike, to the function.
  LogicalResult passOn(ScheduleAttr schedule, AttentionOp op) {
    if (!schedule.getVectorWidth() && !schedule.getPrefetch())
      return success();
    auto loops =
        ScheduleAttr::get(&getContext(), /*tile=*/std::nullopt,
                          /*splits=*/std::nullopt, schedule.getVectorWidth(),
                          schedule.getPrefetch());
    auto other = getOperation()->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
    if (other && other != loops)
      return op.emitOpError("expected vector width and prefetch distance of "
                            "the function's others, ")
             << other << ", got " << loops;
    getOperation()->setAttr(kScheduleAttrName, loops);
    return success();
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
      else if (failed(verifyAssignedLayout(op,
                                           cast<CacheType>(operand.getType()))))
        return failure();
    return success();
  }
};

} // namespace
