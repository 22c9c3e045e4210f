//===- AsyncCopies.cpp - cp.async -----------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "MemoryAccess.h"

#include <cstring>

using namespace mlir::kvq::emulator;

void mlir::kvq::emulator::land(Thread &thread, const Copy &copy) {
  SharedMemory &shared = thread.block->shared;
  char *target = shared.getBase() + copy.target;
  std::memcpy(target, copy.source, copy.sourceBytes);
  std::memset(target + copy.sourceBytes, 0, copy.bytes - copy.sourceBytes);
  shared.endCopy(thread, *copy.site, copy.target, copy.bytes, copy.isBulk);
}

void AsyncCopies::reset() {
  groups.clear();
  open.clear();
}

void AsyncCopies::commit() {
  groups.push_back(std::move(open));
  open.clear();
}

void AsyncCopies::wait(Thread &thread, size_t numPending) {
  while (groups.size() > numPending) {
    for (const Copy &copy : groups.front())
      land(thread, copy);
    groups.pop_front();
  }
}

void AsyncCopies::waitForAll(Thread &thread) {
  commit();
  wait(thread, 0);
}

void mlir::kvq::emulator::startAsyncCopy(Thread &thread, const Site &site,
                                         Slot *results, const Slot *arguments) {
  Copy copy;
  copy.bytes = copy.sourceBytes = site.operation.size;
  copy.site = &site;
  if (site.operation.flag)
    copy.sourceBytes = uint32_t(arguments[2]);
  if (copy.sourceBytes > copy.bytes)
    thread.block->fail(thread, &site,
                       "expected a source of at most " +
                           llvm::Twine(copy.bytes) + " bytes, got " +
                           llvm::Twine(copy.sourceBytes));
  copy.target = uint32_t(arguments[0]);
  thread.block->shared.beginCopy(thread, site, arguments[0], copy.bytes,
                                 copy.bytes, /*isBulk=*/false);
  copy.source = reinterpret_cast<const char *>(arguments[1]);
  // Nothing is read where the whole target becomes zero.
  if (copy.sourceBytes)
    checkGlobal(thread, site, arguments[1], copy.sourceBytes, copy.bytes,
                /*isWrite=*/false);
  thread.copies.add(copy);
}

void mlir::kvq::emulator::commitAsyncCopies(Thread &thread, const Site &site,
                                            Slot *results,
                                            const Slot *arguments) {
  thread.copies.commit();
}

void mlir::kvq::emulator::waitForAsyncCopies(Thread &thread, const Site &site,
                                             Slot *results,
                                             const Slot *arguments) {
  thread.copies.wait(thread, uint32_t(arguments[0]));
}

void mlir::kvq::emulator::waitForAllAsyncCopies(Thread &thread,
                                                const Site &site, Slot *results,
                                                const Slot *arguments) {
  thread.copies.waitForAll(thread);
}
