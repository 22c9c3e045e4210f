//===- ReduceLanes.cpp - Reductions over the lanes of vectors -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

TypedAttr kvq::neutralElement(Operation *combiner, Type type) {
  auto ofFloat = [&](double value) { return FloatAttr::get(type, value); };
  auto ofInfinity = [&](bool negative) {
    return FloatAttr::get(
        type,
        APFloat::getInf(cast<FloatType>(type).getFloatSemantics(), negative));
  };
  auto ofQuietNaN = [&]() {
    return FloatAttr::get(
        type, APFloat::getQNaN(cast<FloatType>(type).getFloatSemantics()));
  };
  auto ofInt = [&](APInt value) { return IntegerAttr::get(type, value); };
  unsigned width = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
  return llvm::TypeSwitch<Operation *, TypedAttr>(combiner)
      // Minus zero, as zero would turn a sum of minus zeros into zero.
      .Case<arith::AddFOp>([&](auto) { return ofFloat(-0.0); })
      .Case<arith::MulFOp>([&](auto) { return ofFloat(1.0); })
      .Case<arith::MaximumFOp>([&](auto) { return ofInfinity(true); })
      .Case<arith::MinimumFOp>([&](auto) { return ofInfinity(false); })
      .Case<arith::MaxNumFOp, arith::MinNumFOp>(
          [&](auto) { return ofQuietNaN(); })
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
          [&](auto) { return ofInt(APInt::getZero(width)); })
      .Case<arith::AndIOp, arith::MinUIOp>(
          [&](auto) { return ofInt(APInt::getAllOnes(width)); })
      .Case<arith::MaxSIOp>(
          [&](auto) { return ofInt(APInt::getSignedMinValue(width)); })
      .Case<arith::MinSIOp>(
          [&](auto) { return ofInt(APInt::getSignedMaxValue(width)); });
}

Value kvq::combine(OpBuilder &builder, Operation *combiner, Value lhs,
                   Value rhs) {
  OperationState state(combiner->getLoc(), combiner->getName(), {lhs, rhs},
                       {lhs.getType()}, combiner->getAttrs());
  return builder.create(state)->getResult(0);
}

namespace {
/// A vector, and which accumulator each of its lanes belongs to.
struct Mixed {
  Value vector;
  SmallVector<int64_t> owners;
};

/// Merges vectors of accumulators until one holds them all.
class LaneTree {
public:
  LaneTree(OpBuilder &builder, Location loc, Operation *combiner, int64_t lanes)
      : builder(builder), loc(loc), combiner(combiner), lanes(lanes) {}

  /// Halves the lanes that each accumulator has in `lhs` and `rhs`, which then
  /// share one vector.
  Mixed merge(const Mixed &lhs, const Mixed &rhs, int64_t stride);
  /// Combines lanes that differ in `stride`.
  Mixed fold(const Mixed &vector, int64_t stride);

private:
  Mixed combineLanes(const Mixed &lhs, const Mixed &rhs,
                     ArrayRef<int64_t> first, ArrayRef<int64_t> second);

  OpBuilder &builder;
  Location loc;
  Operation *combiner;
  int64_t lanes;
};
} // namespace

Mixed LaneTree::combineLanes(const Mixed &lhs, const Mixed &rhs,
                             ArrayRef<int64_t> first,
                             ArrayRef<int64_t> second) {
  Mixed result;
  result.vector = combine(
      builder, combiner,
      vector::ShuffleOp::create(builder, loc, lhs.vector, rhs.vector, first),
      vector::ShuffleOp::create(builder, loc, lhs.vector, rhs.vector, second));
  for (int64_t lane : first)
    result.owners.push_back(lane < lanes ? lhs.owners[lane]
                                         : rhs.owners[lane - lanes]);
  return result;
}

Mixed LaneTree::merge(const Mixed &lhs, const Mixed &rhs, int64_t stride) {
  SmallVector<int64_t> first, second;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    if (stride == 1 && lanes >= 4) {
      // Sums of neighbours: one instruction that takes both from a pair of
      // vectors, where moving by one lane would take a blend and a shuffle.
      int64_t block = lane & ~3, pair = lane & 1;
      int64_t even = (lane & 2 ? lanes : 0) + block + 2 * pair;
      first.push_back(even);
      second.push_back(even + 1);
      continue;
    }
    int64_t source = lane & stride ? lanes : 0;
    first.push_back(source + lane);
    second.push_back(source + (lane ^ stride));
  }
  return combineLanes(lhs, rhs, first, second);
}

Mixed LaneTree::fold(const Mixed &mixed, int64_t stride) {
  SmallVector<int64_t> moved;
  for (int64_t lane = 0; lane < lanes; ++lane)
    moved.push_back(lane ^ stride);
  return {combine(builder, combiner, mixed.vector,
                  vector::ShuffleOp::create(builder, loc, mixed.vector,
                                            mixed.vector, moved)),
          mixed.owners};
}

/// The order in which bits of the lane number are summed away: inside the
/// 128-bit halves first, where shuffles take two sources in one instruction.
static SmallVector<int64_t> strideOrder(int64_t lanes) {
  SmallVector<int64_t> strides;
  if (lanes >= 4)
    strides.push_back(2);
  strides.push_back(1);
  for (int64_t stride = 4; stride < lanes; stride *= 2)
    strides.push_back(stride);
  return strides;
}

SmallVector<LaneOf> kvq::reduceLanes(OpBuilder &builder, Location loc,
                                     Operation *combiner,
                                     ValueRange accumulators) {
  int64_t lanes =
      cast<VectorType>(accumulators.front().getType()).getNumElements();
  LaneTree tree(builder, loc, combiner, lanes);
  SmallVector<LaneOf> results;
  while (results.size() < accumulators.size()) {
    ValueRange rest = accumulators.drop_front(results.size());
    int64_t count = std::min<int64_t>(lanes, rest.size());
    // The list is padded to a power of two with its last element.
    SmallVector<Mixed> list;
    for (int64_t i = 0, e = llvm::PowerOf2Ceil(count); i < e; ++i) {
      int64_t owner = std::min(i, count - 1);
      list.push_back({rest[owner], SmallVector<int64_t>(lanes, owner)});
    }
    for (int64_t stride : strideOrder(lanes)) {
      if (list.size() == 1) {
        list[0] = tree.fold(list[0], stride);
        continue;
      }
      SmallVector<Mixed> merged;
      for (size_t i = 0; i < list.size(); i += 2)
        merged.push_back(tree.merge(list[i], list[i + 1], stride));
      list = std::move(merged);
    }
    for (int64_t owner = 0; owner < count; ++owner)
      results.push_back({list[0].vector, llvm::find(list[0].owners, owner) -
                                             list[0].owners.begin()});
  }
  return results;
}

/// The low or high half of each block of four lanes of `lhs` and `rhs`,
/// `chunk` lanes of each in turn.
static Value interleave(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                        int64_t chunk, bool high) {
  int64_t lanes = cast<VectorType>(lhs.getType()).getNumElements();
  int64_t block = std::min<int64_t>(lanes, kMaxTransposed);
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t turn = lane % block / chunk;
    mask.push_back((turn % 2 ? lanes : 0) + lane / block * block +
                   (high ? block / 2 : 0) + turn / 2 * chunk + lane % chunk);
  }
  return vector::ShuffleOp::create(builder, loc, lhs, rhs, mask);
}

static SmallVector<Value> transposeBlocks(OpBuilder &builder, Location loc,
                                          ArrayRef<Value> vectors,
                                          int64_t chunk) {
  if (vectors.size() == 1)
    return {vectors.front()};
  SmallVector<Value> results;
  for (bool high : {false, true}) {
    SmallVector<Value> half;
    for (size_t i = 0; i < vectors.size(); i += 2)
      half.push_back(
          interleave(builder, loc, vectors[i], vectors[i + 1], chunk, high));
    results.append(transposeBlocks(builder, loc, half, 2 * chunk));
  }
  return results;
}

SmallVector<Value> kvq::collectRuns(OpBuilder &builder, Location loc,
                                    ArrayRef<SmallVector<LaneOf>> results) {
  int64_t size = results.size();
  llvm::MapVector<Value, SmallVector<Value>> transposed;
  SmallVector<Value> runs;
  for (auto [i, first] : llvm::enumerate(results.front())) {
    SmallVector<Value> &vectors = transposed[first.vector];
    if (vectors.empty()) {
      SmallVector<Value> sources;
      for (ArrayRef<LaneOf> result : results)
        sources.push_back(result[i].vector);
      vectors = transposeBlocks(builder, loc, sources, 1);
    }
    // A lane's run starts where the lane's group of `size` lanes does, except
    // that two elements leave two runs in each block of four.
    int64_t lanes = cast<VectorType>(first.vector.getType()).getNumElements();
    int64_t block = std::min<int64_t>(lanes, kMaxTransposed);
    int64_t inBlock = first.lane % block;
    int64_t runsPerBlock = block / size;
    runs.push_back(vector::ExtractStridedSliceOp::create(
        builder, loc, vectors[inBlock / runsPerBlock],
        ArrayRef<int64_t>{first.lane - inBlock + inBlock % runsPerBlock * size},
        ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1}));
  }
  return runs;
}
