//===- DeviceKernel.cpp - Modules compiled for GPUs -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceKernel.h"

#include "Bindings.h"

#include "kvq/Target/Compile.h"
#include "kvq/Target/GPU.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

LoweredModule python::lowerForDevice(const std::string &text,
                                     const DeviceOptions &options) {
  NVVMPipelineOptions pipeline;
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (failed(pipeline.parseFromString(options.options, os)))
    throw Error("options of kvq-nvvm-pipeline: " +
                StringRef(problem).trim().str());
  pipeline.chip = options.chip;
  LoweredModule lowered;
  lowered.context = createContext();
  lowered.module = unwrap(parseModule(lowered.context.get(), text, "<module>"));
  // Signatures are those of the types that policies and layouts give, and
  // before lowering: afterwards arrays are words like any others.
  unwrap(runPipeline(
      *lowered.module,
      "builtin.module(kvq-apply-policy,kvq-assign-layout{target=gpu})"));
  lowered.signatures = unwrap(getSignatures(*lowered.module));
  if (options.pipeline.empty())
    unwrap(lowerForGPUToFit(*lowered.module, pipeline));
  else
    unwrap(runPipeline(*lowered.module, options.pipeline));
  return lowered;
}

HostFunctions HostFunctions::create(LoweredModule lowered) {
  unwrap(lowerLaunches(*lowered.module));
  HostFunctions host;
  host.jit = unwrap(JIT::create(*lowered.module, CPUTarget::getHost(),
                                runtime::getEntryPoints()));
  host.functions = unwrap(
      findFunctions(*host.jit, std::move(lowered.signatures), /*numExtra=*/1));
  return host;
}

void HostFunctions::call(const Function &function, Arguments &arguments,
                         runtime::Queue &queue) const {
  unwrap(runtime::call(function.code.entry, arguments.getAddresses(), queue));
}
