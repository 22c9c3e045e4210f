//===- VectorToLLVM.cpp - Vector loops to the LLVM dialect ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Pipelines/Pipelines.h"

#include "kvq/Conversion/Passes.h"
#include "kvq/Transforms/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToOpenMP/SCFToOpenMP.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Work items to loops: of one thread, or of a team of OpenMP.
static void addWorkItemPasses(OpPassManager &pm, bool openMP) {
  pm.addNestedPass<func::FuncOp>(kvq::createExpectBuffersPass());
  if (openMP) {
    pm.addNestedPass<func::FuncOp>(createForallToParallelLoopPass());
    pm.addPass(createConvertSCFToOpenMPPass());
    pm.addNestedPass<func::FuncOp>(kvq::createDealOutWorkItemsPass());
  } else {
    pm.addNestedPass<func::FuncOp>(createForallToForLoopPass());
  }
  // The scratch of work items that now run one after the other: once a call, or
  // a thread, not once an item, or the stack grows with their number.
  pm.addNestedPass<func::FuncOp>(kvq::createHoistScratchPass());
}

void kvq::buildVectorToLLVMPipeline(OpPassManager &pm, bool openMP) {
  addWorkItemPasses(pm, openMP);
  // Index arithmetic in the open, where it can be shared and hoisted.
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createLoopInvariantCodeMotionPass());
  pm.addPass(kvq::createLowerLoopsPass());
  pm.addPass(kvq::createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}
