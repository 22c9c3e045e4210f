//===- QueryTile.cpp - How many query tokens a work item has --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/QueryTile.h"

#include <algorithm>

/// An item has at most 64 rows: turning a tile of tokens into f32 is a small
/// part of the work on it then. All its rows have at most 8192 channels, so
/// that its query and its accumulator, 32 KB each, lie near.
static constexpr int64_t kMostRows = 64;
static constexpr int64_t kMostChannels = 8192;

int64_t mlir::kvq::chooseQueryTile(int64_t queryTokens, int64_t heads,
                                   int64_t channels) {
  int64_t rows = std::min(kMostRows, kMostChannels / channels);
  int64_t most = std::max<int64_t>(rows / heads, 1);
  int64_t items = (queryTokens + most - 1) / most;
  return items == 0 ? 1 : (queryTokens + items - 1) / items;
}
