//===- Queue.cpp - What compiled functions call ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Runtime/Queue.h"

#include "kvq/Runtime/EntryPoints.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <optional>

using namespace mlir::kvq::runtime;

Queue::~Queue() = default;

namespace {
/// A call that compiled code is in.
struct Call {
  Queue &queue;
  /// The first error.
  std::optional<std::string> error;

  void note(llvm::Error found) {
    if (!error)
      error = llvm::toString(std::move(found));
    else
      llvm::consumeError(std::move(found));
  }
};
} // namespace

/// What every device can take.
static llvm::Error checkExtents(llvm::StringRef kernel, llvm::StringRef what,
                                llvm::ArrayRef<int64_t> found,
                                llvm::ArrayRef<int64_t> most) {
  for (auto [extent, limit] : llvm::zip_equal(found, most))
    if (extent < 0 || extent > limit)
      return llvm::createStringError(
          "kernel '" + kernel + "': expected a " + what + " of at most " +
          llvm::Twine(most[0]) + " x " + llvm::Twine(most[1]) + " x " +
          llvm::Twine(most[2]) + ", got " + llvm::Twine(found[0]) + " x " +
          llvm::Twine(found[1]) + " x " + llvm::Twine(found[2]));
  return llvm::Error::success();
}

static Extents toExtents(llvm::ArrayRef<int64_t> numbers) {
  return {uint32_t(numbers[0]), uint32_t(numbers[1]), uint32_t(numbers[2])};
}

static void launchKernel(Call *call, const char *kernel, int64_t gridX,
                         int64_t gridY, int64_t gridZ, int64_t blockX,
                         int64_t blockY, int64_t blockZ, int64_t sharedBytes,
                         void **arguments, int64_t numArguments) {
  int64_t grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
  // Nothing to do is not an error; drivers say that it is one.
  if (call->error || llvm::is_contained(grid, 0))
    return;
  if (llvm::Error error = checkExtents(kernel, "grid", grid,
                                       {INT32_MAX, UINT16_MAX, UINT16_MAX}))
    return call->note(std::move(error));
  if (llvm::Error error =
          checkExtents(kernel, "block", block, {1024, 1024, 64}))
    return call->note(std::move(error));
  if (llvm::Error error = call->queue.launch(
          {kernel, toExtents(grid), toExtents(block), size_t(sharedBytes),
           llvm::MutableArrayRef<void *>(arguments, numArguments)}))
    call->note(std::move(error));
}

static void *allocate(Call *call, int64_t bytes) {
  if (call->error || bytes == 0)
    return nullptr;
  llvm::Expected<void *> memory = call->queue.allocate(bytes);
  if (memory)
    return *memory;
  call->note(memory.takeError());
  return nullptr;
}

static void release(Call *call, void *memory) {
  if (!memory)
    return;
  if (llvm::Error error = call->queue.free(memory))
    call->note(std::move(error));
}

llvm::ArrayRef<std::pair<llvm::StringLiteral, void *>>
mlir::kvq::runtime::getEntryPoints() {
  static const std::pair<llvm::StringLiteral, void *> points[] = {
      {kLaunchEntry, reinterpret_cast<void *>(&launchKernel)},
      {kAllocateEntry, reinterpret_cast<void *>(&allocate)},
      {kFreeEntry, reinterpret_cast<void *>(&release)}};
  return points;
}

llvm::Error mlir::kvq::runtime::call(void (*entry)(void **),
                                     llvm::ArrayRef<void *> arguments,
                                     Queue &queue) {
  Call state{queue, std::nullopt};
  void *first = &state;
  llvm::SmallVector<void *, 256> all = {&first};
  all.append(arguments.begin(), arguments.end());
  entry(all.data());
  if (state.error)
    return llvm::createStringError(*state.error);
  return llvm::Error::success();
}
