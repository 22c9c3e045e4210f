//===- Scores.cpp - What scores are made of -------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

bool kvq::isHiding(std::optional<double> number) {
  // exp(x) is 0 in f32 from about -104 on; scores themselves are taken to be
  // within some thousands.
  constexpr double kHidden = -1e4;
  return number && *number <= kHidden;
}

namespace {

/// Goes from a score inwards.
class ScoreMatcher {
public:
  ScoreMatcher(ElementTracer &tracer, ScaledElement score, unsigned tokens,
               unsigned channels)
      : tracer(tracer), tokens(tokens), channels(channels),
        element(score.element), factor(score.factor) {}

  FailureOr<Scores> match();

private:
  LogicalResult matchSelect();
  LogicalResult matchSum();
  LogicalResult matchTanh();
  LogicalResult matchContraction(ReducedElement &product);
  LogicalResult addMask(MaskTerm mask);

  ElementTracer &tracer;
  unsigned tokens, channels;
  /// What is left to follow, and what it is multiplied by further out.
  TracedElement element;
  double factor;
  Scores scores;
};

} // namespace

LogicalResult ScoreMatcher::addMask(MaskTerm mask) {
  if (scores.softcap)
    return tracer.fail("scores are masked before their softcap");
  if (factor <= 0)
    return tracer.fail("masked scores are multiplied by " +
                       std::to_string(factor));
  mask.factor = factor;
  scores.masks.push_back(mask);
  return success();
}

LogicalResult ScoreMatcher::matchSelect() {
  TracedElement condition = tracer.getOperand(element, 0);
  for (unsigned side : {1, 2}) {
    if (!isHiding(getConstant(tracer, tracer.getOperand(element, side))))
      continue;
    element = tracer.getOperand(element, 3 - side);
    return addMask({condition, /*hidesWhere=*/side == 1});
  }
  return tracer.fail("an 'arith.select' chooses scores, but none of what it "
                     "chooses from is -inf or another number that hides");
}

static bool isContraction(const TracedElement &element) {
  auto structured = element.value.getDefiningOp<linalg::LinalgOp>();
  return structured && structured.getNumReductionLoops() > 0 &&
         structured.getNumDpsInputs() == 2;
}

LogicalResult ScoreMatcher::matchSum() {
  for (unsigned side : {0, 1}) {
    TracedElement score = tracer.getOperand(element, side);
    if (!isComputedFrom(tracer, score, isContraction))
      continue;
    TracedElement mask = tracer.getOperand(element, 1 - side);
    element = score;
    return addMask({mask, std::nullopt});
  }
  return tracer.fail("scores are a sum, but none of its terms comes from a "
                     "contraction of queries and keys");
}

LogicalResult ScoreMatcher::matchTanh() {
  if (scores.softcap)
    return tracer.fail("scores have two softcaps");
  if (factor <= 0)
    return tracer.fail("'math.tanh' of scores is multiplied by " +
                       std::to_string(factor) + ", which is no softcap");
  scores.softcap = std::exchange(factor, 1.0);
  element = tracer.getOperand(element, 0);
  return success();
}

LogicalResult ScoreMatcher::matchContraction(ReducedElement &product) {
  if (!isa<arith::AddFOp>(product.combiner) || product.reducedLoops.size() != 1)
    return tracer.fail("scores are not sums of products along one axis");
  if (getConstant(tracer, product.initial) != 0.0)
    return tracer.fail("the sums that scores are do not start from 0");
  unsigned loop = product.reducedLoops.front();
  TracedElement reduced = product.reduced;
  reduced.indices[loop] = getAffineDimExpr(channels, tracer.context);
  tracer.extents[channels] = product.op.getStaticLoopRanges()[loop];
  while (std::optional<ScaledElement> scaled = matchScaled(tracer, reduced)) {
    reduced = scaled->element;
    factor *= scaled->factor;
  }
  if (!isa_and_nonnull<arith::MulFOp>(skipToOp(tracer, reduced)))
    return tracer.fail("scores are sums of what " + describe(tracer, reduced) +
                       " makes, not of products");
  for (unsigned side : {0, 1}) {
    scores.query = tracer.getOperand(reduced, side);
    scores.key = tracer.getOperand(reduced, 1 - side);
    if (isInvariant(tracer, scores.query, tokens) &&
        !isInvariant(tracer, scores.key, tokens)) {
      scores.contraction = product.op;
      scores.scale = factor * scores.softcap.value_or(1);
      return success();
    }
  }
  return tracer.fail("scores are no contraction of what is the same for all "
                     "tokens, queries, with what is not, keys");
}

FailureOr<Scores> ScoreMatcher::match() {
  while (true) {
    if (std::optional<ScaledElement> scaled = matchScaled(tracer, element)) {
      element = scaled->element;
      factor *= scaled->factor;
      continue;
    }
    Operation *op = skipToOp(tracer, element);
    if (std::optional<ReducedElement> product =
            matchReduction(tracer, element)) {
      if (failed(matchContraction(*product)))
        return failure();
      return std::move(scores);
    }
    LogicalResult result = failure();
    if (isa_and_nonnull<arith::SelectOp>(op))
      result = matchSelect();
    else if (isa_and_nonnull<arith::AddFOp>(op))
      result = matchSum();
    else if (isa_and_nonnull<math::TanhOp>(op))
      result = matchTanh();
    else
      return tracer.fail("scores are made by " + describe(tracer, element) +
                         ", which attention has no part for");
    if (failed(result))
      return failure();
  }
}

FailureOr<Scores> kvq::matchScores(ElementTracer &tracer, ScaledElement score,
                                   unsigned tokens, unsigned channels) {
  return ScoreMatcher(tracer, score, tokens, channels).match();
}
