//===- Emulated.cpp - Modules that run on the emulator --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "DeviceKernel.h"

#include "kvq/Runtime/Emulated.h"
#include "kvq/Target/GPU.h"

#include "llvm/IR/LLVMContext.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

namespace {
/// A module whose kernels the emulator runs.
class EmulatedKernel {
public:
  HostFunctions host;
  std::unique_ptr<runtime::EmulatedKernels> kernels;

  void invoke(nb::str name, nb::handle arguments, const std::string &order,
              uint64_t seed, unsigned workers, bool detectRaces) const;
};
} // namespace

static emulator::Order parseOrder(const std::string &name) {
  if (name == "forward")
    return emulator::Order::Forward;
  if (name == "reverse")
    return emulator::Order::Reverse;
  if (name == "random")
    return emulator::Order::Random;
  throw Error("expected order forward, reverse or random, got '" + name + "'");
}

void EmulatedKernel::invoke(nb::str name, nb::handle arguments,
                            const std::string &order, uint64_t seed,
                            unsigned workers, bool detectRaces) const {
  const Function &function = host.get(name.c_str());
  emulator::LaunchOptions options = {parseOrder(order), seed, workers,
                                     detectRaces};
  Arguments call;
  call.addBuffers(function.signature, arguments);
  nb::gil_scoped_release release;
  llvm::SmallVector<runtime::EmulatedMemory> memory;
  for (const Arguments::Memory &range : call.getMemory())
    memory.push_back({range.address, range.bytes, range.isWritten});
  host.call(function, call, *kernels->createQueue(options, memory));
}

static std::unique_ptr<EmulatedKernel> compile(const std::string &text,
                                               const std::string &chip,
                                               const std::string &options,
                                               const std::string &pipeline) {
  nb::gil_scoped_release release;
  LoweredModule lowered = lowerForDevice(text, {chip, options, pipeline});
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = unwrap(translateKernels(*lowered.module, *context));
  auto emitError = [&] { return lowered.module->emitError(); };
  FailureOr<GPUTarget> target = GPUTarget::get(emitError, chip, /*ptx=*/0);
  if (failed(target)) // lowering has said what is wrong with it
    throw Error("expected one of " + listGPUChips() + " as chip, got '" + chip +
                "'");
  auto kernel = std::make_unique<EmulatedKernel>();
  kernel->kernels = unwrap(runtime::EmulatedKernels::create(
      std::move(module), std::move(context), target->chip->maxSharedBytes));
  kernel->host = HostFunctions::create(std::move(lowered));
  return kernel;
}

void python::bindEmulated(nb::module_ &module) {
  nb::class_<EmulatedKernel>(module, "EmulatedKernel",
                             "A module compiled for a GPU, for the emulator.")
      .def("invoke", &EmulatedKernel::invoke, nb::arg("name"),
           nb::arg("arguments"), nb::kw_only(), nb::arg("order") = "forward",
           nb::arg("seed") = 0, nb::arg("workers") = 0,
           nb::arg("detect_races") = true,
           "Runs a function's kernels with arrays (and scalars) in the order "
           "of its arguments, caches as their components.");
  module.def("compile_emulated", &compile, nb::arg("text"), nb::kw_only(),
             nb::arg("chip") = "sm_80", nb::arg("options") = "",
             nb::arg("pipeline") = "",
             "Compiles a module with kvq-nvvm-pipeline and options of it, or "
             "with the pipeline given as text, for the emulator of a chip.");
}
