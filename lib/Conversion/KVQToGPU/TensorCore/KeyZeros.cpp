//===- KeyZeros.cpp - Zeros of keys times sums of the query ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where each token has zeros for several groups of channels, they are, times
// the sums of the query over the groups, a product of matrices: of tokens by
// groups, as zeros lie in a slot, and of groups by query rows. A product has
// eight places for four groups, so that each has its zero twice, beside what an
// f16 holds of the query's sum and what that leaves of it.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

static constexpr int64_t kProductGroups = BlockPlan::kZeroGroups,
                         kPairBytes = 4;

/// Pairs of groups of a product: lane t has pair t, and again from there on.
static int64_t getPairs(const BlockPlan &plan) {
  return std::min(plan.key.groups, kProductGroups) / 2;
}

/// Products for all groups.
static int64_t getProducts(const BlockPlan &plan) {
  return llvm::divideCeil(plan.key.groups, kProductGroups);
}

/// The sums over groups as operands of products. As means over the channels
/// they are within an f16 where the query is.
void BlockEmitter::packQuerySums(QueryColumns &columns) {
  // Lane 4 g + t has those of columns 2 t and 2 t + 1, and is to have column g.
  Value from = w.divideUnsigned(laneRow, 2);
  Value isSecond =
      w.compare(arith::CmpIPredicate::ne, w.remUnsigned(laneRow, 2), w.i32(0));
  SmallVector<Value> means;
  for (const FragmentC &sum : columns.sums) {
    Value mean = w.select(isSecond, w.shuffleFrom(sum[1], from),
                          w.shuffleFrom(sum[0], from));
    means.push_back(w.fmul(mean, w.f32(1 / getZeroFactor())));
  }
  int64_t pairs = getPairs(plan);
  auto hasPlace = [&](int64_t place) {
    return w.compare(arith::CmpIPredicate::eq, laneColumn, w.i32(place));
  };
  for (int64_t product = 0; product != getProducts(plan); ++product) {
    Value operand = w.half2(0);
    for (int64_t pair = 0; pair != pairs; ++pair) {
      ArrayRef<Value> two =
          ArrayRef(means).slice(product * kProductGroups + 2 * pair, 2);
      Value high = w.packHalf2(two[0], two[1]);
      auto getRest = [&](int64_t half) {
        return w.fsub(two[half], w.extend(w.extractElement(high, half)));
      };
      Value low = w.packHalf2(getRest(0), getRest(1));
      operand = w.select(hasPlace(pair), high, operand);
      operand = w.select(hasPlace(pairs + pair), low, operand);
    }
    columns.sumPairs.push_back(operand);
  }
  columns.sums.clear();
}

/// What products of zeros with `sumPairs` are to be multiplied by.
double BlockEmitter::getZeroFactor() {
  return double(plan.key.getChannels()) / plan.key.groups;
}

/// The zeros of the lane's two tokens of a fragment, from a slot, as operands
/// of each product: of rows g, and of rows g + 8.
SmallVector<std::array<Value, 2>>
BlockEmitter::loadZeroPairs(Value slot, int64_t fragment) {
  const ComponentRows &rows = key.zeros;
  Value ofLane =
      w.add(w.mul(laneRow, plan.getLaneTokens() * rows.rowBytes),
            w.mul(w.remUnsigned(laneColumn, getPairs(plan)), kPairBytes));
  Value address = getSlotAddress(slot, ofLane);
  SmallVector<std::array<Value, 2>> loaded;
  for (int64_t product = 0; product != getProducts(plan); ++product) {
    std::array<Value, 2> &pairs = loaded.emplace_back();
    for (auto [h, pair] : llvm::enumerate(pairs)) {
      int64_t token = plan.getTokenOffset(2 * fragment) + int64_t(h);
      int64_t offset =
          rows.slotPlace + token * rows.rowBytes + product * kProductGroups * 2;
      pair = w.toHalf2(w.loadShared(address, offset, kPairBytes).front());
    }
  }
  return loaded;
}

/// The same of zeros that the lane has of all groups, f16.
SmallVector<std::array<Value, 2>>
BlockEmitter::pickZeroPairs(const PerToken &zeros) {
  Value place = w.remUnsigned(laneColumn, getPairs(plan));
  SmallVector<std::array<Value, 2>> picked;
  for (int64_t product = 0; product != getProducts(plan); ++product) {
    std::array<Value, 2> &pairs = picked.emplace_back();
    for (auto [ofToken, pair] : llvm::zip_equal(zeros, pairs))
      for (int64_t i = getPairs(plan); i-- != 0;) {
        int64_t group = product * kProductGroups + 2 * i;
        Value other = w.pair(ofToken[group], ofToken[group + 1]);
        Value isPlace = w.compare(arith::CmpIPredicate::eq, place, w.i32(i));
        pair = pair ? w.select(isPlace, other, pair) : other;
      }
  }
  return picked;
}

/// Zeros of tokens times sums of the query, but for `getZeroFactor`.
FragmentC
BlockEmitter::multiplyKeyZeros(ArrayRef<std::array<Value, 2>> zeroPairs,
                               const QueryColumns &columns) {
  FragmentC sum = {w.f32(0), w.f32(0), w.f32(0), w.f32(0)};
  for (auto [zeros, sums] : llvm::zip_equal(zeroPairs, columns.sumPairs))
    sum = w.multiplyHalves(zeros, sums, sum);
  return sum;
}
