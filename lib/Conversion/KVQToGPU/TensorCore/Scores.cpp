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

/// What a variant makes of a score, before the shift.
Value BlockEmitter::finishScore(Value score, const PerToken &zeros,
                                int64_t token, int64_t column,
                                Value stepBegin) {
  if (!zeros.empty())
    for (auto [zero, sum] : llvm::zip_equal(zeros[token], querySums))
      score = w.fma(zero, sum[column], score);
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

/// The shifted scores of a step, a fragment for each 16 tokens.
SmallVector<FragmentC> BlockEmitter::emitScores(const WarpState &state,
                                                const PerToken &scales,
                                                const PerToken &zeros,
                                                Value stepBegin) {
  const StoredElement &element = plan.key.element;
  int64_t wordsPerLoad = plan.key.loadBytes / 4;
  bool isPlain = zeros.empty() && !op.getSoftcap() && !op.getSlopes();
  SmallVector<FragmentC> scores;
  for (int64_t fragment = 0; fragment != plan.getFragments(); ++fragment) {
    std::array<Words, 2> words; // of rows g and g + 8
    for (int64_t h = 0; h != 2; ++h)
      for (size_t load = 0; load != key.loadOffsets.front().size(); ++load) {
        auto [address, offset] =
            getLoadAddress(key, state.keySlot, 2 * fragment + h, load);
        llvm::append_range(words[h],
                           w.loadShared(address, offset, 4 * wordsPerLoad));
      }
    SmallVector<FragmentC> dots(scoreInits);
    std::array<SmallVector<std::array<Value, 2>>, 2> planes;
    for (auto [step, columns] : llvm::zip_equal(plan.keySteps, query)) {
      FragmentA a;
      for (int64_t h = 0; h != 2; ++h) {
        auto [first, second] =
            unpackPlane(element, words[h][step.word], step.plane);
        if (element.isExact)
          second = w.toHalf2(words[h][step.word + 1]);
        a[h] = first;
        a[h + 2] = second;
      }
      dots[step.group] = w.multiply(a, columns, dots[step.group]);
    }
    FragmentC &finished = scores.emplace_back();
    for (int64_t i = 0; i != 4; ++i) {
      int64_t token = 2 * fragment + i / 2, column = i % 2;
      Value score = dots.front()[i];
      Value shift = state.shift[column];
      if (isPlain && !scales.empty() && dots.size() == 1) {
        finished[i] = w.fma(score, scales[token].front(), shift);
        continue;
      }
      if (!scales.empty()) {
        // The last product is added to the shift where nothing comes between.
        Value sum = isPlain ? shift : Value();
        for (auto [scale, dot] : llvm::zip_equal(scales[token], dots))
          sum = sum ? w.fma(dot[i], scale, sum) : w.fmul(dot[i], scale);
        score = sum;
      }
      score = finishScore(score, zeros, token, column, stepBegin);
      finished[i] = isPlain && !scales.empty() ? score : w.fadd(score, shift);
    }
  }
  return scores;
}

/// Whether all columns see all tokens of the step.
Value BlockEmitter::isSeenWhole(Value stepBegin) {
  Value whole = isWhole(stepBegin);
  Value stepEnd = w.add(stepBegin, plan.stepTokens);
  if (op.getCausal()) // the first query token sees the fewest
    whole = w.bothTrue(whole, w.compare(arith::CmpIPredicate::sle, stepEnd,
                                        w.add(w.toI32(op.getPosition()), 1)));
  if (std::optional<int64_t> window = op.getWindow()) {
    Value last = w.add(w.toI32(op.getPosition()), op.getQueryTokens() - 1);
    whole = w.bothTrue(whole, w.compare(arith::CmpIPredicate::sgt, stepBegin,
                                        w.add(last, -*window)));
  }
  return whole;
}

/// Stands for minus infinity: exp2 of it is 0, and differences of two are no
/// NaN.
static constexpr double kHidden = -1e30;

/// Makes the scores of hidden tokens such that they do not count.
void BlockEmitter::hideScores(SmallVector<FragmentC> &scores, Value stepBegin) {
  SmallVector<Value> flat;
  for (const FragmentC &fragment : scores)
    llvm::append_range(flat, fragment);
  SmallVector<Type> types(flat.size(), w.builder.getF32Type());
  auto hide = [&] {
    SmallVector<Value> hidden;
    for (auto [i, score] : llvm::enumerate(flat)) {
      Value token = getToken(stepBegin, i / 2);
      int64_t column = i % 2;
      Value isSeen =
          w.compare(arith::CmpIPredicate::sge, token, visibleBegin[column]);
      if (op.getWindow() && op.getWindowFirst()) {
        Value isFirst = w.compare(arith::CmpIPredicate::slt, token,
                                  w.i32(*op.getWindowFirst()));
        isSeen = w.bothTrue(w.eitherTrue(isSeen, isFirst),
                            w.compare(arith::CmpIPredicate::sge, token, begin));
      }
      isSeen = w.bothTrue(isSeen, w.compare(arith::CmpIPredicate::slt, token,
                                            visibleEnd[column]));
      hidden.push_back(w.select(isSeen, score, w.f32(kHidden)));
    }
    return hidden;
  };
  SmallVector<Value> seen = w.buildIf(
      isSeenWhole(stepBegin), types, [&] { return flat; }, hide);
  for (auto [i, score] : llvm::enumerate(seen))
    scores[i / 4][i % 4] = score;
}
