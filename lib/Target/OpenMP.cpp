//===- OpenMP.cpp - The run-time library of threads ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/OpenMP.h"

#include <dlfcn.h>

using namespace mlir::kvq;

/// What the library is called: Intel's has the same interface.
static constexpr const char *kNames[] = {"libiomp5.so", "libomp.so",
                                         "libomp.so.5"};

static void *openLibrary() {
  for (const char *name : kNames)
    if (void *handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD))
      return handle;
  return dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL);
}

std::optional<OpenMPRuntime> OpenMPRuntime::load(std::string &error) {
  void *handle = openLibrary();
  if (!handle) {
    error = std::string("threads need LLVM's OpenMP library, libomp.so.5 "
                        "(Debian: apt-get install libomp5): ") +
            dlerror();
    return std::nullopt;
  }
  OpenMPRuntime runtime;
  runtime.library = llvm::sys::DynamicLibrary(handle);
  runtime.getMaxThreads =
      reinterpret_cast<int (*)()>(dlsym(handle, "omp_get_max_threads"));
  runtime.setNumThreads =
      reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  if (!runtime.getMaxThreads || !runtime.setNumThreads ||
      !dlsym(handle, "__kmpc_fork_call")) {
    error = "the OpenMP library of this process is not LLVM's: expected it to "
            "have __kmpc_fork_call and omp_set_num_threads";
    return std::nullopt;
  }
  return runtime;
}

llvm::Expected<const OpenMPRuntime *> OpenMPRuntime::get() {
  // Loaded once, and for good: its threads outlive every kernel.
  static std::string error;
  static std::optional<OpenMPRuntime> runtime = load(error);
  if (!runtime)
    return llvm::createStringError(error);
  return &*runtime;
}
