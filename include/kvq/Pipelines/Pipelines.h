//===- Pipelines.h - Pipelines from caches to machine code ------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_PIPELINES_PIPELINES_H
#define KVQ_PIPELINES_PIPELINES_H

#include "kvq/Conversion/ByteProducts.h"
#include "kvq/Conversion/CodeCopies.h"
#include "kvq/Transforms/Passes.h"
#include "kvq/Transforms/QueryTile.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir::kvq {

/// What is done with the rows of work items.
struct RowSchedule {
  /// Query tokens in an item; 0: by how many there are.
  int64_t queryTile = 1;
  /// Least rows of an item whose tiles become f32 once for all; 0: none.
  int64_t dequantizeRows = 0;
  /// Most channels of all rows of an item with a query tile of 0.
  int64_t rowChannels = kCPURowChannels;
};

/// Options of `kvq-raise`.
struct RaisePipelineOptions : PassPipelineOptions<RaisePipelineOptions> {
  PassOptions::Option<bool> strict{
      *this, "strict",
      llvm::cl::desc("Attention, or a cache, that is not raised is an error"),
      llvm::cl::init(false)};
};

/// Options of `kvq-tile-pipeline`: what schedules are made from.
struct TilePipelineOptions : PassPipelineOptions<TilePipelineOptions> {
  PassOptions::Option<int64_t> splits{
      *this, "splits",
      llvm::cl::desc("Token ranges of a query token, attended to independently "
                     "(0: by the file or the cost model)"),
      llvm::cl::init(0)};
  PassOptions::Option<int64_t> tileTokens{
      *this, "tile-tokens",
      llvm::cl::desc(
          "Most tokens in a tile (0: by the file or the cost model)"),
      llvm::cl::init(0)};
  PassOptions::Option<int64_t> headsInside{
      *this, "heads-inside",
      llvm::cl::desc(
          "Tokens of which a work item reads all KV heads in turn, 0 "
          "for a work item for each head (-1: by the file or the "
          "cost model)"),
      llvm::cl::init(-1)};
  PassOptions::Option<int64_t> prefetch{
      *this, "prefetch",
      llvm::cl::desc("How many tiles ahead lines are prefetched (-1: by the "
                     "file or the cost model)"),
      llvm::cl::init(-1)};
  PassOptions::Option<int64_t> threads{
      *this, "threads", llvm::cl::desc("Threads that a call runs on"),
      llvm::cl::init(1)};
  PassOptions::Option<int64_t> queryTile{
      *this, "query-tile",
      llvm::cl::desc("Query tokens in a work item (0: by how many there are)"),
      llvm::cl::init(0)};
  PassOptions::Option<int64_t> dequantizeRows{
      *this, "dequantize-rows",
      llvm::cl::desc(
          "Least rows of a work item whose tiles become f32 once for "
          "all rows (0: none)"),
      llvm::cl::init(16)};
  PassOptions::Option<int64_t> vectorWidth{
      *this, "vector-width",
      llvm::cl::desc("Elements of f32 in a vector register"),
      llvm::cl::init(8)};
  PassOptions::Option<int64_t> l1Bytes{
      *this, "l1-bytes", llvm::cl::desc("Bytes of a core's first data cache"),
      llvm::cl::init(32 << 10)};
  PassOptions::Option<int64_t> l2Bytes{
      *this, "l2-bytes", llvm::cl::desc("Bytes of a core's second cache"),
      llvm::cl::init(512 << 10)};
  PassOptions::Option<std::string> schedules{
      *this, "schedules", llvm::cl::desc("Schedules that tune has written"),
      llvm::cl::init("")};
  PassOptions::Option<std::string> cpu{
      *this, "cpu",
      llvm::cl::desc("Processor, as LLVM names it, whose schedules hold"),
      llvm::cl::init("")};
};

/// Options of `kvq-cpu-pipeline`.
struct CPUPipelineOptions : TilePipelineOptions {
  PassOptions::Option<ByteProducts> byteProducts{
      *this, "byte-products",
      llvm::cl::desc("The instruction for sums of four products of bytes"),
      llvm::cl::init(ByteProducts::None),
      llvm::cl::values(
          clEnumValN(ByteProducts::None, "none", "the target has none"),
          clEnumValN(ByteProducts::AVXVNNI, "avxvnni",
                     "vpdpbusd of up to 256 bits"),
          clEnumValN(ByteProducts::AVX512VNNI, "avx512vnni",
                     "vpdpbusd of up to 512 bits"),
          clEnumValN(ByteProducts::Neon, "neon",
                     "none, and none for sums of two either"),
          clEnumValN(ByteProducts::NeonDot, "dotprod", "sdot of 128 bits"),
          clEnumValN(ByteProducts::NeonMixedDot, "i8mm", "usdot of 128 bits"))};
  PassOptions::Option<bool> expandHalf{
      *this, "expand-half",
      llvm::cl::desc("Write out conversions of f16: the target has none"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> expandRounding{
      *this, "expand-rounding",
      llvm::cl::desc("Write out rounding to integers: the target has none"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> expandFMA{
      *this, "expand-fma",
      llvm::cl::desc("Multiply and add apart in polynomials: the target does "
                     "not at once"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> openMP{
      *this, "openmp",
      llvm::cl::desc("Deal work items out to the threads of OpenMP"),
      llvm::cl::init(false)};
};

/// Options of `kvq-kernels-to-nvvm-pipeline`.
struct KernelPipelineOptions : PassPipelineOptions<KernelPipelineOptions> {
  PassOptions::Option<std::string> chip{
      *this, "chip", llvm::cl::desc("NVIDIA's name of the chip"),
      llvm::cl::init("sm_80")};
  PassOptions::Option<unsigned> ptx{
      *this, "ptx",
      llvm::cl::desc("PTX version, 83 for 8.3 (0: the first that has all "
                     "that the chip can do)"),
      llvm::cl::init(0)};
  PassOptions::Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What gpu-module-to-binary makes: isa, bin, ... (empty: "
                     "the kernels stay in the LLVM dialect)"),
      llvm::cl::init("")};
};

/// Options of `kvq-nvvm-pipeline`.
struct NVVMPipelineOptions : PassPipelineOptions<NVVMPipelineOptions> {
  PassOptions::Option<int64_t> splits{
      *this, "splits",
      llvm::cl::desc("Token ranges per sequence, attended to independently"),
      llvm::cl::init(1)};
  PassOptions::Option<int64_t> tileTokens{
      *this, "tile-tokens", llvm::cl::desc("Most tokens in a tile"),
      llvm::cl::init(64)};
  PassOptions::Option<int64_t> queryTile{
      *this, "query-tile",
      llvm::cl::desc("Query tokens in a block (0: by how many there are)"),
      llvm::cl::init(0)};
  PassOptions::Option<int64_t> blockSize{*this, "block-size",
                                         llvm::cl::desc("Threads in a block"),
                                         llvm::cl::init(128)};
  PassOptions::Option<bool> tensorCores{
      *this, "tensor-cores",
      llvm::cl::desc("Have tensor cores do what attention they can"),
      llvm::cl::init(true)};
  PassOptions::Option<CodeCopies> copies{
      *this, "copies",
      llvm::cl::desc("How codes come to the memory of a block"),
      llvm::cl::init(CodeCopies::Async),
      llvm::cl::values(
          clEnumValN(CodeCopies::Async, "async", "16 bytes a lane"),
          clEnumValN(CodeCopies::Bulk, "bulk",
                     "rows that lie together by one lane, where the chip has "
                     "bulk copies"))};
  PassOptions::Option<std::string> chip{
      *this, "chip", llvm::cl::desc("NVIDIA's name of the chip"),
      llvm::cl::init("sm_80")};
  PassOptions::Option<unsigned> ptx{
      *this, "ptx",
      llvm::cl::desc("PTX version, 83 for 8.3 (0: the first that has all "
                     "that the chip can do)"),
      llvm::cl::init(0)};
  PassOptions::Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What gpu-module-to-binary makes: isa, bin, ... (empty: "
                     "the kernels stay in the LLVM dialect)"),
      llvm::cl::init("")};
};

/// Models in linalg on tensors, as front ends make them, to models over exact
/// caches: attention, updates of caches, functions that store their results
/// where the caller says.
void buildRaisePipeline(OpPassManager &pm, const RaisePipelineOptions &options);

/// Attention over caches to tile-sized structured ops on tensors. The CPU and
/// the GPU pipeline both begin with it: the target is what layouts that are
/// left open are chosen for, and schedules. `mapRegions` adds passes that take
/// what the target does by whole regions, before the rest is tiled.
void buildTilePipeline(
    OpPassManager &pm, LayoutTarget target,
    const AssignSchedulePassOptions &schedule, const RowSchedule &rows,
    llvm::function_ref<void(OpPassManager &)> mapRegions = {});

/// Tensors to buffers, over function borders, in place. Scratch of a static
/// size comes to lie on the stack; what stays on the heap is freed. Results
/// that are buffers of arguments are dropped from functions.
void buildBufferizePipeline(OpPassManager &pm);

/// Loops over vectors, memrefs and functions to the LLVM dialect. Functions
/// keep their memref descriptors and `llvm.emit_c_interface`. With `openMP` the
/// iterations of `scf.forall` are dealt out to the threads of OpenMP, otherwise
/// they run one after the other.
void buildVectorToLLVMPipeline(OpPassManager &pm, bool openMP = false);

/// Caches to the LLVM dialect for the CPU.
void buildCPUPipeline(OpPassManager &pm, const CPUPipelineOptions &options);

/// Launches of kernels to functions of the LLVM dialect, all in one
/// `gpu.module`; what launches them keeps its memrefs.
void buildKernelsToNVVMPipeline(OpPassManager &pm, const std::string &chip,
                                unsigned ptx, const std::string &format);

/// What launches kernels, to the LLVM dialect: functions that call kvq's
/// run-time library. The kernels are removed.
void buildLaunchesToLLVMPipeline(OpPassManager &pm);

/// Caches to kernels for NVIDIA GPUs.
void buildNVVMPipeline(OpPassManager &pm, const NVVMPipelineOptions &options);

void registerPipelines();

/// Registers the interfaces that pipelines need of MLIR's own ops, by which
/// those bufferize, tile, free buffers, bound values, and become code of
/// kernels. A host may register some of them as well, as
/// `mlir::registerAllDialects` does.
void registerUpstreamInterfaces(DialectRegistry &registry);

} // namespace mlir::kvq

#endif // KVQ_PIPELINES_PIPELINES_H
