//===- QueryTile.h - How many query tokens a work item has ------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_QUERYTILE_H
#define KVQ_TRANSFORMS_QUERYTILE_H

#include <cstdint>

namespace mlir::kvq {

/// Channels that all rows of a work item have at most. The query and the
/// accumulator of an item lie near on a processor, 32 KB each, and a warp's
/// registers hold the columns of two rows of 1024 or of 16 of 128.
inline constexpr int64_t kCPURowChannels = 8192, kGPURowChannels = 2048;

/// Query tokens in a work item at most: scratch could not hold the rows of
/// more.
inline constexpr int64_t kMostQueryTokens = 4096;

/// Query tokens in a work item for `queryTokens` of them, each with `heads`
/// query heads to a KV head, rows of the query and of the output having at most
/// `channels` channels, and all of an item `rowChannels`: a power of two, so
/// that there are few kernels, with the least work, padding included.
int64_t chooseQueryTile(int64_t queryTokens, int64_t heads, int64_t channels,
                        int64_t rowChannels);

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_QUERYTILE_H
