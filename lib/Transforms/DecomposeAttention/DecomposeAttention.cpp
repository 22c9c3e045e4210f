//===- DecomposeAttention.cpp - Tiles of attention to structured ops ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Transforms.h"

#include "TileDecomposer.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

namespace mlir::kvq {
#define GEN_PASS_DEF_DECOMPOSEATTENTIONPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Whether the op has enough rows to have them side by side.
static bool hasManyRows(PartialAttentionOp op, int64_t dequantizeRows) {
  int64_t rows = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(0);
  return dequantizeRows != 0 && rows >= dequantizeRows && !op.getQueryCodes();
}

static LogicalResult expectTile(PartialAttentionOp op) {
  if (!op.getTile() || !op.getKeyRegion())
    return op.emitOpError("expected a tile bound and the regions of "
                          "keys and values (run kvq-tile-attention "
                          "first)");
  if (std::optional<Type> type = op.getQueryCodes(); type && !type->isInteger())
    return op.emitOpError("expected query_codes of integers without "
                          "tensor cores (sm_89 or newer, "
                          "kvq-map-to-tensor-cores), got ")
           << *type;
  return success();
}

LogicalResult kvq::decomposeAttention(RewriterBase &rewriter, Operation *op,
                                      int64_t dequantizeRows,
                                      TransposedQueries &transposed) {
  rewriter.setInsertionPoint(op);
  if (auto partial = dyn_cast<PartialAttentionOp>(op)) {
    if (failed(expectTile(partial)))
      return failure();
    bool rowsInLanes = hasManyRows(partial, dequantizeRows);
    rewriter.replaceOp(
        op, TileDecomposer(rewriter, partial, rowsInLanes, transposed).run());
    return success();
  }
  FailureOr<SmallVector<Value>> results =
      cast<MergePartialsOp>(op).decomposeOperation(rewriter);
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  return success();
}

namespace {

struct DecomposeAttentionPass
    : kvq::impl::DecomposeAttentionPassBase<DecomposeAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    if (dequantizeRows < 0) {
      emitError(getOperation()->getLoc())
          << "kvq-decompose-attention: expected at least 1 row for tiles that "
             "become f32, or 0, got "
          << dequantizeRows.getValue();
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<PartialAttentionOp, MergePartialsOp>(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    TransposedQueries transposed;
    for (Operation *op : ops)
      if (failed(decomposeAttention(rewriter, op, dequantizeRows, transposed)))
        return signalPassFailure();
  }
};

} // namespace
