//===- SetMinBlocks.cpp - How many blocks share registers -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "kvq/Conversion/Capabilities.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_SETMINBLOCKSPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Bytes of the buffers that the blocks of `kernel` have each.
static int64_t getStaticSharedBytes(gpu::GPUFuncOp kernel) {
  int64_t bytes = 0;
  for (Value buffer : kernel.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(buffer.getType());
    bytes += type.getNumElements() *
             llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  return bytes;
}

/// The most values that a loop of the kernel carries.
static size_t countCarried(gpu::GPUFuncOp kernel) {
  size_t most = 0;
  kernel.walk([&](LoopLikeOpInterface loop) {
    most = std::max(most, loop.getInits().size());
  });
  return most;
}

namespace {

struct SetMinBlocksPass : kvq::impl::SetMinBlocksPassBase<SetMinBlocksPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](gpu::LaunchFuncOp launch) {
      return failed(setMinBlocks(launch)) ? WalkResult::interrupt()
                                          : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult setMinBlocks(gpu::LaunchFuncOp launch) {
    APInt dynamicBytes;
    Value size = launch.getDynamicSharedMemorySize();
    auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
        launch, launch.getKernelAttr());
    if (!size || !kernel || !matchPattern(size, m_ConstantInt(&dynamicBytes)))
      return success();
    auto targets = kernel->getParentOfType<gpu::GPUModuleOp>().getTargetsAttr();
    if (!targets)
      return success();
    // The chip with the most blocks is the one that shares registers the most.
    int64_t blocks = 1;
    for (auto target : targets.getAsRange<NVVM::NVVMTargetAttr>()) {
      FailureOr<GPUTarget> known =
          GPUTarget::get([&] { return emitError(launch.getLoc()); }, target);
      if (failed(known))
        return failure();
      blocks = std::max(blocks, countBlocks(known->chip->maxSharedBytes,
                                            dynamicBytes.getSExtValue() +
                                                getStaticSharedBytes(kernel)));
    }
    // Where memory has room for several, or registers for what loops carry and
    // as much again, the assembler weighs them better itself.
    constexpr size_t kManyValues = 64;
    if (blocks == 1 && countCarried(kernel) > kManyValues)
      kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      Builder(&getContext()).getI32IntegerAttr(1));
    return success();
  }
};

} // namespace
