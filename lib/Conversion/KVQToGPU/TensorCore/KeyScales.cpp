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

/// The rows from `firstRow` on as pairs of channels that follow each other.
SmallVector<FragmentB> BlockEmitter::loadQueryPairs(Value firstRow) {
  SmallVector<FragmentB> pairs;
  for (const KeyStep &step : plan.keySteps) {
    std::array<Value, 4> elements = loadQueryElements(firstRow, step), ordered;
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

/// The f16 scales or zeros of the same channels, of the group whose row is at
/// the i64 address `row`.
SmallVector<FragmentB> BlockEmitter::loadGroupPairs(Value row) {
  constexpr int64_t kBytes = 2;
  SmallVector<FragmentB> pairs(plan.keySteps.size());
  for (auto [i, step] : llvm::enumerate(plan.keySteps)) {
    if (pairs[i].front())
      continue;
    std::optional<size_t> next = findNext(plan.keySteps, step);
    int64_t words = next ? 4 : 2;
    Value ofLane = w.add(row, w.toI64(w.mul(laneColumn, step.stride * kBytes)));
    Value vector =
        w.loadGlobal(ofLane, *step.getFirstOfFour() * kBytes,
                     VectorType::get({words}, w.builder.getI32Type()),
                     /*alignment=*/4 * words);
    auto getPair = [&](int64_t word) {
      return w.toHalf2(w.extractElement(vector, word));
    };
    pairs[i] = {getPair(0), getPair(1)};
    if (next)
      pairs[*next] = {getPair(2), getPair(3)};
  }
  return pairs;
}

/// Two of four halves that lie in two words.
static Value pickHalves(WarpBuilder &w, const FragmentB &words, int64_t low,
                        int64_t high) {
  uint32_t lowBytes = 2 * low | (2 * low + 1) << 4;
  uint32_t highBytes = 2 * high | (2 * high + 1) << 4;
  return w.toHalf2(w.permuteBytes(w.toWord(words[0]), w.toWord(words[1]),
                                  lowBytes | highBytes << 8));
}

/// The query's products with a row of pairs. Words that were loaded together
/// are an operand as they are: of its rows one half is for the first pairs of
/// two steps, the other one for the second.
PerColumn BlockEmitter::multiplyRow(ArrayRef<FragmentB> query,
                                    ArrayRef<FragmentB> row) {
  FragmentC none = {w.f32(0), w.f32(0), w.f32(0), w.f32(0)};
  FragmentC ofFirst = none, ofSecond = none, ofBoth = none;
  bool hasBoth = false;
  BitVector isDone(plan.keySteps.size());
  for (auto [i, step] : llvm::enumerate(plan.keySteps)) {
    if (isDone[i])
      continue;
    auto [first, second] = row[i];
    std::optional<size_t> next = findNext(plan.keySteps, step);
    if (!next) {
      ofBoth = w.multiply({first, first, second, second}, query[i], ofBoth);
      hasBoth = true;
      continue;
    }
    isDone.set(*next);
    FragmentA words = {first, second, row[*next][0], row[*next][1]};
    ofFirst = w.multiply(words, {query[i][0], query[*next][0]}, ofFirst);
    ofSecond = w.multiply(words, {query[i][1], query[*next][1]}, ofSecond);
  }
  PerColumn sums;
  for (auto [column, sum] : llvm::enumerate(sums)) {
    sum = w.fadd(ofFirst[column], ofSecond[2 + column]);
    if (hasBoth)
      sum = w.fadd(sum, ofBoth[column]);
  }
  return sums;
}

/// The query of a tile for the tokens of a step. With `shift` its products are
/// scores.
QueryColumns BlockEmitter::scaleQueryPairs(const ColumnTile &tile,
                                           const Step &step,
                                           const PerColumn *shift) {
  QueryColumns columns;
  SmallVector<FragmentB> scales =
      loadGroupPairs(locateStep(key, step, key.scales));
  for (auto [query, scale, keyStep] :
       llvm::zip_equal(tile.queryPairs, scales, plan.keySteps)) {
    FragmentB scaled = {w.fmul(query[0], scale[0]), w.fmul(query[1], scale[1])};
    std::array<int64_t, 4> places = keyStep.channels;
    for (int64_t &place : places)
      place -= *keyStep.getFirstOfFour();
    columns.fragments.push_back(
        {{pickHalves(w, scaled, places[0], places[1]),
          pickHalves(w, scaled, places[2], places[3])}});
  }
  double middle = 0;
  if (plan.key.zeroType) {
    // Codes count from their middle, lest what is rounded off the query times
    // scales is multiplied by more than keys are apart from each other.
    middle = 1 << (plan.key.element.bits - 1);
    SmallVector<FragmentB> zeros =
        loadGroupPairs(locateStep(key, step, key.zeros));
    PerColumn ofZeros = multiplyRow(tile.queryPairs, zeros);
    PerColumn ofScales = multiplyRow(tile.queryPairs, scales);
    for (auto [column, zero] : llvm::enumerate(columns.zeros))
      zero = w.fma(w.f32(middle), ofScales[column], ofZeros[column]);
  }
  PerColumn first;
  if (shift) {
    columns.beginsWithShift = true;
    for (int64_t column = 0; column != 2; ++column) {
      Value zeros = columns.zeros[column];
      first[column] =
          zeros ? w.fadd((*shift)[column], zeros) : (*shift)[column];
    }
  }
  addConstantProducts(columns, middle, first);
  return columns;
}
