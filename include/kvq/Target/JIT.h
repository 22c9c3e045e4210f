//===- JIT.h - Compiled functions in this process ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_JIT_H
#define KVQ_TARGET_JIT_H

#include "kvq/Target/CPUTarget.h"
#include "kvq/Target/OpenMP.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace mlir::kvq {

/// A function of a compiled module.
struct JITFunction {
  /// Takes the addresses of the function's arguments, one for each as the LLVM
  /// function has them: a memref counts as 3 + 2 * rank words (two pointers,
  /// offset, sizes, strides).
  void (*entry)(void **arguments);
  /// How many addresses it takes.
  unsigned numArguments;
};

/// Holds a module's machine code, ready to be called, as long as it lives.
/// Calls from several threads at once are fine.
class JIT {
public:
  /// What compiled code may call beside the C library: names and addresses.
  using Symbols = llvm::ArrayRef<std::pair<llvm::StringLiteral, void *>>;

  /// Compiles a module of the LLVM dialect; its functions that return nothing
  /// and are not private can be called.
  static llvm::Expected<std::unique_ptr<JIT>>
  create(ModuleOp module, const CPUTarget &target, Symbols symbols = {});
  ~JIT();

  /// Null if the module has no such function to call.
  const JITFunction *lookup(llvm::StringRef name) const;

  /// The library whose threads the functions run on; null if they run on the
  /// caller's alone.
  const OpenMPRuntime *getOpenMP() const { return openMP; }

private:
  JIT() = default;

  llvm::Error addSymbols(Symbols symbols);
  llvm::Error addOpenMP();

  std::unique_ptr<llvm::orc::LLJIT> jit;
  const OpenMPRuntime *openMP = nullptr;
  llvm::StringMap<JITFunction> functions;
};

} // namespace mlir::kvq

#endif // KVQ_TARGET_JIT_H
