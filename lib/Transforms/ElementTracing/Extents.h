//===- Extents.h - What an extent is known to be ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_ELEMENTTRACING_EXTENTS_H
#define KVQ_LIB_TRANSFORMS_ELEMENTTRACING_EXTENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::kvq {

/// The extent of an axis of a tensor: a number that is at hand, or, without
/// one, that of an axis of another tensor.
struct KnownExtent {
  OpFoldResult number;
  Value tensor;
  int64_t axis;
};

/// From as far back as the extent is just that of another tensor, so that what
/// computes elements is not needed for it.
KnownExtent findExtent(Value tensor, int64_t axis);

/// The extent, with a tensor.dim where it is not at hand.
OpFoldResult buildExtent(OpBuilder &b, Location loc, Value tensor,
                         int64_t axis);

/// Whether `value` is the extent of an axis of `tensor`.
bool isExtent(Value value, Value tensor, int64_t axis);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_ELEMENTTRACING_EXTENTS_H
