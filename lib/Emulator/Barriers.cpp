//===- Barriers.cpp - Barriers of a block ---------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

using namespace mlir::kvq::emulator;

void Barriers::reset() {
  for (Barrier &barrier : barriers) {
    barrier.expected = barrier.numTrue = 0;
    barrier.arrived.clear();
    barrier.waiting.clear();
    barrier.released.clear();
    barrier.sites.clear();
  }
}

Barriers::Barrier &Barriers::add(Thread &thread, const Site &site, uint32_t id,
                                 uint32_t count, bool isAligned) {
  Block &block = *thread.block;
  if (id >= barriers.size())
    block.fail(thread, &site,
               "expected a barrier below 16, got " + llvm::Twine(id));
  unsigned numThreads = block.threads.size();
  if (count % kWarpSize || count > llvm::alignTo(numThreads, kWarpSize))
    block.fail(thread, &site,
               "expected a multiple of 32 threads of the block's " +
                   llvm::Twine(numThreads) + ", got " + llvm::Twine(count));
  // A warp that is not full counts as one.
  count = count ? std::min(count, numThreads) : numThreads;
  Barrier &barrier = barriers[id];
  if (barrier.arrived.empty()) {
    barrier.expected = count;
    barrier.sites.assign(block.warps.size(), nullptr);
  }
  if (barrier.expected != count)
    block.fail(thread, &site,
               "divergent: barrier " + llvm::Twine(id) + " of " +
                   llvm::Twine(count) +
                   " threads, where others wait for it with " +
                   llvm::Twine(barrier.expected));
  const Site *&warpSite = barrier.sites[thread.index / kWarpSize];
  if (isAligned && warpSite && warpSite != &site)
    block.fail(thread, &site,
               "divergent: other lanes of the warp are at another barrier, " +
                   warpSite->instruction +
                   (warpSite->location.empty() ? "" : " at ") +
                   warpSite->location);
  warpSite = &site;
  barrier.arrived.push_back(thread.index);
  return barrier;
}

void Barriers::complete(Barrier &barrier, Thread &thread,
                        BarrierReduction reduction) {
  Block &block = *thread.block;
  if (barrier.waiting.size() == block.threads.size()) {
    block.clocks.synchronizeAll();
  } else {
    for (Thread *waiting : barrier.waiting)
      block.clocks.release(waiting->index, barrier.released);
    for (Thread *waiting : barrier.waiting)
      block.clocks.acquire(waiting->index, barrier.released);
  }
  barrier.released.clear();
  switch (reduction) {
  case BarrierReduction::None:
    break;
  case BarrierReduction::Count:
    barrier.result = barrier.numTrue;
    break;
  case BarrierReduction::And:
    barrier.result = barrier.numTrue == barrier.expected;
    break;
  case BarrierReduction::Or:
    barrier.result = barrier.numTrue != 0;
    break;
  }
  for (Thread *waiting : barrier.waiting)
    block.resume(*waiting);
  barrier.arrived.clear();
  barrier.waiting.clear();
  barrier.numTrue = 0;
}

uint32_t Barriers::synchronize(Thread &thread, const Site &site, uint32_t id,
                               uint32_t count, bool isAligned,
                               BarrierReduction reduction, bool value) {
  Barrier &barrier = add(thread, site, id, count, isAligned);
  barrier.numTrue += value;
  barrier.waiting.push_back(&thread);
  thread.state = ThreadState::Waiting;
  if (barrier.arrived.size() == barrier.expected)
    complete(barrier, thread, reduction);
  else
    thread.block->suspend(thread, ThreadState::Waiting, &site);
  return barrier.result;
}

void Barriers::arrive(Thread &thread, const Site &site, uint32_t id,
                      uint32_t count, bool isAligned) {
  Barrier &barrier = add(thread, site, id, count, isAligned);
  // What it does from now on is not before the barrier.
  thread.block->clocks.release(thread.index, barrier.released);
  if (barrier.arrived.size() == barrier.expected)
    complete(barrier, thread, BarrierReduction::None);
}

void mlir::kvq::emulator::synchronizeBlock(Thread &thread, const Site &site,
                                           Slot *results,
                                           const Slot *arguments) {
  auto reduction = BarrierReduction(site.operation.kind);
  unsigned numCounts = site.operation.size;
  bool value =
      reduction != BarrierReduction::None && (arguments[1 + numCounts] & 1);
  uint32_t result =
      thread.block->barriers.synchronize(thread, site, uint32_t(arguments[0]),
                                         numCounts ? uint32_t(arguments[1]) : 0,
                                         site.operation.flag, reduction, value);
  if (reduction != BarrierReduction::None)
    results[0] = result;
}

void mlir::kvq::emulator::arriveAtBarrier(Thread &thread, const Site &site,
                                          Slot *results,
                                          const Slot *arguments) {
  thread.block->barriers.arrive(thread, site, uint32_t(arguments[0]),
                                uint32_t(arguments[1]), site.operation.flag);
}
