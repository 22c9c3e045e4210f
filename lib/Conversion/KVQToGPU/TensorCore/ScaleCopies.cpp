//===- ScaleCopies.cpp - Scales and zeros by the ring ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a lane has many scales of a step, they are copied to the slot of its
// rows, behind these and as they lie in memory, and loaded a few at a time when
// they are needed: registers that wait for memory are those of nothing else.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvq;

static constexpr int64_t kLanes = 32;
/// The most that a lane copies or loads at once.
static constexpr int64_t kMostBytes = 16;

/// Sets how the rows of a component come by the ring, from `place` in a slot
/// on. `bytes` are a row's.
static void planComponent(ComponentRows &rows, int64_t bytes, int64_t place) {
  rows.rowBytes = bytes;
  rows.slotPlace = place;
  rows.copyBytes = std::gcd(kMostBytes, rows.stepAlignment);
  // Rows of other heads lie between.
  if (rows.stride != bytes)
    rows.copyBytes = std::gcd(rows.copyBytes, bytes);
}

void BlockEmitter::planScaleCopies(SideRows &side) {
  const SidePlan &of = *side.plan;
  if (!of.copiesScales)
    return;
  planComponent(side.scales, of.getScaleRowBytes(of.scaleType),
                plan.getScalePlace(of));
  if (of.zeroType)
    planComponent(side.zeros, of.getScaleRowBytes(of.zeroType),
                  plan.getZeroPlace(of));
}

/// Whether some column sees a token from `first` to `last`, that one excluded.
Value BlockEmitter::seesSome(Value first, Value last) {
  auto overlaps = [&](Value from, Value to) {
    return w.bothTrue(w.compare(arith::CmpIPredicate::slt, first, to),
                      w.compare(arith::CmpIPredicate::sgt, last, from));
  };
  Value isSeen = overlaps(some.begin, some.end);
  if (std::optional<int64_t> ofWindow =
          op.getWindow() ? op.getWindowFirst() : std::nullopt)
    isSeen = w.eitherTrue(isSeen,
                          overlaps(begin, w.min(some.end, w.i32(*ofWindow))));
  return isSeen;
}

/// Bytes to be read, in a partial step, of those that a lane copies at once,
/// from byte `inRow` of row `row` on: none where no column sees a token of
/// them, and none of rows behind what is seen.
Value BlockEmitter::countBytesThere(const Step &step, const ComponentRows &rows,
                                    Value row, Value inRow) {
  int64_t rowTokens = rows.rowTokens, bytes = rows.rowBytes;
  auto getToken = [&](Value offset) {
    Value rowOfByte = w.add(row, w.divideUnsigned(offset, bytes));
    return w.add(step.begin, w.mul(rowOfByte, rowTokens));
  };
  Value first = getToken(inRow);
  Value last = getToken(w.add(inRow, rows.copyBytes + bytes - 1));
  last = w.min(last, w.add(step.begin, plan.stepTokens));
  Value tokens = w.max(w.sub(some.end, step.begin), w.i32(0));
  tokens = w.min(tokens, w.i32(plan.stepTokens));
  Value rowsThere = w.divideUnsigned(w.add(tokens, rowTokens - 1), rowTokens);
  Value there = w.sub(w.mul(w.sub(rowsThere, row), bytes), inRow);
  there = w.max(w.min(there, w.i32(rows.copyBytes)), w.i32(0));
  return w.select(seesSome(first, last), there, w.i32(0));
}

/// Starts copying a step's rows of scales or zeros.
void BlockEmitter::copyComponent(const SideRows &side, const Step &step,
                                 const ComponentRows &rows, Value slot) {
  int64_t copyBytes = rows.copyBytes;
  bool isContiguous = rows.stride == rows.rowBytes;
  int64_t chunks = plan.getScaleRows(*side.plan) * rows.rowBytes / copyBytes;
  int64_t rowChunks = isContiguous ? chunks : rows.rowBytes / copyBytes;
  Value first = locateStep(side, step, rows);
  for (int64_t done = 0; done < chunks; done += kLanes) {
    Value chunk = w.add(lane, done);
    Value row = w.divideUnsigned(chunk, rowChunks);
    Value inRow = w.mul(w.remUnsigned(chunk, rowChunks), copyBytes);
    Value source = w.add(first, w.toI64(w.add(w.mul(row, rows.stride), inRow)));
    Value size;
    if (step.kind == StepKind::Partial)
      size = countBytesThere(step, rows, row, inRow);
    auto copy = [&]() -> SmallVector<Value> {
      w.copyAsync(getSlotAddress(slot, w.mul(chunk, copyBytes)), rows.slotPlace,
                  source, 0, size, copyBytes);
      return {};
    };
    if (done + kLanes <= chunks)
      copy();
    else
      w.buildIf(w.compare(arith::CmpIPredicate::slt, chunk, w.i32(chunks)), {},
                copy);
  }
}

void BlockEmitter::copyScales(const SideRows &side, const Step &step,
                              Value slot) {
  if (!side.plan->copiesScales)
    return;
  copyComponent(side, step, side.scales, slot);
  if (side.plan->zeroType)
    copyComponent(side, step, side.zeros, slot);
}

/// Words of a row's component in a slot, at `address` in it and `offset` bytes
/// further on.
Words BlockEmitter::loadCopied(Value address, int64_t offset, int64_t bytes) {
  int64_t perLoad = std::gcd(kMostBytes, bytes);
  Words words;
  for (int64_t done = 0; done != bytes; done += perLoad)
    llvm::append_range(words, w.loadShared(address, offset + done, perLoad));
  return words;
}

/// The numbers that lie in words.
SmallVector<Value> BlockEmitter::splitWords(ArrayRef<Value> words, Type type) {
  SmallVector<Value> numbers;
  int64_t perWord = 32 / type.getIntOrFloatBitWidth();
  for (Value word : words) {
    Type stored = WarpBuilder::getStoredType(type);
    if (perWord == 1)
      numbers.push_back(w.bitcast(word, stored));
    else
      llvm::append_range(
          numbers,
          extractNumbers(w.bitcast(word, VectorType::get({perWord}, stored)),
                         type));
  }
  return numbers;
}

/// The lane's scales or zeros of two tokens of a fragment, which follow each
/// other.
PerToken BlockEmitter::loadCopiedTokens(const ComponentRows &rows, Value slot,
                                        int64_t fragment) {
  int64_t bytes = rows.rowBytes;
  Value address =
      getSlotAddress(slot, w.mul(laneRow, plan.getLaneTokens() * bytes));
  int64_t offset = rows.slotPlace + plan.getTokenOffset(2 * fragment) * bytes;
  SmallVector<Value> all =
      splitWords(loadCopied(address, offset, 2 * bytes), rows.elementType);
  ArrayRef<Value> both = all;
  size_t groups = all.size() / 2;
  return {SmallVector<Value>(both.take_front(groups)),
          SmallVector<Value>(both.drop_front(groups))};
}

/// The scales and zeros of the lane's two tokens of a fragment of a whole step.
TokenScales BlockEmitter::loadCopiedScales(const SideRows &side, Value slot,
                                           int64_t fragment) {
  TokenScales loaded;
  loaded.scales = loadCopiedTokens(side.scales, slot, fragment);
  if (side.plan->isKey && plan.multipliesKeyZeros())
    loaded.zeroPairs = loadZeroPairs(slot, fragment);
  else if (side.plan->hasTokenZeros())
    loaded.zeros = loadCopiedTokens(side.zeros, slot, fragment);
  buildOffsets(*side.plan, loaded);
  return loaded;
}

/// The same of all of a step's fragments: loaded again wherever it is asked
/// for, so that they need not be in registers between.
TokenScales BlockEmitter::loadAllCopiedScales(const SideRows &side,
                                              Value slot) {
  TokenScales all;
  Value again = w.conceal(slot);
  for (int64_t fragment = 0; fragment != plan.getFragments(); ++fragment) {
    TokenScales two = loadCopiedScales(side, again, fragment);
    llvm::append_range(all.scales, two.scales);
    llvm::append_range(all.zeros, two.zeros);
  }
  return all;
}

/// Makes scales of a step's values that are no numbers zeros, where they are
/// copied to, and the sums of their groups NaN in their place: these are to be
/// taken off the accumulators of their groups alone.
void BlockEmitter::isolateGroups(ColumnState &state, Value slot) {
  const ComponentRows &rows = value.scales;
  int64_t bytes = plan.getScaleRows(plan.value) * rows.rowBytes;
  // Computed anew, lest it is in registers where this does not run. The place
  // of the lane's copies is in one.
  Value lane = w.remUnsigned(w.readThread(), kLanes);
  Value laneRow = w.divideUnsigned(lane, 4);
  // Each lane takes words of the same two groups of some tokens.
  constexpr int64_t kWordBytes = 4;
  Value ofLane = w.sub(getSlotAddress(slot, laneBytes),
                       w.mul(lane, kLaneQuadBytes - kWordBytes));
  Value no = arith::ConstantIntOp::create(w.builder, w.loc, 0, 1);
  // Lanes have loaded scales of other lanes' tokens, and will do so again.
  w.syncWarp();
  SmallVector<Value> areOdd = w.buildFor(
      w.i32(0), w.i32(bytes), w.i32(kLanes * kWordBytes), {no, no},
      [&](Value done, ValueRange odd) -> SmallVector<Value> {
        w.keepRolled();
        Value address = w.add(ofLane, done);
        Words words = w.loadShared(address, rows.slotPlace, kWordBytes);
        Value pair = w.toHalf2(words.front()), isFinite = w.areFinite(pair);
        pair = w.select(isFinite, pair, w.half2(0));
        w.storeShared(w.toWord(pair), address, rows.slotPlace);
        auto add = [&](int64_t half) {
          Value isOdd = w.isFalse(w.extractElement(isFinite, half));
          return w.eitherTrue(odd[half], isOdd);
        };
        return {add(0), add(1)};
      });
  // Bulk copies are to write the slot again.
  if (copiesInBulk)
    w.fenceForBulkCopies();
  w.syncWarp();
  // Group g, whose sums are row g's, is that of half g % 2 of every so many
  // lanes.
  int64_t pairs = plan.value.groups / 2;
  uint32_t lanes = 0;
  for (int64_t lane = 0; lane != kLanes; lane += pairs)
    lanes |= uint32_t(1) << lane;
  Value isSecond =
      w.compare(arith::CmpIPredicate::ne, w.remUnsigned(laneRow, 2), w.i32(0));
  Value odd = w.select(isSecond, w.ballot(areOdd[1]), w.ballot(areOdd[0]));
  odd =
      w.bitAnd(w.shiftRight(odd, w.divideUnsigned(laneRow, 2)), int32_t(lanes));
  Value isOdd = w.compare(arith::CmpIPredicate::ne, odd, w.i32(0));
  for (Value &sum : state.rounded.front())
    sum = w.select(isOdd, w.f32(std::numeric_limits<double>::quiet_NaN()), sum);
}
