//===- Diagnostics.h - Diagnostics as text ----------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_DIAGNOSTICS_H
#define KVQ_TARGET_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir::kvq {

/// Collects the errors and warnings of a context while it lives, each with its
/// location and notes. A library must not print: its caller decides where text
/// goes.
class DiagnosticCollector {
public:
  /// Without `places` the text is the messages alone, for input that is a
  /// single line.
  explicit DiagnosticCollector(MLIRContext *context, bool places = true);

  /// The errors so far, one a line, or `fallback` where there are none; clears
  /// them. For a step that has failed.
  llvm::Error takeError(const llvm::Twine &fallback);

  /// The warnings so far, one a line.
  llvm::StringRef getWarnings() const { return warnings; }

private:
  std::string errors;
  std::string warnings;
  ScopedDiagnosticHandler handler;
};

/// What a tool of that name ends with: prints the error, if there is one, and
/// returns the exit status.
int finishTool(llvm::StringRef name, llvm::Error error);

} // namespace mlir::kvq

#endif // KVQ_TARGET_DIAGNOSTICS_H
