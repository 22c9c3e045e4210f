//===- SharedMemory.h - Shared memory of a block -------------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes, and a shadow of them: of every word, what has been written, what a
// copy has yet to bring, and the last accesses, against which the next one is
// checked.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_SHAREDMEMORY_H
#define KVQ_LIB_EMULATOR_SHAREDMEMORY_H

#include "Program.h"

#include <memory>
#include <vector>

namespace mlir::kvq::emulator {

class SharedMemory {
public:
  /// Shared memory of `bytes` bytes from kSharedBegin on.
  SharedMemory(Block &block, uint32_t bytes, bool detectRaces);

  /// Forgets what the last block has left.
  void reset();

  /// Where offset 0 would lie.
  char *getBase() const { return base; }
  /// Whether a generic address is one of shared memory. What is on this machine
  /// below its first byte is not.
  bool contains(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(base) - kSharedBegin <
           end - kSharedBegin;
  }

  /// Check an access and record it; return where the bytes lie.
  char *read(Thread &thread, const Site &site, uint64_t offset, uint32_t bytes,
             uint32_t alignment, bool isAtomic = false);
  char *write(Thread &thread, const Site &site, uint64_t offset, uint32_t bytes,
              uint32_t alignment, bool isAtomic = false, bool isBulk = false);

  /// A copy into shared memory that some wait has to end: until then nobody may
  /// touch the bytes. A bulk copy writes by the asynchronous proxy, which does
  /// so after what others have written only behind a fence.
  char *beginCopy(Thread &thread, const Site &site, uint64_t offset,
                  uint32_t bytes, uint32_t alignment, bool isBulk);
  /// The bytes are there, as if `thread` had just written them.
  void endCopy(Thread &thread, const Site &site, uint32_t offset,
               uint32_t bytes, bool isBulk);

private:
  struct Access {
    uint32_t clock = 0;
    uint32_t site = 0;
    uint16_t thread = 0;
    /// Of the word, a bit for each.
    uint8_t bytes = 0;
    bool isAtomic : 1;
    /// By a bulk copy.
    bool isBulk : 1;
  };
  struct Word {
    /// The latest first. The second is by another thread; a third read is by
    /// another warp than the first.
    Access writes[2], reads[3];
  };
  struct Range;

  char *check(Thread &thread, const Site &site, uint64_t offset, uint32_t bytes,
              uint32_t alignment);
  bool conflicts(const Access &earlier, const Access &access) const;
  void checkFenced(Thread &thread, const Site &site, uint32_t word,
                   const Access &access);
  void checkLanded(Thread &thread, const Site &site, uint32_t word,
                   uint8_t mask);
  [[noreturn]] void failInRace(Thread &thread, const Site &site, uint32_t word,
                               const Access &access, const Access &earlier,
                               bool earlierIsWrite);
  /// Fails in a race with one of `earlier`, the accesses of a kind to a word.
  void checkOrdered(Thread &thread, const Site &site, uint32_t word,
                    const Access &access, llvm::ArrayRef<Access> earlier,
                    bool areWrites);
  void recordRead(Word &word, const Access &access) const;
  static void recordWrite(Word &word, const Access &access);

  Block &block;
  bool detectRaces;
  uint32_t end;
  /// From kSharedBegin on.
  std::unique_ptr<char[]> memory;
  char *base;
  std::vector<Word> words;
  /// A bit for each byte of a word.
  std::vector<uint8_t> written, inFlight;
};

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_SHAREDMEMORY_H
