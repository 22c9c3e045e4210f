//===- Scores.cpp - Query times keys --------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// The query
//===----------------------------------------------------------------------===//

/// The rows of the tile as fragments of f16, one for each `KeyStep`, and what
/// follows from them. Rows that the op does not have are 0.
void BlockEmitter::loadQuery(Value firstRow) {
  Value row = w.add(firstRow, laneRow);
  Value isRow = w.compare(arith::CmpIPredicate::slt, row, w.i32(rows));
  Value index = w.toIndex(w.min(row, w.i32(rows - 1)));
  auto load = [&](Value channel) {
    Value element = memref::LoadOp::create(
        w.builder, w.loc, op.getQuery(), ValueRange{index, w.toIndex(channel)});
    return w.select(isRow, element, w.f32(0));
  };
  query.clear();
  for (const KeyStep &step : plan.keySteps) {
    std::array<Value, 4> elements;
    for (auto [channel, element] : llvm::zip_equal(step.channels, elements))
      element = load(w.add(w.mul(laneColumn, step.stride), channel));
    query.push_back({w.packHalf2(elements[0], elements[1]),
                     w.packHalf2(elements[2], elements[3])});
  }

  // A product with a constant gives the same sum in every row: what scores
  // begin with, and what zeros are multiplied by. The query is as it is
  // rounded.
  FragmentC none = {w.f32(0), w.f32(0), w.f32(0), w.f32(0)};
  scoreInits.assign(plan.key.groups, none);
  querySums.assign(plan.key.zeroType ? plan.key.groups : 0, none);
  auto addProduct = [&](FragmentC &sum, double constant, const FragmentB &b) {
    Value pair = w.half2(constant);
    sum = w.multiply({pair, pair, pair, pair}, b, sum);
  };
  for (auto [step, fragment] : llvm::zip_equal(plan.keySteps, query)) {
    double offset = getOffset(plan.key.element, step.plane);
    if (offset != 0)
      addProduct(scoreInits[step.group], -offset, fragment);
    if (!querySums.empty())
      addProduct(querySums[step.group], 1, fragment);
  }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// The token of the lane's rows, as an absolute one.
Value BlockEmitter::getToken(Value stepBegin, int64_t laneToken) {
  Value first = w.add(stepBegin, w.mul(laneRow, plan.getLaneTokens()));
  return w.add(first, laneToken);
}

/// What variants make of a score, before the shift.
Value BlockEmitter::applyVariants(Value score, int64_t token, int64_t column,
                                  Value stepBegin) {
  if (std::optional<APFloat> cap = op.getSoftcap()) {
    // Scores are of base 2.
    double limit = cap->convertToFloat() * llvm::numbers::log2e;
    score =
        math::TanhOp::create(w.builder, w.loc, w.fmul(score, w.f32(1 / limit)));
    score = w.fmul(score, w.f32(limit));
  }
  if (Value slope = slopes[column]) {
    Value distance = w.sub(getToken(stepBegin, token), positions[column]);
    distance = arith::SIToFPOp::create(w.builder, w.loc, w.builder.getF32Type(),
                                       distance);
    score = w.fma(slope, distance, score);
  }
  return score;
}

/// The query times the codes of 16 tokens, for each group.
SmallVector<FragmentC> BlockEmitter::emitDots(const WarpState &state,
                                              int64_t fragment) {
  std::array<Words, 2> words; // of rows g and g + 8
  for (int64_t h = 0; h != 2; ++h)
    for (size_t load = 0; load != key.loadPlaces.front().size(); ++load) {
      auto [address, offset] =
          getLoadAddress(key, state.keySlot, 2 * fragment + h, load);
      llvm::append_range(words[h],
                         w.loadShared(address, offset, plan.key.loadBytes));
    }
  SmallVector<FragmentC> dots(scoreInits);
  for (auto [step, columns] : llvm::zip_equal(plan.keySteps, query)) {
    FragmentA a;
    for (int64_t h = 0; h != 2; ++h) {
      auto [first, second] =
          unpackPlane(plan.key.element, words[h][step.word], step.plane);
      if (plan.key.element.isHalf())
        second = w.toHalf2(words[h][step.word + 1]);
      a[h] = first;
      a[h + 2] = second;
    }
    dots[step.group] = w.multiply(a, columns, dots[step.group]);
  }
  return dots;
}

/// The shifted scores of 16 tokens. `scales` and `zeros` are those of its two
/// tokens of the lane.
FragmentC BlockEmitter::finishScores(const WarpState &state,
                                     const SmallVector<FragmentC> &dots,
                                     const PerToken &scales,
                                     const PerToken &zeros, Value stepBegin,
                                     int64_t fragment) {
  FragmentC finished;
  for (int64_t i = 0; i != 4; ++i) {
    int64_t h = i / 2, column = i % 2;
    // Products are added to the shift where nothing comes between.
    bool isPlain = !op.getSoftcap() && !op.getSlopes();
    Value score = isPlain ? state.shift[column] : Value();
    auto accumulate = [&](Value lhs, Value rhs) {
      score = score ? w.fma(lhs, rhs, score) : w.fmul(lhs, rhs);
    };
    if (scales.empty())
      score = score ? w.fadd(dots.front()[i], score) : dots.front()[i];
    else
      for (auto [scale, dot] : llvm::zip_equal(scales[h], dots))
        accumulate(dot[i], scale);
    if (!zeros.empty())
      for (auto [zero, sum] : llvm::zip_equal(zeros[h], querySums))
        accumulate(zero, sum[column]);
    if (!isPlain)
      score = w.fadd(applyVariants(score, 2 * fragment + h, column, stepBegin),
                     state.shift[column]);
    finished[i] = score;
  }
  return finished;
}

/// The shifted scores of a step.
SmallVector<FragmentC> BlockEmitter::emitScores(const WarpState &state,
                                                const Step &step) {
  TokenScales whole;
  if (step.kind == StepKind::Whole)
    whole = loadScales(key, step);
  auto getTokens = [&](const PerToken &all, int64_t fragment) {
    return all.empty() ? all
                       : PerToken({all[2 * fragment], all[2 * fragment + 1]});
  };
  SmallVector<FragmentC> scores;
  for (int64_t fragment = 0; fragment != plan.getFragments(); ++fragment) {
    SmallVector<FragmentC> dots = emitDots(state, fragment);
    TokenScales of = {getTokens(whole.scales, fragment),
                      getTokens(whole.zeros, fragment)};
    if (step.kind == StepKind::Partial)
      of = loadGuardedScales(key, step, 2 * fragment, 2);
    scores.push_back(
        finishScores(state, dots, of.scales, of.zeros, step.begin, fragment));
  }
  return scores;
}

/// Stands for minus infinity: exp2 of it is 0, and differences of two are no
/// NaN.
static constexpr double kHidden = -1e30;

/// Whether `number` is from `first` to `last`, the last one not among them.
Value BlockEmitter::isWithin(int64_t number, Value first, Value last) {
  Value constant = w.i32(number);
  return w.bothTrue(w.compare(arith::CmpIPredicate::sle, first, constant),
                    w.compare(arith::CmpIPredicate::sgt, last, constant));
}

/// Makes the scores of hidden tokens such that they do not count.
void BlockEmitter::hideScores(SmallVector<FragmentC> &scores, Value stepBegin) {
  // Relative to the lane's first token, which the others are a constant from.
  Value first = getToken(stepBegin, 0);
  auto getRelative = [&](Value token) { return w.sub(token, first); };
  for (auto [fragment, of] : llvm::enumerate(scores))
    for (auto [i, score] : llvm::enumerate(of)) {
      int64_t token = 2 * fragment + i / 2, column = i % 2;
      Value isSeen = isWithin(token, getRelative(visibleBegin[column]),
                              getRelative(visibleEnd[column]));
      if (std::optional<int64_t> windowFirst =
              op.getWindow() ? op.getWindowFirst() : std::nullopt) {
        Value last = w.min(visibleEnd[column], w.i32(*windowFirst));
        isSeen = w.eitherTrue(
            isSeen, isWithin(token, getRelative(begin), getRelative(last)));
      }
      score = w.select(isSeen, score, w.f32(kHidden));
    }
}
