//===- RaiseAttention.cpp - Attention in linalg becomes kvq.attention -----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DeadProducers.h"
#include "AttentionMatcher.h"

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_RAISEATTENTIONPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

static remark::RemarkOpts getRemarkOpts(Operation *op) {
  auto opts = remark::RemarkOpts::name("RaiseAttention")
                  .category("kvq-raise-attention");
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    return opts.function(function.getName());
  return opts;
}

/// Puts kvq.attention in the place of `op`, which `matcher` is for.
static LogicalResult raise(Operation *op, AttentionMatcher matcher,
                           bool isStrict) {
  Location loc = op->getLoc();
  if (failed(matcher.match())) {
    if (isStrict)
      return op->emitOpError("attention is not raised: ")
             << matcher.getReason();
    remark::missed(loc, getRemarkOpts(op))
        << remark::add("attention is not raised")
        << remark::reason("{0}", matcher.getReason().str());
    return success();
  }
  IRRewriter rewriter(op);
  rewriter.replaceAllUsesWith(op->getResult(0), matcher.build(rewriter));
  remark::passed(loc, getRemarkOpts(op)) << remark::add("attention is raised");
  eraseWithDeadProducers(rewriter, op);
  return success();
}

namespace {

struct RaiseAttentionPass
    : kvq::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      auto structured = dyn_cast<linalg::LinalgOp>(op);
      bool mayContract = structured && structured.hasPureTensorSemantics() &&
                         structured.getNumDpsInputs() == 2 &&
                         structured.getNumReductionLoops() == 1;
      if (mayContract || isa<AttentionLikeOpInterface>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(raiseIfAttention(op)))
        return signalPassFailure();
  }

  LogicalResult raiseIfAttention(Operation *op) {
    if (auto attention = dyn_cast<AttentionLikeOpInterface>(op))
      return raise(op, AttentionMatcher(attention), strict);
    AttentionMatcher matcher(cast<linalg::LinalgOp>(op));
    if (!matcher.hasWeights())
      return success();
    return raise(op, std::move(matcher), strict);
  }
};

} // namespace
