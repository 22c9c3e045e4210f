//===- GlobalMemory.h - The registry of global memory --------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_GLOBALMEMORY_H
#define KVQ_LIB_EMULATOR_GLOBALMEMORY_H

#include <cstdint>
#include <vector>

namespace mlir::kvq::emulator {

struct Allocation {
  uint64_t begin = 0, bytes = 0;
  bool isWritable = false;
};

/// What is registered when a launch begins.
class Allocations {
public:
  Allocations();

  /// Finds an allocation that has all of `bytes` bytes at `address`, a writable
  /// one if `isWrite`. If there is none, returns false and the nearest
  /// allocation below the address or around it, if any.
  bool find(uint64_t address, uint64_t bytes, bool isWrite,
            Allocation &allocation) const;

private:
  /// Few, and they may overlap: views of an array are registered one by one.
  std::vector<Allocation> allocations;
};

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_GLOBALMEMORY_H
