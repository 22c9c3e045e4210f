//===- ArrayView.h - Arrays of other packages -------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_PYTHON_ARRAYVIEW_H
#define KVQ_PYTHON_ARRAYVIEW_H

#include <nanobind/nanobind.h>

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace mlir::kvq::python {

/// What DLPack or `__cuda_array_interface__` says of an array.
struct ArrayView {
  /// Bits: integers, and what is passed as such: bool, bf16, 8-bit floats.
  enum class Kind { Bits, Float, Other };

  /// False where the object is none: nothing else is set then.
  bool isArray = false;
  void *data = nullptr;
  Kind kind = Kind::Other;
  unsigned bits = 0;
  llvm::SmallVector<int64_t, 5> shape;
  bool isContiguous = true;
  bool isReadOnly = false;
  /// The CUDA device, -1 for memory of the host.
  int ordinal = -1;
  /// As its package calls it, such as "float16".
  std::string type;
  /// As MLIR calls it, "i1" for bool.
  std::string element;
  /// What keeps `data` alive.
  nanobind::object owner;

  /// Looks at an object whose array is to be used in the order of a stream of a
  /// CUDA device. Throws what the object's package says.
  static ArrayView get(nanobind::handle object, int ordinal, uintptr_t stream);
};

} // namespace mlir::kvq::python

#endif // KVQ_PYTHON_ARRAYVIEW_H
