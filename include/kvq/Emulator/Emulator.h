//===- Emulator.h - GPU kernels on a CPU ---------------------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the LLVM IR that NVPTX code generation would see, on this machine: a
// fiber for each thread of a block, blocks on as many operating system threads
// as there are processors. docs/Emulator.md has the model and its limits.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_EMULATOR_H
#define KVQ_EMULATOR_EMULATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>

namespace mlir::kvq::emulator {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

/// In which order the ready threads of a block run, and the blocks start.
enum class Order { Forward, Reverse, Random };

struct LaunchOptions {
  Order order = Order::Forward;
  /// Of the random order.
  uint64_t seed = 0;
  /// Operating system threads that run blocks; 0: one for each processor.
  unsigned workers = 0;
  /// Whether accesses to shared memory that no barrier orders, and reads of
  /// what nobody has written or no wait has brought, are errors.
  bool detectRaces = true;
};

/// The kernels of a gpu.module, compiled for this machine.
class Module {
public:
  /// Takes the module that NVPTX code generation would see. An intrinsic or an
  /// inline assembly that the emulator does not know is an error naming it.
  static llvm::Expected<std::unique_ptr<Module>>
  create(std::unique_ptr<llvm::Module> module,
         std::unique_ptr<llvm::LLVMContext> context);
  ~Module();

  /// Runs a kernel to its end. `parameters` point to its arguments, as those of
  /// cuLaunchKernel do. Whatever a thread does wrong ends the launch with an
  /// error that names kernel, block and thread, and the place in the source
  /// where the module has debug information.
  llvm::Error launch(llvm::StringRef kernel, Dim3 grid, Dim3 block,
                     size_t dynamicSharedBytes,
                     llvm::ArrayRef<void *> parameters,
                     const LaunchOptions &options = {});

private:
  struct Implementation;
  explicit Module(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation;
};

/// The memory that kernels may touch: of a whole process, for all threads.
class GlobalMemory {
public:
  /// Lets kernels read `bytes` bytes at `address`, and write them if
  /// `isWritable`.
  static void add(const void *address, size_t bytes, bool isWritable = true);
  /// Takes back one `add` of `address`.
  static void remove(const void *address);
};

} // namespace mlir::kvq::emulator

#endif // KVQ_EMULATOR_EMULATOR_H
