//===- Bindings.h - Parts of the extension module ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_PYTHON_BINDINGS_H
#define KVQ_PYTHON_BINDINGS_H

#include <nanobind/nanobind.h>

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <stdexcept>
#include <string>

namespace mlir::kvq {
class CacheType;
}

namespace mlir::kvq::python {

/// `kvq.Error` in Python: the text of a diagnostic.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value, or `Error`.
template <typename T> T unwrap(llvm::Expected<T> value) {
  if (!value)
    throw Error(llvm::toString(value.takeError()));
  return std::move(*value);
}
inline void unwrap(llvm::Error error) {
  if (error)
    throw Error(llvm::toString(std::move(error)));
}

/// A context of its own for each module: threads of Python compile without
/// knowing of each other.
std::unique_ptr<MLIRContext> createContext();

/// Parses a `!kvq.cache<...>`, or throws what the parser says.
CacheType parseCacheType(MLIRContext *context, const std::string &text);

void bindModuleBuilder(nanobind::module_ &module);
void bindCUDA(nanobind::module_ &module);
void bindEmulated(nanobind::module_ &module);
void bindGPUCode(nanobind::module_ &module);
void bindFootprint(nanobind::module_ &module);
void bindInspect(nanobind::module_ &module);
void bindKernel(nanobind::module_ &module);
void bindPolicy(nanobind::module_ &module);

} // namespace mlir::kvq::python

#endif // KVQ_PYTHON_BINDINGS_H
