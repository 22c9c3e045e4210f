//===- Machine.h - Threads, warps and blocks ------------------ -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of what runs: one Block per worker, used for one block after the
// other.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_MACHINE_H
#define KVQ_LIB_EMULATOR_MACHINE_H

#include "AsyncCopies.h"
#include "Barriers.h"
#include "Clocks.h"
#include "Fiber.h"
#include "GlobalMemory.h"
#include "MBarriers.h"
#include "Program.h"
#include "SharedMemory.h"
#include "WarpCollectives.h"

#include "kvq/Emulator/Emulator.h"

#include "llvm/ADT/Twine.h"

#include <random>
#include <string>
#include <vector>

namespace mlir::kvq::emulator {

/// The registers of a thread that do not change: what `read.ptx.sreg` reads.
enum Register : unsigned {
  TidX,
  TidY,
  TidZ,
  NTidX,
  NTidY,
  NTidZ,
  CtaIdX,
  CtaIdY,
  CtaIdZ,
  NCtaIdX,
  NCtaIdY,
  NCtaIdZ,
  LaneId,
  WarpId,
  NWarpId,
  LaneMaskEq,
  LaneMaskLe,
  LaneMaskLt,
  LaneMaskGe,
  LaneMaskGt,
  DynamicSharedSize,
  TotalSharedSize,
  NumRegisters,
};

/// The last allocation that an instruction has touched: its accesses may start
/// at the `span` addresses from `begin` on.
struct AllocationCache {
  uint64_t begin = 0, span = 0;
};

/// What a thread knew of at its last fence.proxy.async.
struct FencedClocks {
  uint32_t floor = 0;
  Clocks::Vector known;

  uint32_t getOwn(unsigned thread) const {
    return known.empty() ? 0 : known[thread];
  }
  bool covers(unsigned thread, uint32_t clock) const {
    return clock < floor || (!known.empty() && clock <= known[thread]);
  }
};

enum class ThreadState : uint8_t {
  Ready,
  /// Ready, but it can only go on when another thread does something.
  Polling,
  Waiting,
  Exited,
};

struct Thread {
  // Read by generated code.
  uint32_t registers[NumRegisters];
  /// Where offset 0 of shared memory would lie.
  char *shared;
  AllocationCache *caches;

  ThreadState state;
  /// Within the block.
  unsigned index;
  unsigned lane;
  Warp *warp;
  Block *block;
  /// The last place where it stopped.
  const Site *waitsAt = nullptr;
  Fiber fiber;
  AsyncCopies copies;
  FencedClocks fenced;
};

struct Warp {
  uint32_t all = 0;
  /// The lanes that have not exited.
  uint32_t live = 0;
  Thread *threads[kWarpSize];
  WarpCollectives collectives;
};

struct Block {
  Block(const Program &program, const Kernel &kernel,
        const Allocations &allocations, Dim3 grid, Dim3 block,
        size_t dynamicSharedBytes, void **parameters,
        const LaunchOptions &options);

  /// Whether there was memory for the stacks.
  bool hasStacks() const { return stacks.isValid(); }

  /// Runs a block to its end; false if a fault has ended it.
  bool run(Dim3 id);

  /// Ends the launch; called in a fiber, which is not resumed any more.
  [[noreturn]] void fail(Thread &thread, const Site *site,
                         const llvm::Twine &message);

  /// Leaves the fiber of `thread`, until the scheduler resumes it.
  void suspend(Thread &thread, ThreadState state, const Site *site);
  void resume(Thread &thread) {
    thread.state = ThreadState::Ready;
    ++numEvents;
  }

  /// `(1, 0, 0)` of a thread of the block.
  std::string getName(unsigned thread) const;

  const Program &program;
  const Kernel &kernel;
  const Allocations &allocations;
  const Dim3 gridSize, blockSize;
  const size_t dynamicSharedBytes;
  void **const parameters;
  const LaunchOptions &options;

  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<AllocationCache> caches;
  Clocks clocks;
  SharedMemory shared;
  Barriers barriers;
  MBarriers mbarriers;
  /// What has happened that may let another thread go on.
  uint64_t numEvents = 0;
  /// Describes what has gone wrong.
  std::string fault;

private:
  static void runThread(void *thread);
  void start(Dim3 id);
  void resumeThread(Thread &thread);
  void runPass();
  void failInDeadlock();

  Stacks stacks;
  Fiber scheduler;
  std::minstd_rand random;
  std::vector<unsigned> order;
  unsigned numLive = 0;
};

/// The thread whose fiber runs.
Thread *getCurrentThread();

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_MACHINE_H
