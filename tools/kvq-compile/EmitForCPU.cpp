//===- EmitForCPU.cpp - Code and headers for processors -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "Options.h"

#include "kvq/Target/CPUHeader.h"
#include "kvq/Target/CPUTarget.h"
#include "kvq/Target/Compile.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/IR/LLVMContext.h"

namespace cl = llvm::cl;
using namespace mlir;

/// What is for GPUs, and means nothing on a processor.
static llvm::Error checkOptionsForCPU() {
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           std::addressof(chips), &ptxVersion, &blockSize, &copies})
    if (option->getNumOccurrences() != 0)
      return llvm::createStringError(
          "--" + option->ArgStr +
          ": expected with --emit=ptx, cubin, fatbin, manifest, or header and "
          "--chip; it is for GPUs");
  return llvm::Error::success();
}

/// Sets the options of the pipeline for `processor`.
static void setPipelineOptions(kvq::CPUPipelineOptions &options,
                               const kvq::CPUTarget &processor,
                               const llvm::TargetMachine &machine) {
  if (splits.getNumOccurrences() != 0)
    options.splits = splits;
  if (tileTokens.getNumOccurrences() != 0)
    options.tileTokens = tileTokens;
  if (headsInside.getNumOccurrences() != 0)
    options.headsInside = headsInside;
  if (prefetch.getNumOccurrences() != 0)
    options.prefetch = prefetch;
  options.threads = threads;
  options.schedules = schedules;
  options.queryTile = queryTile;
  options.openMP = openMP;
  kvq::setProcessorOptions(options, processor, machine);
  if (vectorWidth.getNumOccurrences() != 0)
    options.vectorWidth = vectorWidth;
}

llvm::Error assignTypes(ModuleOp module, llvm::StringRef layouts) {
  return kvq::runPipeline(
      module, ("builtin.module(kvq-apply-policy," + layouts + ")").str());
}

/// The header of what `options` make of the module.
static llvm::Error emitHeaderForCPU(ModuleOp module, llvm::StringRef source,
                                    const kvq::CPUPipelineOptions &options,
                                    llvm::raw_ostream &os) {
  if (llvm::Error error = assignTypes(module, "kvq-assign-layout"))
    return error;
  OwningOpRef<ModuleOp> lowered = module.clone();
  if (llvm::Error error = kvq::lowerForCPU(*lowered, options))
    return error;
  return kvq::emitCPUHeader(module, *lowered, source, os);
}

/// Code of a lowered module, of the kind that is asked for.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
generateCode(llvm::Module &module, llvm::TargetMachine &machine) {
  if (emitKind == Emit::Assembly)
    return kvq::emitAssembly(module, machine);
  auto object = kvq::emitObject(module, machine);
  if (!object || emitKind == Emit::Object)
    return object;
  return kvq::linkSharedObject((*object)->getBuffer(),
                               machine.getTargetTriple(), openMP);
}

llvm::Error emitForCPU(ModuleOp module, llvm::StringRef source,
                       llvm::raw_ostream &os) {
  if (llvm::Error error = checkOptionsForCPU())
    return error;
  if (!schedules.empty() && vectorWidth.getNumOccurrences() != 0)
    return llvm::createStringError("--vector-width: expected without "
                                   "--schedules, whose entries have one");
  kvq::CPUTarget processor = kvq::CPUTarget::get(cpu, features, target);
  auto machine = processor.createTargetMachine();
  if (!machine)
    return machine.takeError();
  kvq::CPUPipelineOptions options;
  setPipelineOptions(options, processor, **machine);
  if (emitKind == Emit::Header)
    return emitHeaderForCPU(module, source, options, os);
  if (llvm::Error error = kvq::lowerForCPU(module, options))
    return error;
  llvm::LLVMContext context;
  auto llvmModule = kvq::translateToLLVM(module, context, **machine);
  if (!llvmModule)
    return llvmModule.takeError();
  kvq::optimizeForCPU(**llvmModule, **machine);
  if (emitKind == Emit::LLVM) {
    (*llvmModule)->print(os, nullptr);
    return llvm::Error::success();
  }
  auto code = generateCode(**llvmModule, **machine);
  if (!code)
    return code.takeError();
  os << (*code)->getBuffer();
  return llvm::Error::success();
}
