//===- RuntimeSymbols.h - What generated code links to -------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_RUNTIMESYMBOLS_H
#define KVQ_LIB_EMULATOR_RUNTIMESYMBOLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <utility>

namespace mlir::kvq::emulator {

/// Conversions of f16 and bf16 that compilers' libraries do not all have.
llvm::ArrayRef<std::pair<llvm::StringRef, void *>> getRuntimeSymbols();

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_RUNTIMESYMBOLS_H
