//===- MemoryAccess.h - Checks of memory accesses ------------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_MEMORYACCESS_H
#define KVQ_LIB_EMULATOR_MEMORYACCESS_H

#include "Program.h"

namespace mlir::kvq::emulator {

/// Fails unless a kernel may access the global memory.
void checkGlobal(Thread &thread, const Site &site, uint64_t address,
                 uint64_t bytes, uint32_t alignment, bool isWrite);

/// Fails unless a kernel may access the memory at a generic address: global
/// memory, shared memory or its own stack.
void checkGeneric(Thread &thread, const Site &site, uint64_t address,
                  uint64_t bytes, uint32_t alignment, bool isWrite);

// What generated code calls.
/// An access that its cache does not cover.
extern "C" void kvq_emulator_check(Thread *thread, const Site *site,
                                   uint64_t address, AllocationCache *cache);
/// An access to shared memory; returns the address on this machine.
extern "C" char *kvq_emulator_access_shared(Thread *thread, const Site *site,
                                            uint64_t offset);
/// A copy or a fill of a whole range.
extern "C" void kvq_emulator_check_range(Thread *thread, const Site *site,
                                         uint64_t address, uint64_t bytes);
extern "C" char *kvq_emulator_access_shared_range(Thread *thread,
                                                  const Site *site,
                                                  uint64_t offset,
                                                  uint64_t bytes);
/// What an instruction may not do.
extern "C" void kvq_emulator_fail(Thread *thread, const Site *site,
                                  const char *message);
extern "C" Thread *kvq_emulator_current_thread();

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_MEMORYACCESS_H
