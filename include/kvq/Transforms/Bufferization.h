//===- Bufferization.h - Ops of the dialect on buffers ----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_BUFFERIZATION_H
#define KVQ_TRANSFORMS_BUFFERIZATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::kvq {

/// Registers how ops that are left on tensors bufferize.
void registerBufferizableOps(DialectRegistry &registry);

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_BUFFERIZATION_H
