//===- CUDA.cpp - Kernels on NVIDIA GPUs ----------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Runtime/CUDA.h"

#include "CUDADriver.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <mutex>

using namespace mlir::kvq::runtime;

/// What a block can have of shared memory without asking for it.
static constexpr size_t kDefaultSharedBytes = 48 * 1024;

static CUdeviceptr toAddress(const void *memory) {
  return reinterpret_cast<CUdeviceptr>(memory);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static llvm::Expected<int> getAttribute(const CUDADriver &driver,
                                        CUdevice device, int attribute) {
  int value = 0;
  if (llvm::Error error =
          driver.check(driver.deviceGetAttribute(&value, attribute, device),
                       "cuDeviceGetAttribute"))
    return std::move(error);
  return value;
}

llvm::Expected<std::unique_ptr<CUDADevice>> CUDADevice::open(int ordinal) {
  llvm::Expected<const CUDADriver *> found = CUDADriver::get();
  if (!found)
    return found.takeError();
  const CUDADriver &driver = **found;
  int count = 0;
  if (llvm::Error error =
          driver.check(driver.deviceGetCount(&count), "cuDeviceGetCount"))
    return std::move(error);
  if (ordinal < 0 || ordinal >= count)
    return llvm::createStringError("expected a CUDA device from 0 to " +
                                   llvm::Twine(count - 1) + ", got " +
                                   llvm::Twine(ordinal));
  std::unique_ptr<CUDADevice> device(new CUDADevice(driver, ordinal));
  CUdevice handle;
  char name[256] = "";
  if (llvm::Error error =
          driver.check(driver.deviceGet(&handle, ordinal), "cuDeviceGet"))
    return std::move(error);
  if (llvm::Error error = driver.check(
          driver.deviceGetName(name, sizeof(name), handle), "cuDeviceGetName"))
    return std::move(error);
  device->name = name;
  constexpr int kAttributes[] = {
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
      CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
      CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED};
  int values[std::size(kAttributes)];
  for (auto [value, attribute] : llvm::zip_equal(values, kAttributes)) {
    llvm::Expected<int> got = getAttribute(driver, handle, attribute);
    if (!got)
      return got.takeError();
    value = *got;
  }
  device->capability = 10 * values[0] + values[1];
  device->maxSharedBytes = values[2];
  device->numProcessors = values[3];
  if (!values[4])
    return llvm::createStringError("expected a device with memory pools, got " +
                                   device->name + " without");
  if (llvm::Error error =
          driver.check(driver.primaryCtxRetain(&device->context, handle),
                       "cuDevicePrimaryCtxRetain"))
    return std::move(error);
  return std::move(device);
}

llvm::Expected<CUDADevice *> CUDADevice::get(int ordinal) {
  static std::mutex mutex;
  // Never freed: at the end of the process the driver may be gone before.
  static auto &devices = *new std::map<int, std::unique_ptr<CUDADevice>>();
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<CUDADevice> &device = devices[ordinal];
  if (!device) {
    llvm::Expected<std::unique_ptr<CUDADevice>> opened = open(ordinal);
    if (!opened)
      return opened.takeError();
    device = std::move(*opened);
  }
  return device.get();
}

llvm::Expected<int> CUDADevice::findOrdinal(const void *memory) {
  llvm::Expected<const CUDADriver *> driver = CUDADriver::get();
  if (!driver)
    return driver.takeError();
  int ordinal = 0;
  if (llvm::Error error = (*driver)->check(
          (*driver)->pointerGetAttribute(
              &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, toAddress(memory)),
          "cuPointerGetAttribute"))
    return std::move(error);
  return ordinal;
}

llvm::Expected<void *> CUDADevice::allocate(size_t bytes) {
  CurrentContext current(driver, context);
  if (llvm::Error error = current.check())
    return std::move(error);
  CUdeviceptr memory = 0;
  if (llvm::Error error = driver.check(driver.memAlloc(&memory, bytes),
                                       "cuMemAlloc of " + llvm::Twine(bytes) +
                                           " bytes on " + name))
    return std::move(error);
  return reinterpret_cast<void *>(memory);
}

llvm::Error CUDADevice::free(void *memory) {
  CurrentContext current(driver, context);
  if (llvm::Error error = current.check())
    return error;
  return driver.check(driver.memFree(toAddress(memory)), "cuMemFree");
}

llvm::Error CUDADevice::copyToDevice(void *to, const void *from, size_t bytes,
                                     CUDAStream stream) {
  CurrentContext current(driver, context);
  if (llvm::Error error = current.check())
    return error;
  // Memory that is not page-locked is staged before this returns.
  return driver.check(
      driver.memcpyHtoDAsync(toAddress(to), from, bytes, stream),
      "cuMemcpyHtoDAsync");
}

llvm::Error CUDADevice::copyToHost(void *to, const void *from, size_t bytes,
                                   CUDAStream stream) {
  CurrentContext current(driver, context);
  if (llvm::Error error = current.check())
    return error;
  if (llvm::Error error = driver.check(
          driver.memcpyDtoHAsync(to, toAddress(from), bytes, stream),
          "cuMemcpyDtoHAsync"))
    return error;
  return driver.check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

llvm::Error CUDADevice::copyOnDevice(void *to, const void *from, size_t bytes,
                                     CUDAStream stream) {
  CurrentContext current(driver, context);
  if (llvm::Error error = current.check())
    return error;
  return driver.check(
      driver.memcpyDtoDAsync(toAddress(to), toAddress(from), bytes, stream),
      "cuMemcpyDtoDAsync");
}

llvm::Expected<bool> CUDADevice::isCapturing(CUDAStream stream) {
  CurrentContext current(driver, context);
  if (llvm::Error error = current.check())
    return std::move(error);
  int status = 0;
  if (llvm::Error error = driver.check(
          driver.streamIsCapturing(stream, &status), "cuStreamIsCapturing"))
    return std::move(error);
  return status != 0;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
struct Function {
  CUfunction handle = nullptr;
  /// Shared memory that is not dynamic.
  size_t staticBytes = 0;
  /// Most dynamic shared memory that launches have asked for so far.
  size_t allowedBytes = 0;
};
} // namespace

class CUDAKernels::Impl {
public:
  explicit Impl(CUmodule module) : module(module) {}

  CUmodule module;

  /// Finds a kernel, and allows it so much dynamic shared memory.
  llvm::Expected<CUfunction>
  prepare(const CUDADevice &device, llvm::StringRef kernel, size_t sharedBytes);

private:
  llvm::Expected<Function *> find(const CUDADriver &driver,
                                  llvm::StringRef kernel);

  std::mutex mutex;
  llvm::StringMap<Function> functions;
};

llvm::Expected<Function *> CUDAKernels::Impl::find(const CUDADriver &driver,
                                                   llvm::StringRef kernel) {
  auto found = functions.find(kernel);
  if (found != functions.end())
    return &found->second;
  Function function;
  if (llvm::Error error =
          driver.check(driver.moduleGetFunction(&function.handle, module,
                                                kernel.str().c_str()),
                       "cuModuleGetFunction of '" + kernel + "'"))
    return std::move(error);
  int bytes = 0;
  if (llvm::Error error = driver.check(
          driver.funcGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                                  function.handle),
          "cuFuncGetAttribute of '" + kernel + "'"))
    return std::move(error);
  function.staticBytes = bytes;
  function.allowedBytes = kDefaultSharedBytes - bytes;
  return &functions.insert({kernel, function}).first->second;
}

llvm::Expected<CUfunction> CUDAKernels::Impl::prepare(const CUDADevice &device,
                                                      llvm::StringRef kernel,
                                                      size_t sharedBytes) {
  std::lock_guard<std::mutex> lock(mutex);
  llvm::Expected<Function *> found = find(device.driver, kernel);
  if (!found)
    return found.takeError();
  Function &function = **found;
  if (sharedBytes + function.staticBytes > device.getMaxSharedBytes())
    return llvm::createStringError(
        "kernel '" + kernel + "': expected at most " +
        llvm::Twine(device.getMaxSharedBytes()) +
        " bytes of shared memory of a block on " + device.getName() + ", got " +
        llvm::Twine(sharedBytes + function.staticBytes));
  if (sharedBytes > function.allowedBytes) {
    if (llvm::Error error = device.driver.check(
            device.driver.funcSetAttribute(
                function.handle,
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, sharedBytes),
            "cuFuncSetAttribute of '" + kernel + "' to " +
                llvm::Twine(sharedBytes) + " bytes of shared memory"))
      return std::move(error);
    function.allowedBytes = sharedBytes;
  }
  return function.handle;
}

/// Launches and allocations in the order of a stream.
class CUDAKernels::StreamQueue : public Queue {
public:
  StreamQueue(CUDAKernels &kernels, CUDAStream stream)
      : kernels(kernels), driver(kernels.device.driver), stream(stream),
        current(driver, kernels.device.context) {}

  llvm::Error launch(const Launch &launch) override {
    if (llvm::Error error = current.check())
      return error;
    llvm::Expected<CUfunction> function = kernels.impl->prepare(
        kernels.device, launch.kernel, launch.sharedBytes);
    if (!function)
      return function.takeError();
    return driver.check(
        driver.launchKernel(*function, launch.grid.x, launch.grid.y,
                            launch.grid.z, launch.block.x, launch.block.y,
                            launch.block.z, launch.sharedBytes, stream,
                            launch.arguments.data(), /*extra=*/nullptr),
        "cuLaunchKernel of '" + launch.kernel + "'");
  }

  llvm::Expected<void *> allocate(size_t bytes) override {
    if (llvm::Error error = current.check())
      return std::move(error);
    CUdeviceptr memory = 0;
    if (llvm::Error error =
            driver.check(driver.memAllocAsync(&memory, bytes, stream),
                         "cuMemAllocAsync of " + llvm::Twine(bytes) +
                             " bytes on " + kernels.device.name))
      return std::move(error);
    return reinterpret_cast<void *>(memory);
  }

  llvm::Error free(void *memory) override {
    return driver.check(driver.memFreeAsync(toAddress(memory), stream),
                        "cuMemFreeAsync");
  }

private:
  CUDAKernels &kernels;
  const CUDADriver &driver;
  CUDAStream stream;
  CurrentContext current;
};

CUDAKernels::CUDAKernels(CUDADevice &device, void *module)
    : device(device), impl(std::make_unique<Impl>(module)) {}

CUDAKernels::~CUDAKernels() {
  // At the end of the process the driver may refuse; the module is gone then.
  CurrentContext current(device.driver, device.context);
  device.driver.moduleUnload(impl->module);
}

std::unique_ptr<Queue> CUDAKernels::createQueue(CUDAStream stream) {
  return std::make_unique<StreamQueue>(*this, stream);
}

llvm::Expected<std::unique_ptr<CUDAKernels>>
CUDADevice::load(llvm::StringRef image) {
  CurrentContext current(driver, context);
  if (llvm::Error error = current.check())
    return std::move(error);
  // PTX is text that ends with a zero.
  std::string text = image.str();
  char log[4096] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUmodule module = nullptr;
  CUresult result =
      driver.moduleLoadDataEx(&module, text.c_str(), 2, options, values);
  std::string reason = llvm::StringRef(log).trim().str();
  if (llvm::Error error = driver.check(result, "loading kernels on " + name +
                                                   " by cuModuleLoadDataEx")) {
    if (reason.empty())
      return std::move(error);
    return llvm::createStringError(llvm::toString(std::move(error)) + "\n" +
                                   reason);
  }
  return std::unique_ptr<CUDAKernels>(new CUDAKernels(*this, module));
}
