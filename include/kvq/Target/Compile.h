//===- Compile.h - From text to machine code --------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps from the text of a module to an object file. Every step returns
// what went wrong as text, with locations, and prints nothing.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_COMPILE_H
#define KVQ_TARGET_COMPILE_H

#include "kvq/Pipelines/Pipelines.h"
#include "kvq/Target/CPUTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace mlir::kvq {

/// Registers every dialect that a module may hold on its way to LLVM IR, and
/// their translations.
void registerCompilerDialects(DialectRegistry &registry);

/// Registers all passes and pipelines, upstream's and kvq's, for pipelines
/// given as text. Once in a process, whoever calls it.
void registerCompilerPasses();

/// Parses and verifies `text`; `name` stands in locations.
llvm::Expected<OwningOpRef<ModuleOp>>
parseModule(MLIRContext *context, llvm::StringRef text, llvm::StringRef name);

/// Runs the pipeline that `populate` adds.
llvm::Error runPasses(ModuleOp module,
                      llvm::function_ref<llvm::Error(PassManager &)> populate);

/// Runs a pipeline written as text, `builtin.module(...)`.
llvm::Error runPipeline(ModuleOp module, llvm::StringRef pipeline);

/// Sets the options of `kvq-cpu-pipeline` that depend on the processor.
void setProcessorOptions(CPUPipelineOptions &options, const CPUTarget &target,
                         const llvm::TargetMachine &machine);

/// Runs `kvq-cpu-pipeline`.
llvm::Error lowerForCPU(ModuleOp module, const CPUPipelineOptions &options);

/// Translates a module of the LLVM dialect, `builtin.module` or `gpu.module`,
/// for `machine`.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVM(Operation *module, llvm::LLVMContext &context,
                const llvm::TargetMachine &machine);

/// Optimize before code generation. Light: the passes have already hoisted,
/// unrolled and vectorised, and LLVM's own attempts only undo that.
void optimizeForCPU(llvm::Module &module, llvm::TargetMachine &machine);
void optimizeForGPU(llvm::Module &module, llvm::TargetMachine &machine);

/// Generates an object file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitObject(llvm::Module &module, llvm::TargetMachine &machine);

/// Generates assembly text.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitAssembly(llvm::Module &module, llvm::TargetMachine &machine);

/// Links an object file for `triple` to a shared object, with the C compiler
/// that $CC names, or cc; `openMP` says whether it calls LLVM's OpenMP library.
/// Where that fails, the error has what was printed and a command that repeats
/// it.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
linkSharedObject(llvm::StringRef object, const llvm::Triple &triple,
                 bool openMP);

} // namespace mlir::kvq

#endif // KVQ_TARGET_COMPILE_H
