//===- ExternalizeSharedMemory.cpp - Dynamic shared memory of kernels -----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_EXTERNALIZESHAREDMEMORYPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

/// Whether `global` is shared memory of no size of its own.
static bool isDynamicSharedMemory(LLVM::GlobalOp global) {
  auto array = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
  return array && array.getNumElements() == 0 &&
         global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared);
}

static bool isStaticSharedMemory(LLVM::GlobalOp global) {
  return global.getAddrSpace() == unsigned(NVVM::NVVMMemorySpace::Shared) &&
         !isDynamicSharedMemory(global);
}

namespace {

struct ExternalizeSharedMemoryPass
    : kvq::impl::ExternalizeSharedMemoryPassBase<ExternalizeSharedMemoryPass> {
  using Base::Base;

  void runOnOperation() override {
    // Copies are of 16 bytes, and what moves them within 128 bytes counts from
    // there.
    constexpr uint64_t kAlignment = 128;
    // Optimization takes it for granted of larger arrays, but PTX says that of
    // an element.
    constexpr uint64_t kStaticAlignment = 16;
    getOperation()->walk([&](LLVM::GlobalOp global) {
      if (isStaticSharedMemory(global) && !global.getAlignment())
        global.setAlignment(kStaticAlignment);
      if (!isDynamicSharedMemory(global))
        return;
      global.setLinkage(LLVM::Linkage::External);
      global.setAlignment(kAlignment);
    });
  }
};

} // namespace
