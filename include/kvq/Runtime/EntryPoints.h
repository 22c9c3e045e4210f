//===- EntryPoints.h - What compiled code calls -----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_RUNTIME_ENTRYPOINTS_H
#define KVQ_RUNTIME_ENTRYPOINTS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::kvq::runtime {

/// `void (Call *, const char *kernel, int64_t gridX, gridY, gridZ, blockX,
/// blockY, blockZ, sharedBytes, void **arguments, int64_t numArguments)`:
/// launches a kernel. `arguments` has the address of each.
inline constexpr llvm::StringLiteral kLaunchEntry = "kvq_launch";

/// `void *(Call *, int64_t bytes)`: memory that kernels can access.
inline constexpr llvm::StringLiteral kAllocateEntry = "kvq_allocate";

/// `void (Call *, void *)`: frees it.
inline constexpr llvm::StringLiteral kFreeEntry = "kvq_free";

} // namespace mlir::kvq::runtime

#endif // KVQ_RUNTIME_ENTRYPOINTS_H
