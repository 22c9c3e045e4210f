//===- GPU.cpp - Kernels to PTX -------------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/GPU.h"

#include "kvq/Target/Compile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;

llvm::Error kvq::lowerForGPU(ModuleOp module,
                             const NVVMPipelineOptions &options) {
  return runPasses(module, [&](PassManager &manager) {
    buildNVVMPipeline(manager, options);
    return llvm::Error::success();
  });
}

/// Lowers `module` in place, if its kernels fit.
static llvm::Error tryToLower(ModuleOp module,
                              const kvq::NVVMPipelineOptions &options) {
  OwningOpRef<ModuleOp> lowered = module.clone();
  if (llvm::Error error = kvq::lowerForGPU(*lowered, options))
    return error;
  module->setAttrs((*lowered)->getAttrDictionary());
  module.getBodyRegion().takeBody(lowered->getBodyRegion());
  return llvm::Error::success();
}

llvm::Error kvq::lowerForGPUToFit(ModuleOp module,
                                  NVVMPipelineOptions &options) {
  constexpr int64_t kFewestTokens = 8;
  const int64_t mostTokens = options.tileTokens;
  // Query tokens that share a tile pay more than a larger tile.
  SmallVector<int64_t> queryTiles = {options.queryTile};
  if (options.queryTile != 1)
    queryTiles.push_back(1);
  std::string reason; // of the first try: what is wrong may not be the tile
  for (int64_t queryTile : queryTiles)
    for (int64_t tokens = mostTokens; tokens >= kFewestTokens; tokens /= 2) {
      options.tileTokens = tokens;
      options.queryTile = queryTile;
      llvm::Error error = tryToLower(module, options);
      if (!error)
        return error;
      std::string text = llvm::toString(std::move(error));
      if (reason.empty())
        reason = text;
    }
  return llvm::createStringError(reason);
}

static void initializeNVPTX() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// The pipeline has checked that chip and features fit.
static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(NVVM::NVVMTargetAttr attribute) {
  initializeNVPTX();
  llvm::Triple triple(attribute.getTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError(error);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, attribute.getChip(), attribute.getFeatures(), {}, {}));
}

/// The only `gpu.module`.
static llvm::Expected<gpu::GPUModuleOp> getKernels(ModuleOp module) {
  SmallVector<gpu::GPUModuleOp> kernels(module.getOps<gpu::GPUModuleOp>());
  if (kernels.size() != 1)
    return llvm::createStringError(
        "expected a module with kernels, such as that of a kvq.attention, got "
        "one with " +
        llvm::Twine(kernels.size()) + " gpu.module");
  return kernels.front();
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(gpu::GPUModuleOp kernels) {
  auto targets = kernels.getTargetsAttr();
  auto target = targets && targets.size() == 1
                    ? dyn_cast<NVVM::NVVMTargetAttr>(targets[0])
                    : nullptr;
  if (!target)
    return llvm::createStringError(
        "expected a gpu.module with one target, an #nvvm.target");
  return createTargetMachine(target);
}

static llvm::Expected<std::unique_ptr<llvm::Module>>
translateKernels(gpu::GPUModuleOp kernels, llvm::LLVMContext &context,
                 llvm::TargetMachine &machine) {
  auto llvmModule = kvq::translateToLLVM(kernels, context, machine);
  if (!llvmModule)
    return llvmModule.takeError();
  for (const llvm::Function &function : **llvmModule)
    if (function.isDeclaration() && !function.isIntrinsic())
      return llvm::createStringError(
          "expected kernels that call no library, got one that calls '" +
          function.getName() + "'");
  kvq::optimizeForGPU(**llvmModule, machine);
  return llvmModule;
}

llvm::Expected<std::unique_ptr<llvm::Module>>
kvq::translateKernels(ModuleOp module, llvm::LLVMContext &context) {
  auto kernels = getKernels(module);
  if (!kernels)
    return kernels.takeError();
  auto machine = createTargetMachine(*kernels);
  if (!machine)
    return machine.takeError();
  return ::translateKernels(*kernels, context, **machine);
}

llvm::Error kvq::lowerLaunches(ModuleOp module) {
  return runPasses(module, [&](PassManager &manager) {
    buildLaunchesToLLVMPipeline(manager);
    return llvm::Error::success();
  });
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::emitPTX(ModuleOp module) {
  auto kernels = getKernels(module);
  if (!kernels)
    return kernels.takeError();
  auto machine = createTargetMachine(*kernels);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto llvmModule = ::translateKernels(*kernels, context, **machine);
  if (!llvmModule)
    return llvmModule.takeError();
  return emitAssembly(**llvmModule, **machine);
}
