//===- Elements.cpp - What computes an element ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvq;

/// How many ops are followed, one behind the other, where any number of
/// operands may lead to what is sought.
constexpr unsigned kMaxDepth = 12;

Operation *kvq::skipToOp(ElementTracer &tracer, TracedElement &element) {
  // What stands in the way of a move is the op that made the element.
  (void)tracer.skipFloatCasts(element);
  return element.value.getDefiningOp();
}

bool kvq::isOutsideBodies(Value value) {
  Operation *op = value.getParentBlock()->getParentOp();
  return !isa<ShapedType>(value.getType()) && !isa<linalg::LinalgOp>(op) &&
         !op->getParentOfType<linalg::LinalgOp>();
}

std::string kvq::describe(ElementTracer &tracer, TracedElement element) {
  Operation *op = skipToOp(tracer, element);
  if (!op)
    return "a block argument";
  return ("'" + op->getName().getStringRef() + "'").str();
}

std::optional<double> kvq::getConstant(ElementTracer &tracer,
                                       TracedElement element) {
  skipToOp(tracer, element);
  Attribute constant;
  if (!matchPattern(element.value, m_Constant(&constant)))
    return std::nullopt;
  if (auto elements = dyn_cast<DenseElementsAttr>(constant);
      elements && elements.isSplat())
    constant = elements.getSplatValue<Attribute>();
  if (auto number = dyn_cast<FloatAttr>(constant))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(constant))
    return number.getType().isInteger(1) ? number.getValue().getZExtValue()
                                         : number.getInt();
  return std::nullopt;
}

std::optional<ScaledElement> kvq::matchScaled(ElementTracer &tracer,
                                              TracedElement element) {
  Operation *op = skipToOp(tracer, element);
  if (isa_and_nonnull<arith::NegFOp>(op))
    return ScaledElement{tracer.getOperand(element, 0), -1.0};
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return std::nullopt;
  TracedElement left = tracer.getOperand(element, 0),
                right = tracer.getOperand(element, 1);
  std::optional<double> factor = getConstant(tracer, right);
  if (isa<arith::DivFOp>(op)) {
    if (!factor || *factor == 0)
      return std::nullopt;
    return ScaledElement{left, 1.0 / *factor};
  }
  if (factor)
    return ScaledElement{left, *factor};
  if ((factor = getConstant(tracer, left)))
    return ScaledElement{right, *factor};
  return std::nullopt;
}

SmallVector<HeldElement> kvq::getHolders(ElementTracer &tracer,
                                         TracedElement element, bool scales) {
  SmallVector<HeldElement> holders;
  double factor = 1;
  while (true) {
    if (isa<RankedTensorType>(element.value.getType()))
      holders.push_back({element, factor});
    FailureOr<bool> moved = tracer.move(element);
    if (failed(moved))
      return holders;
    if (*moved)
      continue;
    if (tracer.moveThroughFloatCast(element))
      continue;
    std::optional<ScaledElement> scaled;
    if (scales)
      scaled = matchScaled(tracer, element);
    if (!scaled)
      return holders;
    // Where the product is, not what skipping moves has found.
    element = scaled->element;
    factor *= scaled->factor;
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

std::optional<ReducedElement> kvq::matchReduction(ElementTracer &tracer,
                                                  TracedElement element) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(skipToOp(tracer, element));
  if (!op || op.getNumReductionLoops() == 0 || op->getNumRegions() != 1)
    return std::nullopt;
  auto result = cast<OpResult>(element.value);
  AffineMap map = op.getIndexingMapMatchingResult(result);
  ReducedElement found = {op, nullptr, {}, {}, {}};
  SmallVector<AffineExpr> loops(op.getNumLoops());
  // Axes of extent 1 that stay may have a constant in the place of a loop.
  for (auto [index, axis] : llvm::zip_equal(element.indices, map.getResults()))
    if (auto loop = dyn_cast<AffineDimExpr>(axis))
      loops[loop.getPosition()] = index;
    else if (!isa<AffineConstantExpr>(axis))
      return std::nullopt;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool isReduced = kind == utils::IteratorType::reduction;
    if (isReduced)
      found.reducedLoops.push_back(loop);
    if (isReduced == bool(loops[loop]))
      return std::nullopt;
  }
  Block *body = op.getBlock();
  unsigned number = result.getResultNumber();
  found.combiner = body->getTerminator()->getOperand(number).getDefiningOp();
  if (!found.combiner || found.combiner->getNumOperands() != 2)
    return std::nullopt;
  OpOperand *init = op.getDpsInitOperand(number);
  BlockArgument before = op.getMatchingBlockArgument(init);
  bool isFirst = found.combiner->getOperand(0) == before;
  if (!isFirst && found.combiner->getOperand(1) != before)
    return std::nullopt;
  found.reduced = {found.combiner->getOperand(isFirst ? 1 : 0), loops};
  found.initial = {init->get(), element.indices};
  return found;
}

//===----------------------------------------------------------------------===//
// Comparing and searching
//===----------------------------------------------------------------------===//

static bool isSame(ElementTracer &tracer, TracedElement left,
                   TracedElement right, unsigned depth) {
  Operation *leftOp = skipToOp(tracer, left);
  Operation *rightOp = skipToOp(tracer, right);
  if (left.value == right.value && left.indices == right.indices)
    return true;
  if (!leftOp || !rightOp || depth == 0 ||
      leftOp->getName() != rightOp->getName() ||
      leftOp->getAttrDictionary() != rightOp->getAttrDictionary() ||
      leftOp->getNumRegions() != 0 || leftOp->getNumOperands() == 0 ||
      leftOp->getNumOperands() != rightOp->getNumOperands() ||
      !leftOp->hasTrait<OpTrait::Elementwise>())
    return false;
  for (unsigned number = 0; number < leftOp->getNumOperands(); ++number)
    if (!isSame(tracer, tracer.getOperand(left, number),
                tracer.getOperand(right, number), depth - 1))
      return false;
  return true;
}

bool kvq::isSameElement(ElementTracer &tracer, TracedElement left,
                        TracedElement right) {
  return isSame(tracer, left, right, kMaxDepth);
}

static bool isInvariant(ElementTracer &tracer, TracedElement element,
                        unsigned dimension, unsigned depth) {
  Operation *op = skipToOp(tracer, element);
  bool varies = llvm::any_of(element.indices, [&](AffineExpr index) {
    return index.isFunctionOfDim(dimension);
  });
  if (!varies || isOutsideBodies(element.value))
    return true;
  if (!op || depth == 0)
    return false;
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return !element.indices[index.getDim()].isFunctionOfDim(dimension);
  if (op->getNumOperands() == 0)
    return matchPattern(op, m_Constant());
  if (!op->hasTrait<OpTrait::Elementwise>())
    return false;
  for (unsigned number = 0; number < op->getNumOperands(); ++number)
    if (!isInvariant(tracer, tracer.getOperand(element, number), dimension,
                     depth - 1))
      return false;
  return true;
}

bool kvq::isInvariant(ElementTracer &tracer, TracedElement element,
                      unsigned dimension) {
  return ::isInvariant(tracer, element, dimension, kMaxDepth);
}

static bool isFrom(ElementTracer &tracer, TracedElement element,
                   function_ref<bool(const TracedElement &)> isSought,
                   bool throughMoves, unsigned depth) {
  Operation *op = skipToOp(tracer, element);
  if (!op)
    return false;
  if (isSought(element))
    return true;
  if (depth == 0)
    return false;
  // Elements are moved in a way that is not traced: any may be the one.
  if (throughMoves && isa<tensor::TensorDialect>(op->getDialect()))
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type)
        return false;
      AffineExpr first = getAffineConstantExpr(0, tracer.context);
      TracedElement some = {operand, {}};
      some.indices.assign(type.getRank(), first);
      return isFrom(tracer, some, isSought, throughMoves, depth - 1);
    });
  if (!op->hasTrait<OpTrait::Elementwise>())
    return false;
  for (unsigned number = 0; number < op->getNumOperands(); ++number)
    if (isFrom(tracer, tracer.getOperand(element, number), isSought,
               throughMoves, depth - 1))
      return true;
  return false;
}

bool kvq::isComputedFrom(ElementTracer &tracer, TracedElement element,
                         function_ref<bool(const TracedElement &)> isSought,
                         bool throughMoves) {
  return isFrom(tracer, element, isSought, throughMoves, kMaxDepth);
}
