//===- Pipelines.cpp - Pipelines from caches to machine code ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Pipelines/Pipelines.h"

#include "kvq/Conversion/Passes.h"
#include "kvq/IR/KVQ.h"
#include "kvq/Transforms/Passes.h"

#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kvq::buildRaisePipeline(OpPassManager &pm,
                             const RaisePipelineOptions &options) {
  // Front ends call functions of their own, which caches would be hidden in.
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  pm.addNestedPass<func::FuncOp>(createRaiseAttentionPass({options.strict}));
  pm.addPass(createRaiseBuffersPass());
  pm.addPass(createRaiseCacheUpdatesPass({options.strict}));
  pm.addPass(createGiveResultsDestinationsPass());
  pm.addNestedPass<func::FuncOp>(createExpandPowersPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void kvq::buildTilePipeline(
    OpPassManager &pm, LayoutTarget target,
    const AssignSchedulePassOptions &schedule, const RowSchedule &rows,
    llvm::function_ref<void(OpPassManager &)> mapRegions) {
  pm.addNestedPass<func::FuncOp>(createRaiseAttentionPass());
  pm.addPass(createApplyPolicyPass());
  pm.addNestedPass<func::FuncOp>(createFuseDequantizePass());
  pm.addPass(createAssignLayoutPass({target}));
  pm.addPass(createOutlineKernelsPass());
  pm.addPass(createAssignSchedulePass(schedule));
  pm.addNestedPass<func::FuncOp>(
      createSplitTokensPass({/*splits=*/1, rows.queryTile, rows.rowChannels}));
  pm.addNestedPass<func::FuncOp>(createSplitRegionsPass());
  if (mapRegions)
    mapRegions(pm);
  pm.addNestedPass<func::FuncOp>(createTileAttentionPass());
  pm.addNestedPass<func::FuncOp>(
      createDecomposeAttentionPass({rows.dequantizeRows}));
  // Threads of a GPU have no lanes to sum over.
  pm.addNestedPass<func::FuncOp>(
      createFoldScalesPass({/*lanes=*/target == LayoutTarget::CPU}));
  pm.addPass(createSplitSegmentsPass());
  pm.addPass(createExpandCachesPass());
  pm.addNestedPass<func::FuncOp>(createDecomposeValuesPass());
  // No common subexpressions yet: see buildBufferizePipeline.
  pm.addPass(createCanonicalizerPass());
}

void kvq::buildBufferizePipeline(OpPassManager &pm) {
  // What is stored in the end is computed there, where nothing else reads it.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  // Scratch is told apart before equal values are merged: two `tensor.empty` of
  // one type would become one, and each use but one of it an allocation and a
  // copy per tile.
  pm.addPass(bufferization::createEmptyTensorToAllocTensorPass());
  pm.addPass(createCSEPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createDropReturnedArgumentsPass());

  // A tile of 64 f32 rows of 1024 channels: more is not scratch.
  constexpr unsigned kMaxScratchBytes = 256 * 1024;
  bufferization::PromoteBuffersToStackPassOptions promote;
  promote.maxAllocSizeInBytes = kMaxScratchBytes;
  auto &functions = pm.nest<func::FuncOp>();
  functions.addPass(bufferization::createBufferLoopHoistingPass());
  functions.addPass(bufferization::createPromoteBuffersToStackPass(promote));
  functions.addPass(createHoistScratchPass());

  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static kvq::AssignSchedulePassOptions
getScheduleOptions(const kvq::TilePipelineOptions &options) {
  return {options.splits,   options.tileTokens, options.headsInside,
          options.prefetch, options.threads,    options.vectorWidth,
          options.l1Bytes,  options.l2Bytes,    options.schedules,
          options.cpu,      options.queryTile};
}

void kvq::buildCPUPipeline(OpPassManager &pm,
                           const CPUPipelineOptions &options) {
  buildTilePipeline(pm, LayoutTarget::CPU, getScheduleOptions(options),
                    {options.queryTile, options.dequantizeRows});
  pm.addNestedPass<func::FuncOp>(createForwardCopiesPass());
  buildBufferizePipeline(pm);
  pm.addPass(createVerifyFusedPass({ScheduleAttr::kMostTileTokens}));
  pm.addNestedPass<func::FuncOp>(createConvertKVQToVectorPass(
      {options.vectorWidth, options.byteProducts}));
  pm.addNestedPass<func::FuncOp>(createPrefetchTilesPass());
  pm.addNestedPass<func::FuncOp>(createExpandFloatsPass(
      {options.expandHalf, options.expandRounding, options.expandFMA}));
  buildVectorToLLVMPipeline(pm, options.openMP);
}

void kvq::registerPipelines() {
  PassPipelineRegistration<CPUPipelineOptions>(
      "kvq-cpu-pipeline",
      "Lowers kvq ops and what surrounds them to the LLVM dialect for the CPU",
      buildCPUPipeline);
  PassPipelineRegistration<RaisePipelineOptions>(
      "kvq-raise",
      "Turns attention and caches of models in linalg on tensors into those of "
      "kvq",
      buildRaisePipeline);
  PassPipelineRegistration<TilePipelineOptions>(
      "kvq-tile-pipeline",
      "Lowers kvq ops to structured ops on tensors, tile by tile",
      [](OpPassManager &pm, const TilePipelineOptions &options) {
        buildTilePipeline(pm, LayoutTarget::CPU, getScheduleOptions(options),
                          {options.queryTile, options.dequantizeRows});
      });
  PassPipelineRegistration<NVVMPipelineOptions>(
      "kvq-nvvm-pipeline",
      "Lowers kvq ops and what surrounds them to kernels for NVIDIA GPUs",
      buildNVVMPipeline);
  PassPipelineRegistration<KernelPipelineOptions>(
      "kvq-kernels-to-nvvm-pipeline",
      "Outlines launches of kernels and lowers the kernels to the LLVM dialect",
      [](OpPassManager &pm, const KernelPipelineOptions &options) {
        buildKernelsToNVVMPipeline(pm, options.chip, options.ptx,
                                   options.format);
      });
  PassPipelineRegistration<>(
      "kvq-launches-to-llvm-pipeline",
      "Lowers what launches kernels to functions that call the run-time "
      "library",
      buildLaunchesToLLVMPipeline);
  PassPipelineRegistration<>(
      "kvq-vector-to-llvm-pipeline",
      "Lowers loops over vectors and memrefs to the LLVM dialect",
      [](OpPassManager &pm) { buildVectorToLLVMPipeline(pm); });
  PassPipelineRegistration<>(
      "kvq-bufferize-pipeline",
      "Turns the tensors of kvq kernels into buffers, in place",
      buildBufferizePipeline);
}
