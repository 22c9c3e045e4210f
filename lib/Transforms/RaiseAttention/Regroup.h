//===- Regroup.h - Axes of a tensor in another order ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISEATTENTION_REGROUP_H
#define KVQ_LIB_TRANSFORMS_RAISEATTENTION_REGROUP_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::kvq {

/// Digits of each axis of a tensor, the outermost first; an axis of extent 1
/// has none.
using DigitAxes = SmallVector<SmallVector<unsigned>>;

/// `tensor`, whose axes are the digits `from`, with the axes `to`, which have
/// the same ones.
Value buildRegrouped(OpBuilder &b, Location loc, Value tensor,
                     const DigitAxes &from, const DigitAxes &to,
                     function_ref<OpFoldResult(unsigned digit)> getSize);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISEATTENTION_REGROUP_H
