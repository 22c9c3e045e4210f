//===- Softmax.cpp - Scores to probabilities ------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Probabilities are p = 2^(score + shift). What is multiplied with codes of
// values is p times their scale, as f16; so the shift is such that the largest
// of these is about kTarget, and is replaced once one is above kLimit. Both are
// far from what an f16 can hold, at either end: 2^-24 and 2^16.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

static constexpr double kLimit = 1 << 15, kLog2Target = 6;
/// Scales below 2^this count as that: probabilities stay numbers of f32.
static constexpr double kLeastLog2Scale = -60;
/// Below it a score is that of a hidden token (see Scores.cpp).
static constexpr double kLeastScore = -1e29;

BlockEmitter::Probabilities
BlockEmitter::computeProbabilities(const SmallVector<FragmentC> &scores,
                                   const PerToken &scales) {
  Probabilities result;
  for (const FragmentC &fragment : scores) {
    FragmentC &p = result.plain.emplace_back();
    for (auto [to, score] : llvm::zip_equal(p, fragment))
      to = w.exp2(score);
  }
  if (scales.empty()) {
    result.scaled.push_back(result.plain);
    return result;
  }
  // A hidden token's scale may be NaN, if it is another column's to see.
  bool guards = op.hidesByPosition();
  for (int64_t group = 0; group != plan.value.groups; ++group) {
    SmallVector<FragmentC> &ofGroup = result.scaled.emplace_back();
    for (auto [f, p] : llvm::enumerate(result.plain)) {
      FragmentC &scaled = ofGroup.emplace_back();
      for (int64_t i = 0; i != 4; ++i) {
        scaled[i] = w.fmul(p[i], scales[2 * f + i / 2][group]);
        if (guards)
          scaled[i] = w.select(w.isGreater(p[i], w.f32(0)), scaled[i], p[i]);
      }
    }
  }
  return result;
}

/// The largest of `values`, in a tree.
static Value buildMax(WarpBuilder &w, SmallVector<Value> values) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(w.fmax(values[i], values[i + 1]));
    if (values.size() % 2 != 0)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

/// Over all rows of fragments, which 8 lanes of the warp have.
template <typename Combine>
static Value reduceRows(WarpBuilder &w, Value value, Combine combine) {
  for (int64_t lanes : {4, 8, 16})
    value = combine(value, w.shuffleXor(value, lanes));
  return value;
}

/// The shift, the sums and the scores after the shift has been replaced, where
/// that is called for.
SmallVector<Value> BlockEmitter::rescale(const WarpState &state,
                                         const SmallVector<FragmentC> &scores,
                                         const PerToken &scales) {
  // The base-2 logarithm of each token's largest scale.
  SmallVector<Value> logs;
  for (const SmallVector<Value> &of : scales)
    logs.push_back(w.fmax(w.log2(buildMax(w, of)), w.f32(kLeastLog2Scale)));
  PerColumn change, factor;
  for (int64_t column = 0; column != 2; ++column) {
    SmallVector<Value> products;
    for (auto [f, fragment] : llvm::enumerate(scores))
      for (int64_t h = 0; h != 2; ++h) {
        Value product = fragment[2 * h + column];
        if (!logs.empty())
          product = w.fadd(product, logs[2 * f + h]);
        products.push_back(product);
      }
    auto max = [&](Value a, Value b) { return w.fmax(a, b); };
    auto add = [&](Value a, Value b) { return w.fadd(a, b); };
    Value largest = reduceRows(w, buildMax(w, products), max);
    Value total = reduceRows(w, state.sum[column], add);
    // A column that has seen no token takes the shift that fits, others only
    // replace one that is too large.
    Value isNew = arith::CmpFOp::create(
        w.builder, w.loc, arith::CmpFPredicate::OEQ, total, w.f32(0));
    Value isTooLarge = w.isGreater(largest, w.f32(std::log2(kLimit)));
    Value isSeen = w.isGreater(largest, w.f32(kLeastScore));
    Value applies = w.bothTrue(isSeen, w.eitherTrue(isNew, isTooLarge));
    change[column] =
        w.select(applies, w.fsub(largest, w.f32(kLog2Target)), w.f32(0));
    factor[column] = w.select(isNew, w.f32(1), w.exp2(w.fneg(change[column])));
  }
  WarpState next = state;
  for (int64_t column = 0; column != 2; ++column) {
    next.shift[column] = w.fsub(state.shift[column], change[column]);
    next.sum[column] = w.fmul(state.sum[column], factor[column]);
  }
  for (PerColumn &sums : next.zeroSums)
    for (auto [sum, by] : llvm::zip_equal(sums, factor))
      sum = w.fmul(sum, by);
  for (SmallVector<FragmentC> *fragments : {&next.acc, &next.rounded})
    for (FragmentC &fragment : *fragments)
      for (auto [i, element] : llvm::enumerate(fragment))
        element = w.fmul(element, factor[i % 2]);
  SmallVector<Value> results = next.pack();
  for (const FragmentC &fragment : scores)
    for (auto [i, score] : llvm::enumerate(fragment))
      results.push_back(w.fsub(score, change[i % 2]));
  return results;
}

BlockEmitter::Probabilities
BlockEmitter::emitSoftmax(WarpState &state, SmallVector<FragmentC> &scores,
                          const PerToken &scales) {
  Probabilities first = computeProbabilities(scores, scales);
  SmallVector<Value> products;
  for (const SmallVector<FragmentC> &ofGroup : first.scaled)
    for (const FragmentC &fragment : ofGroup)
      llvm::append_range(products, fragment);
  Value calls = w.isGreater(buildMax(w, products), w.f32(kLimit));
  for (Value sum : state.sum)
    calls = w.eitherTrue(calls, arith::CmpFOp::create(w.builder, w.loc,
                                                      arith::CmpFPredicate::OEQ,
                                                      sum, w.f32(0)));

  // What probabilities there are is yielded, too, lest they are computed twice.
  auto flatten = [&](SmallVector<Value> carried, const Probabilities &p) {
    auto append = [&](const SmallVector<FragmentC> &fragments) {
      for (const FragmentC &fragment : fragments)
        llvm::append_range(carried, fragment);
    };
    append(p.plain);
    if (!scales.empty())
      for (const SmallVector<FragmentC> &ofGroup : p.scaled)
        append(ofGroup);
    return carried;
  };
  SmallVector<Value> unchanged = flatten(state.pack(), first);
  SmallVector<Type> types;
  for (Value value : unchanged)
    types.push_back(value.getType());
  size_t carried = state.pack().size();
  auto replace = [&] {
    SmallVector<Value> results = rescale(state, scores, scales);
    SmallVector<FragmentC> shifted(scores);
    for (auto [i, score] :
         llvm::enumerate(ArrayRef(results).drop_front(carried)))
      shifted[i / 4][i % 4] = score;
    results.truncate(carried);
    return flatten(results, computeProbabilities(shifted, scales));
  };
  SmallVector<Value> results =
      w.buildIf(w.anyLane(calls), types, replace, [&] { return unchanged; });
  state.unpack(ArrayRef(results).take_front(carried));
  ArrayRef<Value> rest = ArrayRef(results).drop_front(carried);
  auto take = [&](SmallVector<FragmentC> &fragments) {
    for (FragmentC &fragment : fragments)
      for (Value &element : fragment)
        element = rest.consume_front();
  };
  take(first.plain);
  if (scales.empty())
    first.scaled = {first.plain};
  else
    for (SmallVector<FragmentC> &ofGroup : first.scaled)
      take(ofGroup);
  for (const FragmentC &fragment : first.plain)
    for (auto [i, p] : llvm::enumerate(fragment))
      state.sum[i % 2] = w.fadd(state.sum[i % 2], p);
  return first;
}
