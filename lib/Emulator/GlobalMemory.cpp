//===- GlobalMemory.cpp - The registry of global memory -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalMemory.h"

#include "kvq/Emulator/Emulator.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <vector>

using namespace mlir::kvq::emulator;

namespace {
/// Few, and may overlap: views of the same array are registered one by one.
struct Registry {
  std::shared_mutex mutex;
  std::vector<Allocation> allocations;
};
} // namespace

static Registry &getRegistry() {
  static Registry registry;
  return registry;
}

void GlobalMemory::add(const void *address, size_t bytes, bool isWritable) {
  Registry &registry = getRegistry();
  std::unique_lock<std::shared_mutex> lock(registry.mutex);
  registry.allocations.push_back(
      {reinterpret_cast<uint64_t>(address), bytes, isWritable});
}

void GlobalMemory::remove(const void *address) {
  Registry &registry = getRegistry();
  std::unique_lock<std::shared_mutex> lock(registry.mutex);
  auto &allocations = registry.allocations;
  auto found = std::find_if(allocations.begin(), allocations.end(),
                            [&](const Allocation &allocation) {
                              return allocation.begin ==
                                     reinterpret_cast<uint64_t>(address);
                            });
  if (found != allocations.end())
    allocations.erase(found);
}

bool mlir::kvq::emulator::findAllocation(uint64_t address, uint64_t bytes,
                                         bool isWrite, Allocation &allocation) {
  Registry &registry = getRegistry();
  std::shared_lock<std::shared_mutex> lock(registry.mutex);
  allocation = {};
  for (const Allocation &candidate : registry.allocations) {
    if (candidate.begin > address)
      continue;
    uint64_t offset = address - candidate.begin;
    bool isInside =
        offset <= candidate.bytes && candidate.bytes - offset >= bytes;
    if (isInside && (candidate.isWritable || !isWrite)) {
      allocation = candidate;
      return true;
    }
    if (isInside || candidate.begin >= allocation.begin)
      allocation = candidate;
  }
  return false;
}
