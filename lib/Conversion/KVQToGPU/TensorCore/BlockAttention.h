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
/// `getRingBytes` says. With bulk copies whole steps of rows that lie together
/// are copied so; the chip has to have them.
LogicalResult emitBlockAttention(RewriterBase &rewriter, BlockAttentionOp op,
                                 Value ring, CodeCopies copies);

/// Bytes of workgroup memory that `op` needs for its rings; fails with an error
/// where it cannot be made to fit.
FailureOr<int64_t> getRingBytes(BlockAttentionOp op);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKATTENTION_H
