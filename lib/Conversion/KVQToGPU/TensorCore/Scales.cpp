//===- Scales.cpp - Scales and zeros of tokens to registers ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvq;

/// The most that one instruction loads.
static constexpr int64_t kLoadBytes = 16;

/// The elements of a vector of numbers that are stored as `type`: f16 of
/// f8E4M3FN, f32 of other numbers of 8 bits.
SmallVector<Value> BlockEmitter::extractNumbers(Value vector, Type type) {
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  SmallVector<Value> numbers;
  if (isa<Float8E4M3FNType>(type) && size % 4 == 0) {
    Value words =
        w.bitcast(vector, VectorType::get({size / 4}, w.builder.getI32Type()));
    for (int64_t word = 0; word != size / 4; ++word)
      llvm::append_range(numbers, convertE4M3(w.extractElement(words, word)));
    return numbers;
  }
  for (int64_t i = 0; i != size; ++i) {
    Value number = w.extractElement(vector, i);
    if (isa<Float8E4M3FNType>(type))
      number = convertE4M3(arith::ExtUIOp::create(
          w.builder, w.loc, w.builder.getI32Type(), number))[0];
    else if (type.getIntOrFloatBitWidth() == 8)
      number = w.extend(number, type);
    numbers.push_back(number);
  }
  return numbers;
}

/// All of the lane's tokens.
PerToken BlockEmitter::loadWhole(const SideRows &side, const Step &step,
                                 const ComponentRows &rows) {
  int64_t tokens = plan.getLaneTokens(), groups = side.plan->groups;
  int64_t spans = plan.getSpans();
  int64_t bytes = rows.getElementBytes();
  Value address = locateStep(side, step, rows);
  address = w.add(address, w.toI64(w.mul(laneRow, tokens * rows.stride)));
  PerToken loaded(spans * tokens);
  // As many at once as lie together and an instruction takes.
  bool isContiguous = rows.stride == groups * bytes;
  int64_t count = isContiguous ? tokens * groups : groups;
  int64_t perLoad = std::min<int64_t>(count, kLoadBytes / bytes);
  while (count % perLoad != 0)
    --perLoad;
  int64_t all = spans * tokens * groups;
  for (int64_t element = 0; element < all; element += perLoad) {
    int64_t token = plan.getTokenOffset(element / groups);
    int64_t offset = token * rows.stride + element % groups * bytes;
    Type type = WarpBuilder::getStoredType(rows.elementType);
    Value vector =
        w.loadGlobal(address, offset, VectorType::get({perLoad}, type),
                     std::gcd(rows.alignment, std::gcd(offset, kLoadBytes)));
    for (auto [i, number] :
         llvm::enumerate(extractNumbers(vector, rows.elementType)))
      loaded[(element + i) / groups].push_back(number);
  }
  return loaded;
}

/// One by one, 0 for tokens that are not the op's or that no column sees. All
/// groups of a token are one load, and few registers.
PerToken BlockEmitter::loadGuarded(const SideRows &side, const Step &step,
                                   const ComponentRows &rows,
                                   int64_t firstToken, int64_t count) {
  int64_t groups = side.plan->groups;
  Value address = locateStep(side, step, rows);
  Type type =
      VectorType::get({groups}, WarpBuilder::getStoredType(rows.elementType));
  PerToken loaded;
  for (int64_t i = firstToken; i != firstToken + count; ++i) {
    Value row =
        w.add(w.mul(laneRow, plan.getLaneTokens()), plan.getTokenOffset(i));
    SmallVector<Value> vector = w.buildIf(
        sees(some, getToken(step.begin, i)), type,
        [&]() -> SmallVector<Value> {
          Value place = w.add(address, w.mul(w.toI64(row), rows.stride));
          return {w.loadGlobal(place, 0, type,
                               std::gcd(rows.alignment, rows.stride))};
        },
        [&]() -> SmallVector<Value> { return {w.zero(type)}; });
    loaded.push_back(extractNumbers(vector.front(), rows.elementType));
  }
  return loaded;
}

/// Makes zeros what they add to the values of codes, counted from the center.
void BlockEmitter::buildOffsets(const SidePlan &side, TokenScales &of) {
  FormatInterface format = side.cache.getFormat().resolve(side.getChannels());
  for (auto [zeros, scales] : llvm::zip(of.zeros, of.scales))
    for (auto [zero, stored] : llvm::zip_equal(zeros, scales)) {
      Value scale = w.extend(stored);
      zero = format.buildOffset(w.builder, w.loc, scale, w.extend(zero));
      // Sums of rounded probabilities have what is up to the center.
      if (side.center != 0 && !multipliesValueZeros())
        zero = w.fma(scale, w.f32(side.center), zero);
    }
}

/// Of the lane's tokens in a whole step; none where they come by the ring.
TokenScales BlockEmitter::loadScales(const SideRows &side, const Step &step) {
  TokenScales loaded;
  if (side.plan->copiesScales)
    return loaded;
  if (side.plan->hasTokenScales())
    loaded.scales = loadWhole(side, step, side.scales);
  if (side.plan->hasTokenZeros())
    loaded.zeros = loadWhole(side, step, side.zeros);
  buildOffsets(*side.plan, loaded);
  return loaded;
}

/// Of some of the lane's tokens in a partial step.
TokenScales BlockEmitter::loadGuardedScales(const SideRows &side,
                                            const Step &step,
                                            int64_t firstToken, int64_t count) {
  TokenScales loaded;
  if (side.plan->hasTokenScales())
    loaded.scales = loadGuarded(side, step, side.scales, firstToken, count);
  if (side.plan->hasTokenZeros())
    loaded.zeros = loadGuarded(side, step, side.zeros, firstToken, count);
  if (side.plan->isKey && plan.multipliesKeyZeros()) {
    loaded.zeroPairs = pickZeroPairs(loaded.zeros);
    loaded.zeros.clear();
  }
  buildOffsets(*side.plan, loaded);
  return loaded;
}
