//===- Module.cpp - The extension module _kvq ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "kvq/Target/Compile.h"

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;

std::unique_ptr<MLIRContext> python::createContext() {
  // Made once: it is long, and only read afterwards.
  static const DialectRegistry *const registry = [] {
    auto *made = new DialectRegistry();
    registerCompilerDialects(*made);
    return made;
  }();
  // Modules are small; threads would cost more than they save.
  auto context = std::make_unique<MLIRContext>(
      *registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return context;
}

NB_MODULE(_kvq, module) {
  module.doc() = "The kvq compiler. The package kvq_mlir wraps it.";
  // Makes the type, in the module.
  // NOLINTNEXTLINE(bugprone-unused-raii,bugprone-throw-keyword-missing)
  nb::exception<python::Error>(module, "Error", PyExc_ValueError);
  python::bindModuleBuilder(module);
  python::bindCUDA(module);
  python::bindEmulated(module);
  python::bindFootprint(module);
  python::bindGPUCode(module);
  python::bindInspect(module);
  python::bindKernel(module);
  python::bindPolicy(module);
}
