//===- Softmax.cpp - Scores to probabilities ------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Probabilities are p = 2^(score + shift). What is multiplied with codes of
// values is p times their scale, as f16; so the shift is such that the largest
// of these is about a target, and is replaced once one is above a limit. Both
// are far from what an f16 can hold, at either end: 2^-24 and 2^16. An f8E4M3FN
// can hold 2^-9 to 448, of which the upper part is used.
//
// Where there are several scales p itself is an f16, too, and multiplied by
// them as such. So scales count as 1 at least, and the target is such that the
// largest p times the smallest f16 has all digits.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::kvq;

static double getLimit(const SidePlan &value) {
  return value.multipliesFP8 ? 448 : 1 << 15;
}

double BlockEmitter::getLog2Target() const {
  if (plan.scalesValuesInPairs())
    return 10;
  return plan.value.multipliesFP8 ? 7 : 6;
}

/// Scales below 2^this count as that: probabilities stay numbers of f32.
double BlockEmitter::getLeastLog2Scale() const {
  return plan.scalesValuesInPairs() ? 0 : -60;
}

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The score of a hidden token: exp2 of it is 0. Without a mask it stands for
/// minus infinity, so that differences of two are no NaN. With one, scores have
/// no shift yet, and those of tokens that are seen may be as low as an f32
/// goes.
double BlockEmitter::getHiddenScore() {
  return op.getMask() ? -kInfinity : -1e30;
}

/// Whether a score is not that of a hidden token.
Value BlockEmitter::isSeen(Value score) {
  return w.isGreater(score, w.f32(op.getMask() ? -kInfinity : -1e29));
}

/// Scores that come without the shift with that of their columns.
BlockEmitter::Scores BlockEmitter::addShift(const ColumnState &state,
                                            const Scores &scores) {
  Scores shifted(scores);
  for (FragmentC &fragment : shifted)
    for (auto [i, score] : llvm::enumerate(fragment))
      score = w.fadd(score, state.shift[i % 2]);
  return shifted;
}

/// The probabilities of 16 tokens times a group's scales. A hidden token's may
/// be NaN, if it is another column's to see or hidden by a mask: `areSeen` is
/// empty where all see the same.
FragmentC BlockEmitter::scaleFragment(const FragmentC &p,
                                      const PerToken &scales, int64_t fragment,
                                      int64_t group,
                                      ArrayRef<FragmentC> areSeen) {
  if (scales.empty())
    return p;
  FragmentC scaled;
  for (int64_t i = 0; i != 4; ++i) {
    Value scale = w.extend(scales[2 * fragment + i / 2][group]);
    scaled[i] = w.fmul(p[i], scale);
    if (!areSeen.empty())
      scaled[i] = w.select(areSeen[fragment][i], scaled[i], p[i]);
  }
  return scaled;
}

BlockEmitter::Weights BlockEmitter::packWeights(const FragmentC &p) {
  if (plan.value.multipliesFP8)
    return {{w.packE4M3({p[0], p[2], p[1], p[3]}), w.i32(0)}};
  return packColumns(plan.value.element, {{{p[0], p[1]}, {p[2], p[3]}}});
}

/// Pairs of probabilities of a fragment times a group's scales.
BlockEmitter::Weights BlockEmitter::scalePairs(Weights weights,
                                               const PerToken &scales,
                                               int64_t fragment,
                                               int64_t group) {
  for (auto [h, pair] : llvm::enumerate(weights.front())) {
    Value scale = scales[2 * fragment + h][group];
    pair = w.fmul(pair, w.pair(scale, scale));
  }
  return weights;
}

/// A pair of f16, with zeros for what is not seen.
Value BlockEmitter::keepSeen(Value pair, Value isFirstSeen,
                             Value isSecondSeen) {
  Value first = w.select(isFirstSeen, w.i32(0xffff), w.i32(0));
  Value second = w.select(isSecondSeen, w.i32(int32_t(0xffff0000)), w.i32(0));
  return w.toHalf2(w.bitAnd(w.toWord(pair), w.add(first, second)));
}

/// What is multiplied with the values. `areSeen` as above.
BlockEmitter::ScaledProbabilities BlockEmitter::scaleProbabilities(
    ColumnState &state, const Scores &probabilities, const PerToken &scales,
    ArrayRef<FragmentC> areSeen) {
  bool isInPairs =
      plan.scalesValuesInPairs() && (areSeen.empty() || op.getMask());
  ScaledProbabilities result;
  result.groups.resize(plan.value.groups);
  for (auto [group, ofGroup] : llvm::enumerate(result.groups))
    for (auto [f, p] : llvm::enumerate(probabilities)) {
      if (isInPairs) {
        Weights weights = scalePairs(packWeights(p), scales, f, group);
        if (!areSeen.empty())
          for (auto [h, pair] : llvm::enumerate(weights.front()))
            pair = keepSeen(pair, areSeen[f][2 * h], areSeen[f][2 * h + 1]);
        ofGroup.push_back(weights);
        continue;
      }
      FragmentC scaled = scaleFragment(p, scales, f, group, areSeen);
      if (!state.scaled.empty())
        for (auto [i, product] : llvm::enumerate(scaled))
          state.scaled[group][i % 2] =
              w.fadd(state.scaled[group][i % 2], product);
      ofGroup.push_back(packWeights(scaled));
    }
  return result;
}

/// The largest of `values`, in a tree of three each, which newer chips take at
/// once.
static Value buildMax(WarpBuilder &w, SmallVector<Value> values,
                      Value (WarpBuilder::*max)(Value,
                                                Value) = &WarpBuilder::fmax) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (ArrayRef<Value> rest = values; !rest.empty();) {
      ArrayRef<Value> three = rest.take_front(3);
      rest = rest.drop_front(three.size());
      next.push_back(three.consume_front());
      for (Value value : three)
        next.back() = (w.*max)(next.back(), value);
    }
    values = std::move(next);
  }
  return values.front();
}

/// Adds the probabilities of a step, and with zeros their products, to the
/// sums. `areSeen` as above.
void BlockEmitter::addSums(ColumnState &state, const Scores &probabilities,
                           const PerToken &zeros, ArrayRef<FragmentC> areSeen) {
  for (const FragmentC &fragment : probabilities)
    for (auto [i, p] : llvm::enumerate(fragment))
      state.sum[i % 2] = w.fadd(state.sum[i % 2], p);
  if (zeros.empty())
    return;
  for (int64_t group = 0; group != plan.value.groups; ++group) {
    PerColumn sums = {w.f32(0), w.f32(0)};
    if (!multipliesValueZeros())
      sums = state.zeroSums[group];
    for (auto [f, fragment] : llvm::enumerate(probabilities))
      for (auto [i, p] : llvm::enumerate(fragment)) {
        Value sum = w.fma(p, zeros[2 * f + i / 2][group], sums[i % 2]);
        if (!areSeen.empty())
          sum = w.select(areSeen[f][i], sum, sums[i % 2]);
        sums[i % 2] = sum;
      }
    if (multipliesValueZeros())
      addZeroSums(state, group, sums);
    else
      state.zeroSums[group] = sums;
  }
}

/// The largest scale of a token, f32. An infinite one is not to count, which
/// may be a hidden token's, or another group's: times 0 it is NaN.
static Value buildMaxFiniteScale(WarpBuilder &w, ArrayRef<Value> scales,
                                 bool areFinite) {
  SmallVector<Value> finite;
  if (scales.front().getType().isF16() && scales.size() % 2 == 0) {
    for (size_t i = 0; i != scales.size(); i += 2) {
      Value pair = w.pair(scales[i], scales[i + 1]);
      finite.push_back(areFinite ? pair : w.fma(pair, w.half2(0), pair));
    }
    Value largest = buildMax(w, finite);
    return w.fmax(w.extend(w.extractElement(largest, 0)),
                  w.extend(w.extractElement(largest, 1)));
  }
  for (Value stored : scales) {
    Value scale = w.extend(stored);
    finite.push_back(w.fma(scale, w.f32(0), scale));
  }
  return buildMax(w, finite);
}

/// Replaces the shift of columns where that is called for, and returns by how
/// much it is less.
PerColumn BlockEmitter::rescale(ColumnState &state, const Scores &scores,
                                const PerToken &scales, bool areFinite) {
  // The base-2 logarithm of each token's largest scale; where few are above
  // what all count as at least, of the largest one of all.
  SmallVector<Value> logs;
  auto addLog = [&](ArrayRef<Value> of) {
    logs.push_back(w.fmax(w.log2(buildMaxFiniteScale(w, of, areFinite)),
                          w.f32(getLeastLog2Scale())));
  };
  SmallVector<Value> all;
  for (ArrayRef<Value> of : scales) {
    if (!plan.scalesValuesInPairs())
      addLog(of);
    llvm::append_range(all, of);
  }
  if (logs.empty() && !all.empty())
    addLog(all);
  PerColumn change, next, factor;
  Value target = w.f32(getLog2Target());
  for (int64_t column = 0; column != 2; ++column) {
    SmallVector<Value> products;
    for (auto [f, fragment] : llvm::enumerate(scores))
      for (int64_t h = 0; h != 2; ++h) {
        Value product = fragment[2 * h + column];
        if (logs.size() > 1)
          product = w.fadd(product, logs[2 * f + h]);
        products.push_back(product);
      }
    Value largest = buildMax(w, products);
    if (logs.size() == 1)
      largest = w.fadd(largest, logs.front());
    largest = w.maxRows(largest);
    Value total = w.sumRows(state.sum[column]);
    // A column that has seen no token takes the shift that fits, others only
    // replace one that is too large.
    Value isNew = w.isEqual(total, 0);
    Value shift = state.shift[column];
    Value shifted = op.getMask() ? w.fadd(largest, shift) : largest;
    Value isTooLarge =
        w.isGreater(shifted, w.f32(std::log2(getLimit(plan.value))));
    Value applies =
        w.bothTrue(isSeen(largest), w.eitherTrue(isNew, isTooLarge));
    if (op.getMask()) {
      next[column] = w.select(applies, w.fsub(target, largest), shift);
      change[column] = w.fsub(shift, next[column]);
    } else {
      change[column] = w.select(applies, w.fsub(largest, target), w.f32(0));
    }
    factor[column] = w.select(isNew, w.f32(1), w.exp2(w.fneg(change[column])));
  }
  auto multiply = [&](auto &values) {
    for (auto [i, value] : llvm::enumerate(values))
      value = w.fmul(value, factor[i % 2]);
  };
  // Scores under a mask come without the shift, which may be so large that it
  // leaves no digits of them: the next one does not follow from it.
  for (auto [shift, by, to] : llvm::zip_equal(state.shift, change, next))
    shift = op.getMask() ? to : w.fsub(shift, by);
  multiply(state.sum);
  for (PerColumn &sums : state.zeroSums)
    multiply(sums);
  for (FragmentC &sums : state.rounded)
    multiply(sums);
  for (PerColumn &sums : state.scaled)
    multiply(sums);
  for (FragmentC &fragment : state.acc)
    multiply(fragment);
  return change;
}

/// The largest of a step's scales, f32, as far as it counts.
Value BlockEmitter::buildMaxScale(const PerToken &scales) {
  SmallVector<Value> flat;
  for (const SmallVector<Value> &of : scales)
    llvm::append_range(flat, of);
  if (!flat.front().getType().isF16()) {
    for (Value &scale : flat)
      scale = w.extend(scale);
    return buildMax(w, flat);
  }
  // In pairs, of which there are half as many. A lane has an even number of
  // tokens.
  SmallVector<Value> pairs;
  if (plan.scalesValuesInPairs())
    pairs.push_back(w.half2(std::exp2(getLeastLog2Scale())));
  for (size_t i = 0; i != flat.size(); i += 2)
    pairs.push_back(w.pair(flat[i], flat[i + 1]));
  auto max = isolatesGroups() ? &WarpBuilder::fmaxOrNaN : &WarpBuilder::fmax;
  Value largest = buildMax(w, pairs, max);
  return (w.*max)(w.extend(w.extractElement(largest, 0)),
                  w.extend(w.extractElement(largest, 1)));
}

/// The lane's largest score, as far as it counts, or NaN.
Value BlockEmitter::buildMaxScore(const Scores &scores,
                                  const PerToken &scales) {
  SmallVector<Value> flat;
  for (const FragmentC &fragment : scores)
    llvm::append_range(flat, fragment);
  // What an f16 scale makes of a probability below 1 is below infinity, too,
  // and so one negative score is as good as another. But for these, floats are
  // in the order of their bits, a NaN last; and of integers more chips take
  // three at once.
  bool hasF16 = scales.empty() || scales.front().front().getType().isF16();
  if (plan.value.multipliesFP8 || !hasF16)
    return buildMax(w, flat, &WarpBuilder::fmaxOrNaN);
  // One after the other, as the products give them.
  Type i32 = w.builder.getI32Type();
  Value largest = w.bitcast(flat.front(), i32);
  for (Value score : ArrayRef(flat).drop_front())
    largest = w.max(largest, w.bitcast(score, i32));
  return w.bitcast(largest, w.builder.getF32Type());
}

/// Whether products may be above the limit, by the lane's largest score and its
/// largest scale, or a column has no shift yet; or one is no number, of which
/// others of the lane would not show.
Value BlockEmitter::callsForRescaling(const ColumnState &state,
                                      const Scores &scores,
                                      const PerToken &scales) {
  Value bound = w.exp2(buildMaxScore(scores, scales));
  if (!scales.empty())
    bound = w.fmul(bound, buildMaxScale(scales));
  Value calls = w.exceeds(bound, w.f32(getLimit(plan.value)));
  // Columns that see the same tokens are new together.
  size_t columns = op.getMask() || rowsDiffer() ? state.sum.size() : 1;
  for (auto [column, sum] :
       llvm::enumerate(ArrayRef(state.sum).take_front(columns))) {
    Value isNew = w.isEqual(sum, 0);
    // Not in each step of which a mask hides all.
    if (op.getMask()) {
      SmallVector<Value> ofColumn;
      for (const FragmentC &fragment : scores)
        ofColumn.append({fragment[column], fragment[2 + column]});
      isNew = w.bothTrue(isNew, isSeen(buildMax(w, ofColumn)));
    }
    calls = w.eitherTrue(calls, isNew);
  }
  return w.anyLane(calls);
}

/// The probabilities times scales of a step, whose sums are added to the state.
/// Scores are shifted unless there is a mask.
BlockEmitter::ScaledProbabilities
BlockEmitter::emitSoftmax(ColumnState &state, StepKind kind, Scores scores,
                          LoadScales loadScales, IsolateGroups isolate) {
  auto flatten = [&](const ColumnState &state, const Scores &scores) {
    SmallVector<Value> values = state.pack();
    for (const FragmentC &fragment : scores)
      llvm::append_range(values, fragment);
    return values;
  };
  Scores given(scores);
  if (op.getMask())
    scores = addShift(state, given);
  SmallVector<Value> unchanged = flatten(state, scores);
  SmallVector<Type> types(unchanged.size());
  for (auto [type, value] : llvm::zip_equal(types, unchanged))
    type = value.getType();
  auto replace = [&] {
    ColumnState next = state;
    if (isolate)
      isolate(next);
    PerColumn change = rescale(next, given, loadScales().scales, bool(isolate));
    if (op.getMask())
      return flatten(next, addShift(next, given));
    Scores shifted(scores);
    for (FragmentC &fragment : shifted)
      for (auto [i, score] : llvm::enumerate(fragment))
        score = w.fsub(score, change[i % 2]);
    return flatten(next, shifted);
  };
  Value calls = callsForRescaling(state, scores, loadScales().scales);
  SmallVector<Value> results =
      w.buildIf(calls, types, replace, [&] { return unchanged; });
  size_t carried = state.pack().size();
  state.unpack(ArrayRef(results).take_front(carried));
  ArrayRef<Value> rest = ArrayRef(results).drop_front(carried);
  Scores areSeen;
  if (op.getMask() || (kind == StepKind::Partial && rowsDiffer()))
    areSeen.resize(scores.size());
  for (auto [f, fragment] : llvm::enumerate(scores))
    for (auto [i, element] : llvm::enumerate(fragment)) {
      Value score = rest.consume_front();
      if (!areSeen.empty())
        areSeen[f][i] = isSeen(score);
      element = w.exp2(score);
    }
  if (kind == StepKind::Whole && scalesWhenMultiplied()) {
    PerToken zeros;
    if (plan.value.hasTokenZeros() && !multipliesValueZeros())
      zeros = loadScales().zeros;
    addSums(state, scores, zeros, areSeen);
    SmallVector<Weights> packed;
    for (const FragmentC &p : scores)
      packed.push_back(packWeights(p));
    return {{packed}, /*areScaled=*/false};
  }
  TokenScales scales = loadScales();
  addSums(state, scores, scales.zeros, areSeen);
  return scaleProbabilities(state, scores, scales.scales, areSeen);
}
