//===- ScheduleAttr.cpp - Checks of #kvq.schedule -------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   std::optional<int64_t> tile,
                                   std::optional<int64_t> splits,
                                   std::optional<int64_t> headsInside,
                                   std::optional<int64_t> vectorWidth,
                                   std::optional<int64_t> prefetch) {
  if (!tile && !splits && !headsInside && !vectorWidth && !prefetch)
    return emitError() << "expected a schedule with one of tile, splits, "
                          "heads_inside, vector_width and prefetch, got none";
  for (auto [name, number, least, most] :
       {std::tuple("tile", tile, int64_t(1), kMostTileTokens),
        std::tuple("splits", splits, int64_t(1), kMostSplits),
        std::tuple("heads_inside", headsInside, int64_t(0), kMostHeadsInside),
        std::tuple("vector_width", vectorWidth, int64_t(1), kMostVectorWidth),
        std::tuple("prefetch", prefetch, int64_t(0), kMostPrefetch)})
    if (number && (*number < least || *number > most))
      return emitError() << "expected " << name << " from " << least << " to "
                         << most << ", got " << *number;
  if (vectorWidth && !llvm::isPowerOf2_64(*vectorWidth))
    return emitError() << "expected vector_width as a power of two, got "
                       << *vectorWidth;
  return success();
}

ScheduleAttr ScheduleAttr::withDefaults(ScheduleAttr other) const {
  auto pick = [](std::optional<int64_t> own, std::optional<int64_t> other) {
    return own ? own : other;
  };
  return get(getContext(), pick(getTile(), other.getTile()),
             pick(getSplits(), other.getSplits()),
             pick(getHeadsInside(), other.getHeadsInside()),
             pick(getVectorWidth(), other.getVectorWidth()),
             pick(getPrefetch(), other.getPrefetch()));
}
