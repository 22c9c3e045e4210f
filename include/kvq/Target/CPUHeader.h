//===- CPUHeader.h - Functions for processors, for C ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_CPUHEADER_H
#define KVQ_TARGET_CPUHEADER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::kvq {

/// Writes a header of C99 and C++ for the public functions of a module: of each
/// a structure for what it takes, and an inline function that calls it.
/// `module` has the types that policies and layouts give, `lowered` is what the
/// CPU pipeline makes of it, `source` the text that it was parsed from, whose
/// names arguments keep. Fails for functions that C cannot call: of another
/// name than C takes, or with results that are not arguments.
llvm::Error emitCPUHeader(ModuleOp module, ModuleOp lowered,
                          llvm::StringRef source, llvm::raw_ostream &os);

} // namespace mlir::kvq

#endif // KVQ_TARGET_CPUHEADER_H
