//===- Exp2.h - Powers of two by a polynomial -------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_EXP2_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_EXP2_H

#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::kvq {

/// Replaces an exp2 of f32 values by a polynomial; fails on other types.
LogicalResult expandExp2(RewriterBase &rewriter, math::Exp2Op op);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_EXP2_H
