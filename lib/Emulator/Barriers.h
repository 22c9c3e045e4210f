//===- Barriers.h - Barriers of a block ----------------------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_BARRIERS_H
#define KVQ_LIB_EMULATOR_BARRIERS_H

#include "Clocks.h"
#include "Program.h"

#include <array>
#include <vector>

namespace mlir::kvq::emulator {

/// What all threads of a barrier get.
enum class BarrierReduction { None, Count, And, Or };

class Barriers {
public:
  void reset();

  /// `thread` arrives at barrier `id` of `count` threads, 0: all of the block.
  /// Returns when all have, with the reduction of their values.
  uint32_t synchronize(Thread &thread, const Site &site, uint32_t id,
                       uint32_t count, bool isAligned,
                       BarrierReduction reduction = BarrierReduction::None,
                       bool value = false);
  /// It does not wait.
  void arrive(Thread &thread, const Site &site, uint32_t id, uint32_t count,
              bool isAligned);

private:
  struct Barrier {
    uint32_t expected = 0;
    std::vector<unsigned> arrived;
    std::vector<Thread *> waiting;
    Clocks::Vector released;
    uint32_t numTrue = 0, result = 0;
    /// Where each warp has come to the barrier.
    std::vector<const Site *> sites;
  };

  Barrier &add(Thread &thread, const Site &site, uint32_t id, uint32_t count,
               bool isAligned);
  static void complete(Barrier &barrier, Thread &thread,
                       BarrierReduction reduction);

  std::array<Barrier, 16> barriers;
};

// Handlers. flag: whether all lanes of a warp must be at the same instruction.
/// kind: a BarrierReduction; size: 1 if there is a number of threads.
void synchronizeBlock(Thread &thread, const Site &site, Slot *results,
                      const Slot *arguments);
void arriveAtBarrier(Thread &thread, const Site &site, Slot *results,
                     const Slot *arguments);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_BARRIERS_H
