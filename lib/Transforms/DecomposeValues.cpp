//===- DecomposeValues.cpp - Value-level ops to structured ops ----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/KVQ.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_DECOMPOSEVALUESPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Whether quantizing takes scratch of the size of what is quantized.
static bool needsScratch(QuantizeOp op) {
  FormatInterface format = op.getFormat();
  return format.getRangeCandidates() > 1 ||
         llvm::is_contained(format.getRangeStatistics(),
                            RangeStatistic::SumOfSquares);
}

/// Makes of `op` loops over the rows of groups that it quantizes, so that
/// scratch is that of one row. Returns what quantizes a row.
static QuantizeOp tileByGroups(RewriterBase &rewriter, QuantizeOp op) {
  rewriter.setInsertionPoint(op);
  auto tiling = cast<TilingInterface>(op.getOperation());
  SmallVector<OpFoldResult> extents =
      llvm::map_to_vector(tiling.getIterationDomain(rewriter),
                          [](Range range) { return range.size; });
  bool isOneRow = llvm::all_of(extents, [](OpFoldResult extent) {
    return getConstantIntValue(extent) == 1;
  });
  if (isOneRow)
    return op;
  scf::SCFTilingOptions options;
  options.setTileSizes(
      SmallVector<OpFoldResult>(extents.size(), rewriter.getIndexAttr(1)));
  FailureOr<scf::SCFTilingResult> tiled =
      scf::tileUsingSCF(rewriter, tiling, options);
  if (failed(tiled))
    return {};
  rewriter.replaceOp(op, tiled->replacements);
  return cast<QuantizeOp>(tiled->tiledOps.front());
}

namespace {

struct DecomposeValuesPass
    : kvq::impl::DecomposeValuesPassBase<DecomposeValuesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::AggregatedOpInterface> ops;
    getOperation()->walk([&](linalg::AggregatedOpInterface op) {
      if (isa<QuantizeOp, CountSaturatedOp, DequantizeOp, RotateOp, PackOp,
              UnpackOp>(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::AggregatedOpInterface op : ops) {
      auto quantize = dyn_cast<QuantizeOp>(op.getOperation());
      if (quantize && needsScratch(quantize)) {
        QuantizeOp row = tileByGroups(rewriter, quantize);
        if (!row) {
          quantize.emitOpError("could not be tiled by its groups");
          return signalPassFailure();
        }
        op = row;
      }
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> values = op.decomposeOperation(rewriter);
      if (failed(values)) {
        op->emitOpError("cannot be decomposed into structured ops");
        return signalPassFailure();
      }
      rewriter.replaceOp(op, *values);
    }
  }
};

} // namespace
