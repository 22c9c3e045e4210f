//===- Merge.cpp - The states of a block's warps into one -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

/// Merges the states of the warps, in their order, into the op's operands.
void BlockEmitter::emitMerge(const ColumnState &state, Value firstRow) {
  int64_t channels = plan.value.getChannels();
  int64_t rowBytes = plan.getMergeRowBytes();
  int64_t warpBytes = kFragmentRows * rowBytes;
  double infinity = std::numeric_limits<double>::infinity();
  PerColumn sum, max;
  for (int64_t column = 0; column != 2; ++column) {
    sum[column] = w.sumRows(state.sum[column]);
    Value isEmpty = w.isEqual(sum[column], 0);
    max[column] =
        w.select(isEmpty, w.f32(-infinity), w.fneg(state.shift[column]));
  }
  SmallVector<PerColumn> zeroSums = getZeroSums(state);
  for (PerColumn &sums : zeroSums)
    for (Value &of : sums)
      of = w.sumRows(of);
  SmallVector<PerColumn> roundingFactors;
  for (size_t group = 0; group != state.scaled.size(); ++group)
    roundingFactors.push_back(getRoundingFactor(state, group));

  // The rings are free once all warps are here.
  w.waitForCopies(0);
  w.syncBlock();
  Value column = w.mul(laneColumn, 2);
  Value warpBase = w.add(ring, w.mul(warp, warpBytes));
  Value laneBase = w.add(warpBase, w.mul(column, rowBytes));
  for (auto [step, acc] : llvm::zip_equal(plan.valueSteps, state.acc))
    for (auto [i, element] : llvm::enumerate(finishSums(step, acc, sum))) {
      Value channel = w.add(w.mul(laneRow, step.stride), step.channels[i / 2]);
      Value total = element;
      if (!roundingFactors.empty())
        total = w.fmul(total, roundingFactors[step.group][i % 2]);
      if (!zeroSums.empty())
        total = w.fadd(total, zeroSums[step.group][i % 2]);
      w.storeSharedF32(total, w.add(laneBase, w.mul(channel, 4)),
                       i % 2 * rowBytes);
    }
  Value isFirst = w.compare(arith::CmpIPredicate::eq, laneRow, w.i32(0));
  w.buildIf(isFirst, {}, [&]() -> SmallVector<Value> {
    for (int64_t i = 0; i != 2; ++i) {
      w.storeSharedF32(max[i], laneBase, i * rowBytes + 4 * channels);
      w.storeSharedF32(sum[i], laneBase, i * rowBytes + 4 * channels + 4);
    }
    return {};
  });
  w.syncBlock();

  // 16 threads take a row.
  constexpr int64_t kRowThreads = kBlockWarps * 32 / kFragmentRows;
  Value inTile = w.divideUnsigned(thread, kRowThreads);
  Value firstChannel = w.remUnsigned(thread, kRowThreads);
  Value row = w.add(firstRow, inTile);
  Value isRow = w.compare(arith::CmpIPredicate::slt, row, w.i32(rows));
  Value rowIndex = w.toIndex(w.min(row, w.i32(rows - 1)));
  Value rowBase = w.add(ring, w.mul(inTile, rowBytes));
  auto load = [&](Value memref, ValueRange indices) -> Value {
    return memref::LoadOp::create(w.builder, w.loc, memref, indices);
  };
  auto store = [&](Value of, Value memref, ValueRange indices) {
    memref::StoreOp::create(w.builder, w.loc, of, memref, indices);
  };
  SmallVector<Value> maxes = {load(op.getMax(), rowIndex)};
  SmallVector<Value> sums = {load(op.getSum(), rowIndex)};
  for (int64_t of = 0; of != kBlockWarps; ++of) {
    int64_t offset = of * warpBytes + 4 * channels;
    maxes.push_back(w.loadSharedF32(rowBase, offset));
    sums.push_back(w.loadSharedF32(rowBase, offset + 4));
  }
  Value largest = maxes.front();
  for (Value of : ArrayRef(maxes).drop_front())
    largest = w.fmax(largest, of);
  // Without any token all factors are 0.
  Value isNone = w.isEqual(largest, -infinity);
  Value reference = w.select(isNone, w.f32(0), largest);
  SmallVector<Value> factors;
  Value total = w.f32(0);
  for (auto [of, count] : llvm::zip_equal(maxes, sums)) {
    factors.push_back(w.exp2(w.fsub(of, reference)));
    total = w.fma(count, factors.back(), total);
  }
  // All have read the state before one writes it.
  w.syncBlock();
  w.buildIf(isRow, {}, [&]() -> SmallVector<Value> {
    for (int64_t i = 0; i < channels; i += kRowThreads) {
      Value channel = w.add(firstChannel, i);
      Value index = w.toIndex(channel);
      Value acc =
          op.getOverwrites()
              ? w.f32(0)
              : w.fmul(load(op.getAcc(), {rowIndex, index}), factors[0]);
      Value place = w.add(rowBase, w.mul(channel, 4));
      for (int64_t of = 0; of != kBlockWarps; ++of)
        acc =
            w.fma(w.loadSharedF32(place, of * warpBytes), factors[of + 1], acc);
      store(acc, op.getAcc(), {rowIndex, index});
    }
    Value isOne = w.compare(arith::CmpIPredicate::eq, firstChannel, w.i32(0));
    w.buildIf(isOne, {}, [&]() -> SmallVector<Value> {
      store(largest, op.getMax(), rowIndex);
      store(total, op.getSum(), rowIndex);
      return {};
    });
    return {};
  });
  // The next tile of rows may write the rings.
  w.syncBlock();
}

/// Makes the accumulator 0.
void BlockEmitter::clearSums() {
  int64_t channels = plan.value.getChannels();
  w.buildFor(thread, w.i32(rows * channels), w.i32(kBlockWarps * 32), {},
             [&](Value element, ValueRange) -> SmallVector<Value> {
               Value row = w.divideUnsigned(element, channels);
               Value channel = w.remUnsigned(element, channels);
               memref::StoreOp::create(
                   w.builder, w.loc, w.f32(0), op.getAcc(),
                   ValueRange{w.toIndex(row), w.toIndex(channel)});
               return {};
             });
  w.syncBlock();
}
