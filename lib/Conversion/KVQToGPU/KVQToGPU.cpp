//===- KVQToGPU.cpp - Parallel loops over work items to kernels -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "Distribute.h"
#include "RematerializeQueries.h"
#include "TensorCore/BlockAttention.h"
#include "TensorCore/BlockPlan.h"
#include "TensorCore/WarpBuilder.h"
#include "WorkItem.h"
#include "WorkgroupMemory.h"

#include "kvq/Conversion/Capabilities.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_CONVERTKVQTOGPUPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Whether `op` reads or writes the elements of buffers.
static bool accessesBuffers(Operation *op) {
  return isa<linalg::LinalgOp, BlockAttentionOp, memref::CopyOp, memref::LoadOp,
             memref::StoreOp>(op);
}

//===----------------------------------------------------------------------===//
// The code that the threads of a block run together
//===----------------------------------------------------------------------===//

/// The i32 address of the launch's dynamic workgroup memory.
static Value getRing(OpBuilder &builder, Location loc) {
  auto type = MemRefType::get(
      {ShapedType::kDynamic}, builder.getI8Type(), MemRefLayoutAttrInterface(),
      gpu::AddressSpaceAttr::get(builder.getContext(),
                                 gpu::AddressSpace::Workgroup));
  Value memory = gpu::DynamicSharedMemoryOp::create(builder, loc, type);
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memory);
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                    address);
}

/// The thread, for what comes after block attention: read again, so that
/// nothing that follows from it is computed before, and in registers meanwhile.
static Value getThreadAfter(RewriterBase &rewriter, Operation *op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(op);
  WarpBuilder w(rewriter, op->getLoc());
  return w.toIndex(w.readThread());
}

static LogicalResult convertAccess(RewriterBase &rewriter, Operation *op,
                                   ThreadBlock &block, CodeCopies copies) {
  Location loc = op->getLoc();
  rewriter.setInsertionPointAfter(op);
  // No thread is ahead of another by more than one access, reads included: so
  // none reads what is not written yet, or writes what is still to be read.
  gpu::BarrierOp::create(rewriter, loc);
  rewriter.setInsertionPoint(op);
  if (isa<memref::LoadOp>(op))
    return success(); // The same in every thread.
  if (auto attention = dyn_cast<BlockAttentionOp>(op)) {
    recomputeAfter(rewriter, op, block.item);
    block.thread = getThreadAfter(rewriter, op);
    return emitBlockAttention(rewriter, attention, getRing(rewriter, loc),
                              copies);
  }
  if (isa<memref::StoreOp>(op)) {
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value isFirst = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, block.thread, zero);
    auto guarded = scf::IfOp::create(rewriter, loc, isFirst);
    rewriter.moveOpBefore(op, guarded.thenBlock()->getTerminator());
    return success();
  }
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    Operation *generic = linalg::makeMemRefCopyOp(
        rewriter, loc, copy.getSource(), copy.getTarget());
    rewriter.eraseOp(op);
    op = generic;
  }
  return distributeOverThreads(rewriter, cast<linalg::LinalgOp>(op), block);
}

/// Converts what `region` does to buffers. Control flow and index arithmetic
/// stay as they are: they depend on nothing that differs between threads, so
/// all threads reach every barrier.
static LogicalResult convertRegion(RewriterBase &rewriter, Region &region,
                                   ThreadBlock block, CodeCopies copies) {
  for (Operation &op : llvm::make_early_inc_range(region.getOps())) {
    if (accessesBuffers(&op)) {
      if (failed(convertAccess(rewriter, &op, block, copies)))
        return failure();
    } else if (isa<scf::ForOp, scf::IfOp>(op)) {
      for (Region &inner : op.getRegions())
        if (failed(convertRegion(rewriter, inner, block, copies)))
          return failure();
    } else if (!isa<gpu::TerminatorOp>(op) &&
               (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))) {
      return op.emitError("expected structured ops, copies, loads and stores "
                          "of buffers, scf.for, scf.if and ops without side "
                          "effects in a kernel, found '")
             << op.getName() << "'";
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops over work items
//===----------------------------------------------------------------------===//

static LogicalResult checkWorkItems(scf::ForallOp forall) {
  if (forall->getNumResults() != 0)
    return forall.emitError("expected buffers in place of shared outputs; "
                            "bufferize before this pass");
  if (!forall.isNormalized())
    return forall.emitError(
        "expected a loop over work items from 0 with steps of 1");
  return success();
}

/// Makes `forall` a launch of one block for each of its iterations; the body is
/// still that of one work item.
/// `item` is set to its.
static gpu::LaunchOp createLaunch(RewriterBase &rewriter, scf::ForallOp forall,
                                  StringRef name, int64_t blockSize,
                                  WorkItem &item) {
  Location loc = forall.getLoc();
  rewriter.setInsertionPoint(forall);
  SmallVector<Value> extents = getValueOrCreateConstantIndexOp(
      rewriter, loc, forall.getMixedUpperBound());
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value items = one;
  for (Value extent : extents)
    items = rewriter.createOrFold<arith::MulIOp>(loc, items, extent);
  Value threads = arith::ConstantIndexOp::create(rewriter, loc, blockSize);
  // All along x, where a grid may be largest.
  auto launch =
      gpu::LaunchOp::create(rewriter, loc, items, one, one, threads, one, one);
  // Where outlining puts it: all kernels in one module, so in one binary.
  launch.setModuleAttr(rewriter.getAttr<FlatSymbolRefAttr>("kernels"));
  launch.setFunctionAttr(rewriter.getAttr<FlatSymbolRefAttr>(name));

  Block &body = launch.getBody().front();
  rewriter.setInsertionPointToStart(&body);
  item.extents.assign(extents.begin(), extents.end());
  WarpBuilder w(rewriter, loc);
  item.setIndices(rewriter, loc, w.toI32(launch.getBlockIds().x));
  rewriter.eraseOp(forall.getTerminator());
  rewriter.inlineBlockBefore(forall.getBody(), &body, body.end(), item.indices);
  rewriter.setInsertionPointToEnd(&body);
  gpu::TerminatorOp::create(rewriter, loc);
  rewriter.eraseOp(forall);
  return launch;
}

static LogicalResult checkBlockSize(scf::ForallOp forall, int64_t blockSize) {
  WalkResult result = forall.walk([&](BlockAttentionOp op) -> WalkResult {
    constexpr int64_t kThreads = 32 * kBlockWarps;
    if (blockSize == kThreads)
      return success();
    return op.emitOpError("expected a block-size of ")
           << kThreads << ", got " << blockSize;
  });
  return failure(result.wasInterrupted());
}

static LogicalResult convertWorkItems(RewriterBase &rewriter,
                                      scf::ForallOp forall, StringRef name,
                                      int64_t blockSize, int64_t mostBytes,
                                      CodeCopies copies) {
  if (failed(checkWorkItems(forall)) ||
      failed(checkBlockSize(forall, blockSize)))
    return failure();
  WorkItem item;
  gpu::LaunchOp launch = createLaunch(rewriter, forall, name, blockSize, item);
  if (failed(rematerializeQueries(rewriter, launch)) ||
      failed(moveScratchToWorkgroup(rewriter, launch, mostBytes)))
    return failure();
  return convertRegion(rewriter, launch.getBody(),
                       {launch.getThreadIds().x, blockSize, item}, copies);
}

//===----------------------------------------------------------------------===//
// What runs kernels one after another
//===----------------------------------------------------------------------===//

static bool isInKernel(Operation *op) {
  return op->getParentOfType<gpu::LaunchOp>() ||
         op->getParentOfType<gpu::GPUModuleOp>();
}

/// Allocates in the GPU's memory what one kernel hands to the next.
static void allocateOnGPU(RewriterBase &rewriter, Operation *root) {
  SmallVector<Operation *> allocs;
  root->walk([&](Operation *op) {
    if (isa<memref::AllocaOp, memref::AllocOp>(op) && !isInKernel(op))
      allocs.push_back(op);
  });
  for (Operation *alloc : allocs) {
    Location loc = alloc->getLoc();
    Value buffer = alloc->getResult(0);
    rewriter.setInsertionPoint(alloc);
    auto onGPU = gpu::AllocOp::create(
        rewriter, loc, buffer.getType(), /*asyncToken=*/nullptr,
        /*asyncDependencies=*/{}, alloc->getOperands(),
        /*symbolOperands=*/{});
    for (Operation *user : llvm::make_early_inc_range(buffer.getUsers()))
      if (isa<memref::DeallocOp>(user)) {
        rewriter.setInsertionPoint(user);
        rewriter.replaceOpWithNewOp<gpu::DeallocOp>(
            user, TypeRange(), ValueRange{onGPU.getMemref()});
      }
    if (isa<memref::AllocaOp>(alloc)) {
      rewriter.setInsertionPoint(alloc->getBlock()->getTerminator());
      gpu::DeallocOp::create(rewriter, loc, TypeRange(),
                             ValueRange{onGPU.getMemref()});
    }
    rewriter.replaceOp(alloc, onGPU.getMemref());
  }
}

/// Buffers are in the GPU's memory, where only kernels can access them.
static LogicalResult checkHost(Operation *root) {
  WalkResult result = root->walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<gpu::LaunchOp, gpu::GPUModuleOp>(op))
      return WalkResult::skip();
    if (!accessesBuffers(op))
      return WalkResult::advance();
    op->emitError("expected accesses to buffers only inside of scf.forall, "
                  "which become kernels, found '")
        << op->getName() << "' outside";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct ConvertKVQToGPUPass
    : kvq::impl::ConvertKVQToGPUPassBase<ConvertKVQToGPUPass> {
  using Base::Base;

  void runOnOperation() override {
    constexpr int64_t kMaxBlockSize = 1024;
    if (blockSize < 1 || blockSize > kMaxBlockSize) {
      emitError(getOperation()->getLoc())
          << "expected a block-size from 1 to " << kMaxBlockSize << ", found "
          << blockSize.getValue();
      return signalPassFailure();
    }
    FailureOr<int64_t> mostBytes = getMostSharedBytes();
    if (failed(mostBytes) || failed(checkCopies()))
      return signalPassFailure();
    SmallVector<scf::ForallOp> foralls;
    getOperation()->walk<WalkOrder::PreOrder>([&](scf::ForallOp forall) {
      foralls.push_back(forall);
      return WalkResult::skip();
    });
    IRRewriter rewriter(&getContext());
    llvm::StringMap<unsigned> numKernels; // by function
    for (scf::ForallOp forall : foralls) {
      auto function = forall->getParentOfType<FunctionOpInterface>();
      std::string name = (function.getName() + "_kernel").str();
      if (unsigned number = numKernels[function.getName()]++)
        name += "_" + std::to_string(number);
      if (failed(convertWorkItems(rewriter, forall, name, blockSize, *mostBytes,
                                  copies)))
        return signalPassFailure();
    }
    if (failed(checkHost(getOperation())))
      return signalPassFailure();
    allocateOnGPU(rewriter, getOperation());
  }

private:
  /// The chip has what copies are to be done by.
  LogicalResult checkCopies() {
    if (copies != CodeCopies::Bulk)
      return success();
    auto emitError = [&] {
      return ::mlir::emitError(getOperation()->getLoc());
    };
    if (chip.empty())
      return emitError() << "expected a chip with copies=bulk, got none";
    FailureOr<GPUTarget> target = GPUTarget::get(emitError, chip, /*ptx=*/0);
    return failed(target) ? failure()
                          : target->require(emitError, GPUFeature::BulkCopy);
  }

  /// Of a block of the chip, or of the one with the most.
  FailureOr<int64_t> getMostSharedBytes() {
    int64_t most = 0;
    for (const GPUChip &known : getGPUChips())
      most = std::max(most, known.maxSharedBytes);
    if (chip.empty())
      return most;
    FailureOr<GPUTarget> target = GPUTarget::get(
        [&] { return emitError(getOperation()->getLoc()); }, chip, /*ptx=*/0);
    if (failed(target))
      return failure();
    return target->chip->maxSharedBytes;
  }
};

} // namespace
