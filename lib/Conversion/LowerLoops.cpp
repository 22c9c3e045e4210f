//===- LowerLoops.cpp - Structured control flow to branches ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_LOWERLOOPSPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

/// Lowers a loop to blocks that test at their end, as LLVM's loop-rotate makes
/// them, which takes it long in functions of hundreds of loops.
struct LowerForPattern : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(scf::ForOp loop,
                                PatternRewriter &rewriter) const override;
};

} // namespace

/// What LLVM may take for granted of the next iteration's index: it steps
/// beyond the last element of something in memory at most. It tells LLVM how
/// many iterations there are, which appends run 5 % slower without.
static arith::IntegerOverflowFlags getOverflowFlags(scf::ForOp loop) {
  if (!loop.getInductionVar().getType().isIndex())
    return arith::IntegerOverflowFlags::none;
  return loop.getUnsignedCmp() ? arith::IntegerOverflowFlags::nuw
                               : arith::IntegerOverflowFlags::nsw;
}

/// Ends the block at the insertion point: on with an iteration at `iv`, if it
/// is one of the loop, else with what follows it; `carried` to both.
static void branch(PatternRewriter &rewriter, scf::ForOp loop, Value iv,
                   ValueRange carried, Block *body, Block *exit) {
  auto predicate = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                         : arith::CmpIPredicate::slt;
  Value isIteration = arith::CmpIOp::create(rewriter, loop.getLoc(), predicate,
                                            iv, loop.getUpperBound());
  SmallVector<Value> arguments = {iv};
  llvm::append_range(arguments, carried);
  cf::CondBranchOp::create(rewriter, loop.getLoc(), isIteration, body,
                           arguments, exit, carried);
}

LogicalResult
LowerForPattern::matchAndRewrite(scf::ForOp loop,
                                 PatternRewriter &rewriter) const {
  Location loc = loop.getLoc();
  Block *before = rewriter.getInsertionBlock(), *body = loop.getBody();
  Block *behind = rewriter.splitBlock(before, rewriter.getInsertionPoint());
  SmallVector<Location> locs(loop.getNumResults(), loc);
  Block *exit = rewriter.createBlock(behind, loop.getResultTypes(), locs);
  cf::BranchOp::create(rewriter, loc, behind);

  auto yield = cast<scf::YieldOp>(body->getTerminator());
  rewriter.setInsertionPoint(yield);
  Value next = arith::AddIOp::create(rewriter, loc, loop.getInductionVar(),
                                     loop.getStep(), getOverflowFlags(loop));
  branch(rewriter, loop, next, yield.getOperands(), body, exit);
  rewriter.eraseOp(yield);
  rewriter.inlineRegionBefore(loop.getRegion(), exit);

  rewriter.setInsertionPointToEnd(before);
  branch(rewriter, loop, loop.getLowerBound(), loop.getInitArgs(), body, exit);
  rewriter.replaceOp(loop, exit->getArguments());
  return success();
}

namespace {

struct LowerLoopsPass : kvq::impl::LowerLoopsPassBase<LowerLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    patterns.add<LowerForPattern>(context, /*benefit=*/2); // before MLIR's own
    ConversionTarget target(*context);
    target
        .addIllegalOp<scf::ForallOp, scf::ForOp, scf::IfOp, scf::IndexSwitchOp,
                      scf::ParallelOp, scf::WhileOp, scf::ExecuteRegionOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
