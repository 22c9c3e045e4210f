//===- Emulated.cpp - Kernels on the emulator -----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Runtime/Emulated.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

using namespace mlir::kvq;
using namespace mlir::kvq::runtime;

/// Aligned as what a GPU allocates.
static constexpr size_t kAlignment = 256;

class EmulatedKernels::MemoryQueue : public Queue {
public:
  MemoryQueue(EmulatedKernels &kernels, const emulator::LaunchOptions &options,
              llvm::ArrayRef<EmulatedMemory> memory)
      : kernels(kernels), options(options), arguments(memory) {
    for (const EmulatedMemory &range : memory)
      emulator::GlobalMemory::add(range.address, range.bytes, range.isWritten);
  }

  ~MemoryQueue() override {
    for (const EmulatedMemory &range : arguments)
      emulator::GlobalMemory::remove(range.address);
    for (void *memory : allocated)
      release(memory);
  }

  llvm::Error launch(const Launch &launch) override {
    if (launch.sharedBytes > kernels.maxSharedBytes)
      return llvm::createStringError(
          "kernel '" + launch.kernel + "': expected at most " +
          llvm::Twine(kernels.maxSharedBytes) +
          " bytes of shared memory of a block, got " +
          llvm::Twine(launch.sharedBytes));
    return kernels.module->launch(
        launch.kernel, {launch.grid.x, launch.grid.y, launch.grid.z},
        {launch.block.x, launch.block.y, launch.block.z}, launch.sharedBytes,
        launch.arguments, options);
  }

  llvm::Expected<void *> allocate(size_t bytes) override {
    void *memory =
        std::aligned_alloc(kAlignment, llvm::alignTo(bytes, kAlignment));
    if (!memory)
      return llvm::createStringError("no memory for " + llvm::Twine(bytes) +
                                     " bytes");
    std::memset(memory, 0xFF, bytes);
    emulator::GlobalMemory::add(memory, bytes);
    allocated.insert(memory);
    return memory;
  }

  llvm::Error free(void *memory) override {
    allocated.erase(memory);
    release(memory);
    return llvm::Error::success();
  }

private:
  static void release(void *memory) {
    emulator::GlobalMemory::remove(memory);
    std::free(memory);
  }

  EmulatedKernels &kernels;
  const emulator::LaunchOptions options;
  const llvm::SmallVector<EmulatedMemory> arguments;
  llvm::DenseSet<void *> allocated;
};

llvm::Expected<std::unique_ptr<EmulatedKernels>>
EmulatedKernels::create(std::unique_ptr<llvm::Module> module,
                        std::unique_ptr<llvm::LLVMContext> context,
                        size_t maxSharedBytes) {
  auto emulated =
      emulator::Module::create(std::move(module), std::move(context));
  if (!emulated)
    return emulated.takeError();
  return std::unique_ptr<EmulatedKernels>(
      new EmulatedKernels(std::move(*emulated), maxSharedBytes));
}

std::unique_ptr<Queue>
EmulatedKernels::createQueue(const emulator::LaunchOptions &options,
                             llvm::ArrayRef<EmulatedMemory> memory) {
  return std::make_unique<MemoryQueue>(*this, options, memory);
}
