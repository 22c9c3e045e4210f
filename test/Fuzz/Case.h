//===- Case.h - One damaged input -------------------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TEST_FUZZ_CASE_H
#define KVQ_TEST_FUZZ_CASE_H

#include "Corpus.h"

#include "mlir/IR/MLIRContext.h"

#include <optional>

namespace fuzz {

/// A module as text or bytecode, and a pipeline.
struct Case {
  std::string module, pipeline;

  /// Of a seed and a number: the same for the same corpus.
  static Case draw(const Corpus &corpus, uint64_t seed, uint64_t index);
  /// Of a file that `save` has written: the pipeline in the first line of text,
  /// as a comment, or in a file beside it.
  static llvm::Expected<Case> load(llvm::StringRef path);
  llvm::Error save(llvm::StringRef stem) const;
  bool isBytecode() const;
};

enum class Outcome { Invalid, Refused, Lowered };

/// Reads the module, and, if it is valid, writes and reads it again as text and
/// as bytecode, and runs the pipeline. A fault, such as an error without a
/// message, is described in `fault`; crashes are the caller's to catch.
Outcome run(const Case &input, mlir::MLIRContext &context, std::string &fault);

} // namespace fuzz

#endif // KVQ_TEST_FUZZ_CASE_H
