//===- Block.cpp - Runs the threads of a block ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <algorithm>
#include <numeric>

using namespace mlir::kvq::emulator;

/// The thread whose fiber runs on this operating system thread. Fibers stay on
/// one.
static thread_local Thread *currentThread;

Thread *mlir::kvq::emulator::getCurrentThread() { return currentThread; }

static unsigned getNumThreads(Dim3 size) { return size.x * size.y * size.z; }

Block::Block(const Program &program, const Kernel &kernel,
             const Allocations &allocations, Dim3 grid, Dim3 block,
             size_t dynamicSharedBytes, void **parameters,
             const LaunchOptions &options)
    : program(program), kernel(kernel), allocations(allocations),
      gridSize(grid), blockSize(block), dynamicSharedBytes(dynamicSharedBytes),
      parameters(parameters), options(options), threads(getNumThreads(block)),
      warps((threads.size() + kWarpSize - 1) / kWarpSize),
      caches(program.numCaches), clocks(threads.size()),
      shared(*this, kernel.staticSharedBytes + dynamicSharedBytes,
             options.detectRaces),
      stacks(threads.size()), order(threads.size()) {
  std::iota(order.begin(), order.end(), 0);
  for (unsigned index = 0; index != threads.size(); ++index) {
    Thread &thread = threads[index];
    thread.index = index;
    thread.lane = index % kWarpSize;
    thread.warp = &warps[index / kWarpSize];
    thread.block = this;
    thread.shared = shared.getBase();
    thread.caches = caches.data();
    thread.warp->threads[thread.lane] = &thread;
    thread.warp->all |= 1u << thread.lane;
  }
}

static void setRegisters(Thread &thread, Dim3 id) {
  const Block &block = *thread.block;
  Dim3 size = block.blockSize;
  uint32_t *registers = thread.registers;
  registers[TidX] = thread.index % size.x;
  registers[TidY] = thread.index / size.x % size.y;
  registers[TidZ] = thread.index / (size.x * size.y);
  registers[NTidX] = size.x;
  registers[NTidY] = size.y;
  registers[NTidZ] = size.z;
  registers[CtaIdX] = id.x;
  registers[CtaIdY] = id.y;
  registers[CtaIdZ] = id.z;
  registers[NCtaIdX] = block.gridSize.x;
  registers[NCtaIdY] = block.gridSize.y;
  registers[NCtaIdZ] = block.gridSize.z;
  registers[LaneId] = thread.lane;
  registers[WarpId] = thread.index / kWarpSize;
  registers[NWarpId] = block.warps.size();
  uint32_t lane = 1u << thread.lane;
  registers[LaneMaskEq] = lane;
  registers[LaneMaskLt] = lane - 1;
  registers[LaneMaskLe] = lane | (lane - 1);
  registers[LaneMaskGe] = ~(lane - 1);
  registers[LaneMaskGt] = ~(lane | (lane - 1));
  registers[DynamicSharedSize] = block.dynamicSharedBytes;
  registers[TotalSharedSize] =
      block.kernel.staticSharedBytes + block.dynamicSharedBytes;
}

void Block::runThread(void *argument) {
  auto &thread = *static_cast<Thread *>(argument);
  Block &block = *thread.block;
  block.kernel.entry(block.parameters);
  thread.state = ThreadState::Exited;
  thread.warp->live &= ~(1u << thread.lane);
  --block.numLive;
  ++block.numEvents;
  thread.warp->collectives.exit(*thread.warp);
  Fiber::switchTo(thread.fiber, block.scheduler);
}

void Block::start(Dim3 id) {
  shared.reset();
  clocks.synchronizeAll();
  barriers.reset();
  mbarriers.reset();
  fault.clear();
  numLive = threads.size();
  uint64_t index =
      id.x + uint64_t(gridSize.x) * (id.y + uint64_t(gridSize.y) * id.z);
  random.seed(options.seed * 1000003 + index + 1);
  if (options.order == Order::Reverse)
    for (unsigned i = 0; i != order.size(); ++i)
      order[i] = order.size() - 1 - i;
  for (Warp &warp : warps) {
    warp.live = warp.all;
    warp.collectives.reset();
  }
  for (Thread &thread : threads) {
    setRegisters(thread, id);
    thread.state = ThreadState::Ready;
    thread.waitsAt = nullptr;
    thread.copies.reset();
    thread.fenced.floor = clocks.getFloor();
    thread.fenced.known.clear();
    thread.fiber.start(stacks.get(thread.index), &Block::runThread, &thread);
  }
}

void Block::resumeThread(Thread &thread) {
  currentThread = &thread;
  Fiber::switchTo(scheduler, thread.fiber);
}

/// Runs the threads as far as they come. Those that poll run once.
void Block::runPass() {
  for (Thread &thread : threads)
    if (thread.state == ThreadState::Polling)
      thread.state = ThreadState::Ready;
  bool isRandom = options.order == Order::Random;
  if (isRandom)
    std::shuffle(order.begin(), order.end(), random);
  // One after the other if the order is random, to mix them well. Else a warp
  // after the other, each as far as it comes by itself.
  unsigned step = isRandom ? order.size() : kWarpSize;
  for (unsigned first = 0; first < order.size(); first += step) {
    unsigned end = std::min<unsigned>(first + step, order.size());
    bool hasRun = true;
    while (hasRun) {
      hasRun = false;
      for (unsigned i = first; i != end; ++i) {
        Thread &thread = threads[order[i]];
        if (thread.state != ThreadState::Ready)
          continue;
        hasRun = true;
        resumeThread(thread);
        if (!fault.empty())
          return;
      }
      if (isRandom)
        return;
    }
  }
}

bool Block::run(Dim3 id) {
  start(id);
  while (numLive && fault.empty()) {
    // Somebody comes to a place that lets others go on, or nobody ever will.
    uint64_t before = numEvents;
    runPass();
    if (fault.empty() && numLive && before == numEvents)
      failInDeadlock();
  }
  if (fault.empty())
    return true;
  fault = "kernel '" + kernel.name + "', block (" + std::to_string(id.x) +
          ", " + std::to_string(id.y) + ", " + std::to_string(id.z) + "), " +
          fault;
  return false;
}

std::string Block::getName(unsigned index) const {
  const uint32_t *registers = threads[index].registers;
  return "(" + std::to_string(registers[TidX]) + ", " +
         std::to_string(registers[TidY]) + ", " +
         std::to_string(registers[TidZ]) + ")";
}

/// ` at FILE:LINE:COLUMN, INSTRUCTION in FUNCTION`.
static std::string describeSite(const Site &site) {
  std::string text = site.instruction + " in '" + site.function + "'";
  if (!site.location.empty())
    text += " at " + site.location;
  return text;
}

void Block::fail(Thread &thread, const Site *site, const llvm::Twine &message) {
  fault = "thread " + getName(thread.index);
  if (site)
    fault += ", " + describeSite(*site);
  fault += ": " + message.str();
  // Of whatever fiber runs; it may not be the thread's.
  Fiber::switchTo(currentThread->fiber, scheduler);
  llvm_unreachable("a fiber was resumed after a fault");
}

void Block::suspend(Thread &thread, ThreadState state, const Site *site) {
  thread.state = state;
  thread.waitsAt = site;
  Fiber::switchTo(thread.fiber, scheduler);
}

void Block::failInDeadlock() {
  // The places where threads wait, with one thread each.
  fault = "deadlock:";
  std::vector<const Site *> seen;
  bool hasExited = false;
  for (const Thread &thread : threads) {
    if (thread.state == ThreadState::Exited) {
      if (!hasExited)
        fault += " thread " + getName(thread.index) + " has exited;";
      hasExited = true;
      continue;
    }
    if (std::find(seen.begin(), seen.end(), thread.waitsAt) != seen.end())
      continue;
    seen.push_back(thread.waitsAt);
    fault += " thread " + getName(thread.index) + " waits at " +
             describeSite(*thread.waitsAt) + ";";
  }
  fault.pop_back();
}
