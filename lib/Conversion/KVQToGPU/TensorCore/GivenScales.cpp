//===- GivenScales.cpp - Scales and zeros of all tokens -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where scales are given, the same for all tokens, the query is multiplied by
// those of keys before the first step, and the sums of values by theirs after
// the last one. Zeros of keys give one number of each query row, those of
// values one of each channel, times the sum of probabilities. So it is with the
// outer scale where scales have two levels.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

/// The f32 of a scale or a zero, stored as `type`, of a channel. `row` is the
/// i64 address of the first channel's.
Value BlockEmitter::loadGroupElement(const SidePlan &plan, Value row, Type type,
                                     Value channel) {
  int64_t groupChannels =
      plan.cache.getFormat().getGroupChannels(plan.getChannels());
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value group = w.divideUnsigned(channel, groupChannels);
  Value address = w.add(row, w.toI64(w.mul(group, bytes)));
  return w.extend(
      w.loadGlobal(address, 0, WarpBuilder::getStoredType(type), bytes), type);
}

/// Given scales may be of any size: rows of the query times them, each times a
/// power of two such that an f16 has all digits of what counts.
SmallVector<std::array<Value, 4>>
BlockEmitter::normalizeQuery(QueryColumns &columns,
                             ArrayRef<std::array<Value, 4>> elements) {
  // The largest element's power of two becomes this one.
  constexpr double kLargest = 256;
  // Rows whose elements are all less count as that.
  constexpr double kLeast = 0x1p-100;
  Value largest = w.f32(kLeast);
  for (const std::array<Value, 4> &of : elements)
    for (Value element : of)
      largest = w.fmax(largest, w.fabs(element));
  largest = w.reduceQuad(largest, &WarpBuilder::fmax);
  constexpr int64_t kExponentMask = 0x7f800000, kTwiceTheBias = 254 << 23;
  // 2^100: one that is infinite has an inverse, too.
  constexpr int64_t kMostExponent = (127 + 100) << 23;
  Type i32 = w.builder.getI32Type(), f32 = w.builder.getF32Type();
  Value exponent = w.min(w.bitAnd(w.bitcast(largest, i32), kExponentMask),
                         w.i32(kMostExponent));
  Value power = w.bitcast(exponent, f32);
  Value inverse = w.bitcast(w.sub(w.i32(kTwiceTheBias), exponent), f32);
  Value factor = w.fmul(inverse, w.f32(kLargest));
  SmallVector<std::array<Value, 4>> normalized(elements);
  for (std::array<Value, 4> &of : normalized)
    for (Value &element : of)
      element = w.fmul(element, factor);
  Value unit = w.fmul(power, w.f32(plan.key.element.unit / kLargest));
  for (auto [column, of] : llvm::enumerate(columns.unit))
    of = getOfColumn(unit, column);
  return normalized;
}

/// What an accumulator's part adds to the output, where the probabilities of
/// each column have a sum.
FragmentC BlockEmitter::finishSums(const ValueStep &step, FragmentC acc,
                                   const PerColumn &probabilities) {
  for (Value &sum : acc) {
    sum = exposeNaN(plan.value.element, sum);
    if (plan.value.element.unit != 1)
      sum = w.fmul(sum, w.f32(plan.value.element.unit));
  }
  if (!plan.value.hasGivenScales) {
    if (value.outerScale)
      for (Value &sum : acc)
        sum = w.fmul(sum, value.outerScale);
    return acc;
  }
  FormatInterface format =
      plan.value.cache.getFormat().resolve(plan.value.getChannels());
  for (int64_t r = 0; r != 2; ++r) {
    Value channel = w.add(w.mul(laneRow, step.stride), step.channels[r]);
    Value scale = loadGroupElement(plan.value, value.scales.base,
                                   plan.value.scaleType, channel);
    if (value.outerScale)
      scale = w.fmul(scale, value.outerScale);
    Value offset;
    if (plan.value.zeroType) {
      Value zero = loadGroupElement(plan.value, value.zeros.base,
                                    plan.value.zeroType, channel);
      offset = format.buildOffset(w.builder, w.loc, scale, zero);
      offset = w.fma(scale, w.f32(plan.value.center), offset);
    }
    for (int64_t column = 0; column != 2; ++column) {
      Value &sum = acc[2 * r + column];
      sum = w.fmul(sum, scale);
      if (offset)
        sum = w.fma(offset, probabilities[column], sum);
    }
  }
  return acc;
}
