//===- CUDA.h - Kernels on NVIDIA GPUs --------------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CUDA driver's interface, loaded when it is first asked for: nothing of
// CUDA is linked, or needed to build.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_RUNTIME_CUDA_H
#define KVQ_RUNTIME_CUDA_H

#include "kvq/Runtime/Queue.h"

#include <memory>
#include <string>

namespace mlir::kvq::runtime {

class CUDADriver;
class CUDAKernels;

/// A CUstream: null for the legacy default stream.
using CUDAStream = void *;

/// A GPU and its primary context, which PyTorch and the CUDA runtime use, too.
class CUDADevice {
public:
  /// The same object whenever it is asked for, until the process ends. Fails
  /// where there is no driver or no such device. The driver is libcuda.so.1, or
  /// what the environment variable KVQ_CUDA_DRIVER names.
  static llvm::Expected<CUDADevice *> get(int ordinal);

  /// The device that memory is on; fails for memory that CUDA does not know.
  static llvm::Expected<int> findOrdinal(const void *memory);

  int getOrdinal() const { return ordinal; }
  const std::string &getName() const { return name; }
  /// 10 * major + minor.
  unsigned getCapability() const { return capability; }
  /// Most bytes of shared memory of a block.
  size_t getMaxSharedBytes() const { return maxSharedBytes; }
  int getNumProcessors() const { return numProcessors; }

  /// Loads a module: PTX, a cubin or a fatbin.
  llvm::Expected<std::unique_ptr<CUDAKernels>> load(llvm::StringRef image);

  /// Memory that lives until it is freed, apart from all streams.
  llvm::Expected<void *> allocate(size_t bytes);
  llvm::Error free(void *memory);

  /// Copies in the order of a stream; from the host the bytes are taken before
  /// this returns, to the host they are there when it does.
  llvm::Error copyToDevice(void *to, const void *from, size_t bytes,
                           CUDAStream stream);
  llvm::Error copyToHost(void *to, const void *from, size_t bytes,
                         CUDAStream stream);
  llvm::Error copyOnDevice(void *to, const void *from, size_t bytes,
                           CUDAStream stream);

  /// Whether a graph is being captured from a stream.
  llvm::Expected<bool> isCapturing(CUDAStream stream);

private:
  friend class CUDAKernels;

  CUDADevice(const CUDADriver &driver, int ordinal)
      : driver(driver), ordinal(ordinal) {}

  static llvm::Expected<std::unique_ptr<CUDADevice>> open(int ordinal);

  const CUDADriver &driver;
  int ordinal;
  void *context = nullptr;
  std::string name;
  unsigned capability = 0;
  size_t maxSharedBytes = 0;
  int numProcessors = 0;
};

/// Kernels that are loaded on a device, as long as this lives.
class CUDAKernels {
public:
  ~CUDAKernels();

  CUDADevice &getDevice() const { return device; }

  /// Kernels run on `stream` and take the memory that they share from the
  /// stream's pool, so that calls can be captured in a graph. The queue must
  /// not outlive the kernels.
  std::unique_ptr<Queue> createQueue(CUDAStream stream);

private:
  friend class CUDADevice;
  class Impl;
  class StreamQueue;

  CUDAKernels(CUDADevice &device, void *module);

  CUDADevice &device;
  std::unique_ptr<Impl> impl;
};

} // namespace mlir::kvq::runtime

#endif // KVQ_RUNTIME_CUDA_H
