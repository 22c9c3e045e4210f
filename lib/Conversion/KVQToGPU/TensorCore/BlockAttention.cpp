//===- BlockAttention.cpp - Attention by a block's tensor cores -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockAttention.h"

#include "BlockEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// What is carried
//===----------------------------------------------------------------------===//

SmallVector<Value> WarpState::pack() const {
  SmallVector<Value> values = {keySlot, valueSlot, freeSlot};
  llvm::append_range(values, shift);
  llvm::append_range(values, sum);
  for (const PerColumn &sums : zeroSums)
    llvm::append_range(values, sums);
  for (const SmallVector<FragmentC> *fragments : {&acc, &rounded})
    for (const FragmentC &fragment : *fragments)
      llvm::append_range(values, fragment);
  return values;
}

void WarpState::unpack(ValueRange values) {
  auto take = [&](auto &array) {
    for (Value &value : array) {
      value = values.front();
      values = values.drop_front();
    }
  };
  std::array<Value, 3> slots;
  take(slots);
  std::tie(keySlot, valueSlot, freeSlot) =
      std::tuple(slots[0], slots[1], slots[2]);
  take(shift);
  take(sum);
  for (PerColumn &sums : zeroSums)
    take(sums);
  for (SmallVector<FragmentC> *fragments : {&acc, &rounded})
    for (FragmentC &fragment : *fragments)
      take(fragment);
}

/// The state before the first step.
WarpState BlockEmitter::createState() {
  WarpState state;
  Value slots = w.add(ring, w.mul(warp, kWarpSlots * plan.getSlotBytes()));
  state.keySlot = slots;
  state.valueSlot = w.add(slots, plan.getSlotBytes());
  state.freeSlot = w.add(slots, 2 * plan.getSlotBytes());
  Value zero = w.f32(0);
  state.shift.fill(zero);
  state.sum.fill(zero);
  FragmentC none = {zero, zero, zero, zero};
  state.acc.assign(plan.valueSteps.size(), none);
  if (!plan.value.element.isExact)
    state.rounded.assign(plan.value.groups, none);
  if (plan.value.zeroType)
    state.zeroSums.assign(plan.value.groups, {zero, zero});
  return state;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The f32 number that a group's zero adds to the values of its codes.
static void buildOffsets(WarpBuilder &w, const SidePlan &plan, PerToken &zeros,
                         const PerToken &scales) {
  FormatInterface format =
      plan.cache.getFormat().resolve(plan.cache.getHeadDim());
  for (auto [ofToken, scalesOfToken] : llvm::zip_equal(zeros, scales))
    for (auto [zero, scale] : llvm::zip_equal(ofToken, scalesOfToken))
      zero = format.buildOffset(w.builder, w.loc, scale, zero);
}

WarpState BlockEmitter::emitStep(Value stepBegin, WarpState state) {
  PerToken keyScales, keyZeros, valueScales, valueZeros;
  for (auto [side, scales, zeros] :
       {std::tuple(&key, &keyScales, &keyZeros),
        std::tuple(&value, &valueScales, &valueZeros)}) {
    if (side->plan->hasScales())
      *scales = loadScales(*side, stepBegin, /*zeros=*/false);
    if (side->plan->zeroType) {
      *zeros = loadScales(*side, stepBegin, /*zeros=*/true);
      buildOffsets(w, *side->plan, *zeros, *scales);
    }
  }
  int64_t stride = kBlockWarps * plan.stepTokens;
  Value next = w.add(stepBegin, stride);
  // Values of this step are still on their way when its keys are here.
  w.waitForCopies(1);
  w.syncWarp();
  copyStep(key, next, state.freeSlot);
  SmallVector<FragmentC> scores =
      emitScores(state, keyScales, keyZeros, stepBegin);
  w.waitForCopies(1);
  w.syncWarp();
  copyStep(value, next, state.keySlot);
  hideScores(scores, stepBegin);
  Probabilities probabilities = emitSoftmax(state, scores, valueScales);
  for (auto [group, sums] : llvm::enumerate(state.zeroSums))
    for (auto [f, fragment] : llvm::enumerate(probabilities.plain))
      for (auto [i, p] : llvm::enumerate(fragment)) {
        Value sum = w.fma(p, valueZeros[2 * f + i / 2][group], sums[i % 2]);
        if (op.hidesByPosition())
          sum = w.select(w.isGreater(p, w.f32(0)), sum, sums[i % 2]);
        sums[i % 2] = sum;
      }
  emitValues(state, probabilities);
  std::tie(state.keySlot, state.valueSlot, state.freeSlot) =
      std::tuple(state.freeSlot, state.keySlot, state.valueSlot);
  return state;
}

/// The offsets of codes of values are taken off the accumulators every so many
/// steps.
static constexpr int64_t kStepsPerOffset = 8;

void BlockEmitter::emitRowTile(Value firstRow) {
  loadQuery(firstRow);
  for (int64_t column = 0; column != 2; ++column) {
    Value row = w.add(w.add(firstRow, w.mul(laneColumn, 2)), column);
    row = w.min(row, w.i32(rows - 1));
    visibleBegin[column] = begin;
    visibleEnd[column] = end;
    if (op.getPosition()) {
      Value token = arith::RemUIOp::create(w.builder, w.loc, row,
                                           w.i32(op.getQueryTokens()));
      positions[column] = w.add(w.toI32(op.getPosition()), token);
      if (op.getCausal())
        visibleEnd[column] = w.min(end, w.add(positions[column], 1));
      if (std::optional<int64_t> window = op.getWindow())
        visibleBegin[column] =
            w.max(begin, w.add(positions[column], 1 - *window));
    }
    if (Value ofRows = op.getSlopes())
      slopes[column] = memref::LoadOp::create(w.builder, w.loc, ofRows,
                                              ValueRange{w.toIndex(row)});
  }

  // Steps are counted from where pages begin.
  Value first = w.add(begin, -plan.firstToken);
  first = w.sub(first, w.remUnsigned(first, plan.stepTokens));
  first = w.add(w.add(first, plan.firstToken), w.mul(warp, plan.stepTokens));
  WarpState state = createState();
  copyStep(key, first, state.keySlot);
  copyStep(value, first, state.valueSlot);

  int64_t stride = kBlockWarps * plan.stepTokens;
  auto step = [&](Value stepBegin, ValueRange carried) {
    WarpState inside = state;
    inside.unpack(carried);
    return emitStep(stepBegin, inside).pack();
  };
  SmallVector<Value> results;
  if (state.rounded.empty()) {
    results = w.buildFor(first, end, w.i32(stride), state.pack(), step);
  } else {
    int64_t outerStride = kStepsPerOffset * stride;
    results = w.buildFor(
        first, end, w.i32(outerStride), state.pack(),
        [&](Value outer, ValueRange carried) {
          Value last = w.min(end, w.add(outer, outerStride));
          WarpState inside = state;
          inside.unpack(w.buildFor(outer, last, w.i32(stride), carried, step));
          takeOffsetsOff(inside);
          return inside.pack();
        });
  }
  state.unpack(results);
  emitMerge(state, firstRow);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

BlockEmitter::BlockEmitter(OpBuilder &builder, BlockAttentionOp op,
                           const BlockPlan &plan, Value threadIndex, Value ring)
    : w(builder, op.getLoc()), op(op), plan(plan),
      rows(cast<MemRefType>(op.getQuery().getType()).getDimSize(0)),
      ring(ring) {
  thread = w.toI32(threadIndex);
  warp = w.divideUnsigned(thread, 32);
  lane = w.remUnsigned(thread, 32);
  laneRow = w.divideUnsigned(lane, 4);
  laneColumn = w.remUnsigned(lane, 4);
  begin = w.toI32(op.getBegin());
  end = w.toI32(op.getEnd());
  key = locateSide(plan.key, op.getKeys(), op.getKeyPages());
  value = locateSide(plan.value, op.getValues(), op.getValuePages());
}

void BlockEmitter::emit() {
  if (rows <= kFragmentRows)
    return emitRowTile(w.i32(0));
  w.buildFor(w.i32(0), w.i32(rows), w.i32(kFragmentRows), {},
             [&](Value firstRow, ValueRange) -> SmallVector<Value> {
               emitRowTile(firstRow);
               return {};
             });
}

static FailureOr<BlockPlan> getPlan(BlockAttentionOp op) {
  std::string whyNot;
  std::optional<BlockPlan> plan =
      BlockPlan::get(op.getKeyCache(), op.getKeyRegion(), op.getValueCache(),
                     op.getValueRegion(), op.getSharedBytes(), whyNot);
  if (!plan)
    return op.emitOpError("expected caches that tensor cores take, got that ")
           << whyNot;
  return *plan;
}

LogicalResult kvq::emitBlockAttention(RewriterBase &rewriter,
                                      BlockAttentionOp op, Value thread,
                                      Value ring) {
  FailureOr<BlockPlan> plan = getPlan(op);
  if (failed(plan))
    return failure();
  BlockEmitter(rewriter, op, *plan, thread, ring).emit();
  rewriter.eraseOp(op);
  return success();
}

FailureOr<int64_t> kvq::getRingBytes(BlockAttentionOp op) {
  FailureOr<BlockPlan> plan = getPlan(op);
  if (failed(plan))
    return failure();
  return plan->getSharedBytes();
}
