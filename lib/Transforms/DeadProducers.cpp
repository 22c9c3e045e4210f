//===- DeadProducers.cpp - Erasing what nothing reads ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeadProducers.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

/// Erases `op`; what made its operands comes to be looked at.
static void erase(RewriterBase &rewriter, Operation *op,
                  llvm::SetVector<Operation *> &worklist) {
  llvm::SetVector<Value> operands(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), operands);
  rewriter.eraseOp(op);
  for (Value operand : operands)
    if (Operation *producer = operand.getDefiningOp())
      worklist.insert(producer);
}

static void workOff(RewriterBase &rewriter,
                    llvm::SetVector<Operation *> &worklist) {
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val(); isOpTriviallyDead(op))
      erase(rewriter, op, worklist);
}

void kvq::eraseDead(RewriterBase &rewriter, ArrayRef<Operation *> ops) {
  llvm::SetVector<Operation *> worklist(ops.begin(), ops.end());
  workOff(rewriter, worklist);
}

void kvq::eraseDeadProducers(RewriterBase &rewriter, Value value) {
  llvm::SetVector<Operation *> worklist;
  if (Operation *op = value.getDefiningOp())
    worklist.insert(op);
  workOff(rewriter, worklist);
}

void kvq::eraseWithDeadProducers(RewriterBase &rewriter, Operation *op) {
  llvm::SetVector<Operation *> worklist;
  erase(rewriter, op, worklist);
  workOff(rewriter, worklist);
}
