//===- CollapseAxes.cpp - Longer axes for elementwise ops -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollapseAxes.h"

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvq;

/// Inner axes at least so long are vectors enough when the outer one is
/// dynamic: merged, they would need a scalar remainder.
static constexpr int64_t kLongAxis = 16;

static bool paysToCollapse(int64_t outer, int64_t inner) {
  if (outer == 1 || inner == 1)
    return false;
  if (ShapedType::isDynamic(inner))
    return false;
  return !ShapedType::isDynamic(outer) || inner < kLongAxis;
}

/// Whether each operand has both axes, adjacent in memory, or neither.
static bool canCollapse(linalg::GenericOp op, unsigned axis) {
  ReassociationIndices pair = {axis, axis + 1};
  if (!linalg::areDimSequencesPreserved(op.getIndexingMapsArray(), {pair}))
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!map.isProjectedPermutation())
      return false;
    std::optional<unsigned> position =
        map.getResultPosition(getAffineDimExpr(axis, op.getContext()));
    if (!position)
      continue;
    auto type = cast<MemRefType>(operand.get().getType());
    SmallVector<ReassociationIndices> groups;
    for (unsigned i = 0; i < type.getRank(); ++i) {
      groups.push_back({i});
      if (i == *position)
        groups.back().push_back(++i);
    }
    if (!memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups))
      return false;
  }
  return true;
}

linalg::GenericOp kvq::collapseAxes(RewriterBase &rewriter,
                                    linalg::GenericOp op) {
  if (op.hasIndexSemantics() || op.getNumParallelLoops() != op.getNumLoops())
    return op;
  for (int64_t axis = static_cast<int64_t>(op.getNumLoops()) - 2; axis >= 0;
       --axis) {
    SmallVector<int64_t> extents = op.getStaticLoopRanges();
    if (!paysToCollapse(extents[axis], extents[axis + 1]) ||
        !canCollapse(op, axis))
      continue;
    rewriter.setInsertionPoint(op);
    SmallVector<ReassociationIndices> pair = {{axis, axis + 1}};
    FailureOr<linalg::CollapseResult> collapsed =
        linalg::collapseOpIterationDims(op, pair, rewriter);
    if (failed(collapsed))
      continue;
    rewriter.eraseOp(op);
    op = cast<linalg::GenericOp>(*collapsed->collapsedOp);
  }
  return op;
}
