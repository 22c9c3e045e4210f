//===- BlockAttention.cpp - Attention by a block's tensor cores -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockAttention.h"

#include "BlockEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// What is carried
//===----------------------------------------------------------------------===//

SmallVector<Value> ColumnState::pack() const {
  SmallVector<Value> values(shift.begin(), shift.end());
  llvm::append_range(values, sum);
  for (const PerColumn &sums : zeroSums)
    llvm::append_range(values, sums);
  for (const FragmentC &fragment : acc)
    llvm::append_range(values, fragment);
  for (const FragmentC &sums : rounded)
    llvm::append_range(values, sums);
  for (const PerColumn &sums : scaled)
    llvm::append_range(values, sums);
  return values;
}

void ColumnState::unpack(ValueRange values) {
  auto take = [&](auto &array) {
    for (Value &value : array) {
      value = values.front();
      values = values.drop_front();
    }
  };
  take(shift);
  take(sum);
  for (PerColumn &sums : zeroSums)
    take(sums);
  for (FragmentC &fragment : acc)
    take(fragment);
  for (FragmentC &sums : rounded)
    take(sums);
  for (PerColumn &sums : scaled)
    take(sums);
}

SmallVector<Value> WarpState::pack() const {
  SmallVector<Value> values(slots.begin(), slots.end() - 1);
  llvm::append_range(values, keyPages);
  llvm::append_range(values, valuePages);
  for (const ColumnState &tile : tiles)
    llvm::append_range(values, tile.pack());
  return values;
}

void WarpState::unpack(ValueRange values) {
  auto take = [&](MutableArrayRef<Value> some) {
    llvm::copy(values.take_front(some.size()), some.begin());
    values = values.drop_front(some.size());
  };
  take(MutableArrayRef(slots).drop_back());
  take(keyPages);
  take(valuePages);
  size_t perTile = values.size() / tiles.size();
  for (auto [i, tile] : llvm::enumerate(tiles))
    tile.unpack(values.slice(i * perTile, perTile));
}

/// To the next step: the keys of the step ahead are in what was the free slot,
/// its values in that of the step's keys. `later` follows on the step ahead.
void WarpState::advance(const Step &later) {
  std::rotate(slots.begin(), slots.begin() + 2, slots.end());
  addPages(later);
  for (auto *pages : {&keyPages, &valuePages})
    if (!pages->empty())
      pages->erase(pages->begin());
}

void WarpState::addPages(const Step &step) {
  if (step.keyPage)
    keyPages.push_back(step.keyPage);
  if (step.valuePage)
    valuePages.push_back(step.valuePage);
}

/// The step at `begin`, the `ahead`th after this one, whose pages are known.
Step WarpState::getStep(Value begin, StepKind kind, size_t ahead) const {
  auto getPage = [&](ArrayRef<Value> pages) {
    return pages.empty() ? Value() : pages[ahead];
  };
  return {begin, kind, getPage(keyPages), getPage(valuePages)};
}

/// The i32 address of a byte of a slot. What is the lane's is added first, as
/// it is the same in each step.
Value BlockEmitter::getSlotAddress(Value slot, Value ofLane) {
  return w.add(slot, w.add(warpSlots, ofLane));
}

/// The free slot is the one that the others are not: what is left of all slots,
/// bit by bit, without them. It costs less than to be carried.
void BlockEmitter::findFreeSlot(WarpState &state) {
  int64_t all = 0;
  for (int64_t slot = 0; slot != plan.getWarpSlots(); ++slot)
    all ^= slot * plan.getSlotBytes();
  Value free = w.i32(all);
  for (Value slot : ArrayRef(state.slots).drop_back())
    free = w.bitXor(free, slot);
  state.slots.back() = free;
}

/// The state before the first step.
WarpState BlockEmitter::createState() {
  WarpState state;
  for (int64_t slot = 0; slot != plan.getWarpSlots(); ++slot)
    state.slots.push_back(w.i32(slot * plan.getSlotBytes()));
  Value zero = w.f32(0);
  ColumnState empty;
  empty.shift.fill(zero);
  empty.sum.fill(zero);
  empty.acc.assign(plan.valueSteps.size(), {zero, zero, zero, zero});
  if (getOffset(plan.value.element, 0) != 0 || plan.value.multipliesFP8)
    empty.rounded.assign(plan.sumsGroupsInRows() ? 1 : plan.value.groups,
                         {zero, zero, zero, zero});
  if (plan.value.multipliesFP8)
    empty.scaled.assign(plan.value.groups, {zero, zero});
  if (plan.value.hasTokenZeros())
    empty.zeroSums.assign(multipliesValueZeros() ? 1 : plan.value.groups,
                          {zero, zero});
  state.tiles.assign(tiles.size(), empty);
  return state;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

WarpState BlockEmitter::emitStep(const Step &step, WarpState state) {
  findFreeSlot(state);
  int64_t tokens = plan.depth * plan.getStride();
  Step ahead = state.getStep(w.add(step.begin, tokens), step.kind, plan.depth);
  ahead.some = w.add(step.some, tokens);
  return step.kind == StepKind::Whole ? emitWholeStep(step, ahead, state)
                                      : emitPartialStep(step, ahead, state);
}

WarpState BlockEmitter::emitWholeStep(const Step &step, const Step &ahead,
                                      WarpState state) {
  // Ahead of time where that counts.
  TokenScales valueScales = loadScales(value, step);
  // Values of this step are still on their way when its keys are here.
  awaitCopies(key, step, state.getKeySlot());
  copyStep(key, ahead, state.slots.back());
  SmallVector<Scores> scores = emitScores(state, step);
  awaitCopies(value, step, state.getValueSlot());
  copyStep(value, ahead, state.getKeySlot());
  Step later = createLaterStep(ahead);
  SmallVector<ScaledProbabilities> probabilities;
  // Of several groups again and again, lest they are in registers between.
  bool loadsAgain = plan.value.copiesScales && plan.value.groups > 1;
  if (plan.value.copiesScales && !loadsAgain)
    valueScales = loadAllCopiedScales(value, state.getValueSlot());
  auto getScales = [&] {
    return loadsAgain ? loadAllCopiedScales(value, state.getValueSlot())
                      : valueScales;
  };
  auto isolateInSlot = [&](ColumnState &tile) {
    isolateGroups(tile, state.getValueSlot());
  };
  IsolateGroups isolate;
  if (isolatesGroups())
    isolate = isolateInSlot;
  for (auto [tile, of] : llvm::zip_equal(state.tiles, scores))
    probabilities.push_back(
        emitSoftmax(tile, step.kind, of, getScales, isolate));
  emitMaskedValues(state, step, probabilities);
  state.advance(later);
  return state;
}

WarpState BlockEmitter::emitPartialStep(const Step &step, const Step &ahead,
                                        WarpState state) {
  awaitCopies(key, step, state.getKeySlot());
  copyStep(key, ahead, state.slots.back());
  awaitCopies(value, step, state.getValueSlot());
  WarpState after = emitPartialSpans(step, state);
  // All lanes have loaded keys before values take their place.
  w.syncWarp();
  copyStep(value, ahead, state.getKeySlot());
  after.advance(createLaterStep(ahead));
  return after;
}

/// The step that begins with a span of another one.
Step BlockEmitter::getSpan(const Step &step, Value span) {
  Step other = step;
  other.begin = w.add(step.begin, w.mul(span, plan.getSpanTokens()));
  return other;
}

WarpState BlockEmitter::emitPartialSpans(const Step &step, WarpState state) {
  if (plan.getSpans() == 1)
    return emitPartialSpan(step, state);
  // There may be no scales for groups of which no token is there.
  Value tokens = w.add(w.sub(end, step.begin), plan.getSpanTokens() - 1);
  Value spans = w.min(w.divideUnsigned(tokens, plan.getSpanTokens()),
                      w.i32(plan.getSpans()));
  WarpState after = state;
  after.unpack(
      w.buildFor(w.i32(0), spans, w.i32(1), state.pack(),
                 [&](Value span, ValueRange carried) {
                   w.keepRolled();
                   WarpState inside = state;
                   inside.unpack(carried);
                   auto advance = [&](const SidePlan &side, Value slot) {
                     return w.add(slot, w.mul(span, plan.getSpanBytes(side)));
                   };
                   inside.slots[0] = advance(plan.key, state.getKeySlot());
                   inside.slots[1] = advance(plan.value, state.getValueSlot());
                   inside = emitPartialSpan(getSpan(step, span), inside);
                   inside.slots = state.slots;
                   return inside.pack();
                 }));
  return after;
}

/// Fragment by fragment, in a loop that stays one: such steps are few, and all
/// of one at once would need more registers than whole ones.
WarpState BlockEmitter::emitPartialSpan(const Step &step, WarpState state) {
  SmallVector<QueryColumns, 1> queries = getQueries(state, step);
  WarpState after = state;
  after.unpack(w.buildFor(
      w.i32(0), w.i32(plan.getSpanFragments()), w.i32(1), state.pack(),
      [&](Value fragment, ValueRange carried) {
        w.keepRolled();
        WarpState inside = state;
        inside.unpack(carried);
        // The fragment is the first one of a step that begins with its token.
        Step part = step;
        part.begin = w.add(step.begin, w.mul(fragment, 2));
        auto advance = [&](const SidePlan &side, Value slot) {
          return w.add(slot, w.mul(fragment, side.getFragmentBytes()));
        };
        inside.slots[0] = advance(plan.key, state.getKeySlot());
        inside.slots[1] = advance(plan.value, state.getValueSlot());
        emitPart(part, queries, inside);
        inside.slots = state.slots;
        return inside.pack();
      }));
  return after;
}

/// The first fragment of a partial step.
void BlockEmitter::emitPart(const Step &part, ArrayRef<QueryColumns> queries,
                            WarpState &state) {
  SmallVector<Scores> scores(tiles.size());
  SmallVector<QueryColumns, 1> loaded(queries);
  if (plan.loadsQueryAgain())
    for (auto [i, query] : llvm::enumerate(loaded)) {
      loadTileInits(query, i);
      loadTileQuery(query, i, 0);
    }
  addScores(
      scores, state, part, loaded,
      [&] { return loadGuardedScales(key, part, 0, 2); }, 0);
  if (op.getMask())
    for (auto [of, mask] : llvm::zip_equal(scores, loadMask(part)))
      applyMask(of, mask);
  for (auto [tile, of] : llvm::zip_equal(tiles, scores))
    hideScores(tile, of, part.begin);
  if (plan.loadsQueryAgain())
    w.syncWarp();
  TokenScales scales = loadGuardedScales(value, part, 0, 2);
  SmallVector<ScaledProbabilities> probabilities;
  for (auto [tile, of] : llvm::zip_equal(state.tiles, scores))
    probabilities.push_back(
        emitSoftmax(tile, part.kind, of, [&] { return scales; }));
  emitPartialValues(state, part, probabilities);
}

/// The warp's partial steps from `first` to `last`.
WarpState BlockEmitter::emitPartialLoop(Value first, Value last,
                                        WarpState state) {
  WarpState after = state;
  after.unpack(w.buildFor(
      first, last, w.i32(plan.getStride()), state.pack(),
      [&](Value stepBegin, ValueRange carried) {
        WarpState inside = state;
        inside.unpack(carried);
        inside = emitStep(inside.getStep(stepBegin, StepKind::Partial), inside);
        // Few steps; whole ones leave it to the rounds.
        takeOffsetsOff(inside);
        return inside.pack();
      }));
  return after;
}

/// So many whole steps of the warp from `first` on; none of a negative `first`.
/// Also returns where they end. How many are left is in the bits that a step's
/// first token has none of, so that one register says that, too. It counts from
/// what is needed most: the token whose page is loaded.
std::pair<Value, WarpState>
BlockEmitter::emitWholeLoop(Value first, Value steps, WarpState state) {
  int64_t mask = plan.stepTokens - 1;
  int64_t bias = (plan.depth + 1) * plan.getStride() - plan.firstToken;
  SmallVector<Value> carried = {w.add(w.add(first, steps), bias)};
  llvm::append_range(carried, state.pack());
  auto isMore = [&](ValueRange carried) {
    return w.compare(arith::CmpIPredicate::ne, w.bitAnd(carried.front(), mask),
                     w.i32(0));
  };
  carried = w.buildWhile(carried, isMore, [&](ValueRange carried) {
    WarpState inside = state;
    inside.unpack(carried.drop_front());
    Value begin = w.add(w.bitAnd(carried.front(), ~mask), -bias);
    Step step = inside.getStep(begin, StepKind::Whole);
    step.some = w.add(carried.front(), -bias);
    inside = emitStep(step, inside);
    SmallVector<Value> next = {w.add(carried.front(), plan.getStride() - 1)};
    llvm::append_range(next, inside.pack());
    return next;
  });
  WarpState after = state;
  after.unpack(ArrayRef(carried).drop_front());
  return {w.add(carried.front(), -bias), after};
}

/// The steps of which nothing is known of the first round and of the last one:
/// copied by lanes, between bulk copies where there are such.
WarpState BlockEmitter::emitPartialSteps(Value first, Value last,
                                         WarpState state, Value isFirst,
                                         Value isLast) {
  auto emitLoop = [&](WarpState state) {
    return relocate().emitPartialLoop(first, last, state);
  };
  if (!copiesInBulk)
    return emitLoop(state);
  auto emitUnless = [&](Value condition, llvm::function_ref<void()> emit) {
    auto emitNothing = []() -> SmallVector<Value> { return {}; };
    w.buildIf(condition, {}, emitNothing, [&]() -> SmallVector<Value> {
      emit();
      return {};
    });
  };
  SmallVector<Value> carried = state.pack();
  WarpState after = state;
  after.unpack(w.buildIf(
      w.eitherTrue(isFirst, isLast), ValueRange(carried).getTypes(),
      [&] {
        findFreeSlot(state);
        emitUnless(isFirst, [&] { endBulkCopies(state); });
        WarpState inside = emitLoop(state);
        findFreeSlot(inside);
        emitUnless(isLast, [&] { beginBulkCopies(inside); });
        return inside.pack();
      },
      [&] { return carried; }));
  return after;
}

/// The warp's steps from `first` on, in rounds of so many whole ones, in a loop
/// of their own, after which the offsets of codes of values are taken off.
/// Before the first round's and in place of the last one's come those of which
/// nothing is known.
WarpState BlockEmitter::emitSteps(Value first, WarpState state) {
  // The narrower codes are, the larger are offsets beside them.
  const StoredElement &element = plan.value.element;
  int64_t roundSteps = element.isExact() ? 8 : element.bits;
  int64_t stride = plan.getStride();
  int64_t roundTokens = roundSteps * stride;
  auto roundUp = [&](Value tokens, int64_t multiple) { // 0 below 0
    Value sum = w.add(w.max(tokens, w.i32(0)), multiple - 1);
    return w.sub(sum, w.remUnsigned(sum, multiple));
  };
  auto getWholeFirst = [&](const TokenRange &seen, Value first) {
    return w.add(first, roundUp(w.sub(seen.begin, first), stride));
  };
  auto countWholeTokens = [&](const TokenRange &seen, Value wholeFirst) {
    // Those that are copied during a whole step are whole, too.
    Value wholeEnd = w.add(seen.end, 1 - plan.depth * stride - plan.stepTokens);
    return roundUp(w.sub(wholeEnd, wholeFirst), stride);
  };
  // A step before all tokens: rounds may be before the plan's first token.
  int64_t none = plan.firstToken % plan.stepTokens - plan.stepTokens;
  SmallVector<Value> carried = {getWholeFirst(common, first)};
  llvm::append_range(carried, state.pack());
  carried = w.buildDoWhile(carried, [&](ValueRange carried) {
    // A multiple of a step's tokens, as pages are: that is to be known.
    Value round = w.add(carried.front(), -plan.firstToken);
    round = w.sub(round, w.remUnsigned(round, plan.stepTokens));
    round = w.add(round, plan.firstToken);
    WarpState inside = state;
    inside.unpack(carried.drop_front());
    // Anew in each round: they are not to be in registers during steps.
    BlockEmitter here = relocate();
    Value firstStep = here.getFirstStep();
    Value wholeFirst = getWholeFirst(here.common, firstStep);
    Value wholeLast =
        w.add(wholeFirst, countWholeTokens(here.common, wholeFirst));
    Value isFirst = w.compare(arith::CmpIPredicate::eq, round, wholeFirst);
    Value isLast = w.compare(arith::CmpIPredicate::sge, round, wholeLast);
    Value before = w.select(isFirst, wholeFirst, w.i32(0));
    inside = emitPartialSteps(w.select(isFirst, firstStep, wholeLast),
                              w.select(isLast, here.end, before), inside,
                              isFirst, isLast);
    // The last round, which has no whole steps, says that there is no more.
    Value steps = w.divideUnsigned(
        w.sub(w.min(wholeLast, w.add(round, roundTokens)), round), stride);
    round = w.select(isLast, w.i32(none), round);
    steps = w.select(isLast, w.i32(0), steps);
    Value next;
    std::tie(next, inside) = relocate().emitWholeLoop(round, steps, inside);
    relocate().takeOffsetsOff(inside);
    SmallVector<Value> after = {next};
    llvm::append_range(after, inside.pack());
    Value isMore = w.compare(arith::CmpIPredicate::sge, next, w.i32(0));
    return std::pair(isMore, after);
  });
  WarpState after = state;
  after.unpack(ArrayRef(carried).drop_front());
  return after;
}

/// What a query token at a position sees.
TokenRange BlockEmitter::getVisible(Value position) {
  TokenRange range = {begin, end};
  if (op.getCausal())
    range.end = w.min(end, w.add(position, 1));
  if (std::optional<int64_t> window = op.getWindow())
    range.begin = w.max(begin, w.add(position, 1 - *window));
  return range;
}

/// Whether a token is among those of the range and the window's first ones.
Value BlockEmitter::sees(const TokenRange &range, Value token) {
  auto isWithin = [&](Value first, Value last) {
    return w.bothTrue(w.compare(arith::CmpIPredicate::sge, token, first),
                      w.compare(arith::CmpIPredicate::slt, token, last));
  };
  Value isSeen = isWithin(range.begin, range.end);
  if (std::optional<int64_t> first =
          op.getWindow() ? op.getWindowFirst() : std::nullopt)
    isSeen =
        w.eitherTrue(isSeen, isWithin(begin, w.min(range.end, w.i32(*first))));
  return isSeen;
}

/// What all query rows see, and what some do.
void BlockEmitter::setVisibleTokens() {
  common = some = {begin, end};
  if (!position)
    return;
  TokenRange ofFirst = getVisible(position);
  TokenRange ofLast = getVisible(w.add(position, op.getQueryTokens() - 1));
  common = {ofLast.begin, ofFirst.end};
  some = {ofFirst.begin, ofLast.end};
}

/// The lane's row of the query in a column of a tile.
Value BlockEmitter::getColumnRow(const ColumnTile &tile, int64_t column) {
  Value row = w.add(w.add(tile.firstRow, w.mul(laneColumn, 2)), column);
  return w.min(row, w.i32(rows - 1));
}

/// What the rows of a tile see.
void BlockEmitter::setVisibleTokens(ColumnTile &tile) {
  for (int64_t column = 0; column != 2; ++column) {
    tile.visible[column] = some;
    if (!position)
      continue;
    Value token =
        w.remUnsigned(getColumnRow(tile, column), op.getQueryTokens());
    tile.positions[column] = w.add(position, token);
    tile.visible[column] = getVisible(tile.positions[column]);
  }
}

/// The query rows from `firstRow` on.
ColumnTile BlockEmitter::createTile(Value firstRow) {
  ColumnTile tile;
  tile.firstRow = firstRow;
  if (!plan.key.foldsIntoQuery())
    tile.query = buildQuery(firstRow, /*step=*/nullptr);
  setVisibleTokens(tile);
  for (int64_t column = 0; column != 2; ++column) {
    Value row = getColumnRow(tile, column);
    auto loadOfRow = [&](Value ofRows) -> Value {
      if (!ofRows)
        return {};
      return memref::LoadOp::create(w.builder, w.loc, ofRows,
                                    ValueRange{w.toIndex(row)});
    };
    tile.biases[column] = loadOfRow(op.getBias());
    tile.slopes[column] = loadOfRow(op.getSlopes());
    if (op.getMask())
      tile.maskRows[column] = locateMaskRow(row);
  }
  return tile;
}

/// Where the warp's first step begins. Steps are counted from where pages
/// begin.
Value BlockEmitter::getFirstStep() {
  Value first = w.add(begin, -plan.firstToken);
  first = w.sub(first, w.remUnsigned(first, plan.stepTokens));
  return w.add(w.add(first, plan.firstToken), w.mul(warp, plan.stepTokens));
}

/// Attends to as many query rows at once as the plan has columns for.
void BlockEmitter::emitRows(Value firstRow) {
  tiles.clear();
  for (int64_t tile = 0; tile != plan.columnTiles; ++tile)
    tiles.push_back(createTile(w.add(firstRow, tile * kFragmentRows)));
  storeQuads(firstRow);
  // Copies may take the place of the query; all warps load quads.
  if (copiesInBulk)
    w.fenceForBulkCopies();
  w.syncBlock();
  Value first = getFirstStep();
  WarpState state = createState();
  for (int64_t i = 0; i != plan.depth; ++i) {
    Step step =
        createStep(w.add(first, i * plan.getStride()), StepKind::Partial);
    state.addPages(step);
    copyStep(key, step, state.slots[2 * i]);
    copyStep(value, step, state.slots[2 * i + 1]);
  }
  state.addPages(createStep(w.add(first, plan.depth * plan.getStride()),
                            StepKind::Partial));
  state = emitSteps(first, state);
  BlockEmitter last = relocate();
  for (auto [tile, of] : llvm::zip_equal(tiles, state.tiles))
    last.emitMerge(of, tile.firstRow);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

static int64_t getRows(BlockAttentionOp op) {
  return cast<MemRefType>(op.getQuery().getType()).getDimSize(0);
}

BlockEmitter::BlockEmitter(OpBuilder &builder, BlockAttentionOp op,
                           const BlockPlan &plan, Value ring, CodeCopies copies)
    : w(builder, op.getLoc()), op(op), plan(plan), rows(getRows(op)),
      ring(ring) {
  begin = w.toI32(op.getBegin());
  end = w.toI32(op.getEnd());
  locate(w.toI32(op.getBatch()), w.toI32(op.getHead()));
  copiesInBulk = copies == CodeCopies::Bulk && areStepsTogether();
  if (op.getPosition())
    position = w.toI32(op.getPosition());
  setVisibleTokens();
}

/// Sets what follows from the lane and from where the rows of its block are.
void BlockEmitter::locate(Value ofBatch, Value ofHead) {
  batch = ofBatch;
  head = ofHead;
  locateLane();
  key = locateSide(plan.key, op.getKeys(), op.getKeyPages());
  value = locateSide(plan.value, op.getValues(), op.getValuePages());
  for (SideRows *side : {&key, &value})
    planPlaces(*side);
}

/// Sets what follows from the thread.
void BlockEmitter::locateLane() {
  thread = w.readThread();
  warp = w.divideUnsigned(thread, 32);
  lane = w.remUnsigned(thread, 32);
  laneRow = w.divideUnsigned(lane, 4);
  laneColumn = w.remUnsigned(lane, 4);
  warpSlots =
      w.add(ring, w.mul(warp, plan.getWarpSlots() * plan.getSlotBytes()));
  laneBytes = w.mul(lane, 16);
  // Lest the reach is taken off again.
  laneReach = w.conceal(w.add(laneBytes, kCopyReach));
}

/// What is to be done, in the block's memory.
void BlockEmitter::storeTask() {
  Value isFirst = w.compare(arith::CmpIPredicate::eq, thread, w.i32(0));
  w.buildIf(isFirst, {}, [&]() -> SmallVector<Value> {
    w.storeShared({batch, head, begin, end}, ring, plan.getTaskPlace());
    if (position)
      w.storeShared({position}, ring, plan.getPositionPlace());
    w.storeShared({w.add(end, -1)}, ring, plan.getLastTokenPlace());
    storeTables();
    return {};
  });
}

/// For the code that follows: what is to be done is loaded there, and what
/// `locate` sets computed anew, rather than before other loops, in which it
/// would be in registers.
BlockEmitter BlockEmitter::relocate() {
  BlockEmitter other = *this;
  Words task = w.loadShared(ring, plan.getTaskPlace(), kLaneQuadBytes);
  if (!matchPattern(begin, m_Constant()))
    other.begin = task[2];
  other.end = task[3];
  if (position)
    other.position = w.loadShared(ring, plan.getPositionPlace(), 4).front();
  other.locate(task[0], task[1]);
  other.setVisibleTokens();
  for (ColumnTile &tile : other.tiles)
    other.setVisibleTokens(tile);
  return other;
}

void BlockEmitter::emit() {
  auto emitTiles = [&]() -> SmallVector<Value> {
    storeTask();
    int64_t atOnce = plan.columnTiles * kFragmentRows;
    if (rows <= atOnce) {
      emitRows(w.i32(0));
      return {};
    }
    w.buildFor(w.i32(0), w.i32(rows), w.i32(atOnce), {},
               [&](Value firstRow, ValueRange) -> SmallVector<Value> {
                 emitRows(firstRow);
                 return {};
               });
    return {};
  };
  // No token has no page either. All threads agree.
  w.buildIf(w.compare(arith::CmpIPredicate::slt, begin, end), {}, emitTiles,
            [&]() -> SmallVector<Value> {
              if (op.getOverwrites())
                clearSums();
              return {};
            });
}

static FailureOr<BlockPlan> getPlan(BlockAttentionOp op) {
  std::string whyNot;
  std::optional<BlockPlan> plan = BlockPlan::get(
      {op.getKeyCache(), op.getValueCache(), op.getKeyRegion(),
       op.getValueRegion(), getRows(op), op.getQueryCodes().has_value(),
       int64_t(op.getSharedBytes()), int64_t(op.getHeldBytes()),
       !op.getMovesFp8()},
      whyNot);
  if (!plan)
    return op.emitOpError("expected caches that tensor cores take, got that ")
           << whyNot;
  return *plan;
}

LogicalResult kvq::emitBlockAttention(RewriterBase &rewriter,
                                      BlockAttentionOp op, Value ring,
                                      CodeCopies copies) {
  FailureOr<BlockPlan> plan = getPlan(op);
  if (failed(plan))
    return failure();
  BlockEmitter emitter(rewriter, op, *plan, ring, copies);
  if (copies == CodeCopies::Bulk && !emitter.areStepsTogether())
    remark::missed(
        op.getLoc(),
        remark::RemarkOpts::name("BulkCopies").category("convert-kvq-to-gpu"))
        << remark::add("codes are not copied in bulk")
        << remark::reason("rows of a step do not lie together");
  emitter.emit();
  rewriter.eraseOp(op);
  return success();
}

FailureOr<RingUse> kvq::getRingUse(BlockAttentionOp op) {
  FailureOr<BlockPlan> plan = getPlan(op);
  if (failed(plan))
    return failure();
  return RingUse{plan->getSharedBytes(), plan->getMergeBytes(),
                 plan->getQueryQuadPlace(0), plan->readsRowsAhead(getRows(op))};
}
