//===- DeviceKernel.h - Modules compiled for GPUs ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_PYTHON_DEVICEKERNEL_H
#define KVQ_PYTHON_DEVICEKERNEL_H

#include "Arguments.h"

#include "kvq/Conversion/Capabilities.h"
#include "kvq/Runtime/Queue.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::kvq::python {

/// A module lowered for a GPU: its kernels, and what launches them.
struct LoweredModule {
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::vector<Signature> signatures;
};

/// How a module becomes kernels.
struct DeviceOptions {
  std::string chip;
  /// Of `kvq-nvvm-pipeline`, as text.
  std::string options;
  /// Runs instead of it, if there is one: up to kernels in the LLVM dialect.
  std::string pipeline;
};

/// Lowers a module; throws what is wrong with it.
LoweredModule lowerForDevice(const std::string &text,
                             const DeviceOptions &options);

/// The functions that launch kernels, compiled for this machine.
class HostFunctions {
public:
  /// What is lowered is used up: the kernels in it are gone then.
  static HostFunctions create(LoweredModule lowered);

  const Function &get(const char *name) const {
    return lookup(functions, name);
  }

  /// Throws the first error of a launch.
  void call(const Function &function, Arguments &arguments,
            runtime::Queue &queue) const;

private:
  std::unique_ptr<JIT> jit;
  Functions functions;
};

} // namespace mlir::kvq::python

#endif // KVQ_PYTHON_DEVICEKERNEL_H
