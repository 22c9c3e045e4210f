//===- Bounds.h - Constants that extents do not pass ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_VERIFYFUSED_BOUNDS_H
#define KVQ_LIB_TRANSFORMS_VERIFYFUSED_BOUNDS_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

using Bound = std::optional<int64_t>;

/// Product of bounds; nothing where a factor has none or it overflows.
Bound multiply(Bound left, Bound right);

/// A constant that the extent of an axis does not pass: the extent, that of the
/// storage which it is cut from, or what the arithmetic of its size tells.
Bound getExtentBound(Value value, int64_t axis);

/// A constant that the bytes of `value` do not pass.
Bound getByteBound(Value value);

/// The lesser of two bounds.
Bound tighten(Bound left, Bound right);

/// `bound` with its unit, as errors say it.
std::string describe(Bound bound, StringRef unit);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_VERIFYFUSED_BOUNDS_H
