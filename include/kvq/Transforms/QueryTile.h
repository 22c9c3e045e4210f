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

/// Query tokens in a work item for `queryTokens` of them, each with `heads`
/// query heads to a KV head, rows of the query and of the output having at most
/// `channels` channels: a power of two, so that there are few kernels, with the
/// least work, padding included.
int64_t chooseQueryTile(int64_t queryTokens, int64_t heads, int64_t channels);

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_QUERYTILE_H
