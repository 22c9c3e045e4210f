//===- WorkItem.h - The work item of a block --------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which item a block works on, and what follows from that, is the same
// everywhere in a kernel. Where loops between need all registers it is computed
// anew from what the hardware knows, and in none meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_WORKITEM_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_WORKITEM_H

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::kvq {

struct WorkItem {
  /// How many there are, and the block's.
  SmallVector<Value, 4> extents, indices;

  /// That of block `block`, i32.
  void setIndices(OpBuilder &builder, Location loc, Value block);
};

/// What has been computed for `item` before `op`, by ops without effects and
/// loads of buffers that the kernel only reads, once more at the builder's
/// place.
class Recomputation {
public:
  Recomputation(OpBuilder &builder, Operation *op, const WorkItem &item);

  /// A value is itself where it does not follow from the item.
  Value get(Value value);
  const WorkItem &getItem() const { return again; }

private:
  bool isComputedBefore(Value value);
  bool isCopied(Operation *def);
  Value copyOf(Value value);

  OpBuilder &builder;
  Operation *op;
  WorkItem again;
  IRMapping copies;
};

/// Makes the ops behind `op`, in its block, use what is computed anew behind
/// it, `item` included.
void recomputeAfter(RewriterBase &rewriter, Operation *op, WorkItem &item);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_WORKITEM_H
