//===- CodeCopies.h - Copies to a block's memory ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_CONVERSION_CODECOPIES_H
#define KVQ_CONVERSION_CODECOPIES_H

namespace mlir::kvq {

/// How rows of codes come to the memory of a block of a GPU.
enum class CodeCopies {
  /// cp.async: 16 bytes a lane.
  Async,
  /// cp.async.bulk: rows that lie together at once, by one lane, counted by an
  /// mbarrier.
  Bulk
};

} // namespace mlir::kvq

#endif // KVQ_CONVERSION_CODECOPIES_H
