//===- AsyncCopies.h - cp.async ------------------------------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_ASYNCCOPIES_H
#define KVQ_LIB_EMULATOR_ASYNCCOPIES_H

#include "Program.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace mlir::kvq::emulator {

/// A copy from global to shared memory on its way. The rest of the target after
/// the bytes of the source becomes zero.
struct Copy {
  uint32_t target;
  uint32_t bytes, sourceBytes;
  const char *source;
  const Site *site;
  bool isBulk = false;
};

/// The bytes of a copy arrive.
void land(Thread &thread, const Copy &copy);

/// The copies of one thread, in the groups that it has committed. They land as
/// late as the waits allow.
class AsyncCopies {
public:
  void reset();
  void add(const Copy &copy) { open.push_back(copy); }
  void commit();
  /// Waits until at most `numPending` groups are on their way.
  void wait(Thread &thread, size_t numPending);
  /// Waits for all copies, committed or not.
  void waitForAll(Thread &thread);

private:
  std::deque<std::vector<Copy>> groups;
  std::vector<Copy> open;
};

// Handlers.
/// kind: 1 if the number of source bytes is the third argument; size: bytes.
void startAsyncCopy(Thread &thread, const Site &site, Slot *results,
                    const Slot *arguments);
void commitAsyncCopies(Thread &thread, const Site &site, Slot *results,
                       const Slot *arguments);
void waitForAsyncCopies(Thread &thread, const Site &site, Slot *results,
                        const Slot *arguments);
void waitForAllAsyncCopies(Thread &thread, const Site &site, Slot *results,
                           const Slot *arguments);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_ASYNCCOPIES_H
