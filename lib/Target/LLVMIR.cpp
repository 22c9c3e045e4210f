//===- LLVMIR.cpp - LLVM IR: translation, optimization, code ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

using namespace mlir;

/// Gives every function the processor, so that the module's text says it too.
static void setProcessor(llvm::Module &module,
                         const llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
  }
}

llvm::Expected<std::unique_ptr<llvm::Module>>
kvq::translateToLLVM(Operation *module, llvm::LLVMContext &context,
                     const llvm::TargetMachine &machine) {
  DiagnosticCollector diagnostics(module->getContext());
  // Translation gives loads and stores the alignments that the layout says.
  module->setDiscardableAttr(
      LLVM::LLVMDialect::getDataLayoutAttrName(),
      StringAttr::get(module->getContext(),
                      machine.createDataLayout().getStringRepresentation()));
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "kvq");
  if (!llvmModule)
    return diagnostics.takeError("the module has no translation to LLVM IR");
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  setProcessor(*llvmModule, machine);
  return std::move(llvmModule);
}

/// Runs the passes that `build` makes of a builder.
static void runLLVMPasses(
    llvm::Module &module, llvm::TargetMachine &machine,
    llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder &)> build) {
  llvm::PipelineTuningOptions tuning;
  // Unrolled bodies lose their accumulators' registers: code generation turns
  // the chains into trees, and spills.
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  build(builder).run(module, modules);
}

void kvq::optimizeForCPU(llvm::Module &module, llvm::TargetMachine &machine) {
  // Of O2 what kernels run slower without: the IR comes rotated, hoisted and
  // blocked, and the other passes of O2 only take time.
  constexpr llvm::StringLiteral kPasses =
      "cgscc(inline),function<eager-inv>("
      "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,"
      "instcombine<max-iterations=1;no-verify-fixpoint>,loop-mssa(licm),gvn,"
      "instcombine<max-iterations=1;no-verify-fixpoint>,simplifycfg),globaldce";
  runLLVMPasses(module, machine, [&](llvm::PassBuilder &builder) {
    llvm::ModulePassManager passes;
    llvm::cantFail(builder.parsePassPipeline(passes, kPasses));
    return passes;
  });
}

void kvq::optimizeForGPU(llvm::Module &module, llvm::TargetMachine &machine) {
  runLLVMPasses(module, machine, [](llvm::PassBuilder &builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  });
}

namespace {
/// Collects what code generation reports; LLVM's own handler ends the process.
struct CodeGenerationErrors : llvm::DiagnosticHandler {
  explicit CodeGenerationErrors(std::string &text) : text(text) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream os(text);
    llvm::DiagnosticPrinterRawOStream printer(os);
    info.print(printer);
    os << "\n";
    return true;
  }

  std::string &text;
};
} // namespace

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
emitFile(llvm::Module &module, llvm::TargetMachine &machine,
         llvm::CodeGenFileType type) {
  std::string errors;
  module.getContext().setDiagnosticHandler(
      std::make_unique<CodeGenerationErrors>(errors));
  SmallVector<char, 0> code;
  llvm::raw_svector_ostream os(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, /*DwoOut=*/nullptr, type))
    return llvm::createStringError("LLVM cannot emit this kind of file for " +
                                   machine.getTargetTriple().str());
  passes.run(module);
  // The handler refers to a local.
  module.getContext().setDiagnosticHandler(nullptr);
  if (!errors.empty())
    return llvm::createStringError(StringRef(errors).rtrim());
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(code));
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  return emitFile(module, machine, llvm::CodeGenFileType::ObjectFile);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::emitAssembly(llvm::Module &module, llvm::TargetMachine &machine) {
  return emitFile(module, machine, llvm::CodeGenFileType::AssemblyFile);
}
