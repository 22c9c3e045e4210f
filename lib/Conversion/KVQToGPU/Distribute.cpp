//===- Distribute.cpp - Structured ops over the threads of a block --------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribute.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::kvq;

/// Checks that every parallel iteration writes its own elements and that only
/// the op's operands connect iterations.
static LogicalResult checkDistributable(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return op->emitError("expected buffers as operands, found tensors; "
                         "bufferize before this pass");
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!isMemoryEffectFree(&inner))
      return inner.emitError(
                 "expected ops without side effects in the body of a "
                 "structured op, found '")
             << inner.getName() << "'";
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (OpOperand &output : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&output);
    bool isOnePerIteration =
        map.isProjectedPermutation() &&
        map.getNumResults() == op.getNumParallelLoops() &&
        llvm::all_of(map.getResults(), [&](AffineExpr result) {
          unsigned axis = cast<AffineDimExpr>(result).getPosition();
          return iterators[axis] == utils::IteratorType::parallel;
        });
    if (!isOnePerIteration)
      return op->emitError("expected outputs indexed by each of the ")
             << op.getNumParallelLoops() << " parallel axes, found "
             << AffineMapAttr::get(map);
  }
  return success();
}

namespace {

/// Writes the scalar code of one structured op.
class PointEmitter {
public:
  PointEmitter(OpBuilder &builder, linalg::LinalgOp op)
      : builder(builder), op(op), indices(op.getNumLoops()) {}

  void setIndex(unsigned axis, Value index) { indices[axis] = index; }

  /// The elements of the outputs at the current parallel indices.
  SmallVector<Value> loadOutputs();
  void storeOutputs(ValueRange values);

  /// The body at the current indices.
  SmallVector<Value> emitBody(OpBuilder &builder, ValueRange outputs);

private:
  SmallVector<Value> getSubscripts(OpBuilder &builder, OpOperand &operand);
  Value loadOperand(OpBuilder &builder, OpOperand &operand);

  OpBuilder &builder;
  linalg::LinalgOp op;
  SmallVector<Value> indices;
};

} // namespace

SmallVector<Value> PointEmitter::getSubscripts(OpBuilder &builder,
                                               OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<OpFoldResult> operands(indices.begin(), indices.end());
  // Reduction axes have no index outside of their loops, and outputs none.
  for (auto [axis, index] : llvm::enumerate(operands))
    if (!map.isFunctionOfDim(axis))
      index = builder.getIndexAttr(0);
  SmallVector<OpFoldResult> subscripts =
      affine::makeComposedFoldedMultiResultAffineApply(builder, op.getLoc(),
                                                       map, operands);
  return getValueOrCreateConstantIndexOp(builder, op.getLoc(), subscripts);
}

Value PointEmitter::loadOperand(OpBuilder &builder, OpOperand &operand) {
  if (op.isScalar(&operand))
    return operand.get();
  return memref::LoadOp::create(builder, op.getLoc(), operand.get(),
                                getSubscripts(builder, operand));
}

SmallVector<Value> PointEmitter::loadOutputs() {
  SmallVector<Value> values;
  for (OpOperand &output : op.getDpsInitsMutable())
    values.push_back(loadOperand(builder, output));
  return values;
}

void PointEmitter::storeOutputs(ValueRange values) {
  for (auto [output, value] : llvm::zip_equal(op.getDpsInitsMutable(), values))
    memref::StoreOp::create(builder, op.getLoc(), value, output.get(),
                            getSubscripts(builder, output));
}

SmallVector<Value> PointEmitter::emitBody(OpBuilder &builder,
                                          ValueRange outputs) {
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty())
      mapping.map(argument, loadOperand(builder, *input));
  }
  mapping.map(op.getRegionOutputArgs(), outputs);
  for (Operation &inner : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), indices[index.getDim()]);
    else
      builder.clone(inner, mapping);
  }
  return llvm::map_to_vector(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value yielded) { return mapping.lookupOrDefault(yielded); });
}

LogicalResult kvq::distributeOverThreads(RewriterBase &rewriter,
                                         linalg::LinalgOp op,
                                         const ThreadBlock &block) {
  if (failed(checkDistributable(op)))
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value stride = arith::ConstantIndexOp::create(rewriter, loc, block.size);

  SmallVector<unsigned> parallel, reduction;
  op.getParallelDims(parallel);
  op.getReductionDims(reduction);
  SmallVector<Value> extents =
      llvm::map_to_vector(op.createLoopRanges(rewriter, loc), [&](Range range) {
        return getValueOrCreateConstantIndexOp(rewriter, loc, range.size);
      });
  auto extentOf = [&](unsigned axis) { return extents[axis]; };
  Value total = one;
  for (unsigned axis : parallel)
    total = rewriter.createOrFold<arith::MulIOp>(loc, total, extents[axis]);

  auto loop = scf::ForOp::create(rewriter, loc, block.thread, total, stride);
  rewriter.setInsertionPointToStart(loop.getBody());
  PointEmitter emitter(rewriter, op);
  if (!parallel.empty()) {
    auto point = affine::AffineDelinearizeIndexOp::create(
        rewriter, loc, loop.getInductionVar(),
        llvm::map_to_vector(parallel, extentOf));
    for (auto [axis, index] : llvm::zip_equal(parallel, point.getResults()))
      emitter.setIndex(axis, index);
  }
  // Sums stay in registers while the reduction runs.
  scf::LoopNest nest = scf::buildLoopNest(
      rewriter, loc, SmallVector<Value>(reduction.size(), zero),
      llvm::map_to_vector(reduction, extentOf),
      SmallVector<Value>(reduction.size(), one), emitter.loadOutputs(),
      [&](OpBuilder &builder, Location, ValueRange indices,
          ValueRange outputs) -> scf::ValueVector {
        for (auto [axis, index] : llvm::zip_equal(reduction, indices))
          emitter.setIndex(axis, index);
        SmallVector<Value> results = emitter.emitBody(builder, outputs);
        return {results.begin(), results.end()};
      });
  emitter.storeOutputs(nest.results);
  rewriter.eraseOp(op);
  return success();
}
