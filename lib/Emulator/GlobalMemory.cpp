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

using namespace mlir::kvq::emulator;

namespace {
struct Registry {
  std::mutex mutex;
  std::vector<Allocation> allocations;
};
} // namespace

static Registry &getRegistry() {
  static Registry registry;
  return registry;
}

void GlobalMemory::add(const void *address, size_t bytes, bool isWritable) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.allocations.push_back(
      {reinterpret_cast<uint64_t>(address), bytes, isWritable});
}

void GlobalMemory::remove(const void *address) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto &allocations = registry.allocations;
  auto found = std::find_if(allocations.begin(), allocations.end(),
                            [&](const Allocation &allocation) {
                              return allocation.begin ==
                                     reinterpret_cast<uint64_t>(address);
                            });
  if (found != allocations.end())
    allocations.erase(found);
}

Allocations::Allocations() {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  allocations = registry.allocations;
}

bool Allocations::find(uint64_t address, uint64_t bytes, bool isWrite,
                       Allocation &allocation) const {
  allocation = {};
  for (const Allocation &candidate : allocations) {
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
