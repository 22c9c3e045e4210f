//===- WorkItem.cpp - One work item of attention --------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkItem.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

OpFoldResult WorkItems::getCount(OpBuilder &b) {
  OpFoldResult tokens =
      tensor::getMixedSize(b, op.getLoc(), op.getQuery(), /*dim=*/2);
  return affine::makeComposedFoldedAffineApply(
      b, op.getLoc(),
      AffineMap::get(1, 0, b.getAffineDimExpr(0).ceilDiv(queryTokens)),
      {tokens});
}

/// The most query heads in an item. A tile of 64 tokens has as many scores of
/// them as it has values of 64 channels.
static constexpr int64_t kMostHeads = 64;

int64_t WorkItems::getHeads() {
  int64_t group = op.getGroupSize();
  for (int64_t heads = std::min(group, kMostHeads); heads > 1; --heads)
    if (group % heads == 0)
      return heads;
  return 1;
}

int64_t WorkItems::getHeadsInside() {
  ScheduleAttr schedule = op.getScheduleAttr();
  if (!schedule || queryTokens != 1 || getParts() != 1)
    return 0;
  return schedule.getHeadsInside().value_or(0);
}

int64_t WorkItems::getAllHeads() {
  return getHeadsInside() == 0 ? getHeads()
                               : op.getQuery().getType().getDimSize(1);
}

int64_t WorkItems::countParts() {
  return op.getQuery().getType().getDimSize(1) / getAllHeads();
}

WorkItem::WorkItem(OpBuilder &b, WorkItems items, Value sequence, Value part,
                   Value index)
    : b(b), op(items.op), loc(op.getLoc()), sequence(sequence),
      tokenCount(b.getIndexAttr(items.queryTokens)),
      queryTokens(items.queryTokens), heads(items.getAllHeads()),
      rows(heads * queryTokens), splits(items.splits),
      headsInside(items.getHeadsInside()), headRows(op.getGroupSize()),
      queryType(cast<RankedTensorType>(op.getQuery().getType())),
      outputType(cast<RankedTensorType>(op.getInit().getType())) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult firstHead = affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(1, 0, d0 * heads), {OpFoldResult(part)});
  head = getIndex(affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(1, 0, d0.floorDiv(items.getParts())),
      {OpFoldResult(part)}));
  token = affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(1, 0, d0 * queryTokens), {OpFoldResult(index)});
  offsets = {sequence, firstHead, token, b.getIndexAttr(0)};
  OpFoldResult all = tensor::getMixedSize(b, loc, op.getQuery(), /*dim=*/2);
  std::optional<int64_t> known = getConstantIntValue(all);
  if (queryTokens == 1 || (known && *known % queryTokens == 0))
    return;
  tokenCount = affine::makeComposedFoldedAffineMin(
      b, loc,
      AffineMap::get(2, 0, {b.getAffineConstantExpr(queryTokens), d0 - d1},
                     b.getContext()),
      {all, token});
}

Value WorkItem::getIndex(OpFoldResult value) {
  return getValueOrCreateConstantIndexOp(b, loc, value);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The shape of rows as they lie in query and output, heads x query tokens x
/// channels; with one query token, which is no axis then, that of rows.
SmallVector<int64_t> WorkItem::getRowShape(int64_t channels, int64_t tokens) {
  if (queryTokens == 1)
    return {rows, channels};
  return {heads, tokens, channels};
}

SmallVector<OpFoldResult> WorkItem::getRowSizes(RankedTensorType type) {
  return {b.getIndexAttr(1), b.getIndexAttr(heads), tokenCount,
          b.getIndexAttr(type.getDimSize(3))};
}

static SmallVector<ReassociationIndices> getRowAxes(int64_t rank) {
  SmallVector<ReassociationIndices> axes = {{0, 1}};
  for (int64_t axis = 2; axis < rank; ++axis)
    axes.push_back({axis});
  return axes;
}

/// heads x query tokens x ... as rows x ....
Value WorkItem::joinRows(Value value) {
  if (queryTokens == 1)
    return value;
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  return tensor::CollapseShapeOp::create(b, loc, value, getRowAxes(rank));
}

/// rows x ... as heads x query tokens x ....
Value WorkItem::splitRows(Value value) {
  if (queryTokens == 1)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {heads, queryTokens};
  llvm::append_range(shape, type.getShape().drop_front());
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), value,
                                       getRowAxes(type.getRank() + 1));
}

/// The part of heads x query tokens [x channels] that is not padding.
Value WorkItem::dropPadding(Value value) {
  if (!hasPadding())
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> zeros(type.getRank(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(type.getRank(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(b.getContext(), type.getShape());
  sizes[1] = tokenCount;
  return tensor::ExtractSliceOp::create(b, loc, value, zeros, sizes, ones);
}

/// The query rows in f32, in the log2 domain: times scale * log2(e).
Value WorkItem::loadQuery() {
  int64_t channels = queryType.getDimSize(3);
  SmallVector<OpFoldResult> ones(4, b.getIndexAttr(1));
  Value slice = tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get(getRowShape(channels, getStaticTokens()),
                            queryType.getElementType()),
      op.getQuery(), offsets, getRowSizes(queryType), ones);
  double factor = op.getScale().convertToFloat() * kLog2E;
  Value init = tensor::EmptyOp::create(
      b, loc, getRowShape(channels, queryTokens), b.getF32Type());
  if (hasPadding())
    init = buildFill(b, loc, init, 0.f);
  StringRef axes = queryTokens == 1 ? "rc" : "hnc";
  Value part = dropPadding(init);
  Value scaled =
      buildStructuredOp(
          b, loc, axes, "", {{slice, axes}}, {{part, axes}},
          [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            return SmallVector<Value>{buildMul(
                b, loc, buildExtend(b, loc, ins[0]), buildF32(b, loc, factor))};
          })
          .front();
  if (auto place = part.getDefiningOp<tensor::ExtractSliceOp>())
    scaled = tensor::InsertSliceOp::create(
        b, loc, scaled, init, place.getMixedOffsets(), place.getMixedSizes(),
        place.getMixedStrides());
  return joinRows(scaled);
}

/// The rows of an operand with an element for each query head, times `factor`;
/// null without operand.
Value WorkItem::loadPerHead(Value operand, double factor) {
  if (!operand)
    return {};
  SmallVector<OpFoldResult> offset = {offsets[1]},
                            size = {b.getIndexAttr(heads)},
                            one = {b.getIndexAttr(1)};
  Value slice =
      tensor::ExtractSliceOp::create(b, loc, operand, offset, size, one);
  SmallVector<int64_t> shape = {heads};
  if (queryTokens != 1)
    shape.push_back(queryTokens);
  Value init = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
  StringRef axes = queryTokens == 1 ? "h" : "hn";
  return joinRows(
      buildStructuredOp(
          b, loc, axes, "", {{slice, "h"}}, {{init, axes}},
          [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            return SmallVector<Value>{
                buildMul(b, loc, ins[0], buildF32(b, loc, factor))};
          })
          .front());
}

/// The mask of the item's query tokens, for each head or for all of them alike,
/// and for each token; null without a mask.
Value WorkItem::loadMask() {
  if (!op.getMask())
    return {};
  auto type = cast<RankedTensorType>(op.getMask().getType());
  bool perSequence = type.getDimSize(0) != 1, perHead = type.getDimSize(1) != 1;
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  int64_t maskHeads = perHead ? heads : 1;
  SmallVector<OpFoldResult> at = {perSequence ? OpFoldResult(sequence) : zero,
                                  perHead ? offsets[1] : zero, token, zero};
  SmallVector<OpFoldResult> sizes = {
      one, b.getIndexAttr(maskHeads), tokenCount,
      tensor::getMixedSize(b, loc, op.getMask(), 3)};
  SmallVector<OpFoldResult> ones(4, one);
  return tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get({maskHeads, getStaticTokens(), type.getDimSize(3)},
                            type.getElementType()),
      op.getMask(), at, sizes, ones);
}

/// Quantized tokens of the item's sequence: as the host says, or, without a
/// recent window, all but the exact first ones.
Value WorkItem::countFlushed(CacheType cache, Value flushed) {
  if (flushed)
    return loadCount(b, loc, flushed, sequence);
  AffineExpr length = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {length - cache.getExactFirst(), b.getAffineConstantExpr(0)},
      b.getContext());
  return getIndex(affine::makeComposedFoldedAffineMax(
      b, loc, map,
      {OpFoldResult(loadCount(b, loc, op.getLengths(), sequence))}));
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

AttentionState WorkItem::getIdentity() {
  auto fill = [&](ArrayRef<int64_t> shape, float value) {
    return buildFill(
        b, loc, tensor::EmptyOp::create(b, loc, shape, b.getF32Type()), value);
  };
  return {fill({rows, outputType.getDimSize(3)}, 0.f),
          fill({rows}, -std::numeric_limits<float>::infinity()),
          fill({rows}, 0.f)};
}

AttentionState WorkItem::getInitialState() {
  AttentionState state = getIdentity();
  if (!op.getSinks())
    return state;
  state.max = loadPerHead(op.getSinks(), kLog2E);
  state.sum = buildFill(
      b, loc, tensor::EmptyOp::create(b, loc, {rows}, b.getF32Type()), 1.f);
  return state;
}

/// What rows are multiplied with, and what is added to their scores.
void WorkItem::loadInputs() {
  if (!inputs.query)
    inputs = {loadQuery(), loadPerHead(op.getSlopes(), kLog2E), loadMask()};
}

AttentionState WorkItem::attendToHead(Value head, const Inputs &inputs,
                                      const VisibleRange &range,
                                      const AttentionState &state) {
  bool isCausal = queryTokens != 1 && op.getCausal();
  IntegerAttr window, windowFirst;
  if (queryTokens != 1) {
    window = op.getWindowAttr();
    windowFirst = op.getWindowFirstAttr();
  }
  bool needsPosition = inputs.slopes || isCausal || window;
  ScheduleAttr schedule = op.getScheduleAttr();
  std::optional<int64_t> tile = schedule ? schedule.getTile() : std::nullopt;
  auto partial = PartialAttentionOp::create(
      b, loc, state.acc.getType(), state.max.getType(), state.sum.getType(),
      inputs.query, op.getKey(), op.getValue(), sequence, head, range.begin,
      range.end,
      countFlushed(cast<CacheType>(op.getKey().getType()), op.getKeyFlushed()),
      countFlushed(cast<CacheType>(op.getValue().getType()),
                   op.getValueFlushed()),
      op.getKeyPages(), op.getValuePages(), state.acc, state.max, state.sum,
      /*bias=*/Value(), inputs.slopes,
      needsPosition ? getIndex(getVisible(token).getPosition()) : Value(),
      inputs.mask, op.getCos(), op.getSin(), op.getSoftcapAttr(),
      op.getValueChannelsAttr(), op.getRopeStyleAttr(), queryTokens, isCausal,
      window, windowFirst,
      /*key_region=*/nullptr, /*value_region=*/nullptr,
      tile ? b.getI64IntegerAttr(*tile) : IntegerAttr(),
      /*within_pages=*/false, op.getQueryCodesAttr());
  return {partial.getAccResult(), partial.getMaxResult(),
          partial.getSumResult()};
}

/// The rows of a KV head among those of all, from `firstRow` on.
Value WorkItem::extractHead(Value rows, Value firstRow) {
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes = tensor::getMixedSizes(b, loc, rows),
      ones(type.getRank(), b.getIndexAttr(1));
  offsets[0] = firstRow;
  sizes[0] = b.getIndexAttr(headRows);
  return tensor::ExtractSliceOp::create(b, loc, rows, offsets, sizes, ones);
}

/// Some tokens at a time, all KV heads in turn, each with its rows of the
/// state.
AttentionState WorkItem::attendToHeads(const VisibleRange &range,
                                       const AttentionState &state) {
  OpBuilder::InsertionGuard guard(b);
  auto bind = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  Value step = bind(headsInside), zero = bind(0), one = bind(1);
  Value kvHeads = bind(heads / headRows), ofHead = bind(headRows);
  // At multiples of the step, so that pages and groups are whole.
  Value first = b.createOrFold<arith::MulIOp>(
      loc, b.createOrFold<arith::DivUIOp>(loc, range.begin, step), step);
  auto tokens = scf::ForOp::create(b, loc, first, range.end, step,
                                   ValueRange(state.values()));
  b.setInsertionPointToStart(tokens.getBody());
  Value at = tokens.getInductionVar();
  Value behind = arith::AddIOp::create(b, loc, at, step);
  VisibleRange part = range;
  part.begin = b.createOrFold<arith::MaxSIOp>(loc, at, range.begin);
  part.end = arith::MinSIOp::create(b, loc, behind, range.end);
  auto inside = scf::ForOp::create(b, loc, zero, kvHeads, one,
                                   tokens.getRegionIterArgs());
  scf::YieldOp::create(b, loc, inside.getResults());
  b.setInsertionPointToStart(inside.getBody());
  Value kvHead = inside.getInductionVar();
  Value firstRow = arith::MulIOp::create(b, loc, kvHead, ofHead);
  Inputs own = {extractHead(inputs.query, firstRow), inputs.slopes,
                inputs.mask};
  if (own.slopes)
    own.slopes = extractHead(own.slopes, firstRow);
  if (own.mask && cast<RankedTensorType>(own.mask.getType()).getDimSize(0) != 1)
    own.mask = extractHead(own.mask, firstRow);
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Value whole : inside.getRegionIterArgs())
    slices.push_back(
        extractHead(whole, firstRow).getDefiningOp<tensor::ExtractSliceOp>());
  AttentionState found =
      attendToHead(kvHead, own, part, {slices[0], slices[1], slices[2]});
  SmallVector<Value> inserted;
  for (auto [rows, slice] : llvm::zip_equal(found.values(), slices))
    inserted.push_back(tensor::InsertSliceOp::create(
        b, loc, rows, slice.getSource(), slice.getMixedOffsets(),
        slice.getMixedSizes(), slice.getMixedStrides()));
  scf::YieldOp::create(b, loc, inserted);
  return {tokens.getResult(0), tokens.getResult(1), tokens.getResult(2)};
}

AttentionState WorkItem::attendTo(const VisibleRange &range,
                                  const AttentionState &state) {
  loadInputs();
  if (headsInside != 0)
    return attendToHeads(range, state);
  return attendToHead(head, inputs, range, state);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// `range` cut down to one split.
VisibleRange WorkItem::restrictToSplit(Value split, VisibleRange range) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value extent = getIndex(affine::makeComposedFoldedAffineMax(
      b, loc,
      AffineMap::get(2, 0,
                     {(d1 - d0).ceilDiv(splits), b.getAffineConstantExpr(0)},
                     b.getContext()),
      {OpFoldResult(range.begin), OpFoldResult(range.end)}));
  Value offset = arith::MulIOp::create(b, loc, split, extent);
  range.begin = b.createOrFold<arith::AddIOp>(loc, range.begin, offset);
  Value end = arith::AddIOp::create(b, loc, range.begin, extent);
  range.end = arith::MinSIOp::create(b, loc, range.end, end);
  return range;
}

/// Ranges begin and end for later queries no earlier. What the first or the
/// last one sees is attended to by all, and what a query does not see is hidden
/// from it by where it stands.
AttentionState WorkItem::attend(Value split, AttentionState state) {
  SmallVector<VisibleRange> ranges = getVisible(token).getRanges();
  if (queryTokens != 1) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult last = affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(2, 0, d0 + d1 - 1), {token, tokenCount});
    for (auto [range, ofLast] :
         llvm::zip_equal(ranges, getVisible(last).getRanges()))
      range.end = ofLast.end;
  }
  if (split)
    for (VisibleRange &range : ranges)
      range = restrictToSplit(split, range);
  return attendToAll(ranges, state);
}

/// The ranges one after the other, in a loop if there are several: the code for
/// one is long, and the same for all.
AttentionState WorkItem::attendToAll(ArrayRef<VisibleRange> ranges,
                                     const AttentionState &state) {
  if (ranges.size() == 1)
    return attendTo(ranges.front(), state);
  // What all ranges share comes before.
  loadInputs();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(ranges.size()),
                                 constant(1), ValueRange(state.values()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  VisibleRange range = ranges.back();
  for (size_t index = ranges.size() - 1; index-- > 0;) {
    const VisibleRange &other = ranges[index];
    Value isOther =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                              loop.getInductionVar(), constant(index));
    range.begin =
        arith::SelectOp::create(b, loc, isOther, other.begin, range.begin);
    range.end = arith::SelectOp::create(b, loc, isOther, other.end, range.end);
  }
  ValueRange carried = loop.getRegionIterArgs();
  AttentionState next = attendTo(range, {carried[0], carried[1], carried[2]});
  scf::YieldOp::create(b, loc, next.values());
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// acc / sum, 0 for a row that saw no token, into the rows of the output.
void WorkItem::storeOutput(const AttentionState &state, Value output) {
  Type elementType = outputType.getElementType();
  SmallVector<OpFoldResult> ones(4, b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = getRowSizes(outputType);
  Value init = tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get(
          getRowShape(outputType.getDimSize(3), getStaticTokens()),
          elementType),
      output, offsets, sizes, ones);
  StringRef axes = queryTokens == 1 ? "rc" : "hnc";
  Value normalized =
      buildStructuredOp(
          b, loc, axes, "",
          {{dropPadding(splitRows(state.acc)), axes},
           {dropPadding(splitRows(state.sum)), axes.drop_back()}},
          {{init, axes}},
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
  tensor::ParallelInsertSliceOp::create(b, loc, normalized, output, offsets,
                                        sizes, ones);
}

/// (max + log2(sum)) / log2(e), -inf where there was nothing: the logarithm of
/// a sum that exp2 made.
void WorkItem::storeLse(const AttentionState &state, Value output) {
  SmallVector<OpFoldResult> ones(3, b.getIndexAttr(1));
  SmallVector<OpFoldResult> at(ArrayRef(offsets).take_front(3));
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(1), b.getIndexAttr(heads),
                                     tokenCount};
  SmallVector<int64_t> shape = getRowShape(/*channels=*/1, getStaticTokens());
  shape.pop_back();
  Value init = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(shape, b.getF32Type()), output, at, sizes,
      ones);
  StringRef axes = queryTokens == 1 ? "r" : "hn";
  Value lse =
      buildStructuredOp(
          b, loc, axes, "",
          {{dropPadding(splitRows(state.max)), axes},
           {dropPadding(splitRows(state.sum)), axes}},
          {{init, axes}},
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
  tensor::ParallelInsertSliceOp::create(b, loc, lse, output, at, sizes, ones);
}

void WorkItem::storeResults(const AttentionState &state, ValueRange outputs) {
  storeOutput(state, outputs.front());
  if (outputs.size() == 2)
    storeLse(state, outputs.back());
}
