//===- KVQTransformOps.h - Schedules of attention ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_H
#define KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_H

#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpDefinition.h"

#define GET_OP_CLASSES
#include "kvq/TransformOps/KVQTransformOps.h.inc"

namespace mlir::kvq {

/// Has the transform dialect know the ops `transform.kvq...`.
void registerTransformExtension(DialectRegistry &registry);

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_H
