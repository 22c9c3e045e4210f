//===- AttachNVVMTarget.cpp - The chip that kernels are compiled for ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Capabilities.h"
#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_ATTACHNVVMTARGETPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

struct AttachNVVMTargetPass
    : kvq::impl::AttachNVVMTargetPassBase<AttachNVVMTargetPass> {
  using Base::Base;

  void runOnOperation() override {
    auto emitError = [&] { return mlir::emitError(getOperation()->getLoc()); };
    FailureOr<kvq::GPUTarget> target =
        kvq::GPUTarget::get(emitError, chip, ptx);
    if (failed(target))
      return signalPassFailure();
    Attribute attribute = NVVM::NVVMTargetAttr::get(
        &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda",
        target->chip->name, "+ptx" + std::to_string(target->ptx));
    getOperation()->walk([&](gpu::GPUModuleOp module) {
      module.setTargetsAttr(ArrayAttr::get(&getContext(), {attribute}));
    });
  }
};

} // namespace
