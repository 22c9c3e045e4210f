//===- MemoryAccess.cpp - Checks of memory accesses -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "MemoryAccess.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir::kvq::emulator;

static void checkAlignment(Thread &thread, const Site &site, uint64_t address,
                           uint32_t alignment) {
  if (address & (alignment - 1))
    thread.block->fail(
        thread, &site,
        "misaligned: address 0x" + llvm::Twine::utohexstr(address) +
            ", expected a multiple of " + llvm::Twine(alignment));
}

[[noreturn]] static void failOutOfBounds(Thread &thread, const Site &site,
                                         uint64_t address, uint64_t bytes,
                                         bool isWrite,
                                         const Allocation &nearest) {
  Block &block = *thread.block;
  uint64_t offset = address - nearest.begin;
  if (isWrite && !nearest.isWritable && offset + bytes <= nearest.bytes)
    block.fail(thread, &site,
               "write to read-only memory: " + llvm::Twine(bytes) +
                   " bytes at offset " + llvm::Twine(offset) + " of " +
                   llvm::Twine(nearest.bytes) + " bytes");
  // Far away it has nothing to do with that allocation.
  if (nearest.bytes == 0 || offset > 2 * nearest.bytes + 4096)
    block.fail(thread, &site,
               "out of bounds: " + llvm::Twine(bytes) + " bytes at address 0x" +
                   llvm::Twine::utohexstr(address) +
                   ", which no allocation is near");
  block.fail(thread, &site,
             "out of bounds: " + llvm::Twine(bytes) + " bytes at offset " +
                 llvm::Twine(offset) + " of " + llvm::Twine(nearest.bytes) +
                 " bytes of global memory");
}

void mlir::kvq::emulator::checkGlobal(Thread &thread, const Site &site,
                                      uint64_t address, uint64_t bytes,
                                      uint32_t alignment, bool isWrite) {
  Allocation allocation;
  if (!thread.block->allocations.find(address, bytes, isWrite, allocation))
    failOutOfBounds(thread, site, address, bytes, isWrite, allocation);
  checkAlignment(thread, site, address, alignment);
}

/// Handles addresses of a thread's own: on its stack, or shared memory.
static bool checkLocalOrShared(Thread &thread, const Site &site,
                               uint64_t address, uint64_t bytes,
                               uint32_t alignment, bool isWrite) {
  SharedMemory &shared = thread.block->shared;
  if (shared.contains(address)) {
    uint64_t offset = address - reinterpret_cast<uint64_t>(shared.getBase());
    if (isWrite)
      shared.write(thread, site, offset, bytes, alignment, site.isAtomic);
    else
      shared.read(thread, site, offset, bytes, alignment, site.isAtomic);
    return true;
  }
  uint64_t offset =
      address - reinterpret_cast<uint64_t>(thread.fiber.getStack());
  if (offset >= Stacks::kBytes || bytes > Stacks::kBytes - offset)
    return false;
  checkAlignment(thread, site, address, alignment);
  return true;
}

void mlir::kvq::emulator::checkGeneric(Thread &thread, const Site &site,
                                       uint64_t address, uint64_t bytes,
                                       uint32_t alignment, bool isWrite) {
  if (!checkLocalOrShared(thread, site, address, bytes, alignment, isWrite))
    checkGlobal(thread, site, address, bytes, alignment, isWrite);
}

void mlir::kvq::emulator::kvq_emulator_check(Thread *thread, const Site *site,
                                             uint64_t address,
                                             AllocationCache *cache) {
  if (checkLocalOrShared(*thread, *site, address, site->bytes, site->alignment,
                         site->isWrite))
    return;
  Allocation allocation;
  if (!thread->block->allocations.find(address, site->bytes, site->isWrite,
                                       allocation))
    failOutOfBounds(*thread, *site, address, site->bytes, site->isWrite,
                    allocation);
  checkAlignment(*thread, *site, address, site->alignment);
  *cache = {allocation.begin, allocation.bytes - site->bytes + 1};
}

char *mlir::kvq::emulator::kvq_emulator_access_shared(Thread *thread,
                                                      const Site *site,
                                                      uint64_t offset) {
  return kvq_emulator_access_shared_range(thread, site, offset, site->bytes);
}

void mlir::kvq::emulator::kvq_emulator_check_range(Thread *thread,
                                                   const Site *site,
                                                   uint64_t address,
                                                   uint64_t bytes) {
  if (bytes)
    checkGeneric(*thread, *site, address, bytes, site->alignment,
                 site->isWrite);
}

char *mlir::kvq::emulator::kvq_emulator_access_shared_range(Thread *thread,
                                                            const Site *site,
                                                            uint64_t offset,
                                                            uint64_t bytes) {
  SharedMemory &shared = thread->block->shared;
  // No range is as long as that.
  uint32_t length = std::min<uint64_t>(bytes, UINT32_MAX);
  return site->isWrite ? shared.write(*thread, *site, offset, length,
                                      site->alignment, site->isAtomic)
                       : shared.read(*thread, *site, offset, length,
                                     site->alignment, site->isAtomic);
}

void mlir::kvq::emulator::kvq_emulator_fail(Thread *thread, const Site *site,
                                            const char *message) {
  thread->block->fail(*thread, site, message);
}

Thread *mlir::kvq::emulator::kvq_emulator_current_thread() {
  return getCurrentThread();
}
