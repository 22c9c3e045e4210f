//===- DecomposeAttention.cpp - Tiles of attention to structured ops ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

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
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> results =
          decompose(rewriter, op, transposed);
      if (failed(results))
        return signalPassFailure();
      rewriter.replaceOp(op, *results);
    }
  }

  FailureOr<SmallVector<Value>> decompose(IRRewriter &rewriter, Operation *op,
                                          TransposedQueries &transposed) {
    if (auto merge = dyn_cast<MergePartialsOp>(op))
      return merge.decomposeOperation(rewriter);
    auto partial = cast<PartialAttentionOp>(op);
    if (!partial.getTile() || !partial.getKeyRegion())
      return partial.emitOpError("expected a tile bound and the regions of "
                                 "keys and values (run kvq-tile-attention "
                                 "first)");
    if (std::optional<Type> type = partial.getQueryCodes();
        type && !type->isInteger())
      return partial.emitOpError("expected query_codes of integers without "
                                 "tensor cores (sm_89 or newer, "
                                 "kvq-map-to-tensor-cores), got ")
             << *type;
    return TileDecomposer(rewriter, partial, hasManyRows(partial), transposed)
        .run();
  }

  bool hasManyRows(PartialAttentionOp op) {
    int64_t rows =
        cast<RankedTensorType>(op.getQuery().getType()).getDimSize(0);
    return dequantizeRows != 0 && rows >= dequantizeRows && !op.getQueryCodes();
  }
};

} // namespace
