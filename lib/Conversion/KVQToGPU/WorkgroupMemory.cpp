//===- WorkgroupMemory.cpp - Scratch of a kernel in workgroup memory ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkgroupMemory.h"

#include "Rings.h"

#include "kvq/Conversion/Capabilities.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
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
  /// The first and the last time that it is in use.
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
static void addUses(Scratch &scratch, Value buffer, const Rings &rings) {
  for (OpOperand &use : buffer.getUses()) {
    Operation *user = use.getOwner();
    auto [first, last] = rings.getTimes(use);
    if (isa<memref::DeallocOp>(user))
      continue;
    if (isa<ViewLikeOpInterface>(user)) {
      for (Value view : user->getResults())
        addUses(scratch, view, rings);
      continue;
    }
    scratch.first = std::min(scratch.first, first);
    scratch.last = std::max(scratch.last, last);
  }
}

static FailureOr<SmallVector<Scratch>> findScratch(gpu::LaunchOp launch,
                                                   const Rings &rings) {
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
    Scratch scratch = {op, *elements, rings.getEndOfTime(), 0};
    addUses(scratch, op->getResult(0), rings);
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

static int64_t getBytes(const Slot &slot) {
  return slot.elements * slot.tenants.front()->getElementBytes();
}

static int64_t getBytes(ArrayRef<Slot> slots) {
  int64_t bytes = 0;
  for (const Slot &slot : slots)
    bytes += getBytes(slot);
  return bytes;
}

/// What slots lie at multiples of.
static constexpr int64_t kAlignment = 16;

/// The most that is taken by slots and the gaps between them and before rings.
static int64_t getBytesWithGaps(ArrayRef<Slot> slots) {
  constexpr int64_t kRingAlignment = 128;
  int64_t bytes = slots.empty() ? 0 : kRingAlignment;
  for (const Slot &slot : slots)
    bytes += llvm::alignTo(getBytes(slot), kAlignment);
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

/// The type of a slot's memory.
static MemRefType getSlotType(const Slot &slot) {
  MemRefType first = slot.tenants.front()->getType();
  if (slot.tenants.size() == 1 && first.hasStaticShape())
    return first;
  return inWorkgroup(MemRefType::get({slot.elements}, slot.elementType));
}

static int64_t getDynamicBytes(gpu::LaunchOp launch) {
  APInt bytes(32, 0);
  if (Value size = launch.getDynamicSharedMemorySize())
    matchPattern(size, m_ConstantInt(&bytes));
  return bytes.getSExtValue();
}

static void reserveDynamicMemory(RewriterBase &rewriter, gpu::LaunchOp launch,
                                 int64_t bytes) {
  if (bytes <= getDynamicBytes(launch))
    return;
  rewriter.setInsertionPoint(launch);
  launch.getDynamicSharedMemorySizeMutable().assign(
      arith::ConstantIntOp::create(rewriter, launch.getLoc(), bytes, 32));
}

/// A slot at a place of the launch's dynamic memory.
static Value addDynamicMemory(RewriterBase &rewriter, gpu::LaunchOp launch,
                              const Slot &slot, int64_t place) {
  Location loc = launch.getLoc();
  rewriter.setInsertionPointToStart(&launch.getBody().front());
  Value memory = gpu::DynamicSharedMemoryOp::create(
      rewriter, loc,
      inWorkgroup(
          MemRefType::get({ShapedType::kDynamic}, rewriter.getI8Type())));
  Value offset = arith::ConstantIndexOp::create(rewriter, loc, place);
  return memref::ViewOp::create(rewriter, loc, getSlotType(slot), memory,
                                offset, ValueRange());
}

/// How many slots, the first ones, are left once the others have all of the
/// memory that is not dynamic.
static size_t countDynamic(ArrayRef<Slot> slots) {
  size_t count = 0;
  while (getBytes(slots.drop_front(count)) > kMaxStaticSharedBytes)
    ++count;
  return count;
}

/// Slots for all scratch: side by side where that is possible, since what
/// shares memory is not known to be apart any more.
static FailureOr<SmallVector<Slot>>
assignSlots(gpu::LaunchOp launch, ArrayRef<Scratch> found, int64_t mostBytes) {
  SmallVector<Slot> slots = assignSlots(found, /*isShared=*/false);
  if (getBytes(slots) > kMaxStaticSharedBytes)
    slots = assignSlots(found, /*isShared=*/true);
  if (int64_t bytes = getBytes(slots); bytes > mostBytes)
    return launch.emitError("expected at most ")
           << mostBytes << " bytes of scratch in a kernel, found " << bytes
           << "; smaller tiles need less";
  return slots;
}

namespace {
/// Where slots lie: at a place of the dynamic memory, where rings are at other
/// times or leave room, or apart from them.
struct Places {
  SmallVector<std::pair<Slot, int64_t>> shared;
  SmallVector<Slot> apart;
  /// Where what is shared ends.
  int64_t end = 0;
};
} // namespace

/// What a slot may have of the dynamic memory while rings are used around it.
static MemoryRange getRange(const Slot &slot, const Rings &rings) {
  MemoryRange range;
  for (const Scratch *scratch : slot.tenants)
    range.intersect(rings.getRange(scratch->first, scratch->last));
  return range;
}

/// Puts slots one after the other; those that do not fit are moved to `apart`.
static Places placeSlots(ArrayRef<Slot> slots, const Rings &rings) {
  SmallVector<MemoryRange> ranges;
  for (const Slot &slot : slots)
    ranges.push_back(getRange(slot, rings));
  auto order = llvm::to_vector(llvm::seq(slots.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(ranges[a].begin, a) < std::pair(ranges[b].begin, b);
  });
  Places places;
  for (size_t i : order) {
    int64_t begin =
        llvm::alignTo(std::max(places.end, ranges[i].begin), kAlignment);
    int64_t end = begin + getBytes(slots[i]);
    if (end > ranges[i].end) {
      places.apart.push_back(slots[i]);
      continue;
    }
    places.shared.push_back({slots[i], begin});
    places.end = end;
  }
  return places;
}

/// Sizes the rings, too.
static FailureOr<Places> assignPlaces(ArrayRef<Slot> slots, Rings &rings) {
  if (!rings.exist())
    return Places{{}, SmallVector<Slot>(slots), 0};
  SmallVector<Slot> apart, rest(slots);
  while (true) {
    // The more lies apart, the less is left for rings.
    if (failed(rings.size(getBytesWithGaps(apart))))
      return failure();
    Places places = placeSlots(rest, rings);
    bool isDone = places.apart.empty();
    llvm::append_range(apart, places.apart);
    if (isDone) {
      places.apart = std::move(apart);
      return places;
    }
    rest.clear();
    for (auto &[slot, place] : places.shared)
      rest.push_back(slot);
  }
}

LogicalResult kvq::moveScratchToWorkgroup(RewriterBase &rewriter,
                                          gpu::LaunchOp launch,
                                          int64_t mostBytes) {
  OpBuilder::InsertionGuard guard(rewriter);
  FailureOr<Rings> rings = Rings::get(launch);
  if (failed(rings))
    return failure();
  FailureOr<SmallVector<Scratch>> found = findScratch(launch, *rings);
  if (failed(found))
    return failure();
  FailureOr<SmallVector<Slot>> slots = assignSlots(launch, *found, mostBytes);
  if (failed(slots))
    return failure();
  FailureOr<Places> places = assignPlaces(*slots, *rings);
  if (failed(places))
    return failure();
  reserveDynamicMemory(rewriter, launch,
                       std::max(rings->getBytes(), places->end));
  auto move = [&](const Slot &slot, Value buffer) {
    for (const Scratch *scratch : slot.tenants)
      moveTo(rewriter, buffer, *scratch);
    return propagateMemorySpace(buffer);
  };
  for (auto &[slot, place] : places->shared)
    if (failed(move(slot, addDynamicMemory(rewriter, launch, slot, place))))
      return failure();
  // Of what lies apart, the rest is not dynamic.
  ArrayRef<Slot> apart = places->apart;
  size_t numDynamic = countDynamic(apart);
  for (const Slot &slot : apart.take_front(numDynamic)) {
    int64_t place = llvm::alignTo(getDynamicBytes(launch), kAlignment);
    reserveDynamicMemory(rewriter, launch, place + getBytes(slot));
    if (failed(move(slot, addDynamicMemory(rewriter, launch, slot, place))))
      return failure();
  }
  for (const Slot &slot : apart.drop_front(numDynamic))
    if (failed(move(slot, launch.addWorkgroupAttribution(
                              getSlotType(slot),
                              slot.tenants.front()->alloc->getLoc()))))
      return failure();
  return success();
}
