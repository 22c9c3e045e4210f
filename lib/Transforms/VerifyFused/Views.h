//===- Views.h - Views and their roots --------------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_VERIFYFUSED_VIEWS_H
#define KVQ_LIB_TRANSFORMS_VERIFYFUSED_VIEWS_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// What `value` shares its elements with, one step back: the source of a view,
/// the destination of an op that writes to it, what a loop starts from. Null
/// for a root.
Value getSource(Value value);

/// The value that `value` is a part of.
Value getRoot(Value value);

/// The axes of the source, for a view that takes a part of it.
std::optional<SmallVector<int64_t>> getSliceAxes(Operation *op);

/// The groups of axes that a reshape splits or joins.
SmallVector<ReassociationIndices> getReassociation(Operation *op);

/// For each axis of codes, whether it counts tokens (or heads or sequences)
/// rather than channels. One axis of tokens alone stands for a row of unknown
/// origin, and counts. Of codes that lie in tiles a whole tile counts as one.
SmallVector<bool> getTokenAxes(Value codes);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_VERIFYFUSED_VIEWS_H
