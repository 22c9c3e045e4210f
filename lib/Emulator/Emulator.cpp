//===- Emulator.cpp - GPU kernels on a CPU --------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Emulator/Emulator.h"

#include "Launch.h"
#include "Retarget.h"
#include "RuntimeSymbols.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace mlir::kvq::emulator;

struct Module::Implementation {
  Program program;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  /// Its global variables, which are global memory.
  std::vector<const void *> globals;

  ~Implementation() {
    for (const void *global : globals)
      GlobalMemory::remove(global);
  }
};

static void initializeHost() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// What is left to optimize after NVPTX's pipeline is what the retargeting
/// added.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  pipeline.run(module, modules);
}

namespace {
struct GlobalVariable {
  std::string name;
  size_t bytes;
  bool isWritable;
};
} // namespace

static std::vector<GlobalVariable> getVariables(const llvm::Module &module) {
  std::vector<GlobalVariable> variables;
  for (const llvm::GlobalVariable &variable : module.globals())
    variables.push_back(
        {variable.getName().str(),
         module.getDataLayout().getTypeAllocSize(variable.getValueType()),
         !variable.isConstant()});
  return variables;
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
createLinker(llvm::orc::JITTargetMachineBuilder builder) {
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(builder))
                 // Kernels have no global constructors to run.
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return jit.takeError();
  llvm::orc::JITDylib &library = (*jit)->getMainJITDylib();
  llvm::orc::SymbolMap symbols;
  for (auto [name, address] : getRuntimeSymbols())
    symbols[(*jit)->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported};
  if (llvm::Error error =
          library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return error;
  // The C library's mathematics.
  auto generator =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          (*jit)->getDataLayout().getGlobalPrefix());
  if (!generator)
    return generator.takeError();
  library.addGenerator(std::move(*generator));
  return jit;
}

Module::Module(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

Module::~Module() = default;

llvm::Expected<std::unique_ptr<Module>>
Module::create(std::unique_ptr<llvm::Module> givenModule,
               std::unique_ptr<llvm::LLVMContext> givenContext) {
  // The module goes before its context does.
  std::unique_ptr<llvm::LLVMContext> context = std::move(givenContext);
  std::unique_ptr<llvm::Module> module = std::move(givenModule);
  initializeHost();
  auto implementation = std::make_unique<Implementation>();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  // Instructions of some processors flush what is subnormal when they round to
  // bf16; a GPU keeps it.
  for (const char *feature : {"avx512bf16", "avxneconvert"})
    builder->getFeatures().AddFeature(feature, /*Enable=*/false);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  Program &program = implementation->program;
  if (llvm::Error error = retarget(*module, (*machine)->getTargetTriple(),
                                   (*machine)->createDataLayout(), program))
    return error;
  optimize(*module, **machine);
  std::vector<GlobalVariable> variables = getVariables(*module);

  auto jit = createLinker(std::move(*builder));
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = (*jit)->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return error;
  for (auto &[name, kernel] : program.kernels) {
    auto entry = (*jit)->lookup((kEntryPrefix + name).str());
    if (!entry)
      return entry.takeError();
    kernel.entry = entry->toPtr<void (*)(void **)>();
  }
  for (const GlobalVariable &variable : variables) {
    auto address = (*jit)->lookup(variable.name);
    if (!address)
      return address.takeError();
    const void *pointer = address->toPtr<const void *>();
    GlobalMemory::add(pointer, variable.bytes, variable.isWritable);
    implementation->globals.push_back(pointer);
  }
  implementation->jit = std::move(*jit);
  return std::unique_ptr<Module>(new Module(std::move(implementation)));
}

llvm::Error Module::launch(llvm::StringRef kernel, Dim3 grid, Dim3 block,
                           size_t dynamicSharedBytes,
                           llvm::ArrayRef<void *> parameters,
                           const LaunchOptions &options) {
  const Program &program = implementation->program;
  auto found = program.kernels.find(kernel);
  if (found == program.kernels.end())
    return llvm::createStringError("the module has no kernel '" + kernel + "'");
  return launchKernel(program, found->second, grid, block, dynamicSharedBytes,
                      parameters, options);
}
