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

  /// The host's triple with another processor: `cpu`, or the host's if that is
  /// empty, with `features` on top of what the processor has.
  static CPUTarget get(llvm::StringRef cpu, llvm::StringRef features);

  /// Fails, naming it, where LLVM does not know the processor or a feature.
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
  createTargetMachine() const;
};

/// Elements of f32 in a vector register of the processor: of the longest ones
/// that it prefers to use.
int64_t getVectorWidth(const llvm::TargetMachine &machine);

/// The processor's instruction for sums of four products of bytes.
ByteProducts getByteProducts(const llvm::TargetMachine &machine);

} // namespace mlir::kvq

#endif // KVQ_TARGET_CPUTARGET_H
