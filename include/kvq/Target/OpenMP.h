//===- OpenMP.h - The run-time library of threads ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_OPENMP_H
#define KVQ_TARGET_OPENMP_H

#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace mlir::kvq {

/// LLVM's OpenMP library, which code compiled with `threads` calls. Its symbols
/// are not added to those of the process, where NumPy or PyTorch may have an
/// OpenMP of their own.
class OpenMPRuntime {
public:
  /// The library: the one that the process has already, as two of them do not
  /// go together, or else the system's. Fails where there is none.
  static llvm::Expected<const OpenMPRuntime *> get();

  llvm::sys::DynamicLibrary getLibrary() const { return library; }

  /// Threads of the next parallel regions that the calling thread enters.
  int getThreads() const { return getMaxThreads(); }
  void setThreads(int threads) const { setNumThreads(threads); }

private:
  /// None where that fails, with the reason as `error`.
  static std::optional<OpenMPRuntime> load(std::string &error);

  llvm::sys::DynamicLibrary library;
  int (*getMaxThreads)() = nullptr;
  void (*setNumThreads)(int) = nullptr;
};

} // namespace mlir::kvq

#endif // KVQ_TARGET_OPENMP_H
