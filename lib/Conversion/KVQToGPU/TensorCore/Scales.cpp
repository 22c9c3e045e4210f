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

/// All of the lane's tokens, as they are stored.
PerToken BlockEmitter::loadWhole(const SideRows &side, const Step &step,
                                 bool zeros) {
  const SidePlan &plan = *side.plan;
  int64_t stride = zeros ? side.zeroStride : side.scaleStride;
  Value address =
      locateStep(side, step, zeros ? side.zeroBase : side.scaleBase,
                 zeros ? side.zeroPageBytes : side.scalePageBytes, stride);
  int64_t tokens = this->plan.getLaneTokens();
  address = w.add(address, w.toI64(w.mul(laneRow, tokens * stride)));
  Type type = zeros ? plan.zeroType : plan.scaleType;
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  int64_t alignment = zeros ? side.zeroAlignment : side.scaleAlignment;
  PerToken loaded(tokens);
  // As many at once as lie together and an instruction takes.
  bool isContiguous = stride == plan.groups * bytes;
  int64_t count = isContiguous ? tokens * plan.groups : plan.groups;
  int64_t perLoad = std::min<int64_t>(count, kLoadBytes / bytes);
  while (count % perLoad != 0)
    --perLoad;
  for (int64_t element = 0; element < tokens * plan.groups;
       element += perLoad) {
    int64_t offset =
        element / plan.groups * stride + element % plan.groups * bytes;
    Value vector =
        w.loadGlobal(address, offset, VectorType::get({perLoad}, type),
                     std::gcd(alignment, std::gcd(offset, kLoadBytes)));
    for (int64_t i = 0; i != perLoad; ++i)
      loaded[(element + i) / plan.groups].push_back(
          w.extend(w.extractElement(vector, i)));
  }
  return loaded;
}

/// One by one, 0 for tokens that are not the op's.
PerToken BlockEmitter::loadGuarded(const SideRows &side, const Step &step,
                                   bool zeros, int64_t firstToken,
                                   int64_t count) {
  const SidePlan &plan = *side.plan;
  int64_t stride = zeros ? side.zeroStride : side.scaleStride;
  Type type = zeros ? plan.zeroType : plan.scaleType;
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value address =
      locateStep(side, step, zeros ? side.zeroBase : side.scaleBase,
                 zeros ? side.zeroPageBytes : side.scalePageBytes, stride);
  Value laneToken = getToken(step.begin, 0);
  PerToken loaded;
  for (int64_t i = firstToken; i != firstToken + count; ++i) {
    Value row = w.add(w.mul(laneRow, this->plan.getLaneTokens()), i);
    Value isThere = isWithin(i, w.sub(begin, laneToken), w.sub(end, laneToken));
    loaded.push_back(w.buildIf(
        isThere, SmallVector<Type>(plan.groups, w.builder.getF32Type()),
        [&] {
          Value place = w.add(address, w.mul(w.toI64(row), stride));
          SmallVector<Value> loads;
          for (int64_t group = 0; group != plan.groups; ++group)
            loads.push_back(
                w.extend(w.loadGlobal(place, group * bytes, type, bytes)));
          return loads;
        },
        [&] { return SmallVector<Value>(plan.groups, w.f32(0)); }));
  }
  return loaded;
}

/// Makes zeros what they add to the values of codes.
static void buildOffsets(WarpBuilder &w, const SidePlan &plan,
                         TokenScales &of) {
  FormatInterface format =
      plan.cache.getFormat().resolve(plan.cache.getHeadDim());
  for (auto [zeros, scales] : llvm::zip(of.zeros, of.scales))
    for (auto [zero, scale] : llvm::zip_equal(zeros, scales))
      zero = format.buildOffset(w.builder, w.loc, scale, zero);
}

/// Of the lane's tokens in a whole step.
TokenScales BlockEmitter::loadScales(const SideRows &side, const Step &step) {
  TokenScales loaded;
  if (side.plan->hasTokenScales())
    loaded.scales = loadWhole(side, step, /*zeros=*/false);
  if (side.plan->hasTokenZeros())
    loaded.zeros = loadWhole(side, step, /*zeros=*/true);
  buildOffsets(w, *side.plan, loaded);
  return loaded;
}

/// Of some of the lane's tokens in a partial step.
TokenScales BlockEmitter::loadGuardedScales(const SideRows &side,
                                            const Step &step,
                                            int64_t firstToken, int64_t count) {
  TokenScales loaded;
  if (side.plan->hasTokenScales())
    loaded.scales = loadGuarded(side, step, /*zeros=*/false, firstToken, count);
  if (side.plan->hasTokenZeros())
    loaded.zeros = loadGuarded(side, step, /*zeros=*/true, firstToken, count);
  buildOffsets(w, *side.plan, loaded);
  return loaded;
}
