//===- InitAll.h - Registers all that kvq brings ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_INITALL_H
#define KVQ_INITALL_H

#include "kvq/Conversion/Passes.h"
#include "kvq/IR/KVQ.h"
#include "kvq/Pipelines/Pipelines.h"
#include "kvq/Transforms/Passes.h"

namespace mlir::kvq {

/// Registers the dialect, its ops of the transform dialect, and what pipelines
/// need: interfaces of its ops, and of MLIR's ops that kvq's become.
void registerAllDialects(DialectRegistry &registry);

/// Registers all passes and pipelines.
void registerAllPasses();

} // namespace mlir::kvq

#endif // KVQ_INITALL_H
