//===- SharedMemory.cpp - Shared memory of a block ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir::kvq::emulator;

// Vectors need it; the rest of the offset is the kernel's.
static constexpr size_t kAlignment = 1024;
static_assert(kSharedBegin % kAlignment == 0);

SharedMemory::SharedMemory(Block &block, uint32_t bytes, bool detectRaces)
    : block(block), detectRaces(detectRaces), end(kSharedBegin + bytes),
      memory(new char[bytes + kAlignment]),
      base(reinterpret_cast<char *>(llvm::alignTo(
               reinterpret_cast<uintptr_t>(memory.get()), kAlignment)) -
           kSharedBegin) {
  size_t numWords = llvm::divideCeil(bytes, 4);
  if (!detectRaces)
    return;
  words.resize(numWords);
  written.resize(numWords);
  inFlight.resize(numWords);
}

void SharedMemory::reset() {
  // A NaN of every kind of floating point.
  std::memset(base + kSharedBegin, 0xFF, end - kSharedBegin);
  // The clocks of the words are below the next block's floor.
  std::fill(written.begin(), written.end(), 0);
  std::fill(inFlight.begin(), inFlight.end(), 0);
}

char *SharedMemory::check(Thread &thread, const Site &site, uint64_t offset,
                          uint32_t bytes, uint32_t alignment) {
  if (offset < kSharedBegin || offset > end || end - offset < bytes)
    block.fail(thread, &site,
               "out of bounds: " + llvm::Twine(bytes) +
                   " bytes of shared memory at " +
                   llvm::Twine(int64_t(offset - kSharedBegin)) + ", of " +
                   llvm::Twine(end - kSharedBegin));
  if (offset & (alignment - 1))
    block.fail(thread, &site,
               "misaligned: shared memory at " +
                   llvm::Twine(offset - kSharedBegin) +
                   ", expected a multiple "
                   "of " +
                   llvm::Twine(alignment));
  return base + offset;
}

bool SharedMemory::conflicts(const Access &earlier,
                             const Access &access) const {
  return earlier.bytes & access.bytes &&
         !(earlier.isAtomic && access.isAtomic) &&
         !block.clocks.isOrdered(earlier.thread, earlier.clock, access.thread);
}

void SharedMemory::failInRace(Thread &thread, const Site &site, uint32_t word,
                              const Access &access, const Access &earlier,
                              bool earlierIsWrite) {
  const Site &other = block.program.sites[earlier.site];
  unsigned byte = llvm::countr_zero(unsigned(earlier.bytes & access.bytes));
  block.fail(thread, &site,
             "race: nothing orders it after the " +
                 llvm::Twine(earlierIsWrite ? "write" : "read") +
                 " of shared memory at " + llvm::Twine(4 * word + byte) +
                 " by thread " + block.getName(earlier.thread) + ", " +
                 other.instruction + (other.location.empty() ? "" : " at ") +
                 other.location);
}

void SharedMemory::checkLanded(Thread &thread, const Site &site, uint32_t word,
                               uint8_t mask) {
  if (inFlight[word] & mask)
    block.fail(thread, &site,
               "unawaited copy: shared memory at " +
                   llvm::Twine(4 * word + llvm::countr_zero(unsigned(
                                              inFlight[word] & mask))) +
                   " is the target of an asynchronous copy that nobody has "
                   "waited for");
}

void SharedMemory::recordRead(Word &word, const Access &access) const {
  Access &last = word.reads[0];
  if (last.thread == access.thread) {
    bool merges =
        last.clock == access.clock && last.isAtomic == access.isAtomic;
    uint8_t bytes = access.bytes | (merges ? last.bytes : 0);
    last = access;
    last.bytes = bytes;
    return;
  }
  bool isSameWarp = last.thread / kWarpSize == access.thread / kWarpSize;
  word.reads[isSameWarp ? 1 : 2] = last;
  last = access;
}

void SharedMemory::recordWrite(Word &word, const Access &access) {
  Access &last = word.writes[0];
  if (last.thread != access.thread) {
    word.writes[1] = last;
    last = access;
    return;
  }
  bool merges = last.clock == access.clock &&
                last.isAtomic == access.isAtomic &&
                last.isBulk == access.isBulk;
  uint8_t bytes = access.bytes | (merges ? last.bytes : 0);
  last = access;
  last.bytes = bytes;
}

void SharedMemory::checkOrdered(Thread &thread, const Site &site, uint32_t word,
                                const Access &access,
                                llvm::ArrayRef<Access> earlier,
                                bool areWrites) {
  for (const Access &other : earlier)
    if (conflicts(other, access))
      failInRace(thread, site, word, access, other, areWrites);
}

/// Calls `visit` with each word that an access touches, and its bytes there.
template <typename Visit>
static void forEachWord(uint64_t offset, uint32_t bytes, Visit visit) {
  uint32_t first = offset - kSharedBegin, last = first + bytes;
  for (uint32_t word = first / 4; 4 * word < last; ++word) {
    uint8_t mask = 0xF;
    if (4 * word < first)
      mask &= 0xF << (first - 4 * word);
    if (4 * word + 4 > last)
      mask &= 0xF >> (4 * word + 4 - last);
    visit(word, mask);
  }
}

char *SharedMemory::read(Thread &thread, const Site &site, uint64_t offset,
                         uint32_t bytes, uint32_t alignment, bool isAtomic) {
  char *host = check(thread, site, offset, bytes, alignment);
  if (!detectRaces)
    return host;
  Access access{block.clocks.get(thread.index), site.index,
                uint16_t(thread.index), 0, isAtomic, false};
  forEachWord(offset, bytes, [&](uint32_t index, uint8_t mask) {
    Word &word = words[index];
    checkLanded(thread, site, index, mask);
    if (unsigned missing = mask & ~written[index])
      block.fail(thread, &site,
                 "unwritten: nobody has written shared memory at " +
                     llvm::Twine(4 * index + llvm::countr_zero(missing)));
    access.bytes = mask;
    checkOrdered(thread, site, index, access, word.writes, true);
    recordRead(word, access);
  });
  return host;
}

char *SharedMemory::write(Thread &thread, const Site &site, uint64_t offset,
                          uint32_t bytes, uint32_t alignment, bool isAtomic,
                          bool isBulk) {
  char *host = check(thread, site, offset, bytes, alignment);
  if (!detectRaces)
    return host;
  Access access{block.clocks.get(thread.index), site.index,
                uint16_t(thread.index), 0, isAtomic, isBulk};
  forEachWord(offset, bytes, [&](uint32_t index, uint8_t mask) {
    Word &word = words[index];
    checkLanded(thread, site, index, mask);
    access.bytes = mask;
    checkOrdered(thread, site, index, access, word.writes, true);
    checkOrdered(thread, site, index, access, word.reads, false);
    recordWrite(word, access);
    written[index] |= mask;
  });
  return host;
}

void SharedMemory::checkFenced(Thread &thread, const Site &site, uint32_t word,
                               const Access &access) {
  const Thread &writer = block.threads[access.thread];
  if (access.isBulk || thread.fenced.covers(access.thread, access.clock))
    return;
  // Its own fence, if the thread knows of that.
  uint32_t fence = writer.fenced.getOwn(access.thread);
  if (access.clock <= fence &&
      block.clocks.isOrdered(access.thread, fence, thread.index))
    return;
  const Site &other = block.program.sites[access.site];
  block.fail(thread, &site,
             "unfenced: no fence.proxy.async orders it after the write of "
             "shared memory at " +
                 llvm::Twine(4 * word) + " by thread " +
                 block.getName(access.thread) + ", " + other.instruction);
}

char *SharedMemory::beginCopy(Thread &thread, const Site &site, uint64_t offset,
                              uint32_t bytes, uint32_t alignment, bool isBulk) {
  if (isBulk && detectRaces) {
    check(thread, site, offset, bytes, alignment);
    forEachWord(offset, bytes, [&](uint32_t index, uint8_t mask) {
      for (const Access &earlier : words[index].writes)
        if (earlier.bytes & mask && written[index] & mask)
          checkFenced(thread, site, index, earlier);
    });
  }
  // It may write at any time from now on.
  char *host = write(thread, site, offset, bytes, alignment,
                     /*isAtomic=*/false, isBulk);
  if (detectRaces)
    forEachWord(offset, bytes,
                [&](uint32_t index, uint8_t mask) { inFlight[index] |= mask; });
  return host;
}

void SharedMemory::endCopy(Thread &thread, const Site &site, uint32_t offset,
                           uint32_t bytes, bool isBulk) {
  if (!detectRaces)
    return;
  Access access{block.clocks.get(thread.index), site.index,
                uint16_t(thread.index), 0, false, isBulk};
  forEachWord(offset, bytes, [&](uint32_t index, uint8_t mask) {
    inFlight[index] &= ~mask;
    access.bytes = mask;
    recordWrite(words[index], access);
  });
}
