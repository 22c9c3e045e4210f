//===- CheckCapabilities.cpp - Kernels use what their chip has ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Capabilities.h"
#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_CHECKCAPABILITIESPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {
/// What tells that a feature is used: any of these in the name of an op or of
/// an intrinsic, or in the text of inline assembly.
struct Mark {
  StringLiteral text;
  GPUFeature feature;
};
} // namespace

/// Names are compared without `.` and `_`, which ops, intrinsics and PTX set
/// each in their own way. The first that is found counts.
static constexpr Mark kMarks[] = {
    {"wgmma", GPUFeature::WarpgroupMMA},
    {"tcgen05", GPUFeature::TensorMemory},
    {"blockscale", GPUFeature::BlockScaledMMA},
    {"cpasyncbulk", GPUFeature::BulkCopy},
    {"expecttx", GPUFeature::BulkCopy},
    {"completetx", GPUFeature::BulkCopy},
    {"mbarriertrywait", GPUFeature::BulkCopy},
    {"fenceproxyasync", GPUFeature::BulkCopy},
    {"cpasync", GPUFeature::AsyncCopy},
    {"movmatrix", GPUFeature::MatrixTranspose},
    // Types as PTX and intrinsics have them.
    {"e2m1x2", GPUFeature::FP4Conversion},
    {"e2m3x2", GPUFeature::FP4Conversion},
    {"e3m2x2", GPUFeature::FP4Conversion},
    {"ue8m0x2", GPUFeature::FP4Conversion},
    {"e4m3x2", GPUFeature::FP8Conversion},
    {"e5m2x2", GPUFeature::FP8Conversion},
    // Ops; those from and to bf16 are of e8m0 alone.
    {"convertf8x2tobf16x2", GPUFeature::FP4Conversion},
    {"convertbf16x2tof8x2", GPUFeature::FP4Conversion},
    {"convertf4x2", GPUFeature::FP4Conversion},
    {"convertf6x2", GPUFeature::FP4Conversion},
    {"convertf8x2", GPUFeature::FP8Conversion},
    {"tof4x2", GPUFeature::FP4Conversion},
    {"tof6x2", GPUFeature::FP4Conversion},
    {"tof8x2", GPUFeature::FP8Conversion},
};

static std::optional<GPUFeature> getFeatureOfText(StringRef text) {
  std::string name;
  llvm::copy_if(text, std::back_inserter(name),
                [](char c) { return c != '.' && c != '_'; });
  for (const Mark &mark : kMarks)
    if (StringRef(name).contains(mark.text))
      return mark.feature;
  SmallVector<StringRef> words;
  llvm::SplitString(text, words, " .");
  if (!llvm::is_contained(words, "mma"))
    return std::nullopt;
  if (llvm::is_contained(words, "e4m3") || llvm::is_contained(words, "e5m2"))
    return GPUFeature::FP8MMA;
  if (llvm::is_contained(words, "bf16"))
    return GPUFeature::BF16MMA;
  return std::nullopt;
}

static std::optional<GPUFeature> getFeature(Operation *op) {
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return getFeatureOfText(call.getIntrin());
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
    return getFeatureOfText(assembly.getAsmString());
  // Types that are attributes.
  if (auto mma = dyn_cast<NVVM::MmaOp>(op);
      mma && mma.getMultiplicandAPtxType() == NVVM::MMATypes::bf16)
    return GPUFeature::BF16MMA;
  if (auto convert = dyn_cast<NVVM::ConvertF32x2ToF8x2Op>(op);
      convert && isa<Float8E8M0FNUType>(convert.getDstTy()))
    return GPUFeature::FP4Conversion;
  if (isa<NVVM::NVVMDialect>(op->getDialect()))
    return getFeatureOfText(op->getName().getStringRef());
  return std::nullopt;
}

/// An array without elements is dynamic: the launch says how large it is.
int64_t kvq::getStaticSharedBytes(LLVM::LLVMFuncOp kernel) {
  SymbolTableCollection symbols;
  llvm::SmallPtrSet<Operation *, 8> globals;
  kernel.walk([&](LLVM::AddressOfOp address) {
    if (LLVM::GlobalOp global = address.getGlobal(symbols))
      if (global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared))
        globals.insert(global);
  });
  DataLayout layout(kernel->getParentOfType<gpu::GPUModuleOp>());
  int64_t bytes = 0;
  for (Operation *global : globals)
    bytes += layout.getTypeSize(cast<LLVM::GlobalOp>(global).getType())
                 .getFixedValue();
  return bytes;
}

static LogicalResult checkSharedMemory(LLVM::LLVMFuncOp kernel) {
  int64_t bytes = getStaticSharedBytes(kernel);
  if (bytes > kMaxStaticSharedBytes)
    return kernel.emitError("expected at most ")
           << kMaxStaticSharedBytes
           << " bytes of shared memory that is not dynamic, found " << bytes;
  return success();
}

/// Checks the shared memory of a launch of a module's kernel.
static LogicalResult checkLaunch(gpu::LaunchFuncOp launch,
                                 gpu::GPUModuleOp module,
                                 const GPUTarget &target) {
  APInt bytes;
  Value size = launch.getDynamicSharedMemorySize();
  if (!size || !matchPattern(size, m_ConstantInt(&bytes)))
    return success();
  int64_t all = bytes.getSExtValue();
  if (auto kernel =
          module.lookupSymbol<LLVM::LLVMFuncOp>(launch.getKernelName()))
    all += getStaticSharedBytes(kernel);
  if (all <= target.chip->maxSharedBytes)
    return success();
  return launch.emitError("expected at most ")
         << target.chip->maxSharedBytes << " bytes of shared memory on "
         << target.chip->name << ", found " << all;
}

namespace {

struct CheckCapabilitiesPass
    : kvq::impl::CheckCapabilitiesPassBase<CheckCapabilitiesPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto module : getOperation().getOps<gpu::GPUModuleOp>())
      if (failed(checkModule(module)))
        return signalPassFailure();
  }

private:
  LogicalResult checkModule(gpu::GPUModuleOp module) {
    auto emitError = [&] { return module.emitError(); };
    ArrayAttr targets = module.getTargetsAttr();
    if (!targets)
      return emitError() << "expected a gpu.module with targets, found none";
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (failed(checkSharedMemory(function)))
        return failure();
    for (Attribute attribute : targets) {
      auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(attribute);
      if (!nvvm)
        return emitError() << "expected an #nvvm.target, found " << attribute;
      FailureOr<GPUTarget> target = GPUTarget::get(emitError, nvvm);
      if (failed(target) || failed(checkFor(module, *target)))
        return failure();
    }
    return success();
  }

  LogicalResult checkFor(gpu::GPUModuleOp module, const GPUTarget &target) {
    WalkResult result = module.walk([&](Operation *op) {
      std::optional<GPUFeature> feature = getFeature(op);
      auto emitError = [&] { return op->emitError(); };
      return WalkResult(feature ? target.require(emitError, *feature)
                                : success());
    });
    if (result.wasInterrupted())
      return failure();
    result = getOperation().walk([&](gpu::LaunchFuncOp launch) {
      return WalkResult(launch.getKernelModuleName() == module.getNameAttr()
                            ? checkLaunch(launch, module, target)
                            : success());
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
