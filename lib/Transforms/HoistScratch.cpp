//===- HoistScratch.cpp - Stack buffers out of sequential control flow ---===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_HOISTSCRATCHPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

struct HoistScratchPass : kvq::impl::HoistScratchPassBase<HoistScratchPass> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

/// Whether one thread runs what lies in `op` piece after piece, so that buffers
/// can be shared by all of it.
static bool isSequential(Operation *op) {
  if (isa_and_nonnull<scf::SCFDialect>(op->getDialect()))
    return !isa<scf::ForallOp, scf::ParallelOp>(op);
  return isa<memref::AllocaScopeOp, omp::WsloopOp, omp::LoopNestOp>(op);
}

/// The block at whose start `alloca` can stand: of the closest enclosing region
/// that several threads may run at once, or of the function.
static Block *getScratchBlock(memref::AllocaOp alloca, Operation *function) {
  Block *block = alloca->getBlock();
  for (Operation *parent = block->getParentOp();
       parent != function && isSequential(parent);
       parent = block->getParentOp())
    block = parent->getBlock();
  // The first block of the region is the one that is run once.
  return &block->getParent()->front();
}

void HoistScratchPass::runOnOperation() {
  SmallVector<memref::AllocaOp> allocas;
  getOperation().walk([&](memref::AllocaOp alloca) {
    if (alloca->getNumOperands() == 0)
      allocas.push_back(alloca);
  });
  // Each goes to the front, so that the last one first keeps their order.
  for (memref::AllocaOp alloca : llvm::reverse(allocas))
    alloca->moveBefore(&getScratchBlock(alloca, getOperation())->front());
}
