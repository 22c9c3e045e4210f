//===- AttachNVVMTarget.cpp - The chip that kernels are compiled for ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_ATTACHNVVMTARGETPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

struct Chip {
  StringLiteral name;
  /// The first PTX version that has it, as 10 * major + minor.
  unsigned firstPTX;
};

constexpr Chip kChips[] = {{"sm_80", 70},
                           {"sm_89", 78},
                           {"sm_90a", 80},
                           {"sm_100a", 86},
                           {"sm_120a", 87}};

/// The PTX versions since the first chip's that LLVM 22 writes.
constexpr unsigned kPTXVersions[] = {70, 71, 72, 73, 74, 75, 76, 77, 78, 80,
                                     81, 82, 83, 84, 85, 86, 87, 88, 90};

struct AttachNVVMTargetPass
    : kvq::impl::AttachNVVMTargetPassBase<AttachNVVMTargetPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<NVVM::NVVMTargetAttr> target = getTarget();
    if (failed(target))
      return signalPassFailure();
    getOperation()->walk([&](gpu::GPUModuleOp module) {
      module.setTargetsAttr(ArrayAttr::get(&getContext(), {*target}));
    });
  }

private:
  /// LLVM ends the process for a chip or a version that does not fit.
  FailureOr<NVVM::NVVMTargetAttr> getTarget() {
    Location loc = getOperation()->getLoc();
    const Chip *known =
        llvm::find_if(kChips, [&](const Chip &c) { return c.name == chip; });
    if (known == std::end(kChips)) {
      auto names =
          llvm::map_range(kChips, [](const Chip &c) { return c.name; });
      emitError(loc) << "expected one of " << llvm::join(names, ", ")
                     << " as chip, found '" << chip << "'";
      return failure();
    }
    unsigned version = ptx == 0 ? known->firstPTX : ptx;
    if (version < known->firstPTX ||
        !llvm::is_contained(kPTXVersions, version)) {
      emitError(loc) << "expected a PTX version that LLVM writes, from "
                     << known->firstPTX << " for " << chip << ", found "
                     << version;
      return failure();
    }
    return NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3,
                                     "nvptx64-nvidia-cuda", chip,
                                     "+ptx" + std::to_string(version));
  }
};

} // namespace
