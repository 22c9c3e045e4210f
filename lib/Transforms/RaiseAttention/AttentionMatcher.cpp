//===- AttentionMatcher.cpp - A contraction that is attention -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"

#include "Softmax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The extents of the loops, and one for the channels of keys.
static SmallVector<int64_t> getDimensions(linalg::LinalgOp op) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  extents.push_back(ShapedType::kDynamic);
  return extents;
}

AttentionMatcher::AttentionMatcher(linalg::LinalgOp op)
    : op(op), tracer(op.getContext(), getDimensions(op)),
      channels(op.getNumLoops()), digits(op.getContext(), {}, {}) {}

bool AttentionMatcher::hasWeights() {
  auto contraction = cast<linalg::LinalgOp>(op);
  if (op->getNumResults() != 1 || contraction.getNumReductionLoops() != 1)
    return false;
  AffineMap map = contraction.getIndexingMapMatchingResult(op->getOpResult(0));
  result = {op->getResult(0), llvm::to_vector(map.getResults())};
  std::optional<ReducedElement> sum = matchReduction(tracer, result);
  if (!sum || !isa<arith::AddFOp>(sum->combiner) ||
      getConstant(tracer, sum->initial) != 0.0)
    return false;
  tokens = sum->reducedLoops.front();
  sum->reduced.indices[tokens] = getAffineDimExpr(tokens, tracer.context);
  if (!isa_and_nonnull<arith::MulFOp>(skipToOp(tracer, sum->reduced)))
    return false;
  for (unsigned side : {0, 1}) {
    weights = tracer.getOperand(sum->reduced, side);
    value = tracer.getOperand(sum->reduced, 1 - side);
    if (comesFromSoftmax(tracer, weights))
      return true;
  }
  return false;
}

LogicalResult AttentionMatcher::matchContraction() {
  FailureOr<ScaledElement> score = matchSoftmax(tracer, weights, tokens);
  if (failed(score))
    return failure();
  for (unsigned loop = 0; loop < channels; ++loop)
    if (loop != tokens && !isInvariant(tracer, weights, loop))
      rows.push_back(loop);
  FailureOr<Scores> found =
      matchScores(tracer, std::move(*score), tokens, channels);
  if (failed(found))
    return failure();
  scores = std::move(*found);
  return success();
}

/// What queries, keys and values are read from.
LogicalResult AttentionMatcher::takeOperands() {
  for (const MaskTerm &term : scores.masks) {
    FailureOr<ParsedMask> mask = parseMask(tracer, term);
    if (failed(mask))
      return failure();
    masks.push_back(std::move(*mask));
  }
  auto queries = getHolders(tracer, scores.query, /*scales=*/true);
  auto scaledKeys = getHolders(tracer, scores.key, /*scales=*/true);
  // A constant may be a part of what dequantizes.
  keyHolders = getHolders(tracer, scores.key, /*scales=*/false);
  if (!scaledKeys.empty() &&
      scaledKeys.back().element.value.getDefiningOp<DequantizeOp>())
    keyHolders = scaledKeys;
  valueHolders = getHolders(tracer, value, /*scales=*/false);
  if (queries.empty() || keyHolders.empty() || valueHolders.empty())
    return tracer.fail("queries, keys or values are computed where they are "
                       "contracted, and in no tensor");
  query = queries.front();
  key = scaledKeys.back();
  value = valueHolders.back().element;
  contracted = valueHolders.front().element;
  return success();
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Where each axis is read, as sums of digits, or at what tokens and channels
/// alone give.
FailureOr<SmallVector<AttentionMatcher::Place>>
AttentionMatcher::getPlaces(const TracedElement &element, StringRef name) {
  SmallVector<Place> places;
  for (AffineExpr index : element.indices) {
    bool isOfRows = llvm::any_of(
        rows, [&](unsigned loop) { return index.isFunctionOfDim(loop); });
    Place place = {digits.getSum(index), index};
    if (!place.sum && isOfRows)
      return tracer.fail("axis " + Twine(places.size()) + " of its " + name +
                         " is not read at one index after the other");
    places.push_back(std::move(place));
  }
  return places;
}

std::optional<SmallVector<SmallVector<unsigned>>>
AttentionMatcher::getAxes(const TracedElement &element) const {
  SmallVector<SmallVector<unsigned>> result;
  for (auto [index, extent] :
       llvm::zip_equal(element.indices, getShape(element.value))) {
    std::optional<SmallVector<unsigned>> axis = digits.getAxis(index, extent);
    if (!axis)
      return std::nullopt;
    result.push_back(std::move(*axis));
  }
  return result;
}

bool AttentionMatcher::uses(const Place &place, unsigned digit) const {
  if (place.sum)
    return place.sum->factors[digit] != 0;
  return place.index.isFunctionOfDim(digits.get()[digit].loop);
}

bool AttentionMatcher::uses(ArrayRef<Place> places, unsigned digit) const {
  return llvm::any_of(places,
                      [&](const Place &place) { return uses(place, digit); });
}

bool AttentionMatcher::dependsOn(const ParsedMask &mask, unsigned digit) const {
  auto isUsed = [&](AffineExpr index) {
    std::optional<DigitSum> sum = digits.getSum(index);
    return sum && sum->factors[digit] != 0;
  };
  for (const Comparison &comparison : mask.comparisons) {
    if (isUsed(comparison.expr))
      return true;
    for (const auto &[factor, value] : comparison.values)
      if (llvm::any_of(value.indices, isUsed))
        return true;
  }
  if (!mask.comparisons.empty())
    return false;
  // What is read first may have been broadcast.
  const HeldElement *oldest =
      llvm::find_if(llvm::reverse(mask.holders),
                    [&](const HeldElement &holder) {
                      return getAxes(holder.element).has_value();
                    })
          .base();
  return oldest != mask.holders.begin() &&
         llvm::any_of(std::prev(oldest)->element.indices, isUsed);
}

/// Queries that share keys are heads of a group, unless masks tell one from the
/// other: then they are tokens. What keys differ along, other than tokens and
/// channels, is sequences and heads.
void AttentionMatcher::classify(unsigned digit, ArrayRef<Place> keyAxes) {
  unsigned loop = digits.get()[digit].loop;
  if (loop == tokens)
    axes.tokens = digit;
  else if (loop == channels)
    axes.channels = digit;
  else if (!llvm::is_contained(rows, loop))
    axes.valueChannels.push_back(digit);
  else if (uses(keyAxes, digit))
    axes.heads.push_back(digit);
  else if (queryLoop ? loop == *queryLoop
                     : ShapedType::isDynamic(digits.get()[digit].extent) ||
                           llvm::any_of(masks, [&](const ParsedMask &mask) {
                             return dependsOn(mask, digit);
                           }))
    axes.queries.push_back(digit);
  else
    axes.groups.push_back(digit);
}

/// Splits loops where anything is read at a part of one.
void AttentionMatcher::splitLoops() {
  digits = Digits(tracer.context, tracer.extents, rows);
  auto split = [&](const TracedElement &element) {
    for (AffineExpr index : element.indices)
      digits.splitFor(index);
  };
  for (const TracedElement *element :
       {&key.element, &value, &query.element, &result})
    split(*element);
  for (const ParsedMask &mask : masks) {
    for (const HeldElement &holder : mask.holders)
      split(holder.element);
    for (const Comparison &comparison : mask.comparisons) {
      digits.splitFor(comparison.expr);
      for (const auto &[factor, value] : comparison.values)
        split(value);
    }
  }
}

/// What keys differ along is in the order of their axes: sequences, and heads
/// inside.
void AttentionMatcher::orderHeads(ArrayRef<Place> keyAxes) {
  auto getKeyAxis = [&](unsigned digit) {
    const Place *found = llvm::find_if(
        keyAxes, [&](const Place &place) { return uses(place, digit); });
    return found - keyAxes.begin();
  };
  llvm::sort(axes.heads, [&](unsigned left, unsigned right) {
    return std::pair(getKeyAxis(left), left) <
           std::pair(getKeyAxis(right), right);
  });
  while (axes.heads.size() > 1) {
    axes.batch.push_back(axes.heads.front());
    axes.heads.erase(axes.heads.begin());
  }
  // A single one is sequences where an axis of one head comes after it.
  constexpr size_t kCacheAxes = 4;
  auto isSingle = [](const Place &place) {
    return place.index.isSymbolicOrConstant();
  };
  if (axes.batch.empty() && !axes.heads.empty() &&
      getKeyAxis(axes.heads.front()) == 0 && keyAxes.size() == kCacheAxes &&
      llvm::count_if(keyAxes, isSingle) == 1)
    std::swap(axes.batch, axes.heads);
}

LogicalResult AttentionMatcher::matchAxes() {
  splitLoops();
  FailureOr<SmallVector<Place>> keyAxes = getPlaces(key.element, "keys");
  if (failed(keyAxes))
    return failure();
  bool hasTokens = false;
  for (unsigned digit = 0; digit < digits.get().size(); ++digit) {
    hasTokens |= digits.get()[digit].loop == tokens;
    classify(digit, *keyAxes);
  }
  if (!hasTokens)
    return tracer.fail("its keys are those of a single token");
  if (axes.queries.size() > 1)
    return tracer.fail("query tokens, which masks differ for, go along several "
                       "axes");
  orderHeads(*keyAxes);
  return success();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Whether a mask is for all sequences or none, all query heads or none.
bool AttentionMatcher::fitsMask(
    ArrayRef<SmallVector<unsigned>> maskAxes) const {
  llvm::SmallDenseSet<unsigned> used;
  for (ArrayRef<unsigned> axis : maskAxes)
    used.insert(axis.begin(), axis.end());
  if (!used.erase(axes.tokens))
    return false;
  for (unsigned digit : axes.queries)
    used.erase(digit);
  for (const SmallVector<unsigned> &all :
       {SmallVector<unsigned>(axes.batch), getQueryHeads()}) {
    size_t count =
        llvm::count_if(all, [&](unsigned digit) { return used.erase(digit); });
    if (count != 0 && count != all.size())
      return false;
  }
  return used.empty();
}

LogicalResult AttentionMatcher::addMaskOperand(const ParsedMask &mask) {
  if (maskOperand)
    return tracer.fail("scores are masked by several tensors");
  // As far back as axes are still those of attention.
  for (const HeldElement &holder : llvm::reverse(mask.holders)) {
    auto found = getAxes(holder.element);
    if (!found)
      continue;
    Type type = getElementTypeOrSelf(holder.element.value);
    bool isCondition = mask.hidesWhere.has_value();
    if (isCondition ? !type.isInteger(1)
                    : !(type.isF16() || type.isBF16() || type.isF32() ||
                        type.isInteger(8)))
      continue;
    if (!fitsMask(*found))
      continue;
    maskOperand = {holder.element.value, *found, mask.hidesWhere};
    return success();
  }
  return tracer.fail(
      "no tensor of masks for query tokens and tokens holds what "
      "masks its scores");
}

LogicalResult AttentionMatcher::matchMasks() {
  MaskAxes maskAxes = {axes.tokens, std::nullopt, axes.batch};
  if (!axes.queries.empty())
    maskAxes.queries = axes.queries.front();
  for (const ParsedMask &mask : masks) {
    bool compares =
        !mask.comparisons.empty() &&
        addComparisons(tracer, digits, maskAxes, mask.comparisons, visibility);
    if (!compares && failed(addMaskOperand(mask)))
      return failure();
  }
  return success();
}

LogicalResult AttentionMatcher::match() {
  auto attention = dyn_cast<AttentionLikeOpInterface>(op);
  if (failed(attention ? matchOp(attention) : matchContraction()) ||
      failed(takeOperands()) || failed(matchAxes()) || failed(matchMasks()))
    return failure();
  return matchShapes();
}
