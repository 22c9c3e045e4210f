//===- Passes.h - Passes on the kvq dialect ---------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_PASSES_H
#define KVQ_TRANSFORMS_PASSES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace mlir::kvq {

/// What a layout is assigned for.
enum class LayoutTarget { CPU, GPU };

/// What `kvq-report-footprint` prints beside its remarks.
enum class FootprintOutput { None, Table, JSON };

#define GEN_PASS_DECL
#include "kvq/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "kvq/Transforms/Passes.h.inc"

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_PASSES_H
