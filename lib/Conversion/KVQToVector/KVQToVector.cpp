//===- KVQToVector.cpp - Structured ops to vector loops -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"
#include "kvq/IR/KVQ.h"

#include "../ApproximateMath.h"
#include "CollapseAxes.h"
#include "Exp2.h"
#include "NestEmitter.h"
#include "Rounds.h"
#include "Transposes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_CONVERTKVQTOVECTORPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Whether the body can be written in another order of iterations.
static bool hasReorderableBody(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return inner.getNumRegions() == 0 &&
           (isMemoryEffectFree(&inner) ||
            hasSingleEffect<MemoryEffects::Read>(&inner));
  });
}

static LogicalResult convertStructuredOp(IRRewriter &rewriter, Operation *op,
                                         int64_t vectorWidth,
                                         ByteProducts byteProducts) {
  rewriter.setInsertionPoint(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    Operation *generic = linalg::makeMemRefCopyOp(
        rewriter, op->getLoc(), copy.getSource(), copy.getTarget());
    rewriter.eraseOp(op);
    op = generic;
  }
  auto structured = cast<linalg::LinalgOp>(op);
  if (!structured.hasPureBufferSemantics())
    return op->emitError("expected buffers as operands, found tensors; "
                         "bufferize before this pass");
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic) {
    FailureOr<linalg::GenericOp> generalized =
        linalg::generalizeNamedOp(rewriter, structured);
    if (failed(generalized))
      return op->emitError(
          "expected a structured op that has a linalg.generic form");
    generic = *generalized;
  }
  if (auto transpose = matchTranspose(generic); transpose && vectorWidth > 1) {
    rewriter.setInsertionPoint(generic);
    emitTranspose(rewriter, generic.getLoc(), *transpose, vectorWidth);
    rewriter.eraseOp(generic);
    return success();
  }
  generic = collapseAxes(rewriter, generic);
  rewriter.setInsertionPoint(generic);
  FailureOr<NestPlan> plan = failure();
  FailureOr<RoundPlan> rounds = failure();
  if (hasReorderableBody(generic)) {
    plan = planNest(generic, vectorWidth, byteProducts);
    rounds = planRounds(generic, vectorWidth);
  }
  bool shufflesPay =
      succeeded(rounds) && succeeded(plan) && rounds->getLanes() > plan->lanes;
  if (shufflesPay)
    emitRounds(rewriter, *rounds);
  else if (succeeded(plan))
    emitNest(rewriter, *plan);
  else if (failed(linalg::linalgOpToLoops(rewriter, generic)))
    return generic->emitError("expected an op that scalar loops can express");
  rewriter.eraseOp(generic);
  return success();
}

namespace {

struct ConvertKVQToVectorPass
    : kvq::impl::ConvertKVQToVectorPassBase<ConvertKVQToVectorPass> {
  using Base::Base;

  void runOnOperation() override {
    if (auto schedule =
            getOperation()->getAttrOfType<ScheduleAttr>(kScheduleAttrName))
      vectorWidth = schedule.getVectorWidth().value_or(vectorWidth);
    if (vectorWidth < 1 || !llvm::isPowerOf2_64(vectorWidth)) {
      emitError(getOperation()->getLoc())
          << "expected a power of two as vector-width, found "
          << static_cast<int64_t>(vectorWidth);
      return signalPassFailure();
    }
    SmallVector<Operation *> structured;
    SmallVector<math::Exp2Op> powers;
    getOperation()->walk([&](Operation *op) {
      if (isa<linalg::LinalgOp, memref::CopyOp>(op))
        structured.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : structured)
      if (failed(convertStructuredOp(rewriter, op, vectorWidth, byteProducts)))
        return signalPassFailure();
    getOperation()->walk([&](math::Exp2Op op) { powers.push_back(op); });
    for (math::Exp2Op op : powers) {
      rewriter.setInsertionPoint(op);
      // Other types are left to the library.
      (void)expandExp2(rewriter, op);
    }
    approximateMath(getOperation());
  }
};

} // namespace
