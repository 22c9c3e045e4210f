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

//===----------------------------------------------------------------------===//
// Where scratch lies
//===----------------------------------------------------------------------===//

namespace {
/// An allocation in a kernel.
struct Scratch {
  Operation *alloc;
  int64_t elements;
  /// The first and the last op of the kernel's block that uses it.
  unsigned first, last;

  MemRefType getType() const {
    return inWorkgroup(cast<MemRefType>(alloc->getResult(0).getType()));
  }
  int64_t getElementBytes() const {
    return llvm::divideCeil(getType().getElementTypeBitWidth(), 8);
  }
};

/// Memory of the block, for scratch whose uses do not meet.
struct Slot {
  Type elementType;
  int64_t elements;
  SmallVector<const Scratch *> tenants;

  bool canTake(const Scratch &scratch) const {
    return elementType == scratch.getType().getElementType() &&
           llvm::all_of(tenants, [&](const Scratch *other) {
             return other->last < scratch.first || scratch.last < other->first;
           });
  }
};
} // namespace

/// Extends the lifetime by the uses of `buffer` and of views of it.
static void addUses(Scratch &scratch, Value buffer, Block &body,
                    const llvm::DenseMap<Operation *, unsigned> &order) {
  for (Operation *user : buffer.getUsers()) {
    unsigned place = order.lookup(body.findAncestorOpInBlock(*user));
    scratch.first = std::min(scratch.first, place);
    scratch.last = std::max(scratch.last, place);
    if (isa<ViewLikeOpInterface>(user))
      for (Value view : user->getResults())
        addUses(scratch, view, body, order);
  }
}

static FailureOr<SmallVector<Scratch>> findScratch(gpu::LaunchOp launch) {
  Block &body = launch.getBody().front();
  llvm::DenseMap<Operation *, unsigned> order;
  for (Operation &op : body)
    order[&op] = order.size();
  SmallVector<Scratch> found;
  WalkResult result = launch.getBody().walk([&](Operation *op) -> WalkResult {
    if (!isa<memref::AllocaOp, memref::AllocOp>(op))
      return success();
    auto type = cast<MemRefType>(op->getResult(0).getType());
    if (!type.getElementType().isIntOrFloat())
      return op->emitError("expected scratch of integers or floats, found ")
             << type;
    if (!type.getLayout().isIdentity())
      return op->emitError("expected scratch of contiguous layout, found ")
             << inWorkgroup(type);
    FailureOr<int64_t> elements = getMaxElements(op);
    if (failed(elements))
      return failure();
    Scratch scratch = {op, *elements, unsigned(order.size()), 0};
    addUses(scratch, op->getResult(0), body, order);
    found.push_back(scratch);
    return success();
  });
  if (result.wasInterrupted())
    return failure();
  return found;
}

/// A slot for each, or, with `isShared`, large ones first, one of those that
/// are there already.
static SmallVector<Slot> assignSlots(ArrayRef<Scratch> found, bool isShared) {
  SmallVector<const Scratch *> sorted;
  for (const Scratch &scratch : found)
    sorted.push_back(&scratch);
  if (isShared)
    llvm::sort(sorted, [](const Scratch *a, const Scratch *b) {
      return std::make_pair(-a->elements, a) < std::make_pair(-b->elements, b);
    });
  SmallVector<Slot> slots;
  for (const Scratch *scratch : sorted) {
    Slot *slot = llvm::find_if(slots, [&](const Slot &slot) {
      return isShared && slot.canTake(*scratch);
    });
    if (slot == slots.end())
      slot = &slots.emplace_back(
          Slot{scratch->getType().getElementType(), scratch->elements, {}});
    slot->tenants.push_back(scratch);
  }
  return slots;
}

static int64_t getBytes(ArrayRef<Slot> slots) {
  int64_t bytes = 0;
  for (const Slot &slot : slots)
    bytes += slot.elements * slot.tenants.front()->getElementBytes();
  return bytes;
}

static void moveTo(RewriterBase &rewriter, Value buffer,
                   const Scratch &scratch) {
  Operation *alloc = scratch.alloc;
  for (Operation *user :
       llvm::make_early_inc_range(alloc->getResult(0).getUsers()))
    if (isa<memref::DeallocOp>(user))
      rewriter.eraseOp(user);
  if (buffer.getType() != scratch.getType()) {
    rewriter.setInsertionPoint(alloc);
    buffer = viewElements(rewriter, alloc, scratch.getType(), buffer);
  }
  rewriter.replaceAllUsesWith(alloc->getResult(0), buffer);
  rewriter.eraseOp(alloc);
}

LogicalResult kvq::moveScratchToWorkgroup(RewriterBase &rewriter,
                                          gpu::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(rewriter);
  FailureOr<SmallVector<Scratch>> found = findScratch(launch);
  if (failed(found))
    return failure();
  // Side by side where that is possible: what shares memory is not known to be
  // apart any more.
  SmallVector<Slot> slots = assignSlots(*found, /*isShared=*/false);
  if (getBytes(slots) > kMaxWorkgroupBytes)
    slots = assignSlots(*found, /*isShared=*/true);
  if (int64_t bytes = getBytes(slots); bytes > kMaxWorkgroupBytes)
    return launch.emitError("expected at most ")
           << kMaxWorkgroupBytes << " bytes of scratch in a kernel, found "
           << bytes << "; smaller tiles need less";
  for (const Slot &slot : slots) {
    const Scratch &first = *slot.tenants.front();
    bool isOne = slot.tenants.size() == 1 && first.getType().hasStaticShape();
    MemRefType type =
        isOne ? first.getType()
              : inWorkgroup(MemRefType::get({slot.elements}, slot.elementType));
    Value buffer = launch.addWorkgroupAttribution(type, first.alloc->getLoc());
    for (const Scratch *scratch : slot.tenants)
      moveTo(rewriter, buffer, *scratch);
  }
  for (BlockArgument buffer : launch.getWorkgroupAttributions())
    if (failed(propagateMemorySpace(buffer)))
      return failure();
  return success();
}
