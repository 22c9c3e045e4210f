//===- Clocks.cpp - Which accesses happen before others -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clocks.h"

#include "Program.h"

#include <algorithm>

using namespace mlir::kvq::emulator;

Clocks::Clocks(unsigned numThreads)
    : numThreads(numThreads),
      numWarps((numThreads + kWarpSize - 1) / kWarpSize), own(numThreads, 1),
      known(size_t(numThreads) * numThreads, 0), knownWarps(numThreads, 0) {
  for (unsigned thread = 0; thread != numThreads; ++thread)
    knownWarps[thread] = 1u << thread / kWarpSize;
}

void Clocks::advance(unsigned thread) {
  latest = std::max(latest, ++own[thread]);
}

void Clocks::synchronizeAll() {
  floor = ++latest;
  std::fill(own.begin(), own.end(), floor);
  // Whatever is known of other warps is below the floor now.
  for (unsigned thread = 0; thread != numThreads; ++thread)
    knownWarps[thread] = 1u << thread / kWarpSize;
}

static void takeMaximum(uint32_t *into, const uint32_t *from, unsigned count) {
  for (unsigned i = 0; i != count; ++i)
    into[i] = std::max(into[i], from[i]);
}

void Clocks::synchronize(llvm::ArrayRef<unsigned> threads) {
  uint32_t warps = 0;
  for (unsigned thread : threads)
    warps |= knownWarps[thread] | 1u << thread / kWarpSize;
  meeting.assign(numThreads, 0);
  auto forEachWarp = [&](llvm::function_ref<void(unsigned, unsigned)> visit) {
    for (unsigned warp = 0; warp != numWarps; ++warp)
      if (warps >> warp & 1)
        visit(warp * kWarpSize,
              std::min(kWarpSize, numThreads - warp * kWarpSize));
  };
  forEachWarp([&](unsigned first, unsigned count) {
    for (unsigned thread : threads)
      takeMaximum(&meeting[first], &known[size_t(thread) * numThreads + first],
                  count);
  });
  for (unsigned thread : threads)
    meeting[thread] = own[thread];
  forEachWarp([&](unsigned first, unsigned count) {
    for (unsigned thread : threads)
      std::copy_n(&meeting[first], count,
                  &known[size_t(thread) * numThreads + first]);
  });
  for (unsigned thread : threads) {
    knownWarps[thread] |= warps;
    advance(thread);
  }
}

void Clocks::release(unsigned thread, Vector &into) {
  into.resize(numThreads, 0);
  takeMaximum(into.data(), &known[size_t(thread) * numThreads], numThreads);
  into[thread] = std::max(into[thread], own[thread]);
  advance(thread);
}

void Clocks::acquire(unsigned thread, const Vector &from) {
  if (from.empty())
    return;
  takeMaximum(&known[size_t(thread) * numThreads], from.data(), numThreads);
  knownWarps[thread] = ~0u;
}
