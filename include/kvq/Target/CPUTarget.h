//===- CPUTarget.h - Which processor to compile for -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_CPUTARGET_H
#define KVQ_TARGET_CPUTARGET_H

#include "kvq/Conversion/ByteProducts.h"

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace mlir::kvq {

/// A processor as LLVM names it.
struct CPUTarget {
  std::string triple;
  std::string cpu;
  /// `+name` or `-name`, separated by commas.
  std::string features;

  /// The processor that this runs on, with all its features.
  static CPUTarget getHost();

  /// The processor `cpu` with `features` on top of what it has. Without a
  /// processor it is the host's, or for another `triple` than the host's the
  /// least one that has it.
  static CPUTarget get(llvm::StringRef cpu, llvm::StringRef features,
                       llvm::StringRef triple = "");

  /// Fails, naming it, where LLVM does not know the processor or a feature.
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
  createTargetMachine() const;
};

/// What code for a processor depends on, beside LLVM's code generation.
struct CPUFeatures {
  /// Elements of f32 in a vector register: of the longest ones that the
  /// processor prefers to use.
  int64_t vectorWidth;
  /// The instruction for sums of four products of bytes.
  ByteProducts byteProducts;
  /// Whether it converts f16, rounds f32 to integers, multiplies and adds at
  /// once.
  bool hasHalf, hasRounding, hasFMA;

  static CPUFeatures get(const llvm::TargetMachine &machine);
};

/// Bytes of the data caches of a core.
struct DataCaches {
  int64_t l1, l2;
};

/// Those of this machine, where `target` is its processor and they are known;
/// otherwise what LLVM takes processors like `machine` for.
DataCaches getDataCaches(const CPUTarget &target,
                         const llvm::TargetMachine &machine);

} // namespace mlir::kvq

#endif // KVQ_TARGET_CPUTARGET_H
