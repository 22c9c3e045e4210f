//===- SharedLayout.cpp - Where variables lie in shared memory ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedLayout.h"

#include "FunctionLowering.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace mlir::kvq::emulator;

using Variables = llvm::SetVector<llvm::GlobalVariable *>;

/// The variables without a size are what a launch adds.
static bool isDynamic(const llvm::GlobalVariable &variable) {
  return variable.getDataLayout()
      .getTypeAllocSize(variable.getValueType())
      .isZero();
}

static Variables getVariables(const llvm::Function &function) {
  Variables variables;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    for (llvm::Value *operand : instruction.operands())
      if (auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(operand))
        if (isShared(variable->getType()))
          variables.insert(variable);
  return variables;
}

namespace {
/// Puts variables one behind the other.
class Layout {
public:
  void add(const llvm::GlobalVariable &variable) {
    if (offsets.contains(&variable))
      return;
    uint64_t bytes =
        variable.getDataLayout().getTypeAllocSize(variable.getValueType());
    // What optimization takes for granted where nothing is said.
    end = llvm::alignTo(end,
                        variable.getDataLayout().getPreferredAlign(&variable));
    offsets[&variable] = end;
    end += bytes;
  }

  /// Dynamic memory begins where the most aligned of its variables can.
  void addDynamic(llvm::ArrayRef<llvm::GlobalVariable *> variables) {
    llvm::Align alignment(16);
    for (const llvm::GlobalVariable *variable : variables)
      alignment = std::max(alignment, variable->getAlign().valueOrOne());
    end = llvm::alignTo(end, alignment);
    for (const llvm::GlobalVariable *variable : variables)
      offsets[variable] = end;
  }

  uint64_t getBytes() const { return end - kSharedBegin; }

  /// Replaces the variables in a function.
  void apply(llvm::Function &function) const {
    for (llvm::Instruction &instruction : llvm::instructions(function))
      for (llvm::Use &use : instruction.operands()) {
        auto *variable = llvm::dyn_cast<llvm::GlobalVariable>(use.get());
        auto found = offsets.find(variable);
        if (!variable || found == offsets.end())
          continue;
        auto *integer = llvm::Type::getInt64Ty(function.getContext());
        use.set(llvm::ConstantExpr::getIntToPtr(
            llvm::ConstantInt::get(integer, found->second),
            variable->getType()));
      }
  }

private:
  llvm::DenseMap<const llvm::GlobalVariable *, uint64_t> offsets;
  uint64_t end = kSharedBegin;
};
} // namespace

/// Uses inside constants would be missed.
static llvm::SmallVector<llvm::GlobalVariable *>
findVariables(llvm::Module &module) {
  llvm::SmallVector<llvm::GlobalVariable *> variables;
  for (llvm::GlobalVariable &variable : module.globals())
    if (isShared(variable.getType()))
      variables.push_back(&variable);
  llvm::SmallVector<llvm::Constant *> constants(variables.begin(),
                                                variables.end());
  llvm::convertUsersOfConstantsToInstructions(constants);
  return variables;
}

llvm::Error mlir::kvq::emulator::placeSharedVariables(llvm::Module &module,
                                                      Program &program) {
  llvm::SmallVector<llvm::GlobalVariable *> variables = findVariables(module);
  // What functions have that several kernels may call lies at the same place in
  // all kernels, before what the kernels have for themselves.
  Layout common;
  for (llvm::Function &function : module) {
    if (function.isDeclaration() ||
        program.kernels.contains(function.getName()))
      continue;
    for (llvm::GlobalVariable *variable : getVariables(function)) {
      if (isDynamic(*variable))
        return llvm::createStringError(
            "expected shared memory without a size, '" + variable->getName() +
            "', in kernels only, got function '" + function.getName() +
            "' with it");
      common.add(*variable);
    }
  }
  for (llvm::Function &function : module) {
    auto kernel = program.kernels.find(function.getName());
    if (kernel == program.kernels.end()) {
      common.apply(function);
      continue;
    }
    Layout layout = common;
    llvm::SmallVector<llvm::GlobalVariable *> dynamic;
    for (llvm::GlobalVariable *variable : getVariables(function)) {
      if (isDynamic(*variable))
        dynamic.push_back(variable);
      else
        layout.add(*variable);
    }
    if (!dynamic.empty())
      layout.addDynamic(dynamic);
    layout.apply(function);
    kernel->second.staticSharedBytes = layout.getBytes();
  }
  for (llvm::GlobalVariable *variable : variables) {
    if (!variable->use_empty())
      return llvm::createStringError("expected uses of shared memory in "
                                     "functions only, got one of '" +
                                     variable->getName() + "' elsewhere");
    variable->eraseFromParent();
  }
  return llvm::Error::success();
}
