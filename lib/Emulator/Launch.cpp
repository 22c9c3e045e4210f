//===- Launch.cpp - Runs the blocks of a grid -----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include "Machine.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>

using namespace mlir::kvq::emulator;

/// Fails for what no GPU would launch.
static llvm::Error checkLaunch(const Kernel &kernel, Dim3 grid, Dim3 block,
                               size_t dynamicSharedBytes,
                               size_t numParameters) {
  auto fail = [&](const llvm::Twine &message) {
    return llvm::createStringError("kernel '" + kernel.name + "': expected " +
                                   message);
  };
  if (numParameters != kernel.numParameters)
    return fail(llvm::Twine(kernel.numParameters) + " arguments, got " +
                llvm::Twine(numParameters));
  uint64_t numThreads = uint64_t(block.x) * block.y * block.z;
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || numThreads == 0 ||
      numThreads > 1024)
    return fail("a block of 1 to 1024 threads, at most 64 along z, got " +
                llvm::Twine(block.x) + " x " + llvm::Twine(block.y) + " x " +
                llvm::Twine(block.z));
  if (kernel.maxThreads && numThreads > kernel.maxThreads)
    return fail("at most " + llvm::Twine(kernel.maxThreads) +
                " threads in a block, by its launch bounds, got " +
                llvm::Twine(numThreads));
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > INT32_MAX ||
      grid.y > UINT16_MAX || grid.z > UINT16_MAX)
    return fail("a grid of at least one block, at most 65535 along y and z, "
                "got " +
                llvm::Twine(grid.x) + " x " + llvm::Twine(grid.y) + " x " +
                llvm::Twine(grid.z));
  if (dynamicSharedBytes > kMaxSharedBytes ||
      kernel.staticSharedBytes + dynamicSharedBytes > kMaxSharedBytes)
    return fail("at most " + llvm::Twine(kMaxSharedBytes) +
                " bytes of shared memory, got " +
                llvm::Twine(kernel.staticSharedBytes) + " static and " +
                llvm::Twine(dynamicSharedBytes) + " dynamic");
  return llvm::Error::success();
}

namespace {
/// Deals blocks out in order, and keeps the first fault in that order.
struct Grid {
  Dim3 size;
  std::vector<uint32_t> order; // of a random launch
  bool isReverse = false;
  uint64_t numBlocks = 0;
  std::atomic<uint64_t> next = 0, limit = 0;
  std::mutex mutex;
  std::string fault;

  Dim3 getBlock(uint64_t position) const {
    uint64_t index = !order.empty() ? order[position]
                     : isReverse    ? numBlocks - 1 - position
                                    : position;
    return {uint32_t(index % size.x), uint32_t(index / size.x % size.y),
            uint32_t(index / size.x / size.y)};
  }

  void fail(uint64_t position, std::string message) {
    std::lock_guard<std::mutex> lock(mutex);
    if (position >= limit)
      return;
    limit = position;
    fault = std::move(message);
  }
};
} // namespace

llvm::Error mlir::kvq::emulator::launchKernel(const Program &program,
                                              const Kernel &kernel,
                                              Dim3 gridSize, Dim3 blockSize,
                                              size_t dynamicSharedBytes,
                                              llvm::ArrayRef<void *> parameters,
                                              const LaunchOptions &options) {
  if (llvm::Error error = checkLaunch(kernel, gridSize, blockSize,
                                      dynamicSharedBytes, parameters.size()))
    return error;
  Grid grid;
  grid.size = gridSize;
  grid.numBlocks = uint64_t(gridSize.x) * gridSize.y * gridSize.z;
  grid.limit = grid.numBlocks;
  grid.isReverse = options.order == Order::Reverse;
  if (options.order == Order::Random && grid.numBlocks <= UINT32_MAX) {
    grid.order.resize(grid.numBlocks);
    std::iota(grid.order.begin(), grid.order.end(), 0);
    std::shuffle(grid.order.begin(), grid.order.end(),
                 std::minstd_rand(options.seed + 1));
  }

  Allocations allocations;
  auto work = [&] {
    Block block(program, kernel, allocations, gridSize, blockSize,
                dynamicSharedBytes, const_cast<void **>(parameters.data()),
                options);
    if (!block.hasStacks())
      return grid.fail(0, "kernel '" + kernel.name +
                              "': no memory for the stacks of its threads");
    for (uint64_t position; (position = grid.next++) < grid.limit;)
      if (!block.run(grid.getBlock(position)))
        grid.fail(position, block.fault);
  };
  uint64_t numWorkers =
      options.workers ? options.workers : std::thread::hardware_concurrency();
  numWorkers = std::max<uint64_t>(std::min(numWorkers, grid.numBlocks), 1);
  std::vector<std::thread> workers;
  for (uint64_t i = 1; i < numWorkers; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  if (!grid.fault.empty())
    return llvm::createStringError(grid.fault);
  return llvm::Error::success();
}
