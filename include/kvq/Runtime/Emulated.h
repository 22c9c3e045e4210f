//===- Emulated.h - Kernels on the emulator ---------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_RUNTIME_EMULATED_H
#define KVQ_RUNTIME_EMULATED_H

#include "kvq/Emulator/Emulator.h"
#include "kvq/Runtime/Queue.h"

#include <memory>

namespace mlir::kvq::runtime {

/// Memory that a call's kernels may access.
struct EmulatedMemory {
  const void *address;
  size_t bytes;
  bool isWritten;
};

/// Kernels that the emulator runs.
class EmulatedKernels {
public:
  /// Takes what `translateKernels` makes. A block has at most so many bytes of
  /// shared memory.
  static llvm::Expected<std::unique_ptr<EmulatedKernels>>
  create(std::unique_ptr<llvm::Module> module,
         std::unique_ptr<llvm::LLVMContext> context, size_t maxSharedBytes);

  /// A launch is over when it returns. Kernels may access `memory`, and what
  /// they allocate, which is full of NaNs. The queue must not outlive this.
  std::unique_ptr<Queue> createQueue(const emulator::LaunchOptions &options,
                                     llvm::ArrayRef<EmulatedMemory> memory);

private:
  class MemoryQueue;

  EmulatedKernels(std::unique_ptr<emulator::Module> module,
                  size_t maxSharedBytes)
      : module(std::move(module)), maxSharedBytes(maxSharedBytes) {}

  std::unique_ptr<emulator::Module> module;
  size_t maxSharedBytes;
};

} // namespace mlir::kvq::runtime

#endif // KVQ_RUNTIME_EMULATED_H
