//===- FunctionLowering.cpp - Rewrites a function -------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionLowering.h"

#include "MemoryAccess.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/Path.h"

using namespace mlir::kvq::emulator;

std::string
mlir::kvq::emulator::getLocation(const llvm::Instruction &instruction) {
  const llvm::DebugLoc &location = instruction.getDebugLoc();
  if (!location || location.getLine() == 0)
    return "";
  llvm::StringRef file = location->getFilename();
  return llvm::sys::path::filename(file).str() + ":" +
         std::to_string(location.getLine()) + ":" +
         std::to_string(location.getCol());
}

FunctionLowering::FunctionLowering(Program &program, llvm::Function &function)
    : program(program), function(function), module(*function.getParent()),
      layout(module.getDataLayout()) {}

//===----------------------------------------------------------------------===//
// Values of the entry block
//===----------------------------------------------------------------------===//

llvm::Value *FunctionLowering::getThread() {
  if (thread)
    return thread;
  llvm::BasicBlock &entry = function.getEntryBlock();
  Builder builder(&entry, entry.begin());
  auto *type = llvm::FunctionType::get(builder.getPtrTy(), false);
  llvm::CallInst *call = builder.CreateCall(
      type,
      getAddress(reinterpret_cast<const void *>(&kvq_emulator_current_thread)));
  call->setDoesNotThrow();
  // The same one all the time.
  call->setDoesNotAccessMemory();
  return thread = call;
}

/// Loads what does not change while the thread runs.
static llvm::LoadInst *loadInvariant(FunctionLowering::Builder &builder,
                                     llvm::Type *type, llvm::Value *thread,
                                     size_t offset) {
  llvm::LoadInst *load = builder.CreateLoad(
      type,
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

llvm::Value *FunctionLowering::readRegister(Builder &builder, Register index) {
  return loadInvariant(builder, builder.getInt32Ty(), getThread(),
                       offsetof(Thread, registers) + sizeof(uint32_t) * index);
}

llvm::Value *FunctionLowering::getSharedBase() {
  if (sharedBase)
    return sharedBase;
  auto *call = llvm::cast<llvm::Instruction>(getThread());
  Builder builder(call->getParent(), std::next(call->getIterator()));
  return sharedBase = loadInvariant(builder, builder.getPtrTy(), call,
                                    offsetof(Thread, shared));
}

llvm::Value *FunctionLowering::getSlots(llvm::Value *&slots) {
  if (slots)
    return slots;
  // Enough for every call of the function.
  size_t count = 2;
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call)
      continue;
    count = std::max<size_t>(count, call->arg_size());
    if (auto *type = llvm::dyn_cast<llvm::StructType>(call->getType()))
      count = std::max<size_t>(count, type->getNumElements());
  }
  llvm::BasicBlock &entry = function.getEntryBlock();
  Builder builder(&entry, entry.begin());
  return slots = builder.CreateAlloca(
             llvm::ArrayType::get(builder.getInt64Ty(), count));
}

//===----------------------------------------------------------------------===//
// Calls of the emulator
//===----------------------------------------------------------------------===//

Site &FunctionLowering::addSite(const llvm::Instruction &instruction,
                                std::string text) {
  Site &site = program.sites.emplace_back();
  site.index = program.sites.size() - 1;
  site.instruction = std::move(text);
  site.function = function.getName().str();
  site.location = getLocation(instruction);
  return site;
}

llvm::Constant *FunctionLowering::getAddress(const void *address) {
  auto *type = llvm::Type::getInt64Ty(module.getContext());
  return llvm::ConstantExpr::getIntToPtr(
      llvm::ConstantInt::get(type, reinterpret_cast<uint64_t>(address)),
      llvm::PointerType::getUnqual(module.getContext()));
}

/// Other threads may run in the call, so it stays where it is.
static void setAttributes(llvm::CallInst *call) {
  call->setDoesNotThrow();
  call->setConvergent();
  call->addFnAttr(llvm::Attribute::NoMerge);
  call->addFnAttr(llvm::Attribute::NoDuplicate);
}

llvm::CallInst *
FunctionLowering::callEmulator(Builder &builder, const void *callee,
                               llvm::Type *result, const Site &site,
                               llvm::ArrayRef<llvm::Value *> arguments) {
  llvm::SmallVector<llvm::Value *> operands = {getThread(), getAddress(&site)};
  operands.append(arguments.begin(), arguments.end());
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  llvm::CallInst *call =
      builder.CreateCall(llvm::FunctionType::get(result, types, false),
                         getAddress(callee), operands);
  setAttributes(call);
  return call;
}

/// Whether a value fits into a slot.
static bool fitsSlot(llvm::Type *type, const llvm::DataLayout &layout) {
  return type->isSized() && !type->isAggregateType() &&
         layout.getTypeStoreSize(type) <= sizeof(Slot);
}

llvm::Value *
FunctionLowering::callHandler(Builder &builder, const Operation &operation,
                              const llvm::CallInst &call, llvm::StringRef text,
                              llvm::ArrayRef<llvm::Value *> arguments,
                              llvm::Type *type) {
  for (llvm::Value *argument : arguments)
    if (!fitsSlot(argument->getType(), layout))
      return nullptr;
  auto *structure = llvm::dyn_cast<llvm::StructType>(type);
  llvm::SmallVector<llvm::Type *> types;
  if (structure)
    llvm::append_range(types, structure->elements());
  else if (!type->isVoidTy())
    types.push_back(type);
  for (llvm::Type *element : types)
    if (!fitsSlot(element, layout))
      return nullptr;

  Site &site = addSite(call, text.str());
  site.operation = operation;
  auto getSlot = [&](llvm::Value *slots, unsigned index) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), slots,
                                              index);
  };
  llvm::Value *inputs = getSlots(argumentSlots);
  llvm::Value *outputs = getSlots(resultSlots);
  for (auto [index, argument] : llvm::enumerate(arguments))
    builder.CreateStore(argument, getSlot(inputs, index));
  callEmulator(builder, reinterpret_cast<const void *>(operation.handler),
               builder.getVoidTy(), site, {outputs, inputs});
  if (type->isVoidTy())
    return llvm::PoisonValue::get(builder.getInt32Ty());
  llvm::Value *result = llvm::PoisonValue::get(type);
  for (auto [index, element] : llvm::enumerate(types)) {
    llvm::Value *value = builder.CreateLoad(element, getSlot(outputs, index));
    result =
        structure ? builder.CreateInsertValue(result, value, index) : value;
  }
  return result;
}

llvm::SmallVector<llvm::Value *>
FunctionLowering::getArguments(llvm::CallInst &call) {
  return {call.arg_begin(), call.arg_end()};
}

llvm::Value *FunctionLowering::callHandler(Builder &builder,
                                           const Operation &operation,
                                           llvm::CallInst &call,
                                           llvm::StringRef text) {
  return callHandler(builder, operation, call, text, getArguments(call),
                     call.getType());
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Generic addresses of shared memory are those on this machine.
static void lowerAddressSpaceCast(FunctionLowering &lowering,
                                  llvm::AddrSpaceCastInst &cast) {
  bool fromShared = isShared(cast.getSrcTy());
  bool toShared = isShared(cast.getDestTy());
  if (fromShared == toShared)
    return;
  FunctionLowering::Builder builder(&cast);
  llvm::Value *base = lowering.getSharedBase();
  llvm::Value *pointer = cast.getPointerOperand();
  llvm::Type *integer = builder.getInt64Ty();
  llvm::Value *result;
  if (fromShared)
    result = builder.CreateGEP(builder.getInt8Ty(), base,
                               builder.CreatePtrToInt(pointer, integer));
  else
    result = builder.CreateIntToPtr(
        builder.CreateSub(builder.CreatePtrToInt(pointer, integer),
                          builder.CreatePtrToInt(base, integer)),
        cast.getDestTy());
  cast.replaceAllUsesWith(result);
  cast.eraseFromParent();
}

/// Local memory is on the fiber's stack.
static void lowerAlloca(llvm::AllocaInst &alloca) {
  if (alloca.getAddressSpace() == Generic)
    return;
  FunctionLowering::Builder builder(&alloca);
  llvm::AllocaInst *local = builder.CreateAlloca(
      alloca.getAllocatedType(), Generic, alloca.getArraySize());
  local->setAlignment(alloca.getAlign());
  alloca.replaceAllUsesWith(
      builder.CreateAddrSpaceCast(local, alloca.getType()));
  alloca.eraseFromParent();
}

/// Whether LLVM's own intrinsic needs nothing but the machine.
static bool isPlainIntrinsic(const llvm::CallInst &call) {
  if (call.doesNotAccessMemory() || llvm::isa<llvm::DbgInfoIntrinsic>(call) ||
      llvm::isa<llvm::LifetimeIntrinsic>(call))
    return true;
  switch (call.getIntrinsicID()) {
  case llvm::Intrinsic::assume:
  case llvm::Intrinsic::experimental_noalias_scope_decl:
  case llvm::Intrinsic::sideeffect:
  case llvm::Intrinsic::stacksave:
  case llvm::Intrinsic::stackrestore:
  case llvm::Intrinsic::readcyclecounter:
    return true;
  default:
    return false;
  }
}

bool FunctionLowering::lowerCall(llvm::CallInst &call) {
  call.setCallingConv(llvm::CallingConv::C);
  auto replace = [&](llvm::Value *value) {
    if (!value)
      return false;
    if (!call.getType()->isVoidTy()) {
      value->takeName(&call);
      call.replaceAllUsesWith(value);
    }
    call.eraseFromParent();
    return true;
  };
  if (call.isInlineAsm())
    return replace(lowerInlineAsm(*this, call));
  llvm::Function *callee = call.getCalledFunction();
  // Of a function that is defined here, or through a pointer to one.
  if (!callee || !callee->isDeclaration())
    return true;
  llvm::StringRef name = callee->getName();
  Builder builder(&call);
  if (name.consume_front("llvm.nvvm.")) {
    // The spaces of pointers are part of the names.
    while (name.consume_back(".p0") || name.consume_back(".p1") ||
           name.consume_back(".p3") || name.consume_back(".p7"))
      ;
    if (llvm::Value *value = expandIntrinsic(*this, call, name))
      return replace(value);
    std::optional<Operation> operation = lookUpOperation(name);
    if (!operation)
      return false;
    return replace(callHandler(builder, *operation, call, callee->getName()));
  }
  switch (callee->getIntrinsicID()) {
  case llvm::Intrinsic::not_intrinsic:
    return false;
  case llvm::Intrinsic::memcpy:
  case llvm::Intrinsic::memcpy_inline:
  case llvm::Intrinsic::memmove:
  case llvm::Intrinsic::memset:
    checkRange(*this, call);
    return true;
  case llvm::Intrinsic::prefetch:
    call.eraseFromParent();
    return true;
  case llvm::Intrinsic::trap:
  case llvm::Intrinsic::ubsantrap:
  case llvm::Intrinsic::debugtrap:
    callEmulator(builder, reinterpret_cast<const void *>(&kvq_emulator_fail),
                 builder.getVoidTy(), addSite(call, "trap"),
                 {getAddress("the kernel ends itself")});
    call.eraseFromParent();
    return true;
  default:
    // Most assumptions have operands that say nothing here.
    call.setAttributes(llvm::AttributeList());
    return isPlainIntrinsic(call);
  }
}

void FunctionLowering::lower(llvm::Instruction &instruction,
                             std::vector<std::string> &unknown) {
  if (auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
    auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
    std::string name;
    if (assembly)
      name = describeAssembly(*assembly);
    else if (call->getCalledFunction())
      name = "'" + call->getCalledFunction()->getName().str() + "'";
    std::string location = getLocation(*call);
    if (!lowerCall(*call))
      unknown.push_back(name + " in '" + function.getName().str() + "'" +
                        (location.empty() ? "" : " at ") + location);
    return;
  }
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst,
                llvm::AtomicCmpXchgInst>(instruction))
    return checkAccess(*this, instruction);
  if (auto *cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(&instruction))
    return lowerAddressSpaceCast(*this, *cast);
  if (auto *alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
    return lowerAlloca(*alloca);
  if (auto *fence = llvm::dyn_cast<llvm::FenceInst>(&instruction))
    return fence->setSyncScopeID(llvm::SyncScope::System);
  switch (instruction.getOpcode()) {
  case llvm::Instruction::UDiv:
  case llvm::Instruction::SDiv:
  case llvm::Instruction::URem:
  case llvm::Instruction::SRem:
    checkDivision(*this, instruction);
    break;
  default:
    break;
  }
}

void FunctionLowering::run(std::vector<std::string> &unknown) {
  llvm::SmallVector<llvm::Instruction *> instructions;
  // Casts last: the accesses look for the variables behind them.
  for (bool areLast : {false, true})
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (llvm::isa<llvm::AddrSpaceCastInst, llvm::AllocaInst>(instruction) ==
          areLast)
        instructions.push_back(&instruction);
  for (llvm::Instruction *instruction : instructions)
    lower(*instruction, unknown);
}
