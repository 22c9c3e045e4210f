//===- ArrayView.cpp - Arrays of other packages ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArrayView.h"

#include "Bindings.h"

#include "kvq/Runtime/CUDA.h"

#include "llvm/ADT/ArrayRef.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

/// Axes of extent 1 may have any stride.
static bool isContiguous(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> strides) {
  int64_t expected = 1;
  for (int axis = int(shape.size()) - 1; axis >= 0; --axis) {
    if (shape[axis] == 0)
      return true;
    if (shape[axis] != 1 && strides[axis] != expected)
      return false;
    expected *= shape[axis];
  }
  return true;
}

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

/// Numbers of dlpack.h.
enum : int { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 };

static void setType(ArrayView &view, nb::dlpack::dtype type) {
  // Codes of dlpack.h, those from 7 on are 8-bit and smaller floats.
  static constexpr const char *kNames[] = {
      "int", "uint", "float", "opaque", "bfloat", "complex", "bool", "float8_"};
  constexpr unsigned kFloat = 2, kOpaque = 3, kComplex = 5, kSmallFloat = 7;
  // Integers are signless in MLIR.
  static constexpr const char *kElements[] = {"i",  "i", "f", "",
                                              "bf", "c", "i", "f"};
  constexpr unsigned kBool = 6;
  view.element = kElements[std::min<unsigned>(type.code, 7)] +
                 std::to_string(type.code == kBool ? 1 : type.bits);
  view.bits = type.bits;
  view.kind = type.lanes != 1 || type.code == kOpaque || type.code == kComplex
                  ? ArrayView::Kind::Other
              : type.code == kFloat ? ArrayView::Kind::Float
                                    : ArrayView::Kind::Bits;
  view.type = kNames[std::min<unsigned>(type.code, kSmallFloat)] +
              std::to_string(type.bits);
}

static ArrayView fromDLPack(nb::handle object, uintptr_t stream) {
  ArrayView view;
  auto device = nb::cast<nb::tuple>(object.attr("__dlpack_device__")());
  int kind = nb::cast<int>(nb::int_(device[0]));
  bool isOnDevice = kind == kDLCUDA || kind == kDLCUDAManaged;
  // The array's package orders our stream behind what it has launched; 1 is the
  // legacy default stream.
  if (isOnDevice)
    view.owner = object.attr("__dlpack__")(
        nb::arg("stream") = nb::int_(stream == 0 ? 1 : stream));
  else
    view.owner = object.attr("__dlpack__")();
  auto *tensor = static_cast<nb::dlpack::dltensor *>(
      PyCapsule_GetPointer(view.owner.ptr(), "dltensor"));
  if (!tensor)
    throw nb::python_error();
  view.isArray = true;
  view.ordinal = isOnDevice ? tensor->device.device_id : -1;
  view.data = static_cast<char *>(tensor->data) + tensor->byte_offset;
  view.shape.assign(tensor->shape, tensor->shape + tensor->ndim);
  if (tensor->strides)
    view.isContiguous = isContiguous(
        view.shape, llvm::ArrayRef<int64_t>(tensor->strides, tensor->ndim));
  setType(view, tensor->dtype);
  return view;
}

//===----------------------------------------------------------------------===//
// __cuda_array_interface__
//===----------------------------------------------------------------------===//

static void setType(ArrayView &view, const std::string &text) {
  // Such as "<f2": order, kind, bytes. Little endian, or of one byte.
  view.type = text;
  unsigned bytes = 0;
  if (text.size() < 3 || (text[0] != '<' && text[0] != '|') ||
      llvm::StringRef(text).drop_front(2).getAsInteger(10, bytes))
    return;
  view.bits = bytes * 8;
  view.element = text[1] == 'b' ? "i1"
                 : text[1] == 'V'
                     ? "bf16"
                     : (text[1] == 'f' ? "f" : "i") + std::to_string(view.bits);
  // V: bf16, which NumPy has no letter for.
  view.kind = text[1] == 'f' ? ArrayView::Kind::Float
              : llvm::StringRef("iubV").contains(text[1])
                  ? ArrayView::Kind::Bits
                  : ArrayView::Kind::Other;
}

static ArrayView fromInterface(nb::handle object) {
  ArrayView view;
  auto dict = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
  auto data = nb::cast<nb::tuple>(dict["data"]);
  view.isArray = true;
  view.data = reinterpret_cast<void *>(nb::cast<uintptr_t>(data[0]));
  view.isReadOnly = nb::cast<bool>(data[1]);
  for (nb::handle extent : nb::cast<nb::tuple>(dict["shape"]))
    view.shape.push_back(nb::cast<int64_t>(extent));
  setType(view, nb::cast<std::string>(dict["typestr"]));
  if (dict.contains("strides") && !dict["strides"].is_none()) {
    llvm::SmallVector<int64_t, 5> strides; // in bytes there
    int64_t bytes = std::max(view.bits / 8, 1u);
    for (nb::handle stride : nb::cast<nb::tuple>(dict["strides"]))
      strides.push_back(nb::cast<int64_t>(stride) / bytes);
    view.isContiguous = isContiguous(view.shape, strides);
  }
  view.owner = nb::borrow(object);
  return view;
}

ArrayView ArrayView::get(nb::handle object, int ordinal, uintptr_t stream) {
  if (nb::hasattr(object, "__dlpack__") &&
      nb::hasattr(object, "__dlpack_device__"))
    return fromDLPack(object, stream);
  if (!nb::hasattr(object, "__cuda_array_interface__"))
    return {};
  ArrayView view = fromInterface(object);
  // The interface does not say which device; an array without elements may
  // have no memory.
  view.ordinal = ordinal;
  if (view.data && !llvm::is_contained(view.shape, 0))
    view.ordinal = unwrap(runtime::CUDADevice::findOrdinal(view.data));
  return view;
}
