//===- KeyScales.cpp - The query times scales of several tokens -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where each channel of keys has a scale for the tokens of a step, the query is
// multiplied by it before the products. As pairs of f16 that is one
// multiplication for two channels, and scales stay as they are loaded. Zeros,
// the same in every row of a product, give their sum with the query.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::kvq;

/// The rows from `firstRow` on as pairs of channels that follow each other, of
/// each `KeyStep`.
SmallVector<FragmentB> BlockEmitter::buildQueryPairs(Value firstRow) {
  SmallVector<FragmentB> pairs;
  for (const KeyStep &step : plan.keySteps) {
    std::array<Value, 4> elements = loadQueryElements(firstRow, step), ordered;
    if (double factor = getQueryFactor(); factor != 1)
      for (Value &element : elements)
        element = w.fmul(element, w.f32(factor));
    for (auto [channel, element] : llvm::zip_equal(step.channels, elements))
      ordered[channel - *step.getFirstOfFour()] = element;
    pairs.push_back({w.packHalf2(ordered[0], ordered[1]),
                     w.packHalf2(ordered[2], ordered[3])});
  }
  return pairs;
}

/// The other step whose channels follow those of `step` in a load of 16 bytes.
static std::optional<size_t> findNext(ArrayRef<KeyStep> steps,
                                      const KeyStep &step) {
  constexpr int64_t kFour = 4;
  int64_t first = *step.getFirstOfFour();
  if (first % (2 * kFour) != 0 || step.stride % (2 * kFour) != 0)
    return std::nullopt;
  const KeyStep *next = llvm::find_if(steps, [&](const KeyStep &other) {
    return *other.getFirstOfFour() == first + kFour &&
           other.stride == step.stride;
  });
  return next == steps.end() ? std::nullopt
                             : std::optional<size_t>(next - steps.begin());
}

/// The steps in the order of loads of scales.
SmallVector<size_t> BlockEmitter::orderPairs() {
  SmallVector<size_t> order;
  for (auto [i, step] : llvm::enumerate(plan.keySteps)) {
    if (llvm::is_contained(order, i))
      continue;
    order.push_back(i);
    if (std::optional<size_t> next = findNext(plan.keySteps, step))
      order.push_back(*next);
  }
  return order;
}

/// Pairs are in registers only while they are multiplied. Quads are of two
/// steps, the first pairs and then the second ones, as products with rows of
/// scales take them.
void BlockEmitter::storeQueryPairs(Value firstRow) {
  SmallVector<FragmentB> pairs = buildQueryPairs(firstRow);
  SmallVector<size_t> order = orderPairs();
  for (size_t i = 0; i < order.size(); i += 2) {
    const FragmentB &first = pairs[order[i]];
    const FragmentB &second = pairs[order[std::min(i + 1, order.size() - 1)]];
    storeQuad(plan.getQueryQuadPlace(i / 2),
              {first[0], second[0], first[1], second[1]});
  }
}

SmallVector<FragmentB> BlockEmitter::loadQueryPairs() {
  SmallVector<FragmentB> pairs(plan.keySteps.size());
  SmallVector<size_t> order = orderPairs();
  for (size_t i = 0; i < order.size(); i += 2) {
    FragmentA quad = loadPairs(plan.getQueryQuadPlace(i / 2));
    pairs[order[i]] = {quad[0], quad[2]};
    if (i + 1 != order.size())
      pairs[order[i + 1]] = {quad[1], quad[3]};
  }
  return pairs;
}

/// Operands of constants: rows g are of a plane, rows g + 8 of the next one.
void BlockEmitter::storeKeyOffsets() {
  const StoredElement &element = plan.key.element;
  int64_t planes = element.isFP8() ? 0 : element.getPlanes();
  auto getPair = [&](int64_t plane) {
    return w.half2(-(getOffset(element, plane) + getMiddle()));
  };
  for (int64_t plane = 0; plane < planes; plane += 2) {
    Value low = getPair(plane), high = getPair(std::min(plane + 1, planes - 1));
    storeQuad(plan.getKeyOffsetPlace(plane / 2), {low, high, low, high});
  }
}

/// Codes count from their middle where there are zeros, lest what is rounded
/// off the query times scales is multiplied by more than keys are apart from
/// each other.
double BlockEmitter::getMiddle() {
  return plan.key.zeroType ? 1 << (plan.key.element.bits - 1) : 0;
}

/// The f16 scales or zeros of the same channels. `load` gives the words of
/// channels from one on that lanes have each `stride` further.
SmallVector<FragmentB> BlockEmitter::loadGroupPairs(LoadChannels load) {
  SmallVector<FragmentB> pairs(plan.keySteps.size());
  for (auto [i, step] : llvm::enumerate(plan.keySteps)) {
    if (pairs[i].front())
      continue;
    std::optional<size_t> next = findNext(plan.keySteps, step);
    Words words = load(*step.getFirstOfFour(), step.stride, next ? 8 : 4);
    auto getPair = [&](int64_t word) { return w.toHalf2(words[word]); };
    pairs[i] = {getPair(0), getPair(1)};
    if (next)
      pairs[*next] = {getPair(2), getPair(3)};
  }
  return pairs;
}

/// Whether scales of keys are in the ring.
bool BlockEmitter::takesCopies(const Step &step) {
  return plan.key.copiesScales && step.kind == StepKind::Whole;
}

/// The scales or zeros of a span of a step, of a whole step from the ring.
SmallVector<FragmentB> BlockEmitter::loadKeyRow(const ComponentRows &rows,
                                                const WarpState &state,
                                                const Step &step,
                                                int64_t span) {
  constexpr int64_t kBytes = 2;
  Value row = takesCopies(step)
                  ? state.getKeySlot()
                  : locateStep(key, getSpan(step, w.i32(span)), rows);
  return loadGroupPairs([&](int64_t channel, int64_t stride, int64_t count) {
    Value ofLane = w.mul(laneColumn, stride * kBytes);
    int64_t offset = channel * kBytes, bytes = count * kBytes;
    if (takesCopies(step))
      return w.loadShared(getSlotAddress(row, ofLane),
                          rows.slotPlace + span * rows.rowBytes + offset,
                          bytes);
    Type words = VectorType::get({bytes / 4}, w.builder.getI32Type());
    Value vector =
        w.loadGlobal(w.add(row, w.toI64(ofLane)), offset, words, bytes);
    Words elements;
    for (int64_t i = 0; i != bytes / 4; ++i)
      elements.push_back(w.extractElement(vector, i));
    return elements;
  });
}

/// Two of four halves that lie in two words.
static Value pickHalves(WarpBuilder &w, const FragmentB &words, int64_t low,
                        int64_t high) {
  uint32_t lowBytes = 2 * low | (2 * low + 1) << 4;
  uint32_t highBytes = 2 * high | (2 * high + 1) << 4;
  return w.toHalf2(w.permuteBytes(w.toWord(words[0]), w.toWord(words[1]),
                                  lowBytes | highBytes << 8));
}

/// Adds the query's products with a row of pairs. Words that were loaded
/// together are an operand as they are: of its rows one half is for the first
/// pairs of two steps, the other one for the second.
void BlockEmitter::addRow(HalfSums &sums, ArrayRef<FragmentB> query,
                          ArrayRef<FragmentB> row) {
  BitVector isDone(plan.keySteps.size());
  for (auto [i, step] : llvm::enumerate(plan.keySteps)) {
    if (isDone[i])
      continue;
    auto [first, second] = row[i];
    std::optional<size_t> next = findNext(plan.keySteps, step);
    if (!next) {
      sums.low = w.multiply({first, first, second, second}, query[i], sums.low);
      continue;
    }
    isDone.set(*next);
    FragmentA words = {first, second, row[*next][0], row[*next][1]};
    sums.low = w.multiply(words, {query[i][0], query[*next][0]}, sums.low);
    sums.high = w.multiply(words, {query[i][1], query[*next][1]}, sums.high);
  }
}

/// Takes off what codes are off by.
void BlockEmitter::takeOffsetsOff(HalfSums &sums, const QueryColumns &query) {
  for (int64_t first = 0; first < plan.key.element.getPlanes(); first += 2) {
    FragmentA offsets = loadPairs(plan.getKeyOffsetPlace(first / 2));
    for (auto [of, step] : llvm::zip_equal(query.fragments, plan.keySteps)) {
      if (step.plane != first && step.plane != first + 1)
        continue;
      FragmentC &sum = step.plane == first ? sums.low : sums.high;
      sum = w.multiply(offsets, of.front(), sum);
    }
  }
}

/// The query for tokens of a span of a step. With `shift` its products are
/// scores.
QueryColumns BlockEmitter::scaleQueryPairs(const WarpState &state,
                                           const Step &step, int64_t span,
                                           const PerColumn *shift) {
  FragmentC none = {w.f32(0), w.f32(0), w.f32(0), w.f32(0)};
  HalfSums sums = {none, none}, ofScales = sums;
  SmallVector<FragmentB> pairs = loadQueryPairs();
  // What comes first is done with sooner: codes of 8 bits need the registers,
  // others are multiplied sooner with the scales.
  bool areZerosFirst = plan.key.element.bits == 8;
  if (plan.key.zeroType && areZerosFirst)
    addRow(sums, pairs, loadKeyRow(key.zeros, state, step, span));
  SmallVector<FragmentB> scales = loadKeyRow(key.scales, state, step, span);
  if (plan.key.zeroType)
    addRow(ofScales, pairs, scales);
  QueryColumns columns;
  for (auto [query, scale, keyStep] :
       llvm::zip_equal(pairs, scales, plan.keySteps)) {
    FragmentB scaled = {w.fmul(query[0], scale[0]), w.fmul(query[1], scale[1])};
    std::array<int64_t, 4> places = keyStep.channels;
    for (int64_t &place : places)
      place -= *keyStep.getFirstOfFour();
    columns.fragments.push_back(
        {{pickHalves(w, scaled, places[0], places[1]),
          pickHalves(w, scaled, places[2], places[3])}});
  }
  if (plan.key.zeroType && !areZerosFirst)
    addRow(sums, pairs, loadKeyRow(key.zeros, state, step, span));
  if (plan.key.element.isFP8()) {
    // These are off by nothing.
    columns.unit.fill(w.f32(1 / getQueryFactor()));
    columns.scoreInits = {none};
    return columns;
  }
  takeOffsetsOff(sums, columns);
  PerColumn first;
  for (auto [column, total] : llvm::enumerate(first)) {
    total = w.fadd(sums.low[column], sums.high[2 + column]);
    if (plan.key.zeroType)
      total =
          w.fma(w.f32(getMiddle()),
                w.fadd(ofScales.low[column], ofScales.high[2 + column]), total);
    if (shift)
      total = w.fadd((*shift)[column], total);
  }
  columns.beginsWithShift = shift != nullptr;
  columns.scoreInits = {{first[0], first[1], first[0], first[1]}};
  return columns;
}
