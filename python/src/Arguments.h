//===- Arguments.h - Python's arrays as arguments of code -------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_PYTHON_ARGUMENTS_H
#define KVQ_PYTHON_ARGUMENTS_H

#include <nanobind/nanobind.h>

#include "kvq/Target/JIT.h"
#include "kvq/Target/Signature.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <vector>

namespace mlir::kvq::python {

/// The arguments of one call as words, and what they refer to, held until the
/// call is over.
class Arguments {
public:
  Arguments() = default;
  Arguments(const Arguments &) = delete;
  ~Arguments();

  /// Takes what a function is called with: contiguous buffers (and scalars) in
  /// this process's memory. Throws what does not fit.
  void addBuffers(const Signature &signature, nanobind::handle arguments);

  /// The same for arrays on a CUDA device, by DLPack or
  /// `__cuda_array_interface__`, to be used in the order of `stream`.
  void addCUDAArrays(const Signature &signature, nanobind::handle arguments,
                     int ordinal, uintptr_t stream);

  /// The address of each word.
  llvm::SmallVector<void *, 256> getAddresses();

  /// An array's memory.
  struct Memory {
    const void *address;
    size_t bytes;
    bool isWritten;
  };
  llvm::ArrayRef<Memory> getMemory() const { return memory; }

private:
  void addBuffer(const std::string &function, const ArgumentSpec &spec,
                 PyObject *object);
  void addCUDAArray(const std::string &function, const ArgumentSpec &spec,
                    nanobind::handle object, int ordinal, uintptr_t stream);
  void addDescriptor(const void *data, llvm::ArrayRef<int64_t> shape);
  void addScalar(const ArgumentSpec &spec, nanobind::handle object);

  llvm::SmallVector<int64_t, 256> words;
  llvm::SmallVector<Memory, 24> memory;
  llvm::SmallVector<Py_buffer, 24> views;
  std::vector<nanobind::object> held;
};

/// A function's code, and what it takes.
struct Function {
  Signature signature;
  JITFunction code;
};
using Functions = llvm::StringMap<Function>;

/// The functions of a module with their code, checked against what their source
/// says they take. Compiled ones take `numExtra` words before that.
llvm::Expected<Functions> findFunctions(const JIT &jit,
                                        std::vector<Signature> signatures,
                                        unsigned numExtra = 0);

/// Throws where there is no such function.
const Function &lookup(const Functions &functions, const char *name);

} // namespace mlir::kvq::python

#endif // KVQ_PYTHON_ARGUMENTS_H
