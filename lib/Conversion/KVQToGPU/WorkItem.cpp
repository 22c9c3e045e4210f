//===- WorkItem.cpp - The work item of a block ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkItem.h"

#include "TensorCore/WarpBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kvq;

void WorkItem::setIndices(OpBuilder &builder, Location loc, Value block) {
  WarpBuilder w(builder, loc);
  indices.resize(extents.size());
  // A grid has 31 bits for the number of a block, so extents have no more.
  Value rest = block;
  for (size_t axis = extents.size(); axis-- > 0;) {
    Value extent = w.toI32(extents[axis]);
    Value index = rest;
    if (axis != 0) {
      index = builder.createOrFold<arith::RemUIOp>(loc, rest, extent);
      rest = builder.createOrFold<arith::DivUIOp>(loc, rest, extent);
    }
    indices[axis] = w.toIndex(index);
  }
}

/// Whether nothing in `kernel` writes to a buffer that it is given, of which
/// there is no other view.
static bool isOnlyRead(Value buffer, Region &kernel) {
  if (kernel.isAncestor(buffer.getParentRegion()) ||
      isa_and_present<ViewLikeOpInterface>(buffer.getDefiningOp()))
    return false;
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    return kernel.isAncestor(user->getParentRegion())
               ? isa<memref::LoadOp, memref::DimOp>(user)
               : !isa<ViewLikeOpInterface>(user);
  });
}

Recomputation::Recomputation(OpBuilder &builder, Operation *op,
                             const WorkItem &item)
    : builder(builder), op(op), again(item) {
  WarpBuilder w(builder, op->getLoc());
  again.setIndices(builder, op->getLoc(), w.readBlock());
  for (auto [before, after] : llvm::zip_equal(item.indices, again.indices))
    copies.map(before, after);
}

Value Recomputation::get(Value value) {
  if (Value known = copies.lookupOrNull(value))
    return known;
  Value copy = isComputedBefore(value) ? copyOf(value) : value;
  copies.map(value, copy);
  return copy;
}

bool Recomputation::isComputedBefore(Value value) {
  Operation *def = value.getDefiningOp();
  Operation *ancestor = def ? def->getBlock()->findAncestorOpInBlock(*op) : def;
  return ancestor && def->isBeforeInBlock(ancestor);
}

bool Recomputation::isCopied(Operation *def) {
  if (def->getNumRegions() != 0)
    return false;
  auto launch = op->getParentOfType<gpu::LaunchOp>();
  if (auto load = dyn_cast<memref::LoadOp>(def))
    return isOnlyRead(load.getMemRef(), launch.getBody());
  return launch.getBody().isAncestor(def->getParentRegion()) && isPure(def);
}

Value Recomputation::copyOf(Value value) {
  Operation *def = value.getDefiningOp();
  if (!isCopied(def))
    return value;
  // What follows from the kernel's arguments alone would be the same expression
  // again.
  bool isChanged = false;
  for (Value operand : def->getOperands())
    isChanged |= get(operand) != operand;
  if (!isChanged)
    return value;
  Operation *copy = builder.clone(*def, copies);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

void kvq::recomputeAfter(RewriterBase &rewriter, Operation *op,
                         WorkItem &item) {
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<Operation *> later;
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    later.push_back(next);
  rewriter.setInsertionPointAfter(op);
  Recomputation again(rewriter, op, item);
  for (Operation *next : later)
    next->walk([&](Operation *user) {
      for (OpOperand &operand : user->getOpOperands())
        operand.set(again.get(operand.get()));
    });
  item = again.getItem();
}
