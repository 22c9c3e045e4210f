//===- Emitters.h - From modules to outputs ---------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TOOLS_KVQ_COMPILE_EMITTERS_H
#define KVQ_TOOLS_KVQ_COMPILE_EMITTERS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

/// Gives caches the types that policies and `layouts`, a pass, give them.
llvm::Error assignTypes(mlir::ModuleOp module, llvm::StringRef layouts);

/// Writes what --emit asks for of a module over caches; `source` is the text
/// that it was parsed from. Fails for options that are for GPUs.
llvm::Error emitForCPU(mlir::ModuleOp module, llvm::StringRef source,
                       llvm::raw_ostream &os);

/// The same for GPUs. Fails for options that are for processors.
llvm::Error emitForGPU(mlir::ModuleOp module, llvm::raw_ostream &os);

#endif // KVQ_TOOLS_KVQ_COMPILE_EMITTERS_H
