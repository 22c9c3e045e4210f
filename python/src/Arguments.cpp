//===- Arguments.cpp - Python's arrays as arguments of code ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "ArrayView.h"
#include "Bindings.h"

#include "llvm/Support/raw_ostream.h"

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

Arguments::~Arguments() {
  for (Py_buffer &view : views)
    PyBuffer_Release(&view);
}

llvm::SmallVector<void *, 256> Arguments::getAddresses() {
  llvm::SmallVector<void *, 256> addresses;
  for (int64_t &word : words)
    addresses.push_back(&word);
  return addresses;
}

//===----------------------------------------------------------------------===//
// What fits
//===----------------------------------------------------------------------===//

/// Whether `format`, in the notation of Python's `struct`, is the element type.
/// Signless integers take signed and unsigned ones.
static bool hasElementType(const ArgumentSpec &spec, const Py_buffer &view) {
  const char *format = view.format ? view.format : "B";
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (view.itemsize * 8 != spec.bits || !*format || format[1])
    return false;
  llvm::StringRef codes =
      spec.kind == ElementKind::Float ? "efd" : "bBhHiIlLqQ";
  return codes.contains(*format);
}

static bool hasShape(const ArgumentSpec &spec, llvm::ArrayRef<int64_t> shape) {
  if (shape.size() != spec.shape.size())
    return false;
  for (auto [expected, found] : llvm::zip_equal(spec.shape, shape))
    if (expected != ShapedType::kDynamic && expected != found)
      return false;
  return true;
}

static void printShape(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> shape) {
  os << "[";
  llvm::interleaveComma(shape, os, [&](int64_t extent) {
    ShapedType::isDynamic(extent) ? os << "?" : os << extent;
  });
  os << "]";
}

/// Throws what is wrong with an array that is not as it should be. `defect`:
/// "an", "a strided", ...
[[noreturn]] static void reject(const std::string &function,
                                const ArgumentSpec &spec, llvm::StringRef where,
                                llvm::StringRef defect, llvm::StringRef type,
                                llvm::ArrayRef<int64_t> shape,
                                llvm::StringRef foundWhere) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << function << ", " << spec.name << ": expected a C-contiguous"
     << (spec.isWritten ? ", writable" : "") << " array of "
     << spec.getElementText() << " ";
  printShape(os, spec.shape);
  os << where << ", got " << defect << " array of '" << type << "' ";
  printShape(os, shape);
  os << foundWhere;
  throw Error(text);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

void Arguments::addDescriptor(const void *data, llvm::ArrayRef<int64_t> shape) {
  int64_t pointer = reinterpret_cast<intptr_t>(data);
  words.append({pointer, pointer, /*offset=*/0});
  words.append(shape.begin(), shape.end());
  // Not the array's own: NumPy gives any stride to an axis of extent 1.
  size_t strides = words.size();
  words.append(shape.size(), 1);
  for (int axis = int(shape.size()) - 2; axis >= 0; --axis)
    words[strides + axis] = words[strides + axis + 1] * shape[axis + 1];
}

void Arguments::addBuffer(const std::string &function, const ArgumentSpec &spec,
                          PyObject *object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    std::string text = function + ", " + spec.name +
                       ": expected an array, got " + Py_TYPE(object)->tp_name;
    throw nb::type_error(text.c_str());
  }
  views.push_back(view);
  llvm::SmallVector<int64_t> shape(view.shape, view.shape + view.ndim);
  bool isContiguous = PyBuffer_IsContiguous(&view, 'C');
  bool isReadOnly = spec.isWritten && view.readonly;
  bool isAligned = reinterpret_cast<uintptr_t>(view.buf) % view.itemsize == 0;
  if (!isContiguous || isReadOnly || !isAligned ||
      !hasElementType(spec, view) || !hasShape(spec, shape))
    reject(function, spec, "",
           !isContiguous ? "a strided"
           : isReadOnly  ? "a read-only"
           : !isAligned  ? "an unaligned"
                         : "an",
           view.format ? view.format : "B", shape, "");
  memory.push_back({view.buf, size_t(view.len), spec.isWritten});
  addDescriptor(view.buf, shape);
}

void Arguments::addCUDAArray(const std::string &function,
                             const ArgumentSpec &spec, nb::handle object,
                             int ordinal, uintptr_t stream) {
  ArrayView view = ArrayView::get(object, ordinal, stream);
  if (!view.isArray) {
    std::string text =
        function + ", " + spec.name +
        ": expected an array on cuda:" + std::to_string(ordinal) +
        " with __dlpack__ or __cuda_array_interface__, got " +
        Py_TYPE(object.ptr())->tp_name;
    throw nb::type_error(text.c_str());
  }
  held.push_back(std::move(view.owner));
  bool isFloat = spec.kind == ElementKind::Float;
  bool isReadOnly = spec.isWritten && view.isReadOnly;
  bool isAligned =
      reinterpret_cast<uintptr_t>(view.data) % (spec.bits / 8) == 0;
  if (view.ordinal != ordinal || !view.isContiguous || isReadOnly ||
      !isAligned || view.bits != spec.bits ||
      (isFloat ? view.kind != ArrayView::Kind::Float
               : view.kind != ArrayView::Kind::Bits) ||
      !hasShape(spec, view.shape))
    reject(function, spec, " on cuda:" + std::to_string(ordinal),
           !view.isContiguous ? "a strided"
           : isReadOnly       ? "a read-only"
           : !isAligned       ? "an unaligned"
                              : "an",
           view.type, view.shape,
           view.ordinal < 0 ? " in the host's memory"
                            : " on cuda:" + std::to_string(view.ordinal));
  addDescriptor(view.data, view.shape);
}

void Arguments::addScalar(const ArgumentSpec &spec, nb::handle object) {
  // The code reads as many low bytes as the type has.
  int64_t &word = words.emplace_back(0);
  if (spec.kind == ElementKind::Integer) {
    word = nb::cast<int64_t>(object);
    return;
  }
  double value = nb::cast<double>(object);
  if (spec.bits == 64) {
    std::memcpy(&word, &value, sizeof(value));
  } else if (spec.bits == 32) {
    float narrow = value;
    std::memcpy(&word, &narrow, sizeof(narrow));
  } else {
    throw Error(spec.name + ": a scalar of " + spec.getElementText() +
                " cannot be passed from Python");
  }
}

/// Calls `add` with each argument and what it has to be.
template <typename Add>
static void forEach(const Signature &signature, nb::handle arguments, Add add) {
  auto sequence = nb::steal(
      PySequence_Fast(arguments.ptr(), "expected a sequence of arguments"));
  if (!sequence.is_valid())
    throw nb::python_error();
  size_t count = PySequence_Fast_GET_SIZE(sequence.ptr());
  if (count != signature.arguments.size())
    throw Error(signature.name + ": expected " +
                std::to_string(signature.arguments.size()) +
                " arguments, got " + std::to_string(count));
  for (size_t i = 0; i < count; ++i)
    add(signature.arguments[i], PySequence_Fast_GET_ITEM(sequence.ptr(), i));
}

void Arguments::addBuffers(const Signature &signature, nb::handle arguments) {
  forEach(signature, arguments, [&](const ArgumentSpec &spec, PyObject *item) {
    spec.isArray ? addBuffer(signature.name, spec, item)
                 : addScalar(spec, item);
  });
}

void Arguments::addCUDAArrays(const Signature &signature, nb::handle arguments,
                              int ordinal, uintptr_t stream) {
  forEach(signature, arguments, [&](const ArgumentSpec &spec, PyObject *item) {
    spec.isArray ? addCUDAArray(signature.name, spec, item, ordinal, stream)
                 : addScalar(spec, item);
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

llvm::Expected<Functions>
python::findFunctions(const JIT &jit, std::vector<Signature> signatures,
                      unsigned numExtra) {
  Functions functions;
  for (Signature &signature : signatures) {
    std::string name = signature.name;
    const JITFunction *code = jit.lookup(name);
    if (!code)
      return llvm::createStringError(
          "function '" + name +
          "' returns values after lowering; expected all of its results to be "
          "arguments that it overwrites");
    unsigned expected = signature.getNumWords() + numExtra;
    if (code->numArguments != expected)
      return llvm::createStringError(
          "function '" + name + "': expected " + std::to_string(expected) +
          " arguments in LLVM IR, got " + std::to_string(code->numArguments));
    functions[name] = {std::move(signature), *code};
  }
  return std::move(functions);
}

const Function &python::lookup(const Functions &functions, const char *name) {
  auto found = functions.find(name);
  if (found == functions.end())
    throw Error(std::string("no function '") + name +
                "' to call in this module");
  return found->second;
}
