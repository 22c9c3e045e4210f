//===- CheckAccesses.cpp - Checks in front of memory accesses -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionLowering.h"
#include "MemoryAccess.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace mlir::kvq::emulator;
using Builder = FunctionLowering::Builder;

/// Lets a builder insert what happens where `condition` holds: rarely.
static void setToUnlikely(Builder &builder, llvm::Value *condition,
                          llvm::Instruction *before) {
  llvm::MDNode *weights =
      llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights();
  builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(
      condition, before->getIterator(), /*Unreachable=*/false, weights));
}

/// The variable of a function's own that a pointer points into, if it does.
static llvm::AllocaInst *getLocal(llvm::Value *pointer) {
  return llvm::dyn_cast<llvm::AllocaInst>(
      llvm::getUnderlyingObject(pointer, /*MaxLookup=*/0));
}

static void failIf(FunctionLowering &lowering, llvm::Instruction &instruction,
                   llvm::Value *condition, std::string text,
                   const char *message) {
  Builder builder(&instruction);
  Site &site = lowering.addSite(instruction, std::move(text));
  setToUnlikely(builder, condition, &instruction);
  lowering.callEmulator(
      builder, reinterpret_cast<const void *>(&kvq_emulator_fail),
      builder.getVoidTy(), site, {lowering.getAddress(message)});
}

/// Checks an access to a local variable where its offset is not known.
static void checkLocal(FunctionLowering &lowering, llvm::Instruction &access,
                       llvm::Value *pointer, llvm::AllocaInst *local,
                       uint32_t bytes, std::string text) {
  std::optional<llvm::TypeSize> size =
      local->getAllocationSize(lowering.layout);
  uint64_t allocated = size ? size->getFixedValue() : 0;
  llvm::APInt offset(64, 0);
  if (pointer->stripAndAccumulateConstantOffsets(
          lowering.layout, offset, /*AllowNonInbounds=*/true) == local &&
      offset.getZExtValue() <= allocated &&
      allocated - offset.getZExtValue() >= bytes)
    return;
  Builder builder(&access);
  llvm::Type *integer = builder.getInt64Ty();
  llvm::Value *distance =
      builder.CreateSub(builder.CreatePtrToInt(pointer, integer),
                        builder.CreatePtrToInt(local, integer));
  llvm::Value *isOutside =
      allocated < bytes ? builder.getTrue()
                        : builder.CreateICmpUGT(
                              distance, builder.getInt64(allocated - bytes));
  failIf(lowering, access, isOutside, std::move(text),
         "out of bounds of a local variable");
}

/// Checks an access against the allocation that it was in the last time.
static void checkCached(FunctionLowering &lowering, llvm::Instruction &access,
                        llvm::Value *pointer, const Site &site) {
  Builder builder(&access);
  llvm::Type *integer = builder.getInt64Ty();
  llvm::Value *thread = lowering.getThread();
  llvm::Value *caches = builder.CreateLoad(
      builder.getPtrTy(),
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), thread,
                                         offsetof(Thread, caches)));
  llvm::Value *cache = builder.CreateConstInBoundsGEP1_64(
      builder.getInt8Ty(), caches,
      sizeof(AllocationCache) * lowering.program.numCaches++);
  llvm::Value *begin = builder.CreateLoad(integer, cache);
  llvm::Value *span = builder.CreateLoad(
      integer,
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), cache,
                                         offsetof(AllocationCache, span)));
  llvm::Value *address = builder.CreatePtrToInt(pointer, integer);
  llvm::Value *isBad =
      builder.CreateICmpUGE(builder.CreateSub(address, begin), span);
  if (site.alignment > 1)
    isBad = builder.CreateOr(isBad, builder.CreateIsNotNull(builder.CreateAnd(
                                        address, site.alignment - 1)));
  setToUnlikely(builder, isBad, &access);
  lowering.callEmulator(builder,
                        reinterpret_cast<const void *>(&kvq_emulator_check),
                        builder.getVoidTy(), site, {address, cache});
}

llvm::Value *mlir::kvq::emulator::checkPointer(
    FunctionLowering &lowering, llvm::Instruction &access, llvm::Value *pointer,
    uint32_t bytes, uint32_t alignment, bool isWrite, bool isAtomic,
    std::string text) {
  if (llvm::AllocaInst *local = getLocal(pointer)) {
    checkLocal(lowering, access, pointer, local, bytes, std::move(text));
    return pointer;
  }
  Site &site = lowering.addSite(access, std::move(text));
  site.bytes = bytes;
  site.alignment = alignment;
  site.isWrite = isWrite;
  site.isAtomic = isAtomic;
  if (!isShared(pointer->getType())) {
    checkCached(lowering, access, pointer, site);
    return pointer;
  }
  Builder builder(&access);
  return lowering.callEmulator(
      builder, reinterpret_cast<const void *>(&kvq_emulator_access_shared),
      builder.getPtrTy(), site,
      {builder.CreatePtrToInt(pointer, builder.getInt64Ty())});
}

namespace {
struct Access {
  const char *name;
  unsigned pointerOperand;
  llvm::Type *type;
  llvm::Align alignment;
  bool isWrite, isAtomic;
};
} // namespace

static Access getAccess(llvm::Instruction &instruction) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (load->isAtomic())
      load->setSyncScopeID(llvm::SyncScope::System);
    return {"load",          load->getPointerOperandIndex(),
            load->getType(), load->getAlign(),
            false,           load->isAtomic()};
  }
  if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (store->isAtomic())
      store->setSyncScopeID(llvm::SyncScope::System);
    return {"store",
            store->getPointerOperandIndex(),
            store->getValueOperand()->getType(),
            store->getAlign(),
            true,
            store->isAtomic()};
  }
  if (auto *update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    update->setSyncScopeID(llvm::SyncScope::System);
    return {"atomicrmw",
            update->getPointerOperandIndex(),
            update->getValOperand()->getType(),
            update->getAlign(),
            true,
            true};
  }
  auto *exchange = llvm::cast<llvm::AtomicCmpXchgInst>(&instruction);
  exchange->setSyncScopeID(llvm::SyncScope::System);
  return {"cmpxchg",
          exchange->getPointerOperandIndex(),
          exchange->getNewValOperand()->getType(),
          exchange->getAlign(),
          true,
          true};
}

void mlir::kvq::emulator::checkAccess(FunctionLowering &lowering,
                                      llvm::Instruction &instruction) {
  Access access = getAccess(instruction);
  llvm::Value *pointer = instruction.getOperand(access.pointerOperand);
  uint32_t bytes = lowering.layout.getTypeStoreSize(access.type);
  std::string text =
      std::string(access.name) + " of " + std::to_string(bytes) + " bytes";
  llvm::Value *here = checkPointer(lowering, instruction, pointer, bytes,
                                   access.alignment.value(), access.isWrite,
                                   access.isAtomic, std::move(text));
  instruction.setOperand(access.pointerOperand, here);
}

void mlir::kvq::emulator::checkRange(FunctionLowering &lowering,
                                     llvm::CallInst &call) {
  auto &range = llvm::cast<llvm::MemIntrinsic>(call);
  Builder builder(&call);
  llvm::Value *bytes =
      builder.CreateZExtOrTrunc(range.getLength(), builder.getInt64Ty());
  auto check = [&](llvm::Value *pointer, llvm::MaybeAlign alignment,
                   bool isWrite) -> llvm::Value * {
    Site &site =
        lowering.addSite(call, (llvm::Twine(isWrite ? "write" : "read") +
                                " by " + call.getCalledFunction()->getName())
                                   .str());
    site.isWrite = isWrite;
    site.alignment = alignment.valueOrOne().value();
    llvm::Type *integer = builder.getInt64Ty();
    if (isShared(pointer->getType()))
      return lowering.callEmulator(
          builder,
          reinterpret_cast<const void *>(&kvq_emulator_access_shared_range),
          builder.getPtrTy(), site,
          {builder.CreatePtrToInt(pointer, integer), bytes});
    lowering.callEmulator(
        builder, reinterpret_cast<const void *>(&kvq_emulator_check_range),
        builder.getVoidTy(), site,
        {builder.CreatePtrToInt(pointer, integer), bytes});
    return pointer;
  };
  if (auto *transfer = llvm::dyn_cast<llvm::MemTransferInst>(&call)) {
    llvm::Value *source =
        check(transfer->getRawSource(), transfer->getSourceAlign(), false);
    llvm::Value *target =
        check(transfer->getRawDest(), transfer->getDestAlign(), true);
    builder.CreateMemMove(target, transfer->getDestAlign(), source,
                          transfer->getSourceAlign(), transfer->getLength());
  } else {
    auto *set = llvm::cast<llvm::MemSetInst>(&call);
    llvm::Value *target = check(set->getRawDest(), set->getDestAlign(), true);
    builder.CreateMemSet(target, set->getValue(), set->getLength(),
                         set->getDestAlign());
  }
  call.eraseFromParent();
}

void mlir::kvq::emulator::checkDivision(FunctionLowering &lowering,
                                        llvm::Instruction &division) {
  llvm::Value *divisor = division.getOperand(1);
  if (llvm::isa<llvm::Constant>(divisor) || !divisor->getType()->isIntegerTy())
    return;
  Builder builder(&division);
  llvm::Value *isBad = builder.CreateIsNull(divisor);
  bool isSigned = division.getOpcode() == llvm::Instruction::SDiv ||
                  division.getOpcode() == llvm::Instruction::SRem;
  if (isSigned) {
    auto *type = llvm::cast<llvm::IntegerType>(divisor->getType());
    llvm::Value *lowest =
        builder.getInt(llvm::APInt::getSignedMinValue(type->getBitWidth()));
    llvm::Value *minusOne = llvm::Constant::getAllOnesValue(type);
    isBad = builder.CreateOr(
        isBad, builder.CreateAnd(
                   builder.CreateICmpEQ(divisor, minusOne),
                   builder.CreateICmpEQ(division.getOperand(0), lowest)));
  }
  failIf(lowering, division, isBad, division.getOpcodeName(),
         "division by zero, or of the lowest number by -1");
}
