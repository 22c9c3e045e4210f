//===- Clocks.h - Which accesses happen before others --------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks of the threads of a block: `known` has how far each thread
// knows of each other. A barrier of all threads is a floor instead, below which
// everything is known to all; it never needs a reset, not even for the next
// block.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_CLOCKS_H
#define KVQ_LIB_EMULATOR_CLOCKS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace mlir::kvq::emulator {

class Clocks {
public:
  /// How far somebody knows of every thread.
  using Vector = std::vector<uint32_t>;

  explicit Clocks(unsigned numThreads);

  uint32_t get(unsigned thread) const { return own[thread]; }

  /// Whether what `thread` did at `clock` happens before what `observer` does.
  bool isOrdered(unsigned thread, uint32_t clock, unsigned observer) const {
    return clock < floor || thread == observer ||
           clock <= known[size_t(observer) * numThreads + thread];
  }

  /// What is below it is known to all.
  uint32_t getFloor() const { return floor; }

  /// All threads of the block meet.
  void synchronizeAll();
  /// Some threads meet.
  void synchronize(llvm::ArrayRef<unsigned> threads);
  /// `thread` leaves what it knows, for who acquires it.
  void release(unsigned thread, Vector &into);
  void acquire(unsigned thread, const Vector &from);

  /// Later accesses of `thread` are told apart from those up to now.
  void advance(unsigned thread);

private:
  unsigned numThreads, numWarps;
  uint32_t floor = 1, latest = 1;
  std::vector<uint32_t> own, known;
  /// The warps of which a thread may know something above the floor; its own
  /// always.
  std::vector<uint32_t> knownWarps;
  Vector meeting;
};

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_CLOCKS_H
