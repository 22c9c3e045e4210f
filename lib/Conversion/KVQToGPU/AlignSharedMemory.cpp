//===- AlignSharedMemory.cpp - Shared memory where LLVM takes it to be ----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_ALIGNSHAREDMEMORYPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

struct AlignSharedMemoryPass
    : kvq::impl::AlignSharedMemoryPassBase<AlignSharedMemoryPass> {
  using Base::Base;

  void runOnOperation() override {
    constexpr uint64_t kAlignment = 16;
    getOperation()->walk([&](LLVM::GlobalOp global) {
      if (global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared) &&
          !global.getAlignment())
        global.setAlignment(kAlignment);
    });
  }
};

} // namespace
