//===- JIT.cpp - Compiled functions in this process ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/JIT.h"

#include "kvq/Runtime/BFloat.h"
#include "kvq/Target/Compile.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;
using namespace mlir::kvq;

static constexpr llvm::StringLiteral kEntryPrefix = "kvq_entry_";

/// Whether Python and others may call it.
static bool isCallable(const llvm::Function &function) {
  return !function.isDeclaration() && function.hasExternalLinkage() &&
         function.getReturnType()->isVoidTy();
}

/// Adds `void kvq_entry_NAME(ptr addresses)`, which loads the arguments and
/// calls `function`: one type for functions of every signature.
static void addEntry(llvm::Function &function) {
  llvm::LLVMContext &context = function.getContext();
  llvm::IRBuilder<> builder(context);
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       kEntryPrefix + function.getName(),
                                       function.getParent());
  entry->copyAttributesFrom(&function);
  entry->setAttributes(llvm::AttributeList::get(
      context, llvm::AttributeList::FunctionIndex,
      llvm::AttrBuilder(context, function.getAttributes().getFnAttrs())));
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", entry));
  SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : function.args()) {
    llvm::Value *slot = builder.CreateConstGEP1_64(
        builder.getPtrTy(), entry->getArg(0), argument.getArgNo());
    llvm::Value *address = builder.CreateLoad(builder.getPtrTy(), slot);
    arguments.push_back(builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(&function, arguments);
  builder.CreateRetVoid();
}

/// Adds the entries; returns how many arguments each function takes.
static llvm::StringMap<unsigned> addEntries(llvm::Module &module) {
  llvm::StringMap<unsigned> numArguments;
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    if (!isCallable(function) || function.getName().starts_with(kEntryPrefix))
      continue;
    numArguments[function.getName()] = function.arg_size();
    addEntry(function);
  }
  return numArguments;
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
createLinker(const llvm::TargetMachine &machine) {
  return llvm::orc::LLJITBuilder()
      .setDataLayout(machine.createDataLayout())
      .setJITTargetMachineBuilder(
          llvm::orc::JITTargetMachineBuilder(machine.getTargetTriple()))
      // Kernels have no global constructors to run.
      .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
      .create();
}

llvm::Expected<std::unique_ptr<JIT>>
JIT::create(ModuleOp module, const CPUTarget &target, Symbols symbols) {
  auto machine = target.createTargetMachine();
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto llvmModule = translateToLLVM(module, context, **machine);
  if (!llvmModule)
    return llvmModule.takeError();
  llvm::StringMap<unsigned> numArguments = addEntries(**llvmModule);
  optimizeForCPU(**llvmModule, **machine);
  bool usesOpenMP = (*llvmModule)->getFunction("__kmpc_fork_call");
  auto object = emitObject(**llvmModule, **machine);
  if (!object)
    return object.takeError();

  auto linker = createLinker(**machine);
  if (!linker)
    return linker.takeError();
  if (llvm::Error error = (*linker)->addObjectFile(std::move(*object)))
    return std::move(error);
  std::unique_ptr<JIT> jit(new JIT());
  jit->jit = std::move(*linker);
  if (llvm::Error error = jit->addSymbols(symbols))
    return std::move(error);
  if (llvm::Error error = jit->addSymbols(
          {{"__truncsfbf2",
            reinterpret_cast<void *>(&runtime::truncateToBFloat)}}))
    return std::move(error);
  if (usesOpenMP)
    if (llvm::Error error = jit->addOpenMP())
      return std::move(error);
  for (const auto &function : numArguments) {
    auto address = jit->jit->lookup((kEntryPrefix + function.first()).str());
    if (!address)
      return address.takeError();
    jit->functions[function.first()] = {address->toPtr<void (*)(void **)>(),
                                        function.second};
  }
  return std::move(jit);
}

llvm::Error JIT::addSymbols(Symbols symbols) {
  if (symbols.empty())
    return llvm::Error::success();
  llvm::orc::SymbolMap addresses;
  for (const auto &[name, address] : symbols)
    addresses[jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  return jit->getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(addresses)));
}

/// Lets the functions find OpenMP, and only them.
llvm::Error JIT::addOpenMP() {
  auto runtime = OpenMPRuntime::get();
  if (!runtime)
    return runtime.takeError();
  openMP = *runtime;
  jit->getMainJITDylib().addGenerator(
      std::make_unique<llvm::orc::DynamicLibrarySearchGenerator>(
          openMP->getLibrary(), jit->getDataLayout().getGlobalPrefix()));
  return llvm::Error::success();
}

JIT::~JIT() = default;

const JITFunction *JIT::lookup(StringRef name) const {
  auto found = functions.find(name);
  return found == functions.end() ? nullptr : &found->second;
}
