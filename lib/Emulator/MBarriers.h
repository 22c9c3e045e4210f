//===- MBarriers.h - mbarrier objects and bulk copies --------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_MBARRIERS_H
#define KVQ_LIB_EMULATOR_MBARRIERS_H

#include "AsyncCopies.h"
#include "Clocks.h"
#include "Program.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mlir::kvq::emulator {

/// The mbarrier objects of a block, by their offsets in shared memory. A phase
/// is complete when all have arrived and all bytes are there.
class MBarriers {
public:
  void reset() { barriers.clear(); }

  void initialize(Thread &thread, const Site &site, uint64_t offset,
                  uint32_t count);
  void invalidate(Thread &thread, const Site &site, uint64_t offset);
  void expect(Thread &thread, const Site &site, uint64_t offset,
              uint32_t bytes);
  /// Returns the phase that it arrives at. `drops`: so do all later phases go
  /// without it.
  uint64_t arrive(Thread &thread, const Site &site, uint64_t offset,
                  uint32_t count, bool drops);
  /// A copy whose bytes the mbarrier counts.
  void copy(Thread &thread, const Site &site, uint64_t offset,
            const Copy &copy);
  /// Whether the phase has completed: of the parity, or the one that arrive has
  /// returned. Lets others run if it has not.
  bool test(Thread &thread, const Site &site, uint64_t offset, uint64_t phase,
            bool isParity);

private:
  struct MBarrier {
    uint32_t count, pending;
    uint64_t phase = 0;
    int64_t missingBytes = 0;
    struct InFlight {
      Thread *issuer;
      Copy copy;
    };
    std::vector<InFlight> copies;
    Clocks::Vector released, completed;
  };

  MBarrier &find(Thread &thread, const Site &site, uint64_t offset);
  static void land(Thread &thread, MBarrier &barrier);
  static void completeIfDone(Thread &thread, MBarrier &barrier);

  llvm::DenseMap<uint32_t, MBarrier> barriers;
};

// Handlers.
void initializeMBarrier(Thread &thread, const Site &site, Slot *results,
                        const Slot *arguments);
void invalidateMBarrier(Thread &thread, const Site &site, Slot *results,
                        const Slot *arguments);
void expectBytes(Thread &thread, const Site &site, Slot *results,
                 const Slot *arguments);
/// kind: an MBarrierArrival.
void arriveAtMBarrier(Thread &thread, const Site &site, Slot *results,
                      const Slot *arguments);
/// kind: 1 if it waits for a parity, 0 if for a phase; flag: whether it comes
/// back only when the phase has completed.
void waitForMBarrier(Thread &thread, const Site &site, Slot *results,
                     const Slot *arguments);
/// flag: whether the mbarrier counts the arrival itself.
void arriveAfterAsyncCopies(Thread &thread, const Site &site, Slot *results,
                            const Slot *arguments);
void startBulkCopy(Thread &thread, const Site &site, Slot *results,
                   const Slot *arguments);
/// Bulk copies write after what the thread knows of, shared memory as it is now.
void fenceAsyncProxy(Thread &thread, const Site &site, Slot *results,
                     const Slot *arguments);
void storeBulk(Thread &thread, const Site &site, Slot *results,
               const Slot *arguments);

/// What the second argument of an arrival is. Drop is added to the others.
namespace MBarrierArrival {
enum { One = 0, Count = 1, ExpectedBytes = 2, Drop = 4 };
} // namespace MBarrierArrival

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_MBARRIERS_H
