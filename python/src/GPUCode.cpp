//===- GPUCode.cpp - What a module becomes on a GPU -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "DeviceKernel.h"

#include "kvq/Target/GPU.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

/// A kernel's name, threads in a block, bytes of dynamic shared memory.
using Launch = std::tuple<std::string, int64_t, int64_t>;

/// The value of a constant, or `otherwise` for none.
static int64_t getConstant(Value value, int64_t otherwise) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return otherwise;
}

static std::tuple<std::string, std::vector<Launch>>
compile(const std::string &text, const std::string &chip,
        const std::string &options) {
  nb::gil_scoped_release release;
  LoweredModule lowered = lowerForDevice(text, {chip, options, ""});
  std::vector<Launch> launches;
  lowered.module->walk([&](gpu::LaunchFuncOp launch) {
    launches.emplace_back(launch.getKernelName().str(),
                          getConstant(launch.getBlockSizeX(), 0),
                          getConstant(launch.getDynamicSharedMemorySize(), 0));
  });
  return {unwrap(emitPTX(*lowered.module))->getBuffer().str(), launches};
}

void python::bindGPUCode(nb::module_ &module) {
  module.def(
      "gpu_code", &compile, nb::arg("text"), nb::kw_only(), nb::arg("chip"),
      nb::arg("options") = "",
      "The PTX of a module compiled with kvq-nvvm-pipeline, and for each "
      "launch the kernel, its threads in a block and bytes of dynamic "
      "shared memory.");
  module.def(
      "find_cuda_tool",
      [](const std::string &name) { return unwrap(findCUDATool(name)); },
      nb::arg("name"),
      "The path of a tool of the CUDA toolkit, as kvq-compile finds it.");
}
