//===- WarpBarriers.cpp - Bulk copies and what waits for them -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvq;

Value WarpBuilder::electLane() {
  return NVVM::ElectSyncOp::create(builder, loc, builder.getI1Type(),
                                   /*membermask=*/Value());
}

void WarpBuilder::initBarrier(Value shared, int64_t offset) {
  NVVM::MBarrierInitOp::create(builder, loc, sharedPointer(shared, offset),
                               i32(1), /*predicate=*/Value());
}

void WarpBuilder::invalidateBarrier(Value shared, int64_t offset) {
  NVVM::MBarrierInvalOp::create(builder, loc, sharedPointer(shared, offset));
}

void WarpBuilder::arrive(Value shared, int64_t offset) {
  NVVM::MBarrierArriveOp::create(builder, loc, builder.getI64Type(),
                                 sharedPointer(shared, offset),
                                 /*count=*/Value());
}

void WarpBuilder::arriveExpecting(Value shared, int64_t offset, int64_t bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(
      builder, loc, /*res=*/Type(), sharedPointer(shared, offset), i32(bytes),
      NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
}

void WarpBuilder::awaitPhase(Value shared, int64_t offset, int64_t parity) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::WhileOp::create(builder, loc, TypeRange(), ValueRange());
  builder.createBlock(&loop.getBefore());
  Value isDone = NVVM::MBarrierTryWaitOp::create(
      builder, loc, builder.getI1Type(), sharedPointer(shared, offset),
      i32(parity), /*ticks=*/Value());
  Value isPending = arith::XOrIOp::create(
      builder, loc, isDone,
      arith::ConstantIntOp::create(builder, loc, true, 1));
  scf::ConditionOp::create(builder, loc, isPending, ValueRange());
  builder.createBlock(&loop.getAfter());
  scf::YieldOp::create(builder, loc);
}

void WarpBuilder::fenceForBulkCopies() {
  NVVM::FenceProxyOp::create(
      builder, loc, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(builder.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

void WarpBuilder::copyInBulk(Value shared, int64_t sharedOffset, Value global,
                             int64_t globalOffset, int64_t bytes,
                             int64_t barrierOffset) {
  // Addresses in the block's memory are such in that of its cluster; other than
  // these, PTX has no copies to before 8.6.
  Type clusterPointer = LLVM::LLVMPointerType::get(
      builder.getContext(), unsigned(NVVM::NVVMMemorySpace::SharedCluster));
  Value target = LLVM::IntToPtrOp::create(builder, loc, clusterPointer,
                                          add(shared, sharedOffset));
  NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
      builder, loc, target, globalPointer(global, globalOffset),
      sharedPointer(shared, barrierOffset), i32(bytes),
      /*multicastMask=*/Value(), /*l2CacheHint=*/Value());
}
