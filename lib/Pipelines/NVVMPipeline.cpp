//===- NVVMPipeline.cpp - Pipelines to NVIDIA GPUs ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Pipelines/Pipelines.h"

#include "kvq/Conversion/Passes.h"
#include "kvq/IR/KVQ.h"
#include "kvq/Transforms/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kvq::buildKernelsToNVVMPipeline(OpPassManager &pm, const std::string &chip,
                                     unsigned ptx, const std::string &format) {
  // Constants are part of the kernels, not arguments.
  pm.addNestedPass<func::FuncOp>(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());
  pm.addPass(createAttachNVVMTargetPass({chip, ptx}));
  pm.addPass(createSetMinBlocksPass());

  auto &kernels = pm.nest<gpu::GPUModuleOp>();
  kernels.addPass(affine::createAffineExpandIndexOpsPass());
  kernels.addPass(memref::createExpandStridedMetadataPass());
  kernels.addPass(createLowerAffinePass());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createLoopInvariantCodeMotionPass());
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createMathToIntrinsicsPass());
  kernels.addPass(createConvertGpuOpsToNVVMOps());
  kernels.addPass(createExternalizeSharedMemoryPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCheckCapabilitiesPass());

  if (!format.empty()) {
    GpuModuleToBinaryPassOptions toBinary;
    toBinary.compilationTarget = format;
    pm.addPass(createGpuModuleToBinaryPass(toBinary));
  }
}

void kvq::buildLaunchesToLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createLaunchesToLLVMPass());
  buildVectorToLLVMPipeline(pm);
}

void kvq::buildNVVMPipeline(OpPassManager &pm,
                            const NVVMPipelineOptions &options) {
  // The cost model is that of processors.
  AssignSchedulePassOptions schedule;
  schedule.splits = options.splits;
  schedule.tileTokens = options.tileTokens;
  schedule.queryTile = options.queryTile;
  // Tiles stay codes: a block's workgroup memory does not hold ones of f32
  // beside the state of its rows.
  RowSchedule rows = {options.queryTile, /*dequantizeRows=*/0, kGPURowChannels};
  auto mapRegions = [&](OpPassManager &pm) {
    if (options.tensorCores)
      pm.addNestedPass<func::FuncOp>(
          createMapToTensorCoresPass({options.chip, options.ptx}));
  };
  buildTilePipeline(pm, LayoutTarget::GPU, schedule, rows, mapRegions);
  buildBufferizePipeline(pm);
  pm.addPass(createVerifyFusedPass({ScheduleAttr::kMostTileTokens}));
  pm.addNestedPass<func::FuncOp>(createConvertKVQToGPUPass(
      {options.blockSize, options.chip, options.copies}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  buildKernelsToNVVMPipeline(pm, options.chip, options.ptx, options.format);
}
