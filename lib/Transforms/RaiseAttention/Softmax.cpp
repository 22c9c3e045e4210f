//===- Softmax.cpp - The scores behind the weights ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Softmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

/// exp or exp2.
static bool isExponential(Operation *op) {
  return isa_and_nonnull<math::ExpOp, math::Exp2Op>(op);
}

static bool isSumOfExponentials(ElementTracer &tracer,
                                const TracedElement &element) {
  std::optional<ReducedElement> sum = matchReduction(tracer, element);
  if (!sum || !isa<arith::AddFOp>(sum->combiner))
    return false;
  for (unsigned loop : sum->reducedLoops)
    sum->reduced.indices[loop] = getAffineConstantExpr(0, tracer.context);
  return isExponential(skipToOp(tracer, sum->reduced));
}

bool kvq::comesFromSoftmax(ElementTracer &tracer,
                           const TracedElement &element) {
  auto isSoftmax = [&](const TracedElement &found) {
    return found.value.getDefiningOp<linalg::SoftmaxOp>() ||
           isSumOfExponentials(tracer, found);
  };
  return isComputedFrom(tracer, element, isSoftmax, /*throughMoves=*/true);
}

//===----------------------------------------------------------------------===//
// Rows without a visible token
//===----------------------------------------------------------------------===//

/// An i1 and whether it is negated.
static TracedElement skipNegations(ElementTracer &tracer, TracedElement element,
                                   bool &isNegated) {
  while (true) {
    Operation *op = skipToOp(tracer, element);
    std::optional<double> constant;
    bool comparesBits =
        isa_and_nonnull<arith::CmpIOp>(op) &&
        getElementTypeOrSelf(op->getOperand(0).getType()).isInteger(1);
    if (comparesBits || isa_and_nonnull<arith::XOrIOp>(op))
      constant = getConstant(tracer, tracer.getOperand(element, 1));
    if (!constant)
      return element;
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (compare && compare.getPredicate() != arith::CmpIPredicate::eq &&
        compare.getPredicate() != arith::CmpIPredicate::ne)
      return element;
    bool equalsZero = compare &&
                      compare.getPredicate() == arith::CmpIPredicate::eq &&
                      *constant == 0;
    bool differsFromOne =
        *constant != 0 &&
        !(compare && compare.getPredicate() == arith::CmpIPredicate::eq);
    isNegated ^= equalsZero || differsFromOne;
    element = tracer.getOperand(element, 0);
  }
}

/// Whether an i1 says that all of a row is -inf: all(x == -inf), or not
/// any(x != -inf).
static bool isRowHidden(ElementTracer &tracer, TracedElement element,
                        unsigned dimension, TracedElement &score) {
  bool isNegated = false;
  element = skipNegations(tracer, element, isNegated);
  std::optional<ReducedElement> reduction = matchReduction(tracer, element);
  if (!reduction || reduction->reducedLoops.size() != 1)
    return false;
  bool isAny = isa<arith::OrIOp>(reduction->combiner);
  if ((!isAny && !isa<arith::AndIOp>(reduction->combiner)) ||
      isAny != isNegated)
    return false;
  TracedElement bit = reduction->reduced;
  bit.indices[reduction->reducedLoops.front()] =
      getAffineDimExpr(dimension, tracer.context);
  bit = skipNegations(tracer, bit, isNegated);
  auto compare = bit.value.getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return false;
  std::optional<double> bound = getConstant(tracer, tracer.getOperand(bit, 1));
  bool isEqual = compare.getPredicate() == arith::CmpFPredicate::OEQ ||
                 compare.getPredicate() == arith::CmpFPredicate::UEQ;
  bool isUnequal = compare.getPredicate() == arith::CmpFPredicate::UNE ||
                   compare.getPredicate() == arith::CmpFPredicate::ONE;
  score = tracer.getOperand(bit, 0);
  return bound == -std::numeric_limits<double>::infinity() &&
         (isNegated ? isUnequal : isEqual);
}

//===----------------------------------------------------------------------===//
// The parts of a softmax
//===----------------------------------------------------------------------===//

namespace {

/// A numerator over a denominator.
struct Quotient {
  TracedElement numerator, denominator;
};

} // namespace

static std::optional<Quotient> matchQuotient(ElementTracer &tracer,
                                             TracedElement element) {
  Operation *op = skipToOp(tracer, element);
  if (isa_and_nonnull<arith::DivFOp>(op))
    return Quotient{tracer.getOperand(element, 0),
                    tracer.getOperand(element, 1)};
  if (!isa_and_nonnull<arith::MulFOp>(op))
    return std::nullopt;
  for (unsigned side : {1, 0}) {
    TracedElement reciprocal = tracer.getOperand(element, side);
    auto *inner = skipToOp(tracer, reciprocal);
    if (isa_and_nonnull<arith::DivFOp>(inner) &&
        getConstant(tracer, tracer.getOperand(reciprocal, 0)) == 1.0)
      return Quotient{tracer.getOperand(element, 1 - side),
                      tracer.getOperand(reciprocal, 1)};
  }
  return std::nullopt;
}

/// What the sum that `element` is adds up along `dimension`.
static FailureOr<TracedElement>
matchSum(ElementTracer &tracer, TracedElement element, unsigned dimension) {
  std::optional<ReducedElement> sum = matchReduction(tracer, element);
  if (!sum || !isa<arith::AddFOp>(sum->combiner) ||
      sum->reducedLoops.size() != 1)
    return tracer.fail("weights are divided by what " +
                       describe(tracer, element) +
                       " makes, not by a sum along one axis");
  if (getConstant(tracer, sum->initial) != 0.0)
    return tracer.fail("the sum that weights are divided by does not start "
                       "from 0");
  TracedElement reduced = sum->reduced;
  reduced.indices[sum->reducedLoops.front()] =
      getAffineDimExpr(dimension, tracer.context);
  return reduced;
}

/// Less what is the same for all tokens, which changes no weight.
static FailureOr<ScaledElement>
skipShift(ElementTracer &tracer, TracedElement element, unsigned dimension) {
  ScaledElement score = {element, 1.0};
  TracedElement inner = element;
  // Factors of what has a shift inside.
  while (std::optional<ScaledElement> scaled = matchScaled(tracer, inner)) {
    score.factor *= scaled->factor;
    inner = scaled->element;
  }
  Operation *op = skipToOp(tracer, inner);
  if (!isa_and_nonnull<arith::SubFOp>(op))
    return ScaledElement{element, 1.0};
  if (!isInvariant(tracer, tracer.getOperand(inner, 1), dimension))
    return tracer.fail("what is subtracted before the exponential, " +
                       describe(tracer, tracer.getOperand(inner, 1)) +
                       ", differs between tokens");
  score.element = tracer.getOperand(inner, 0);
  return score;
}

static FailureOr<ScaledElement> matchSoftmaxOp(ElementTracer &tracer,
                                               const TracedElement &element,
                                               unsigned dimension) {
  auto op = element.value.getDefiningOp<linalg::SoftmaxOp>();
  for (auto [axis, index] : llvm::enumerate(element.indices)) {
    bool isAlong = index == getAffineDimExpr(dimension, tracer.context);
    if (index.isFunctionOfDim(dimension) != (axis == op.getDimension()) ||
        (axis == op.getDimension() && !isAlong))
      return tracer.fail("a linalg.softmax is along another axis than that "
                         "of tokens");
  }
  return ScaledElement{{op.getInput(), element.indices}, 1.0};
}

FailureOr<ScaledElement> kvq::matchSoftmax(ElementTracer &tracer,
                                           TracedElement element,
                                           unsigned dimension) {
  Operation *op = skipToOp(tracer, element);
  std::optional<TracedElement> guarded;
  if (isa_and_nonnull<arith::SelectOp>(op) &&
      getConstant(tracer, tracer.getOperand(element, 1)) == 0.0) {
    guarded.emplace();
    if (!isRowHidden(tracer, tracer.getOperand(element, 0), dimension,
                     *guarded))
      return tracer.fail("weights are set to 0 where something else is true "
                         "than that all of a row is -inf");
    element = tracer.getOperand(element, 2);
    op = skipToOp(tracer, element);
  }
  FailureOr<ScaledElement> score = failure();
  if (isa_and_nonnull<linalg::SoftmaxOp>(op)) {
    score = matchSoftmaxOp(tracer, element, dimension);
  } else {
    std::optional<Quotient> quotient = matchQuotient(tracer, element);
    if (!quotient)
      return tracer.fail("weights are made by " + describe(tracer, element) +
                         ", which is no softmax");
    TracedElement exponential = quotient->numerator;
    Operation *exp = skipToOp(tracer, exponential);
    if (!isExponential(exp))
      return tracer.fail("weights are made of " +
                         describe(tracer, exponential) +
                         ", not of an exponential");
    FailureOr<TracedElement> summed =
        matchSum(tracer, quotient->denominator, dimension);
    if (failed(summed))
      return failure();
    if (!isSameElement(tracer, exponential, *summed))
      return tracer.fail("weights are divided by the sum of something else "
                         "than their exponentials along the axis of tokens");
    score = skipShift(tracer, tracer.getOperand(exponential, 0), dimension);
    if (succeeded(score) && isa<math::Exp2Op>(exp)) {
      score->factor *= std::log(2.0);
      // log2(e), as it is rounded to f32, makes it exp.
      if (std::abs(score->factor - 1.0) < std::numeric_limits<float>::epsilon())
        score->factor = 1.0;
    }
  }
  if (succeeded(score) && guarded &&
      !isSameElement(tracer, *guarded, score->element))
    return tracer.fail("weights are set to 0 where all of something else than "
                       "their scores is -inf");
  return score;
}
