//===- Distribute.h - Structured ops over the threads of a block-*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_DISTRIBUTE_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_DISTRIBUTE_H

#include "WorkItem.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kvq {

/// The threads that share the work of a kernel's block.
struct ThreadBlock {
  /// The index of the thread that runs the code, 0 <= thread < size.
  Value thread;
  int64_t size;
  WorkItem item;
};

/// Replaces `op`, which must be on buffers, by loops in which each thread of
/// the block computes some of the parallel iterations, with the reduction of
/// each run in order by one thread. Fails with an error where two threads could
/// write to the same element.
LogicalResult distributeOverThreads(RewriterBase &rewriter, linalg::LinalgOp op,
                                    const ThreadBlock &block);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_DISTRIBUTE_H
