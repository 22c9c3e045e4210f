//===- QueryTile.cpp - How many query tokens a work item has --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/QueryTile.h"

#include <algorithm>

/// An item has at most 64 rows: turning a tile of tokens into f32 is a small
/// part of the work on it then.
static constexpr int64_t kMostRows = 64;

/// What an item takes beside its rows, in rows.
static constexpr int64_t kItemCost = 4;

int64_t mlir::kvq::chooseQueryTile(int64_t queryTokens, int64_t heads,
                                   int64_t channels, int64_t rowChannels) {
  int64_t rows = std::min(kMostRows, rowChannels / channels);
  auto getCost = [&](int64_t tile) {
    return (queryTokens + tile - 1) / tile * (tile * heads + kItemCost);
  };
  int64_t best = 1;
  for (int64_t tile = 2; tile * heads <= rows; tile *= 2)
    if (getCost(tile) <= getCost(best))
      best = tile;
  return best;
}
