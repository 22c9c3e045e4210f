//===- CollapseAxes.h - Longer axes for elementwise ops ---------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_COLLAPSEAXES_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_COLLAPSEAXES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kvq {

/// Merges parallel axes of an op without reductions that are contiguous in all
/// operands, where a short inner axis would leave lanes or loops unused.
/// Replaces the op; returns what it became.
linalg::GenericOp collapseAxes(RewriterBase &rewriter, linalg::GenericOp op);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_COLLAPSEAXES_H
