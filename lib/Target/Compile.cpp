//===- Compile.cpp - From text to machine code --------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/Compile.h"

#include "kvq/InitAll.h"
#include "kvq/Target/CPUTarget.h"
#include "kvq/Target/Diagnostics.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

#include <mutex>

using namespace mlir;

void kvq::registerCompilerDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  kvq::registerAllDialects(registry);
}

void kvq::registerCompilerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    mlir::registerAllPasses();
    kvq::registerAllPasses();
  });
}

llvm::Expected<OwningOpRef<ModuleOp>>
kvq::parseModule(MLIRContext *context, StringRef text, StringRef name) {
  DiagnosticCollector diagnostics(context);
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(context), name);
  if (!module)
    return diagnostics.takeError(name + ": not a module");
  return std::move(module);
}

llvm::Error
kvq::runPasses(ModuleOp module,
               llvm::function_ref<llvm::Error(PassManager &)> populate) {
  DiagnosticCollector diagnostics(module.getContext());
  PassManager manager(module.getContext());
  if (llvm::Error error = populate(manager))
    return error;
  if (failed(manager.run(module)))
    return diagnostics.takeError("a pass failed without an error");
  return llvm::Error::success();
}

llvm::Error kvq::runPipeline(ModuleOp module, StringRef pipeline) {
  registerCompilerPasses();
  return runPasses(module, [&](PassManager &manager) -> llvm::Error {
    std::string text;
    llvm::raw_string_ostream os(text);
    FailureOr<OpPassManager> parsed = parsePassPipeline(pipeline, os);
    if (failed(parsed))
      return llvm::createStringError(StringRef(text).rtrim());
    if (parsed->getOpAnchorName() != ModuleOp::getOperationName())
      return llvm::createStringError(
          "expected a pipeline on builtin.module, got one on " +
          parsed->getOpAnchorName());
    static_cast<OpPassManager &>(manager) = std::move(*parsed);
    return llvm::Error::success();
  });
}

void kvq::setProcessorOptions(CPUPipelineOptions &options,
                              const CPUTarget &target,
                              const llvm::TargetMachine &machine) {
  CPUFeatures features = CPUFeatures::get(machine);
  options.vectorWidth = features.vectorWidth;
  options.byteProducts = features.byteProducts;
  options.expandHalf = !features.hasHalf;
  options.expandRounding = !features.hasRounding;
  options.expandFMA = !features.hasFMA;
  DataCaches caches = getDataCaches(target, machine);
  options.l1Bytes = caches.l1;
  options.l2Bytes = caches.l2;
  options.cpu = target.cpu;
}

llvm::Error kvq::lowerForCPU(ModuleOp module,
                             const CPUPipelineOptions &options) {
  return runPasses(module, [&](PassManager &manager) {
    buildCPUPipeline(manager, options);
    return llvm::Error::success();
  });
}
