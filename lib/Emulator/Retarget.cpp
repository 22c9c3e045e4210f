//===- Retarget.cpp - GPU code becomes code of this machine ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Retarget.h"

#include "FunctionLowering.h"
#include "SharedLayout.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::kvq::emulator;

//===----------------------------------------------------------------------===//
// Global variables
//===----------------------------------------------------------------------===//

/// Variables in other memory are global memory here.
static llvm::Error renameGlobalVariables(llvm::Module &module) {
  for (llvm::GlobalVariable &variable :
       llvm::make_early_inc_range(module.globals())) {
    // `llvm.used` and the like.
    if (variable.getName().starts_with("llvm.")) {
      variable.eraseFromParent();
      continue;
    }
    if (variable.isDeclaration())
      return llvm::createStringError("expected global variables of the "
                                     "kernels' own, got external '" +
                                     variable.getName() + "'");
    variable.setName(kGlobalPrefix + variable.getName());
    variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable.setVisibility(llvm::GlobalValue::DefaultVisibility);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static bool isKernel(const llvm::Function &function) {
  return !function.isDeclaration() &&
         function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// Reads `nvvm.maxntid` or `nvvm.reqntid`: up to three numbers.
static unsigned getMaxThreads(const llvm::Function &function) {
  for (llvm::StringRef name : {"nvvm.reqntid", "nvvm.maxntid"}) {
    llvm::StringRef text = function.getFnAttribute(name).getValueAsString();
    if (text.empty())
      continue;
    unsigned product = 1;
    llvm::SmallVector<llvm::StringRef, 3> parts;
    text.split(parts, ',');
    for (llvm::StringRef part : parts) {
      unsigned size;
      if (!part.trim().getAsInteger(10, size))
        product *= size;
    }
    return product;
  }
  return 0;
}

static llvm::Error addKernel(const llvm::Function &function, Program &program) {
  for (const llvm::Argument &argument : function.args())
    if (argument.hasByValAttr())
      return llvm::createStringError(
          "kernel '" + function.getName() +
          "': expected arguments that are values, got a structure in memory");
  Kernel &kernel = program.kernels[function.getName()];
  kernel.name = function.getName().str();
  kernel.numParameters = function.arg_size();
  kernel.maxThreads = getMaxThreads(function);
  return llvm::Error::success();
}

/// Adds the function that loads a kernel's arguments and calls it.
static void addEntry(llvm::Function &kernel) {
  llvm::IRBuilder<> builder(kernel.getContext());
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       kEntryPrefix + kernel.getName(),
                                       kernel.getParent());
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(kernel.getContext(), "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : kernel.args()) {
    llvm::Value *slot = builder.CreateConstGEP1_64(
        builder.getPtrTy(), entry->getArg(0), argument.getArgNo());
    llvm::Value *address = builder.CreateLoad(builder.getPtrTy(), slot);
    arguments.push_back(builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(&kernel, arguments);
  builder.CreateRetVoid();
}

/// Forgets what only a GPU knows, and makes symbols local.
static void resetFunction(llvm::Function &function) {
  function.setCallingConv(llvm::CallingConv::C);
  if (function.isIntrinsic())
    return;
  bool isInlined = function.hasFnAttribute(llvm::Attribute::AlwaysInline);
  function.setAttributes(llvm::AttributeList());
  if (function.isDeclaration())
    return;
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setVisibility(llvm::GlobalValue::DefaultVisibility);
  function.setComdat(nullptr);
  if (isInlined)
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  function.setDoesNotThrow();
}

/// Fails where the local variables of a function fill too much of a stack.
static llvm::Error checkFrame(const llvm::Function &function) {
  uint64_t bytes = 0;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      if (auto size = alloca->getAllocationSize(function.getDataLayout()))
        bytes += size->getFixedValue();
  if (bytes <= Stacks::kMaxFrame)
    return llvm::Error::success();
  return llvm::createStringError(
      "function '" + function.getName() + "': expected at most " +
      llvm::Twine(Stacks::kMaxFrame) + " bytes of local variables, got " +
      llvm::Twine(bytes));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static llvm::Error checkModule(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::verifyModule(module, &os))
    return llvm::createStringError("the emulator has made invalid code: " +
                                   text);
  return llvm::Error::success();
}

llvm::Error mlir::kvq::emulator::retarget(llvm::Module &module,
                                          const llvm::Triple &triple,
                                          const llvm::DataLayout &layout,
                                          Program &program) {
  module.setTargetTriple(triple);
  module.setDataLayout(layout);
  module.setModuleInlineAsm("");

  llvm::SmallVector<llvm::Function *> kernels;
  for (llvm::Function &function : module) {
    if (isKernel(function)) {
      if (llvm::Error error = addKernel(function, program))
        return error;
      kernels.push_back(&function);
    }
    resetFunction(function);
  }
  if (llvm::Error error = placeSharedVariables(module, program))
    return error;
  if (llvm::Error error = renameGlobalVariables(module))
    return error;
  std::vector<std::string> unknown;
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    FunctionLowering(program, function).run(unknown);
    if (llvm::Error error = checkFrame(function))
      return error;
  }
  if (!unknown.empty())
    return llvm::createStringError("the emulator does not know " +
                                   llvm::join(unknown, ", "));
  for (llvm::Function *kernel : kernels)
    addEntry(*kernel);
  return checkModule(module);
}
