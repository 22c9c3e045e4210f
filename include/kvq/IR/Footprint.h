//===- Footprint.h - Bytes of a cache ---------------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every report of bytes, of the compiler or of Python, is computed here, from
// `CacheType::getComponents` alone: what is reported is what is allocated. Each
// function fails where a number of bytes does not fit into 63 bits.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_FOOTPRINT_H
#define KVQ_IR_FOOTPRINT_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// Bytes of a cache (all its sequences and heads) by what they hold.
struct ByteSplit {
  /// Of each kind of storage component, in their order, without its padding; of
  /// records instead that of the codes, scales and zeros in them.
  llvm::SmallVector<std::pair<ComponentKind, int64_t>, 5> components;
  /// Of rows of codes, what no code fills, and rows of tiles that hold no
  /// token.
  int64_t padding = 0;
  /// Of paged caches, rows of each sequence's last page that hold no token; not
  /// counted as any of the above.
  std::optional<int64_t> pageTails;
  /// All of the above: the bytes of the arrays.
  int64_t total = 0;
  /// Beside the arrays: what their alignment leaves unused where they lie one
  /// after the other in one block of memory.
  int64_t alignment = 0;

  /// The parts of the total by name, padding and page tails last.
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>, 7> getParts() const;
};

/// What storage for `capacity` tokens of each sequence takes, with as many
/// pages as they need where none is shared.
FailureOr<ByteSplit> getAllocatedBytes(CacheType type, int64_t capacity);

/// What of it holds tokens once each sequence has `length` of them (and was
/// never longer). Not more than what storage for `length` tokens takes: windows
/// have their full size from the start.
FailureOr<ByteSplit> getRetainedBytes(CacheType type, int64_t length);

/// What storage for one more group of tokens (`getTokenGroup`) takes, once the
/// exact windows are full, page tails apart. The rest, storage for no tokens,
/// is fixed.
FailureOr<ByteSplit> getTokenGroupBytes(CacheType type);

} // namespace mlir::kvq

#endif // KVQ_IR_FOOTPRINT_H
