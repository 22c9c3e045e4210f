//===- WorkgroupMemory.h - Scratch of a kernel in workgroup memo-*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_WORKGROUPMEMORY_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_WORKGROUPMEMORY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kvq {

/// Replaces the allocations in `launch` by memory that the threads of a block
/// share, and the types of what views them. Sizes that are not constant need a
/// constant bound, and are to fit `mostBytes`. Memory beyond what a launch gets
/// without asking is dynamic, and so are the rings of block attention, which
/// have what is left, and in which scratch of other times lies. Fails with an
/// error where the amount of memory or a use forbids it.
LogicalResult moveScratchToWorkgroup(RewriterBase &rewriter,
                                     gpu::LaunchOp launch, int64_t mostBytes);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_WORKGROUPMEMORY_H
