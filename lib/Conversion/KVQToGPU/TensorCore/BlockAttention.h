//===- BlockAttention.h - Attention by a block's tensor cores ---*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKATTENTION_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKATTENTION_H

#include "kvq/Conversion/CodeCopies.h"
#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// Replaces `op`, on buffers, by what each thread of a block runs. `ring` is
/// the i32 address of as much workgroup memory as
/// `getRingUse` says. With bulk copies whole steps of rows that lie together
/// are copied so; the chip has to have them.
LogicalResult emitBlockAttention(RewriterBase &rewriter, BlockAttentionOp op,
                                 Value ring, CodeCopies copies);

/// What an op takes of workgroup memory for its rings.
struct RingUse {
  int64_t bytes;
  /// Bytes that the op leaves alone before its first copy and after its last
  /// one.
  int64_t restBegin, restEnd;
  /// Whether it reads the query before its first copy, and writes the
  /// accumulator after its last one.
  bool readsRowsAhead;
};

/// Fails with an error where rings cannot be made to fit.
FailureOr<RingUse> getRingUse(BlockAttentionOp op);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKATTENTION_H
