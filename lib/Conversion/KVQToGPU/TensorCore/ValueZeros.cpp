//===- ValueZeros.cpp - Probabilities times zeros of values ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The zeros of two tokens that follow each other, of four groups each, are a
// row of 16 bytes. Eight of these as a transposed matrix, times the
// probabilities of the first tokens, give the sums of groups in rows 0 to 3;
// times those of the second ones in rows 4 to 7. Other rows are of no use: they
// are products of one token's zeros with another one's probabilities.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

static constexpr int64_t kGroups = BlockPlan::kZeroGroups;

/// Adds the products of a fragment, with the first and with the second tokens.
void BlockEmitter::multiplyValueZeros(std::array<FragmentC, 2> &products,
                                      const Weights &probabilities, Value slot,
                                      int64_t fragment) {
  const ComponentRows &rows = value.zeros;
  // The same matrix as rows g and as rows g + 8.
  Value ofLane =
      w.mul(w.remUnsigned(lane, 8), plan.getLaneTokens() * rows.rowBytes);
  Words words = w.loadMatrices(
      getSlotAddress(slot, ofLane),
      rows.slotPlace + plan.getTokenOffset(2 * fragment) * rows.rowBytes,
      /*count=*/2, /*transposes=*/true);
  std::array<Value, 2> zeros = {w.toHalf2(words[0]), w.toHalf2(words[1])};
  FragmentB columns = transposeColumns(probabilities).front();
  for (auto [of, column] : llvm::zip_equal(products, columns))
    of = w.multiplyHalves(zeros, column, of);
}

/// Adds what of the products is of use to the sums of the lane's row.
void BlockEmitter::addZeroProducts(ColumnState &state,
                                   const std::array<FragmentC, 2> &products) {
  Value isFirst = w.compare(arith::CmpIPredicate::slt, laneRow, w.i32(kGroups));
  for (auto [column, sum] : llvm::enumerate(state.zeroSums.front()))
    sum = w.fadd(sum,
                 w.select(isFirst, products[0][column], products[1][column]));
}

/// The sums of a lane for each group.
SmallVector<PerColumn> BlockEmitter::getZeroSums(const ColumnState &state) {
  if (!multipliesValueZeros())
    return state.zeroSums;
  SmallVector<PerColumn> sums(kGroups);
  Value group = w.remUnsigned(laneRow, kGroups);
  for (auto [i, of] : llvm::enumerate(sums)) {
    Value isOf = w.compare(arith::CmpIPredicate::eq, group, w.i32(int64_t(i)));
    for (auto [sum, ofRow] : llvm::zip_equal(of, state.zeroSums.front()))
      sum = w.select(isOf, ofRow, w.f32(0));
  }
  return sums;
}

/// Adds a group's sums of the lane's tokens to where a lane has those of its
/// row.
void BlockEmitter::addZeroSums(ColumnState &state, int64_t group,
                               const PerColumn &sums) {
  Value isRow = w.compare(arith::CmpIPredicate::eq, laneRow, w.i32(group));
  for (auto [sum, ofLane] : llvm::zip_equal(state.zeroSums.front(), sums))
    sum = w.select(isRow, w.fadd(sum, w.sumRows(ofLane)), sum);
}

/// Codes count from their center, so that zeros lack it. Rounded sums have it
/// in the same rows, as a multiple.
void BlockEmitter::addCenter(ColumnState &state) {
  Value factor = w.f32(plan.value.center /
                       getSummedOffset(plan.value.element, /*plane=*/0));
  for (auto [column, sum] : llvm::enumerate(state.zeroSums.front()))
    sum = w.fma(factor, state.rounded.front()[column], sum);
}
