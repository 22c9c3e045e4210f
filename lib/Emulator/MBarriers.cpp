//===- MBarriers.cpp - mbarrier objects and bulk copies -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "MemoryAccess.h"

#include <cstring>

using namespace mlir::kvq::emulator;

static constexpr uint32_t kObjectBytes = 8;

//===----------------------------------------------------------------------===//
// MBarriers
//===----------------------------------------------------------------------===//

void MBarriers::initialize(Thread &thread, const Site &site, uint64_t offset,
                           uint32_t count) {
  Block &block = *thread.block;
  block.shared.write(thread, site, offset, kObjectBytes, kObjectBytes);
  if (count == 0 || count >= 1u << 20)
    block.fail(thread, &site,
               "expected a count from 1 to 2^20 - 1, got " +
                   llvm::Twine(count));
  MBarrier barrier;
  barrier.count = barrier.pending = count;
  barriers[uint32_t(offset)] = std::move(barrier);
}

MBarriers::MBarrier &MBarriers::find(Thread &thread, const Site &site,
                                     uint64_t offset) {
  Block &block = *thread.block;
  // Races with the initialization show.
  block.shared.read(thread, site, offset, kObjectBytes, kObjectBytes,
                    /*isAtomic=*/true);
  auto found = barriers.find(uint32_t(offset));
  if (found == barriers.end())
    block.fail(thread, &site,
               "expected an initialized mbarrier in shared memory at " +
                   llvm::Twine(offset - kSharedBegin));
  return found->second;
}

void MBarriers::invalidate(Thread &thread, const Site &site, uint64_t offset) {
  find(thread, site, offset);
  thread.block->shared.write(thread, site, offset, kObjectBytes, kObjectBytes);
  barriers.erase(uint32_t(offset));
}

void MBarriers::completeIfDone(Thread &thread, MBarrier &barrier) {
  if (barrier.pending || barrier.missingBytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.completed = std::move(barrier.released);
  barrier.released.clear();
  ++thread.block->numEvents;
}

void MBarriers::expect(Thread &thread, const Site &site, uint64_t offset,
                       uint32_t bytes) {
  find(thread, site, offset).missingBytes += bytes;
}

uint64_t MBarriers::arrive(Thread &thread, const Site &site, uint64_t offset,
                           uint32_t count, bool drops) {
  MBarrier &barrier = find(thread, site, offset);
  if (count > barrier.pending)
    thread.block->fail(thread, &site,
                       "expected at most " + llvm::Twine(barrier.pending) +
                           " more arrivals in this phase, got " +
                           llvm::Twine(count));
  uint64_t phase = barrier.phase;
  thread.block->clocks.release(thread.index, barrier.released);
  barrier.pending -= count;
  if (drops)
    barrier.count -= count;
  ++thread.block->numEvents;
  completeIfDone(thread, barrier);
  return phase;
}

void MBarriers::copy(Thread &thread, const Site &site, uint64_t offset,
                     const Copy &copy) {
  find(thread, site, offset).copies.push_back({&thread, copy});
  ++thread.block->numEvents;
}

void MBarriers::land(Thread &thread, MBarrier &barrier) {
  Clocks &clocks = thread.block->clocks;
  for (const MBarrier::InFlight &inFlight : barrier.copies) {
    // A time of its own, which only who waits for the mbarrier knows of.
    unsigned issuer = inFlight.issuer->index;
    clocks.advance(issuer);
    mlir::kvq::emulator::land(*inFlight.issuer, inFlight.copy);
    if (barrier.released.size() <= issuer)
      barrier.released.resize(thread.block->threads.size(), 0);
    barrier.released[issuer] = clocks.get(issuer);
    clocks.advance(issuer);
    barrier.missingBytes -= inFlight.copy.bytes;
  }
  barrier.copies.clear();
}

bool MBarriers::test(Thread &thread, const Site &site, uint64_t offset,
                     uint64_t phase, bool isParity) {
  auto isDone = [&](const MBarrier &barrier) {
    return isParity ? (barrier.phase & 1) != phase : barrier.phase > phase;
  };
  MBarrier *barrier = &find(thread, site, offset);
  if (!isDone(*barrier)) {
    // Copies land as late as the wait allows.
    land(thread, *barrier);
    completeIfDone(thread, *barrier);
  }
  if (!isDone(*barrier)) {
    thread.block->suspend(thread, ThreadState::Polling, &site);
    barrier = &find(thread, site, offset);
    if (!isDone(*barrier))
      return false;
  }
  thread.block->clocks.acquire(thread.index, barrier->completed);
  return true;
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

void mlir::kvq::emulator::initializeMBarrier(Thread &thread, const Site &site,
                                             Slot *results,
                                             const Slot *arguments) {
  thread.block->mbarriers.initialize(thread, site, arguments[0],
                                     uint32_t(arguments[1]));
}

void mlir::kvq::emulator::invalidateMBarrier(Thread &thread, const Site &site,
                                             Slot *results,
                                             const Slot *arguments) {
  thread.block->mbarriers.invalidate(thread, site, arguments[0]);
}

void mlir::kvq::emulator::expectBytes(Thread &thread, const Site &site,
                                      Slot *results, const Slot *arguments) {
  thread.block->mbarriers.expect(thread, site, arguments[0],
                                 uint32_t(arguments[1]));
}

void mlir::kvq::emulator::arriveAtMBarrier(Thread &thread, const Site &site,
                                           Slot *results,
                                           const Slot *arguments) {
  MBarriers &mbarriers = thread.block->mbarriers;
  int64_t kind = site.operation.kind;
  if (kind & MBarrierArrival::ExpectedBytes)
    mbarriers.expect(thread, site, arguments[0], uint32_t(arguments[1]));
  uint32_t count = kind & MBarrierArrival::Count ? uint32_t(arguments[1]) : 1;
  results[0] = mbarriers.arrive(thread, site, arguments[0], count,
                                kind & MBarrierArrival::Drop);
}

void mlir::kvq::emulator::waitForMBarrier(Thread &thread, const Site &site,
                                          Slot *results,
                                          const Slot *arguments) {
  bool isParity = site.operation.kind;
  uint64_t phase = isParity ? uint32_t(arguments[1]) & 1 : arguments[1];
  MBarriers &mbarriers = thread.block->mbarriers;
  bool isDone;
  do
    isDone = mbarriers.test(thread, site, arguments[0], phase, isParity);
  while (!isDone && site.operation.flag);
  results[0] = isDone;
}

void mlir::kvq::emulator::arriveAfterAsyncCopies(Thread &thread,
                                                 const Site &site,
                                                 Slot *results,
                                                 const Slot *arguments) {
  // The copies land now; other threads must wait for the mbarrier all the same.
  thread.copies.waitForAll(thread);
  if (site.operation.flag)
    thread.block->mbarriers.arrive(thread, site, arguments[0], 1, false);
}

void mlir::kvq::emulator::startBulkCopy(Thread &thread, const Site &site,
                                        Slot *results, const Slot *arguments) {
  constexpr uint32_t kAlignment = 16;
  Copy copy;
  copy.target = uint32_t(arguments[0]);
  copy.source = reinterpret_cast<const char *>(arguments[2]);
  copy.bytes = copy.sourceBytes = uint32_t(arguments[3]);
  copy.site = &site;
  copy.isBulk = true;
  if (copy.bytes % kAlignment)
    thread.block->fail(thread, &site,
                       "expected a multiple of 16 bytes, got " +
                           llvm::Twine(copy.bytes));
  thread.block->shared.beginCopy(thread, site, arguments[0], copy.bytes,
                                 kAlignment, /*isBulk=*/true);
  if (copy.bytes)
    checkGlobal(thread, site, arguments[2], copy.bytes, kAlignment,
                /*isWrite=*/false);
  thread.block->mbarriers.copy(thread, site, arguments[1], copy);
}

void mlir::kvq::emulator::fenceAsyncProxy(Thread &thread, const Site &site,
                                          Slot *results,
                                          const Slot *arguments) {
  Clocks &clocks = thread.block->clocks;
  thread.fenced.floor = clocks.getFloor();
  clocks.release(thread.index, thread.fenced.known);
}

void mlir::kvq::emulator::storeBulk(Thread &thread, const Site &site,
                                    Slot *results, const Slot *arguments) {
  constexpr uint32_t kAlignment = 16;
  uint32_t bytes = uint32_t(arguments[2]);
  if (bytes % kAlignment)
    thread.block->fail(thread, &site,
                       "expected a multiple of 16 bytes, got " +
                           llvm::Twine(bytes));
  if (!bytes)
    return;
  const char *source =
      thread.block->shared.read(thread, site, arguments[1], bytes, kAlignment);
  checkGlobal(thread, site, arguments[0], bytes, kAlignment, /*isWrite=*/true);
  std::memcpy(reinterpret_cast<char *>(arguments[0]), source, bytes);
}
