//===- FunctionLowering.h - Rewrites a function --------------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rewrites of single instructions share.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_FUNCTIONLOWERING_H
#define KVQ_LIB_EMULATOR_FUNCTIONLOWERING_H

#include "Machine.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"

#include <optional>

namespace mlir::kvq::emulator {

/// Address spaces of NVPTX.
enum AddressSpace : unsigned {
  Generic = 0,
  Global = 1,
  Shared = 3,
  Constant = 4,
  Local = 5,
  /// Of a cluster: as the clusters here have one block, the same as Shared.
  SharedCluster = 7,
};

inline bool isShared(llvm::Type *pointer) {
  unsigned space = pointer->getPointerAddressSpace();
  return space == Shared || space == SharedCluster;
}

class FunctionLowering {
public:
  FunctionLowering(Program &program, llvm::Function &function);

  /// Rewrites all instructions; adds to `unknown` those that cannot be.
  void run(std::vector<std::string> &unknown);

  // For the rewrites.

  /// The calls that a rewrite adds come before this instruction.
  using Builder = llvm::IRBuilder<>;

  /// The thread, a value in the entry block.
  llvm::Value *getThread();
  llvm::Value *readRegister(Builder &builder, Register index);
  /// Where offset 0 of shared memory would lie.
  llvm::Value *getSharedBase();

  /// A site for an instruction, described by `text`.
  Site &addSite(const llvm::Instruction &instruction, std::string text);
  llvm::Constant *getAddress(const void *address);

  /// Calls a function of the emulator with the thread, the site and what else
  /// it takes.
  llvm::CallInst *callEmulator(Builder &builder, const void *function,
                               llvm::Type *result, const Site &site,
                               llvm::ArrayRef<llvm::Value *> arguments);
  /// Calls a handler; returns its result as a value of `type`.
  llvm::Value *callHandler(Builder &builder, const Operation &operation,
                           const llvm::CallInst &call, llvm::StringRef text,
                           llvm::ArrayRef<llvm::Value *> arguments,
                           llvm::Type *type);
  llvm::Value *callHandler(Builder &builder, const Operation &operation,
                           llvm::CallInst &call, llvm::StringRef text);

  /// The operands of a call.
  static llvm::SmallVector<llvm::Value *> getArguments(llvm::CallInst &call);

  Program &program;
  llvm::Function &function;
  llvm::Module &module;
  const llvm::DataLayout &layout;

private:
  void lower(llvm::Instruction &instruction, std::vector<std::string> &unknown);
  bool lowerCall(llvm::CallInst &call);
  llvm::Value *getSlots(llvm::Value *&slots);

  llvm::Value *thread = nullptr, *sharedBase = nullptr;
  llvm::Value *argumentSlots = nullptr, *resultSlots = nullptr;
};

/// `inline assembly '...'`, in one line.
std::string describeAssembly(const llvm::InlineAsm &assembly);

/// `file:line:column` of an instruction, or nothing.
std::string getLocation(const llvm::Instruction &instruction);

// Rewrites. Those that return a value return null for what they do not know.

/// Checks a load, store or atomic access, in shared memory at its address here.
void checkAccess(FunctionLowering &lowering, llvm::Instruction &access);
/// memcpy, memmove and memset.
void checkRange(FunctionLowering &lowering, llvm::CallInst &call);
/// Division ends the process on this machine where a GPU only has no result.
void checkDivision(FunctionLowering &lowering, llvm::Instruction &division);
/// Checks an access of `bytes` at `pointer`, and returns it for this machine.
llvm::Value *checkPointer(FunctionLowering &lowering, llvm::Instruction &access,
                          llvm::Value *pointer, uint32_t bytes,
                          uint32_t alignment, bool isWrite, bool isAtomic,
                          std::string text);

/// What the emulator does for an intrinsic, given its name without
/// `llvm.nvvm.`.
std::optional<Operation> lookUpOperation(llvm::StringRef name);
/// The value of an intrinsic of one thread that LLVM has instructions for.
llvm::Value *expandIntrinsic(FunctionLowering &lowering, llvm::CallInst &call,
                             llvm::StringRef name);
/// The value of inline assembly; of an undefined value where it has none.
llvm::Value *lowerInlineAsm(FunctionLowering &lowering, llvm::CallInst &call);
/// The special register of a name, as in `tid.x`; null of an unknown one.
llvm::Value *readSpecialRegister(FunctionLowering &lowering,
                                 FunctionLowering::Builder &builder,
                                 llvm::StringRef name);

/// Byte permutation.
llvm::Value *permuteBytes(FunctionLowering::Builder &builder, llvm::Value *low,
                          llvm::Value *high, llvm::Value *selector);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_FUNCTIONLOWERING_H
