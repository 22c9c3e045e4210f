//===- Retarget.h - GPU code becomes code of this machine ----- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_RETARGET_H
#define KVQ_LIB_EMULATOR_RETARGET_H

#include "Program.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace mlir::kvq::emulator {

/// Prefixes of the symbols in the code of this machine.
inline constexpr llvm::StringLiteral kEntryPrefix = "kvq_emulator_entry_";
inline constexpr llvm::StringLiteral kGlobalPrefix = "kvq_emulator_global_";

/// Rewrites a module for NVPTX to one for this machine: pointers to shared
/// memory become offsets into a block's, accesses are checked, and what the
/// machine does not have becomes a call of the emulator. Fills `program` but
/// for the entries of the kernels, which become functions of their own,
/// `void (ptr parameters)`.
llvm::Error retarget(llvm::Module &module, const llvm::Triple &triple,
                     const llvm::DataLayout &layout, Program &program);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_RETARGET_H
