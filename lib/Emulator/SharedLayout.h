//===- SharedLayout.h - Where variables lie in shared memory -- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_SHAREDLAYOUT_H
#define KVQ_LIB_EMULATOR_SHAREDLAYOUT_H

#include "Program.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace mlir::kvq::emulator {

/// Replaces variables in shared memory by their offsets in it, and tells each
/// kernel how much it has.
llvm::Error placeSharedVariables(llvm::Module &module, Program &program);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_SHAREDLAYOUT_H
