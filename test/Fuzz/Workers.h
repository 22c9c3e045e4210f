//===- Workers.h - Processes that run cases ---------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A case that crashes or hangs ends its process, not the run: the process that
// started it knows which case it was, and starts another behind it.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TEST_FUZZ_WORKERS_H
#define KVQ_TEST_FUZZ_WORKERS_H

#include "Case.h"

#include "mlir/IR/DialectRegistry.h"

#include <functional>

namespace fuzz {

struct RunOptions {
  /// Cases, and seconds after which no more are begun (0: no limit).
  uint64_t count = 0, seconds = 0;
  unsigned jobs = 1;
  /// Of one case: more is a hang.
  unsigned secondsOfCase = 20;
  /// Where cases with a fault go, with what was said of them.
  std::string folder;
  /// Regular expressions of what is said of known faults outside of kvq.
  std::vector<std::string> known;
};

struct Summary {
  uint64_t invalid = 0, refused = 0, lowered = 0;
  uint64_t known = 0, faults = 0;
  uint64_t cases() const {
    return invalid + refused + lowered + known + faults;
  }
};

/// Runs cases 0, 1, ... of `getCase` in processes of their own.
Summary runCases(const mlir::DialectRegistry &registry,
                 const std::function<Case(uint64_t)> &getCase,
                 const RunOptions &options);

} // namespace fuzz

#endif // KVQ_TEST_FUZZ_WORKERS_H
