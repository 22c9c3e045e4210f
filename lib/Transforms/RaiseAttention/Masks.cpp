//===- Masks.cpp - Which tokens scores are masked for ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Masks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static LinearIndex add(LinearIndex left, const LinearIndex &right,
                       int64_t factor) {
  left.expr = left.expr + right.expr * factor;
  for (const auto &[own, value] : right.values)
    left.values.push_back({own * factor, value});
  return left;
}

/// first + step * index of a constant 0, 1, 2, …, as of torch.arange.
static AffineExpr matchProgression(const TracedElement &element) {
  DenseIntElementsAttr numbers;
  if (!matchPattern(element.value, m_Constant(&numbers)) ||
      numbers.getNumElements() < 2)
    return {};
  ArrayRef<int64_t> shape = numbers.getType().getShape();
  auto isLong = [](int64_t extent) { return extent != 1; };
  if (llvm::count_if(shape, isLong) != 1)
    return {};
  auto values = llvm::map_to_vector(
      numbers, [](const APInt &number) { return number.getSExtValue(); });
  int64_t step = values[1] - values[0];
  for (auto [position, value] : llvm::enumerate(values))
    if (value != values[0] + step * int64_t(position))
      return {};
  return element.indices[llvm::find_if(shape, isLong) - shape.begin()] * step +
         values[0];
}

static std::optional<LinearIndex> getLinear(ElementTracer &tracer,
                                            TracedElement element) {
  AffineExpr zero = getAffineConstantExpr(0, tracer.context);
  SmallVector<HeldElement> holders =
      getHolders(tracer, element, /*scales=*/false);
  Operation *op = skipToOp(tracer, element);
  if (auto index = dyn_cast_or_null<linalg::IndexOp>(op))
    return LinearIndex{element.indices[index.getDim()], {}};
  if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                      arith::ExtUIOp, arith::TruncIOp>(op) &&
      !getElementTypeOrSelf(op->getOperand(0)).isInteger(1))
    return getLinear(tracer, tracer.getOperand(element, 0));
  Attribute constant;
  if (matchPattern(element.value, m_Constant(&constant))) {
    if (AffineExpr progression = matchProgression(element))
      return LinearIndex{progression, {}};
    if (std::optional<double> number = getConstant(tracer, element))
      return LinearIndex{zero + int64_t(*number), {}};
  }
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    auto left = getLinear(tracer, tracer.getOperand(element, 0));
    auto right = getLinear(tracer, tracer.getOperand(element, 1));
    if (left && right)
      return add(*left, *right, isa<arith::SubIOp>(op) ? -1 : 1);
  }
  if (isOutsideBodies(element.value))
    return LinearIndex{zero, {{1, {element.value, {}}}}};
  if (holders.empty())
    return std::nullopt;
  return LinearIndex{zero, {{1, holders.back().element}}};
}

/// What is at most 0 where the comparison holds, or where it does not.
static std::optional<Comparison> parseComparison(ElementTracer &tracer,
                                                 const TracedElement &element,
                                                 bool holds) {
  auto op = cast<arith::CmpIOp>(element.value.getDefiningOp());
  arith::CmpIPredicate predicate =
      holds ? op.getPredicate() : arith::invertPredicate(op.getPredicate());
  auto left = getLinear(tracer, tracer.getOperand(element, 0));
  auto right = getLinear(tracer, tracer.getOperand(element, 1));
  if (!left || !right)
    return std::nullopt;
  LinearIndex one = {getAffineConstantExpr(1, tracer.context), {}};
  switch (predicate) {
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return add(*left, *right, -1);
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return add(add(*left, *right, -1), one, 1);
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return add(*right, *left, -1);
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return add(add(*right, *left, -1), one, 1);
  case arith::CmpIPredicate::eq:
  case arith::CmpIPredicate::ne:
    return std::nullopt;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Adds the comparisons that hold where the i1 is not `hidesWhere`; false where
/// it is something else.
static bool parseCondition(ElementTracer &tracer, TracedElement element,
                           bool hidesWhere,
                           SmallVectorImpl<Comparison> &comparisons) {
  Operation *op = skipToOp(tracer, element);
  if (std::optional<double> constant = getConstant(tracer, element))
    return (*constant != 0) != hidesWhere;
  bool joins = hidesWhere ? isa_and_nonnull<arith::OrIOp>(op)
                          : isa_and_nonnull<arith::AndIOp>(op);
  if (joins)
    return parseCondition(tracer, tracer.getOperand(element, 0), hidesWhere,
                          comparisons) &&
           parseCondition(tracer, tracer.getOperand(element, 1), hidesWhere,
                          comparisons);
  if (isa_and_nonnull<arith::XOrIOp>(op)) {
    std::optional<double> constant =
        getConstant(tracer, tracer.getOperand(element, 1));
    return constant &&
           parseCondition(tracer, tracer.getOperand(element, 0),
                          hidesWhere != (*constant != 0), comparisons);
  }
  if (!isa_and_nonnull<arith::CmpIOp>(op))
    return false;
  auto comparison = parseComparison(tracer, element, !hidesWhere);
  if (comparison)
    comparisons.push_back(*comparison);
  return comparison.has_value();
}

/// A number that is added: 0 or one that hides, by a condition, is a condition.
static std::optional<MaskTerm> getCondition(ElementTracer &tracer,
                                            TracedElement element) {
  if (!isa_and_nonnull<arith::SelectOp>(skipToOp(tracer, element)))
    return std::nullopt;
  auto first = getConstant(tracer, tracer.getOperand(element, 1));
  auto second = getConstant(tracer, tracer.getOperand(element, 2));
  bool hidesFirst = isHiding(first) && second == 0.0;
  if (!hidesFirst && !(isHiding(second) && first == 0.0))
    return std::nullopt;
  return MaskTerm{tracer.getOperand(element, 0), hidesFirst};
}

/// What is 0 where a token is hidden, in bytes, as attention takes masks.
static std::optional<TracedElement> getByte(ElementTracer &tracer,
                                            MaskTerm condition) {
  auto op =
      dyn_cast_or_null<arith::CmpIOp>(skipToOp(tracer, condition.element));
  constexpr unsigned kByte = 8;
  if (!op || !getElementTypeOrSelf(op.getLhs()).isInteger(kByte) ||
      getConstant(tracer, tracer.getOperand(condition.element, 1)) != 0.0 ||
      op.getPredicate() != (*condition.hidesWhere ? arith::CmpIPredicate::eq
                                                  : arith::CmpIPredicate::ne))
    return std::nullopt;
  return tracer.getOperand(condition.element, 0);
}

FailureOr<ParsedMask> kvq::parseMask(ElementTracer &tracer,
                                     const MaskTerm &term) {
  ParsedMask mask;
  std::optional<MaskTerm> condition;
  if (term.hidesWhere)
    condition = term;
  else
    condition = getCondition(tracer, term.element);
  if (condition && !parseCondition(tracer, condition->element,
                                   *condition->hidesWhere, mask.comparisons))
    mask.comparisons.clear();
  if (condition) {
    if (auto byte = getByte(tracer, *condition))
      mask.holders = getHolders(tracer, *byte, /*scales=*/false);
    if (!mask.holders.empty())
      return mask;
    mask.hidesWhere = condition->hidesWhere;
    mask.holders = getHolders(tracer, condition->element, /*scales=*/false);
  }
  if (mask.holders.empty() && !term.hidesWhere && term.factor == 1) {
    mask.hidesWhere = std::nullopt;
    mask.holders = getHolders(tracer, term.element, /*scales=*/false);
  }
  if (mask.holders.empty() && mask.comparisons.empty()) {
    if (!condition && term.factor != 1)
      return tracer.fail("masked scores are multiplied by " +
                         std::to_string(term.factor));
    return tracer.fail("scores are masked by what " +
                       describe(tracer, term.element) +
                       " computes, which is neither in a tensor nor a "
                       "comparison of token numbers with positions");
  }
  return mask;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {

/// A comparison as a bound of token numbers.
struct TokenBound {
  Bound bound;
  bool isLast;
};

} // namespace

/// Whether a value is the same for all but sequences.
static bool isPerSequence(const Digits &digits, const MaskAxes &axes,
                          const TracedElement &value) {
  return llvm::all_of(value.indices, [&](AffineExpr index) {
    std::optional<DigitSum> sum = digits.getSum(index);
    if (!sum || !isa<AffineConstantExpr>(sum->rest))
      return false;
    for (auto [digit, factor] : llvm::enumerate(sum->factors))
      if (factor != 0 && !llvm::is_contained(axes.batch, digit))
        return false;
    return true;
  });
}

static std::optional<TokenBound> getBound(const Digits &digits,
                                          const MaskAxes &axes,
                                          const Comparison &comparison) {
  std::optional<DigitSum> sum = digits.getSum(comparison.expr);
  if (!sum)
    return std::nullopt;
  auto rest = dyn_cast<AffineConstantExpr>(sum->rest);
  int64_t sign = sum->factors[axes.tokens];
  if (!rest || (sign != 1 && sign != -1))
    return std::nullopt;
  // sign * token + perQuery * query + rest <= 0
  TokenBound found = {{0, -sign * rest.getValue(), {}}, sign == 1};
  for (auto [digit, factor] : llvm::enumerate(sum->factors)) {
    if (digit == axes.queries)
      found.bound.perQuery = -sign * factor;
    else if (factor != 0 && digit != axes.tokens)
      return std::nullopt;
  }
  for (const auto &[factor, value] : comparison.values) {
    if (!isPerSequence(digits, axes, value))
      return std::nullopt;
    found.bound.values.push_back({-sign * factor, value});
  }
  if (found.bound.perQuery != 0 && found.bound.perQuery != 1)
    return std::nullopt;
  return found;
}

/// left - right, where that is known.
static std::optional<int64_t> subtract(ElementTracer &tracer, const Bound &left,
                                       const Bound &right) {
  if (left.perQuery != right.perQuery)
    return std::nullopt;
  SmallVector<std::pair<int64_t, TracedElement>> rest(left.values);
  for (const auto &[factor, value] : right.values)
    rest.push_back({-factor, value});
  while (!rest.empty()) {
    auto [factor, value] = rest.pop_back_val();
    for (auto &[other, candidate] : rest)
      if (isSameElement(tracer, value, candidate)) {
        other += factor;
        factor = 0;
      }
    if (factor != 0)
      return std::nullopt;
  }
  return left.constant - right.constant;
}

bool kvq::addComparisons(ElementTracer &tracer, const Digits &digits,
                         const MaskAxes &axes, ArrayRef<Comparison> comparisons,
                         Visibility &visibility) {
  Visibility result = visibility;
  SmallVector<Bound> first;
  for (const Comparison &comparison : comparisons) {
    std::optional<TokenBound> found = getBound(digits, axes, comparison);
    if (!found)
      return false;
    if (!found->isLast) {
      first.push_back(found->bound);
      continue;
    }
    if (found->bound.perQuery == 0) {
      result.last.push_back(found->bound);
      continue;
    }
    if (result.isCausal)
      return false;
    result.isCausal = true;
    result.position = found->bound;
  }
  for (const Bound &bound : first) {
    bool isTrivial =
        bound.perQuery == 0 && bound.values.empty() && bound.constant <= 0;
    if (isTrivial)
      continue;
    // A single query is at the last token that it sees.
    if (!result.position && !axes.queries && result.last.size() == 1)
      result.position = result.last.front();
    if (!result.position || result.window)
      return false;
    std::optional<int64_t> distance = subtract(tracer, *result.position, bound);
    if (!distance || *distance < 0)
      return false;
    result.window = *distance + 1;
  }
  visibility = std::move(result);
  return true;
}
