//===- Queue.h - Where kernels run ------------------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The run-time library: kernels of a compiled module on a device. Functions
// that launch kernels are compiled for the host and call this library, which is
// all that they need.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_RUNTIME_QUEUE_H
#define KVQ_RUNTIME_QUEUE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <utility>

namespace mlir::kvq::runtime {

struct Extents {
  uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
  llvm::StringRef kernel;
  Extents grid, block;
  /// Dynamic shared memory of a block.
  size_t sharedBytes;
  /// The address of each argument.
  llvm::MutableArrayRef<void *> arguments;
};

/// Kernels of one module on a device, run one after the other. Not for several
/// threads at once; each has queues of its own.
class Queue {
public:
  virtual ~Queue();

  virtual llvm::Error launch(const Launch &launch) = 0;

  /// Memory for kernels of this queue, which holds any bytes.
  virtual llvm::Expected<void *> allocate(size_t bytes) = 0;

  /// Kernels that have been launched may still use it.
  virtual llvm::Error free(void *memory) = 0;
};

/// Calls a function that launches kernels, compiled as `entry` (see JIT.h):
/// its first argument, which `arguments` does not have, is the call. The first
/// error of a launch or an allocation ends it: no kernel is launched after it.
llvm::Error call(void (*entry)(void **), llvm::ArrayRef<void *> arguments,
                 Queue &queue);

/// What compiled functions call: names and addresses.
llvm::ArrayRef<std::pair<llvm::StringLiteral, void *>> getEntryPoints();

} // namespace mlir::kvq::runtime

#endif // KVQ_RUNTIME_QUEUE_H
