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

static void raise(linalg::LinalgOp op) {
  AttentionMatcher matcher(op);
  if (!matcher.hasWeights())
    return;
  Location loc = op.getLoc();
  if (failed(matcher.match())) {
    remark::missed(loc, getRemarkOpts(op))
        << remark::add("a contraction of a softmax is not attention")
        << remark::reason("{0}", matcher.getReason().str());
    return;
  }
  remark::passed(loc, getRemarkOpts(op))
      << remark::add("attention is raised to kvq.attention");
  IRRewriter rewriter(op);
  Value result = op->getResult(0);
  rewriter.replaceAllUsesWith(result, matcher.build(rewriter));
  eraseDeadProducers(rewriter, result);
}

namespace {

struct RaiseAttentionPass
    : kvq::impl::RaiseAttentionPassBase<RaiseAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureTensorSemantics() && op.getNumDpsInputs() == 2 &&
          op.getNumReductionLoops() == 1)
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      raise(op);
  }
};

} // namespace
