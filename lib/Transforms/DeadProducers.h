//===- DeadProducers.h - Erasing what nothing reads -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_DEADPRODUCERS_H
#define KVQ_LIB_TRANSFORMS_DEADPRODUCERS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::kvq {

/// Erases `ops`, of which users come last, and what made their operands, as far
/// as nothing else uses it.
void eraseDead(RewriterBase &rewriter, ArrayRef<Operation *> ops);

/// Erases what made `value` as far as nothing else uses it.
void eraseDeadProducers(RewriterBase &rewriter, Value value);

/// Erases `op`, whose results nothing uses, and what made its operands as far
/// as nothing else uses it.
void eraseWithDeadProducers(RewriterBase &rewriter, Operation *op);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_DEADPRODUCERS_H
