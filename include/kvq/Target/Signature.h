//===- Signature.h - What a compiled function takes -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_SIGNATURE_H
#define KVQ_TARGET_SIGNATURE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::kvq {

/// What the elements of an argument are, apart from their width.
enum class ElementKind { Integer, Float };

/// One argument of a compiled function: a contiguous array, or a scalar.
struct ArgumentSpec {
  /// Where it is in the source, such as `argument 1 (scales)`.
  std::string name;
  ElementKind kind;
  unsigned bits;
  bool isArray;
  /// Extents, `ShapedType::kDynamic` where any will do.
  llvm::SmallVector<int64_t> shape;
  /// False if the function promises not to write to it
  /// (`bufferization.writable = false`).
  bool isWritten;

  /// Arguments of the LLVM function that it is passed as.
  unsigned getNumWords() const { return isArray ? 3 + 2 * shape.size() : 1; }
  /// The element type as MLIR writes it.
  std::string getElementText() const {
    return (kind == ElementKind::Float ? "f" : "i") + std::to_string(bits);
  }
};

/// A function that can be called once its module is compiled.
struct Signature {
  std::string name;
  std::vector<ArgumentSpec> arguments;

  unsigned getNumWords() const {
    unsigned words = 0;
    for (const ArgumentSpec &argument : arguments)
      words += argument.getNumWords();
    return words;
  }
};

/// The signature that `function` has after the pipeline: each tensor or memref
/// is an array, each cache one array per storage component, in order. Results
/// of tensors and caches are the arguments that they alias, and vanish. Fails
/// for arguments of other types.
llvm::Expected<Signature> getSignature(FunctionOpInterface function);

/// The signatures of the public functions of `module` that have a body.
llvm::Expected<std::vector<Signature>> getSignatures(ModuleOp module);

} // namespace mlir::kvq

#endif // KVQ_TARGET_SIGNATURE_H
