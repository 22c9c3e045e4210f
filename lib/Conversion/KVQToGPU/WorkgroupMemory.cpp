//===- WorkgroupMemory.cpp - Scratch of a kernel in workgroup memory ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkgroupMemory.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kvq;

static MemRefType inWorkgroup(MemRefType type) {
  return MemRefType::Builder(type).setMemorySpace(gpu::AddressSpaceAttr::get(
      type.getContext(), gpu::AddressSpace::Workgroup));
}

/// The most elements that `alloc` can have.
static FailureOr<int64_t> getMaxElements(Operation *alloc) {
  auto type = cast<MemRefType>(alloc->getResult(0).getType());
  int64_t elements = 1;
  auto dynamicSize = alloc->operand_begin();
  for (int64_t size : type.getShape()) {
    if (ShapedType::isDynamic(size)) {
      FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
          presburger::BoundType::UB,
          ValueBoundsConstraintSet::Variable(*dynamicSize++),
          /*stopCondition=*/nullptr, /*closedUB=*/true);
      if (failed(bound))
        return alloc->emitError(
                   "expected scratch with a constant bound on its size, found ")
               << type;
      size = *bound;
    }
    elements *= size;
  }
  return elements;
}

/// A contiguous view of type `type` with the sizes of `alloc` on the flat
/// buffer `elements`.
static Value viewElements(OpBuilder &builder, Operation *alloc, MemRefType type,
                          Value elements) {
  SmallVector<OpFoldResult> sizes = getMixedValues(
      type.getShape(), alloc->getOperands(), builder.getContext());
  SmallVector<OpFoldResult> strides(sizes.size());
  OpFoldResult stride = builder.getIndexAttr(1);
  AffineExpr product =
      builder.getAffineSymbolExpr(0) * builder.getAffineSymbolExpr(1);
  for (int64_t axis = sizes.size() - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride = affine::makeComposedFoldedAffineApply(
        builder, alloc->getLoc(), product, {stride, sizes[axis]});
  }
  return memref::ReinterpretCastOp::create(
      builder, alloc->getLoc(), type, elements,
      /*offset=*/builder.getIndexAttr(0), sizes, strides);
}

/// Gives what views `buffer` the memory space that `buffer` has.
static LogicalResult propagateMemorySpace(Value buffer) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1) {
      Value view = user->getResult(0);
      if (auto type = dyn_cast<MemRefType>(view.getType())) {
        view.setType(inWorkgroup(type));
        if (failed(propagateMemorySpace(view)))
          return failure();
        continue;
      }
    }
    if (!isa<linalg::LinalgOp, BlockAttentionOp, memref::CopyOp, memref::DimOp,
             memref::LoadOp, memref::StoreOp>(user))
      return user->emitError("expected only views, structured ops, block "
                             "attention, copies, loads and stores of scratch, "
                             "found '")
             << user->getName() << "'";
  }
  return success();
}

static LogicalResult moveToWorkgroup(RewriterBase &rewriter,
                                     gpu::LaunchOp launch, Operation *alloc,
                                     int64_t maxElements) {
  Location loc = alloc->getLoc();
  auto type = inWorkgroup(cast<MemRefType>(alloc->getResult(0).getType()));
  if (!type.getLayout().isIdentity())
    return alloc->emitError("expected scratch of contiguous layout, found ")
           << type;
  for (Operation *user :
       llvm::make_early_inc_range(alloc->getResult(0).getUsers()))
    if (isa<memref::DeallocOp>(user))
      rewriter.eraseOp(user);
  if (type.hasStaticShape()) {
    rewriter.replaceAllUsesWith(alloc->getResult(0),
                                launch.addWorkgroupAttribution(type, loc));
  } else {
    MemRefType flat =
        inWorkgroup(MemRefType::get({maxElements}, type.getElementType()));
    rewriter.setInsertionPoint(alloc);
    rewriter.replaceAllUsesWith(
        alloc->getResult(0),
        viewElements(rewriter, alloc, type,
                     launch.addWorkgroupAttribution(flat, loc)));
  }
  rewriter.eraseOp(alloc);
  return success();
}

LogicalResult kvq::moveScratchToWorkgroup(RewriterBase &rewriter,
                                          gpu::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<Operation *> allocs;
  launch.getBody().walk([&](Operation *op) {
    if (isa<memref::AllocaOp, memref::AllocOp>(op))
      allocs.push_back(op);
  });
  int64_t bytes = 0;
  for (Operation *alloc : allocs) {
    auto type = cast<MemRefType>(alloc->getResult(0).getType());
    if (!type.getElementType().isIntOrFloat())
      return alloc->emitError("expected scratch of integers or floats, found ")
             << type;
    FailureOr<int64_t> elements = getMaxElements(alloc);
    if (failed(elements) ||
        failed(moveToWorkgroup(rewriter, launch, alloc, *elements)))
      return failure();
    bytes += *elements * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  }
  if (bytes > kMaxWorkgroupBytes)
    return launch.emitError("expected at most ")
           << kMaxWorkgroupBytes << " bytes of scratch in a kernel, found "
           << bytes << "; smaller tiles need less";
  for (BlockArgument buffer : launch.getWorkgroupAttributions())
    if (failed(propagateMemorySpace(buffer)))
      return failure();
  return success();
}
