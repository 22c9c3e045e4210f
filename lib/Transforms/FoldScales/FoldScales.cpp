//===- FoldScales.cpp - Scales out of contractions ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Transforms.h"

#include "ScaleFolder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_FOLDSCALESPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Matches `op` with operand `index` dequantized and the axes in the order that
/// `Contraction` names.
static FailureOr<Contraction> matchOperand(linalg::GenericOp op,
                                           unsigned index) {
  auto dequantize = op.getDpsInputs()[index].getDefiningOp<kvq::DequantizeOp>();
  if (!dequantize)
    return failure();
  Value other = op.getDpsInputs()[1 - index];
  Value output = op.getDpsInits().front();
  // Scratch of as many rows has to have a static size.
  if (cast<ShapedType>(other.getType()).isDynamicDim(0))
    return failure();
  if (!cast<ShapedType>(other.getType()).getElementType().isF32() ||
      !cast<ShapedType>(output.getType()).getElementType().isF32() ||
      !cast<ShapedType>(dequantize.getResult(0).getType())
           .getElementType()
           .isF32())
    return failure();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap tokensMap = maps[index], otherMap = maps[1 - index],
            outputMap = maps[2];
  for (AffineMap map : maps)
    if (!map.isProjectedPermutation() || map.getNumResults() != 2)
      return failure();
  unsigned token = tokensMap.getDimPosition(0),
           channel = tokensMap.getDimPosition(1);
  unsigned row = otherMap.getDimPosition(0),
           reduced = otherMap.getDimPosition(1);
  if (outputMap.getDimPosition(0) != row ||
      (reduced != token && reduced != channel) ||
      outputMap.getDimPosition(1) != (reduced == token ? channel : token))
    return failure();
  return Contraction{dequantize, other, output, reduced == channel,
                     /*hides=*/false};
}

FailureOr<Contraction> Contraction::match(linalg::GenericOp op) {
  // Product, sum and yield: upstream looks through any op of one operand, as
  // negation, between them.
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumLoops() != 3 || op.getNumReductionLoops() != 1)
    return failure();
  if (isHidingContraction(op)) {
    FailureOr<Contraction> match = matchOperand(op, /*index=*/1);
    if (failed(match) || match->reducesChannels)
      return failure();
    match->hides = true;
    return match;
  }
  if (!llvm::hasNItems(*op.getBody(), 3) ||
      !linalg::isaContractionOpInterface(
          cast<linalg::LinalgOp>(op.getOperation())))
    return failure();
  for (unsigned index : {0u, 1u})
    if (FailureOr<Contraction> match = matchOperand(op, index);
        succeeded(match))
      return match;
  return failure();
}

/// Its extent, or that of the storage which its destination is a slice of.
std::optional<int64_t> Contraction::getTokenBound() const {
  DequantizeOp op = dequantize;
  Value destination = op.getInits().front();
  auto getExtent = [](Value value) {
    return cast<ShapedType>(value.getType()).getDimSize(0);
  };
  if (auto slice = destination.getDefiningOp<tensor::ExtractSliceOp>())
    destination = slice.getSource();
  int64_t extent = getExtent(destination);
  return ShapedType::isDynamic(extent) ? std::nullopt
                                       : std::optional<int64_t>(extent);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

FailureOr<Value>
kvq::foldScales(RewriterBase &rewriter, linalg::GenericOp op, bool lanes,
                llvm::function_ref<LogicalResult(StringRef)> notifyReason) {
  rewriter.setInsertionPoint(op);
  FailureOr<Contraction> contraction = Contraction::match(op);
  if (failed(contraction))
    return notifyReason(
        "not a contraction of a static number of f32 rows with a "
        "dequantized tile");
  DequantizeOp dequantize = contraction->dequantize;
  auto scalesType = cast<RankedTensorType>(dequantize.getInputs()[1].getType());
  if (dequantize.getFormat().getGroupTokens() > 1 &&
      scalesType.getDimSize(0) != 1)
    return notifyReason("the tile spans more than one group of tokens");
  std::optional<int64_t> bound = contraction->getTokenBound();
  if (!bound)
    return notifyReason("the tile has no static bound");
  Location loc = op.getLoc();
  auto integers = op->getAttrOfType<TypeAttr>(kQueryCodesAttrName);
  Value folded =
      integers ? foldWithIntegers(rewriter, loc, *contraction, *bound,
                                  cast<IntegerType>(integers.getValue()), lanes)
               : ScaleFolder(rewriter, loc, *contraction, *bound, lanes).run();
  rewriter.replaceOp(op, folded);
  return folded;
}

namespace {

struct FoldIntoContraction : OpRewritePattern<linalg::GenericOp> {
  FoldIntoContraction(MLIRContext *context, bool lanes)
      : OpRewritePattern(context), lanes(lanes) {}

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    return foldScales(rewriter, op, lanes, [&](StringRef reason) {
      return rewriter.notifyMatchFailure(op, reason);
    });
  }

private:
  bool lanes;
};

struct FoldScalesPass : kvq::impl::FoldScalesPassBase<FoldScalesPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldIntoContraction>(&getContext(), lanes);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult left = getOperation()->walk([](linalg::GenericOp op) {
      if (!op->hasAttr(kQueryCodesAttrName))
        return WalkResult::advance();
      op.emitError("expected a contraction with integer codes of one group of "
                   "tokens, of a bounded number, to use ")
          << kQueryCodesAttrName;
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted())
      return signalPassFailure();
    // What was folded is read by nothing any more.
    getOperation()->walk([](DequantizeOp op) {
      if (isOpTriviallyDead(op))
        op.erase();
    });
    getOperation()->walk([](LoadTileOp op) {
      if (isOpTriviallyDead(op))
        op.erase();
    });
  }
};

} // namespace
