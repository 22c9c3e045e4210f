//===- CUDADriver.cpp - The functions of the CUDA driver ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDADriver.h"

#include <cstdlib>

#include <dlfcn.h>

using namespace mlir::kvq::runtime;

static constexpr char kLibrary[] = "libcuda.so.1";
static constexpr char kLibraryVariable[] = "KVQ_CUDA_DRIVER";

llvm::Error CUDADriver::check(CUresult result, const llvm::Twine &what) const {
  if (result == 0)
    return llvm::Error::success();
  const char *text = nullptr, *symbol = nullptr;
  getErrorString(result, &text);
  getErrorName(result, &symbol);
  return llvm::createStringError(
      what + " failed: " + (text ? text : "an error without a description") +
      " (" + (symbol ? llvm::Twine(symbol) : "error " + llvm::Twine(result)) +
      ")");
}

std::optional<CUDADriver> CUDADriver::load(std::string &error) {
  const char *given = std::getenv(kLibraryVariable);
  const char *name = given && *given ? given : kLibrary;
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = std::string("device 'cuda' needs NVIDIA's driver, ") + kLibrary +
            " (or the library that " + kLibraryVariable +
            " names), which cannot be loaded: " + dlerror();
    return std::nullopt;
  }
  CUDADriver driver;
// The parentheses of parameters are those of a function type.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define KVQ_LOAD(symbol, member, parameters)                                   \
  driver.member =                                                              \
      reinterpret_cast<CUresult(*) parameters>(dlsym(library, #symbol));       \
  if (!driver.member) {                                                        \
    error = std::string("expected a driver of CUDA 11.2 or later, found '") +  \
            name + "' without " #symbol;                                       \
    return std::nullopt;                                                       \
  }
  // NOLINTEND(bugprone-macro-parentheses)
  KVQ_CUDA_FUNCTIONS(KVQ_LOAD)
#undef KVQ_LOAD
  if (llvm::Error failed = driver.check(driver.init(0), "cuInit")) {
    error = llvm::toString(std::move(failed));
    return std::nullopt;
  }
  return driver;
}

llvm::Expected<const CUDADriver *> CUDADriver::get() {
  // Loaded once, and for good: its threads outlive every kernel.
  static std::string error;
  static const std::optional<CUDADriver> driver = load(error);
  if (!driver)
    return llvm::createStringError(error);
  return &*driver;
}
