//===- ReduceLanes.cpp - Reductions over the lanes of vectors -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

/// Lanes picked by `mask` from `lhs` (0 … lanes - 1) and `rhs` (from lanes on).
static Value shuffle(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                     function_ref<int64_t(int64_t)> mask, int64_t lanes) {
  SmallVector<int64_t> picked;
  for (int64_t lane = 0; lane < lanes; ++lane)
    picked.push_back(mask(lane));
  return vector::ShuffleOp::create(builder, loc, lhs, rhs, picked);
}

/// The order in which bits of the lane number are summed away: moves by two
/// lanes, by one, then across the 128-bit halves, where moves are slower.
static SmallVector<int64_t> strideOrder(int64_t lanes) {
  SmallVector<int64_t> strides;
  if (lanes >= 4)
    strides.push_back(2);
  strides.push_back(1);
  for (int64_t stride = 4; stride < lanes; stride *= 2)
    strides.push_back(stride);
  return strides;
}

/// Halves the lanes of `lhs` and `rhs` by `stride`; lanes without that bit hold
/// the result of `lhs`, those with it that of `rhs`.
static Value mergePair(OpBuilder &builder, Location loc, Operation *combiner,
                       Value lhs, Value rhs, int64_t stride, int64_t lanes) {
  // Below the 128-bit halves neighbours first: two-source shuffles can only
  // take pairs, and then need no blend.
  Value kept = shuffle(
      builder, loc, lhs, rhs,
      [&](int64_t lane) { return lane & stride ? lanes + lane : lane; }, lanes);
  Value moved = shuffle(
      builder, loc, lhs, rhs,
      [&](int64_t lane) {
        return lane & stride ? lanes + (lane ^ stride) : lane ^ stride;
      },
      lanes);
  // The moved lanes of a pair are swapped, which sums do not notice.
  return combine(builder, combiner, kept, moved);
}

SmallVector<Value> kvq::reduceLanes(OpBuilder &builder, Location loc,
                                    Operation *combiner,
                                    ValueRange accumulators) {
  int64_t lanes =
      cast<VectorType>(accumulators.front().getType()).getNumElements();
  SmallVector<Value> results;
  while (static_cast<int64_t>(results.size()) <
         static_cast<int64_t>(accumulators.size())) {
    ValueRange rest = accumulators.drop_front(results.size());
    int64_t count = std::min<int64_t>(lanes, rest.size());
    int64_t padded = llvm::PowerOf2Ceil(count);
    SmallVector<int64_t> strides = strideOrder(lanes);
    int64_t merges = llvm::Log2_64(padded);

    // Bit i of an accumulator's place in the list is the lane bit that the i-th
    // merge fills. Accumulators are numbered by the lanes they end in.
    SmallVector<Value> list;
    SmallVector<int64_t> laneOf(count);
    for (int64_t place = 0; place < padded; ++place) {
      list.push_back(rest[std::min(place, count - 1)]);
      if (place >= count)
        continue;
      for (int64_t bit = 0; bit < merges; ++bit)
        laneOf[place] |= (place >> bit & 1) * strides[bit];
    }
    for (int64_t stride : ArrayRef(strides).take_front(merges)) {
      SmallVector<Value> merged;
      for (size_t i = 0; i < list.size(); i += 2)
        merged.push_back(mergePair(builder, loc, combiner, list[i], list[i + 1],
                                   stride, lanes));
      list = std::move(merged);
    }
    Value sums = list.front();
    for (int64_t stride : ArrayRef(strides).drop_front(merges))
      sums = combine(builder, combiner, sums,
                     shuffle(
                         builder, loc, sums, sums,
                         [&](int64_t lane) { return lane ^ stride; }, lanes));
    for (int64_t place = 0; place < count; ++place)
      results.push_back(
          vector::ExtractOp::create(builder, loc, sums, laneOf[place]));
  }
  return results;
}
