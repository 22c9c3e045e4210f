//===- Passes.h - Conversions out of the kvq dialect ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_CONVERSION_PASSES_H
#define KVQ_CONVERSION_PASSES_H

#include "kvq/Conversion/ByteProducts.h"
#include "kvq/Conversion/CodeCopies.h"

#include "mlir/Pass/Pass.h"

namespace mlir::kvq {

#define GEN_PASS_DECL
#include "kvq/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "kvq/Conversion/Passes.h.inc"

} // namespace mlir::kvq

#endif // KVQ_CONVERSION_PASSES_H
