//===- CUDADriver.h - The functions of the CUDA driver ----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kvq uses of cuda.h, which is not needed to build: types, numbers and
// signatures as that has them.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_RUNTIME_CUDADRIVER_H
#define KVQ_LIB_RUNTIME_CUDADRIVER_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mlir::kvq::runtime {

using CUresult = int; // 0: success
using CUdevice = int;
using CUcontext = void *;
using CUmodule = void *;
using CUfunction = void *;
using CUstream = void *;
using CUdeviceptr = uint64_t;

enum : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};

/// NAME(symbol of the library, name, parameters): what the library has to have.
/// The symbols are those that cuda.h's names stand for.
#define KVQ_CUDA_FUNCTIONS(NAME)                                               \
  NAME(cuInit, init, (unsigned))                                               \
  NAME(cuGetErrorName, getErrorName, (CUresult, const char **))                \
  NAME(cuGetErrorString, getErrorString, (CUresult, const char **))            \
  NAME(cuDeviceGetCount, deviceGetCount, (int *))                              \
  NAME(cuDeviceGet, deviceGet, (CUdevice *, int))                              \
  NAME(cuDeviceGetName, deviceGetName, (char *, int, CUdevice))                \
  NAME(cuDeviceGetAttribute, deviceGetAttribute, (int *, int, CUdevice))       \
  NAME(cuDevicePrimaryCtxRetain, primaryCtxRetain, (CUcontext *, CUdevice))    \
  NAME(cuCtxPushCurrent_v2, ctxPushCurrent, (CUcontext))                       \
  NAME(cuCtxPopCurrent_v2, ctxPopCurrent, (CUcontext *))                       \
  NAME(cuModuleLoadDataEx, moduleLoadDataEx,                                   \
       (CUmodule *, const void *, unsigned, int *, void **))                   \
  NAME(cuModuleUnload, moduleUnload, (CUmodule))                               \
  NAME(cuModuleGetFunction, moduleGetFunction,                                 \
       (CUfunction *, CUmodule, const char *))                                 \
  NAME(cuFuncGetAttribute, funcGetAttribute, (int *, int, CUfunction))         \
  NAME(cuFuncSetAttribute, funcSetAttribute, (CUfunction, int, int))           \
  NAME(cuLaunchKernel, launchKernel,                                           \
       (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,          \
        unsigned, unsigned, CUstream, void **, void **))                       \
  NAME(cuMemAlloc_v2, memAlloc, (CUdeviceptr *, size_t))                       \
  NAME(cuMemFree_v2, memFree, (CUdeviceptr))                                   \
  NAME(cuMemAllocAsync, memAllocAsync, (CUdeviceptr *, size_t, CUstream))      \
  NAME(cuMemFreeAsync, memFreeAsync, (CUdeviceptr, CUstream))                  \
  NAME(cuMemcpyHtoDAsync_v2, memcpyHtoDAsync,                                  \
       (CUdeviceptr, const void *, size_t, CUstream))                          \
  NAME(cuMemcpyDtoDAsync_v2, memcpyDtoDAsync,                                  \
       (CUdeviceptr, CUdeviceptr, size_t, CUstream))                           \
  NAME(cuMemcpyDtoHAsync_v2, memcpyDtoHAsync,                                  \
       (void *, CUdeviceptr, size_t, CUstream))                                \
  NAME(cuStreamSynchronize, streamSynchronize, (CUstream))                     \
  NAME(cuStreamIsCapturing, streamIsCapturing, (CUstream, int *))              \
  NAME(cuPointerGetAttribute, pointerGetAttribute, (void *, int, CUdeviceptr))

/// The library, once loaded.
class CUDADriver {
public:
  /// Loads and initializes it the first time.
  static llvm::Expected<const CUDADriver *> get();

  /// The error of a call, if it is one: "cuLaunchKernel of 'k' failed: ...".
  llvm::Error check(CUresult result, const llvm::Twine &what) const;

// The parentheses of parameters are those of a function type.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define KVQ_DECLARE(symbol, name, parameters)                                  \
  CUresult(*name) parameters = nullptr;
  // NOLINTEND(bugprone-macro-parentheses)
  KVQ_CUDA_FUNCTIONS(KVQ_DECLARE)
#undef KVQ_DECLARE

private:
  /// None where that fails, with the reason as `error`.
  static std::optional<CUDADriver> load(std::string &error);
};

/// Makes a context the calling thread's while it lives.
class CurrentContext {
public:
  CurrentContext(const CUDADriver &driver, CUcontext context)
      : driver(driver), result(driver.ctxPushCurrent(context)) {}
  CurrentContext(const CurrentContext &) = delete;
  ~CurrentContext() {
    CUcontext context;
    if (result == 0)
      driver.ctxPopCurrent(&context);
  }
  llvm::Error check() const { return driver.check(result, "cuCtxPushCurrent"); }

private:
  const CUDADriver &driver;
  CUresult result;
};

} // namespace mlir::kvq::runtime

#endif // KVQ_LIB_RUNTIME_CUDADRIVER_H
