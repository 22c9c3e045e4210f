//===- Program.h - What a module consists of ------------------ -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_PROGRAM_H
#define KVQ_LIB_EMULATOR_PROGRAM_H

#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <deque>
#include <string>

namespace mlir::kvq::emulator {

constexpr unsigned kWarpSize = 32;
/// Shared memory begins behind what the system takes on GPUs of today, so that
/// a null pointer is not part of it.
constexpr uint32_t kSharedBegin = 1024;
/// What a block may have at most on any GPU so far.
constexpr uint32_t kMaxSharedBytes = 227 << 10;

struct Block;
struct Site;
struct Thread;
struct Warp;

/// Arguments and results of operations lie in slots of 8 bytes each.
using Slot = uint64_t;

/// Executes an operation for one thread.
using Handler = void (*)(Thread &thread, const Site &site, Slot *results,
                         const Slot *arguments);

/// What an intrinsic or an inline assembly does, where that is a call of the
/// emulator.
struct Operation {
  Handler handler = nullptr;
  /// What distinguishes the operations of one handler.
  int64_t kind = 0, size = 0;
  bool flag = false;
};

/// A place in the kernels where an instruction calls the emulator.
struct Site {
  /// The instruction, for messages.
  std::string instruction;
  std::string function;
  /// `file:line:column`, or nothing.
  std::string location;
  Operation operation;
  /// Of a memory access.
  uint32_t bytes = 0, alignment = 1;
  bool isWrite = false, isAtomic = false;
  uint32_t index = 0;
};

struct Kernel {
  std::string name;
  void (*entry)(void **parameters) = nullptr;
  unsigned numParameters = 0;
  /// Of the launch bounds, 0 where there are none.
  unsigned maxThreads = 0;
  uint32_t staticSharedBytes = 0;
};

struct Program {
  /// Generated code and records of accesses refer to them.
  std::deque<Site> sites;
  /// The accesses that look in a cache first.
  unsigned numCaches = 0;
  llvm::StringMap<Kernel> kernels;
};

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_PROGRAM_H
