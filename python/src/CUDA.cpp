//===- CUDA.cpp - Modules that run on NVIDIA GPUs -------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArrayView.h"
#include "Bindings.h"
#include "DeviceKernel.h"

#include "kvq/Runtime/CUDA.h"
#include "kvq/Target/GPU.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;
using runtime::CUDADevice;

namespace {

/// A module whose kernels are loaded on a device.
class CUDAKernel {
public:
  HostFunctions host;
  std::string chip;
  std::string ptx;
  std::unique_ptr<runtime::CUDAKernels> kernels;

  void invoke(nb::str name, nb::handle arguments, uintptr_t stream) const;
};

/// Memory on a device, its own or another package's.
class CUDAMemory {
public:
  CUDAMemory(int ordinal, size_t bytes, std::optional<uintptr_t> address);
  CUDAMemory(const CUDAMemory &) = delete;
  ~CUDAMemory();

  uintptr_t getAddress() const { return reinterpret_cast<uintptr_t>(memory); }
  void upload(nb::handle from, uintptr_t stream);
  void download(nb::handle to, uintptr_t stream) const;
  void copyWithin(size_t from, size_t to, size_t count, uintptr_t stream);

private:
  /// Calls `copy` with a buffer as large as this.
  template <typename Copy>
  void withBuffer(nb::handle object, int flags, Copy copy) const;

  CUDADevice *device;
  size_t bytes;
  void *memory = nullptr;
  bool isOwn;
};

} // namespace

static CUDADevice &getDevice(int ordinal) {
  return *unwrap(CUDADevice::get(ordinal));
}

static void *toStream(uintptr_t stream) {
  return reinterpret_cast<void *>(stream);
}

void CUDAKernel::invoke(nb::str name, nb::handle arguments,
                        uintptr_t stream) const {
  const Function &function = host.get(name.c_str());
  Arguments call;
  call.addCUDAArrays(function.signature, arguments,
                     kernels->getDevice().getOrdinal(), stream);
  nb::gil_scoped_release release;
  host.call(function, call, *kernels->createQueue(toStream(stream)));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUDAMemory::CUDAMemory(int ordinal, size_t bytes,
                       std::optional<uintptr_t> address)
    : device(&getDevice(ordinal)), bytes(bytes), isOwn(!address) {
  if (address)
    memory = reinterpret_cast<void *>(*address);
  else if (bytes != 0)
    memory = unwrap(device->allocate(bytes));
}

CUDAMemory::~CUDAMemory() {
  if (isOwn && memory)
    llvm::consumeError(device->free(memory));
}

template <typename Copy>
void CUDAMemory::withBuffer(nb::handle object, int flags, Copy copy) const {
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, flags) != 0)
    throw nb::python_error();
  size_t found = view.len;
  llvm::Error error = llvm::Error::success();
  if (found == bytes && bytes != 0) {
    nb::gil_scoped_release release;
    error = copy(view.buf);
  }
  PyBuffer_Release(&view);
  unwrap(std::move(error));
  if (found != bytes)
    throw Error("expected " + std::to_string(bytes) + " bytes, got " +
                std::to_string(found));
}

void CUDAMemory::upload(nb::handle from, uintptr_t stream) {
  withBuffer(from, PyBUF_C_CONTIGUOUS, [&](const void *buffer) {
    return device->copyToDevice(memory, buffer, bytes, toStream(stream));
  });
}

void CUDAMemory::download(nb::handle to, uintptr_t stream) const {
  withBuffer(to, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE, [&](void *buffer) {
    return device->copyToHost(buffer, memory, bytes, toStream(stream));
  });
}

void CUDAMemory::copyWithin(size_t from, size_t to, size_t count,
                            uintptr_t stream) {
  if (std::max(from, to) + count > bytes)
    throw Error("expected offsets within " + std::to_string(bytes) +
                " bytes, got " + std::to_string(from) + " and " +
                std::to_string(to) + " of " + std::to_string(count) + " bytes");
  auto *start = static_cast<char *>(memory);
  if (count != 0)
    unwrap(device->copyOnDevice(start + to, start + from, count,
                                toStream(stream)));
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// The chip whose code runs on a device.
static std::string chooseChip(const CUDADevice &device) {
  const GPUChip *chip = findGPUChip(device.getCapability());
  if (!chip)
    throw Error("expected a GPU that runs code of one of " + listGPUChips() +
                ", got " + device.getName() + " with compute capability " +
                std::to_string(device.getCapability() / 10) + "." +
                std::to_string(device.getCapability() % 10));
  return chip->name.str();
}

static std::unique_ptr<CUDAKernel> compile(const std::string &text, int ordinal,
                                           const std::string &chip,
                                           const std::string &options,
                                           const std::string &pipeline) {
  nb::gil_scoped_release release;
  CUDADevice &device = getDevice(ordinal);
  auto kernel = std::make_unique<CUDAKernel>();
  kernel->chip = chip.empty() ? chooseChip(device) : chip;
  LoweredModule lowered =
      lowerForDevice(text, {kernel->chip, options, pipeline});
  kernel->ptx = unwrap(emitPTX(*lowered.module))->getBuffer().str();
  kernel->host = HostFunctions::create(std::move(lowered));
  kernel->kernels = unwrap(device.load(kernel->ptx));
  return kernel;
}

void python::bindCUDA(nb::module_ &module) {
  nb::class_<CUDAKernel>(module, "CUDAKernel",
                         "A module compiled for a CUDA device, and loaded.")
      .def("invoke", &CUDAKernel::invoke, nb::arg("name"), nb::arg("arguments"),
           nb::arg("stream") = 0,
           "Launches a function's kernels on a stream, with arrays on the "
           "device (and scalars) in the order of its arguments, caches as "
           "their components.")
      .def_ro("chip", &CUDAKernel::chip, "What it was compiled for.")
      .def_ro("ptx", &CUDAKernel::ptx, "The kernels.");
  nb::class_<CUDAMemory>(module, "CUDAMemory", "Memory on a CUDA device.")
      .def(nb::init<int, size_t, std::optional<uintptr_t>>(),
           nb::arg("ordinal"), nb::arg("bytes"),
           nb::arg("address") = nb::none())
      .def_prop_ro("address", &CUDAMemory::getAddress)
      .def("upload", &CUDAMemory::upload, nb::arg("source"),
           nb::arg("stream") = 0,
           "Copies a buffer of its size here, in the order of a stream.")
      .def("download", &CUDAMemory::download, nb::arg("target"),
           nb::arg("stream") = 0,
           "Copies it to a buffer of its size, and waits for that.")
      .def("copy_within", &CUDAMemory::copyWithin, nb::arg("source"),
           nb::arg("target"), nb::arg("bytes"), nb::arg("stream") = 0,
           "Copies bytes from one offset to another, in the order of a "
           "stream.");
  module.def(
      "describe_array",
      [](nb::handle object, int ordinal, uintptr_t stream) -> nb::object {
        ArrayView view = ArrayView::get(object, ordinal, stream);
        if (!view.isArray)
          return nb::none();
        nb::list shape;
        for (int64_t extent : view.shape)
          shape.append(extent);
        return nb::make_tuple(nb::tuple(shape), view.element, view.ordinal,
                              reinterpret_cast<uintptr_t>(view.data));
      },
      nb::arg("object"), nb::arg("ordinal"), nb::arg("stream"),
      "(shape, MLIR's name of the element type, device, -1 for the host, "
      "address) of an array that is to be used on a stream; None for what is "
      "no array.");
  module.def(
      "compile_cuda", &compile, nb::arg("text"), nb::arg("ordinal"),
      nb::kw_only(), nb::arg("chip") = "", nb::arg("options") = "",
      nb::arg("pipeline") = "",
      "Compiles a module with kvq-nvvm-pipeline and options of it, or with the "
      "pipeline given as text, for a device, or a chip whose code it runs.");
  module.def(
      "cuda_device",
      [](int ordinal) {
        CUDADevice &device = getDevice(ordinal);
        return nb::make_tuple(device.getName(), device.getCapability(),
                              device.getMaxSharedBytes(),
                              device.getNumProcessors());
      },
      nb::arg("ordinal"),
      "(name, 10 * compute capability, bytes of shared memory of a block, "
      "multiprocessors) of a device.");
  module.def(
      "cuda_is_capturing",
      [](int ordinal, uintptr_t stream) {
        return unwrap(getDevice(ordinal).isCapturing(toStream(stream)));
      },
      nb::arg("ordinal"), nb::arg("stream"),
      "Whether a graph is being captured from a stream.");
}
