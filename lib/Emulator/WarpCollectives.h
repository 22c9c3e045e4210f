//===- WarpCollectives.h - What the lanes of a warp do together - -*- C++
//-*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_WARPCOLLECTIVES_H
#define KVQ_LIB_EMULATOR_WARPCOLLECTIVES_H

#include "Program.h"

#include "llvm/ADT/SmallVector.h"

namespace mlir::kvq::emulator {

/// A collective operation whose lanes come in one by one: the last one executes
/// it for all.
struct Gathering {
  const Site *site;
  uint32_t mask, arrived;
  Slot *results[kWarpSize];
  const Slot *arguments[kWarpSize];
  const Site *sites[kWarpSize];
};

class WarpCollectives {
public:
  using Execute = void (*)(Warp &warp, const Gathering &gathering);

  void reset() { gatherings.clear(); }

  /// One lane of `mask` comes to a collective. Returns when all lanes have come
  /// and it is done. `isAligned`: all must be at the same instruction.
  void gather(Thread &thread, const Site &site, uint32_t mask, Slot *results,
              const Slot *arguments, bool isAligned, Execute execute);
  /// A lane has exited; the others need not wait for it.
  void exit(Warp &warp);

private:
  struct Pending {
    Gathering gathering;
    Execute execute;
  };
  void finish(Warp &warp, Pending &pending);

  llvm::SmallVector<Pending *, 2> gatherings;
};

/// Calls `visit` with each lane of a mask.
template <typename Visit> void forEachLane(uint32_t mask, Visit visit) {
  for (unsigned lane = 0; lane != kWarpSize; ++lane)
    if (mask >> lane & 1)
      visit(lane);
}

/// Executes a collective of all lanes, whose instruction is aligned.
void gatherAll(Thread &thread, const Site &site, Slot *results,
               const Slot *arguments, WarpCollectives::Execute execute);

enum class ShuffleKind { Up, Down, Butterfly, Index };
enum class VoteKind { All, Any, Uniform, Ballot };
enum class ReduxKind { Add, Min, Max, UMin, UMax, And, Or, Xor };

// Handlers.
void synchronizeWarp(Thread &thread, const Site &site, Slot *results,
                     const Slot *arguments);
/// kind: a ShuffleKind.
void shuffle(Thread &thread, const Site &site, Slot *results,
             const Slot *arguments);
/// kind: a VoteKind.
void vote(Thread &thread, const Site &site, Slot *results,
          const Slot *arguments);
/// kind: a ReduxKind.
void redux(Thread &thread, const Site &site, Slot *results,
           const Slot *arguments);
/// kind: bit 0: max, not min; bit 1: of absolute values; bit 2: NaN if there is
/// one.
void reduxFloat(Thread &thread, const Site &site, Slot *results,
                const Slot *arguments);
/// size: bytes of the value; flag: whether all must match.
void match(Thread &thread, const Site &site, Slot *results,
           const Slot *arguments);
/// `nanosleep`: another thread may do what this one waits for.
void sleep(Thread &thread, const Site &site, Slot *results,
           const Slot *arguments);
void elect(Thread &thread, const Site &site, Slot *results,
           const Slot *arguments);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_WARPCOLLECTIVES_H
