//===- kvq-translate.cpp - LLVM IR and PTX of lowered modules -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/Compile.h"
#include "kvq/Target/GPU.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;

static LogicalResult report(ModuleOp module, llvm::Error error) {
  return emitError(module.getLoc()) << llvm::toString(std::move(error));
}

static LogicalResult writeKernelsAsLLVMIR(ModuleOp module, raw_ostream &os) {
  llvm::LLVMContext context;
  auto kernels = kvq::translateKernels(module, context);
  if (!kernels)
    return report(module, kernels.takeError());
  (*kernels)->print(os, nullptr);
  return success();
}

static LogicalResult writeKernelsAsPTX(ModuleOp module, raw_ostream &os) {
  auto ptx = kvq::emitPTX(module);
  if (!ptx)
    return report(module, ptx.takeError());
  os << (*ptx)->getBuffer();
  return success();
}

int main(int argc, char **argv) {
  registerAllTranslations();
  TranslateFromMLIRRegistration llvmIR(
      "kvq-kernels-to-llvmir",
      "LLVM IR, optimized, of the kernels that kvq-nvvm-pipeline leaves",
      writeKernelsAsLLVMIR, kvq::registerCompilerDialects);
  TranslateFromMLIRRegistration ptx(
      "kvq-kernels-to-ptx", "PTX of the kernels that kvq-nvvm-pipeline leaves",
      writeKernelsAsPTX, kvq::registerCompilerDialects);
  return failed(mlirTranslateMain(argc, argv, "kvq translation driver"));
}
