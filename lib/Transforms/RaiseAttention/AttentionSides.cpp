//===- AttentionSides.cpp - Keys and values as caches or codes ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvq;

int64_t AttentionMatcher::getExtent(ArrayRef<unsigned> axis) const {
  int64_t extent = 1;
  for (unsigned digit : axis) {
    int64_t own = digits.get()[digit].extent;
    if (ShapedType::isDynamic(own))
      return own;
    extent *= own;
  }
  return extent;
}

SmallVector<unsigned> AttentionMatcher::getQueryHeads() const {
  SmallVector<unsigned> all(axes.heads);
  llvm::append_range(all, axes.groups);
  return all;
}

/// The index of an axis of keys or values, of the sequence, KV head, token and
/// channel.
AffineExpr AttentionMatcher::getExpr(const Place &place) const {
  AffineExpr token = getAffineDimExpr(kTokens, tracer.context),
             channel = getAffineDimExpr(kChannels, tracer.context);
  if (!place.sum) {
    SmallVector<AffineExpr> loops(tracer.extents.size(), channel);
    loops[tokens] = token;
    return place.index.replaceDims(loops);
  }
  const DigitSum &sum = *place.sum;
  AffineExpr expr = sum.rest + token * sum.factors[axes.tokens];
  for (auto [axis, members] :
       {std::pair(kBatch, ArrayRef<unsigned>(axes.batch)),
        std::pair(kHeads, ArrayRef<unsigned>(axes.heads))}) {
    int64_t inner = getExtent(members);
    for (unsigned digit : members) {
      int64_t outer = std::exchange(inner, inner / digits.get()[digit].extent);
      AffineExpr index = getAffineDimExpr(axis, tracer.context);
      if (outer != getExtent(members))
        index = index % outer;
      expr = expr + index.floorDiv(inner) * sum.factors[digit];
    }
  }
  for (bool isKey : {true, false})
    for (unsigned digit : getChannels(isKey))
      expr = expr + channel * sum.factors[digit];
  return expr;
}

FailureOr<ExactSide> AttentionMatcher::matchExact(const TracedElement &element,
                                                  StringRef name) {
  FailureOr<SmallVector<Place>> places = getPlaces(element, name);
  if (failed(places))
    return failure();
  for (ArrayRef<unsigned> others :
       {ArrayRef<unsigned>(axes.groups), ArrayRef<unsigned>(axes.queries)})
    for (unsigned digit : others)
      if (uses(*places, digit))
        return tracer.fail("its " + name +
                           " differ between query heads of a group or query "
                           "tokens, those of the other side do not");
  SmallVector<int64_t> shape = {getExtent(axes.batch), getExtent(axes.heads),
                                getExtent(axes.tokens),
                                getExtent(getChannels(name == "keys"))};
  ElementTracer sideTracer(tracer.context, shape);
  sideTracer.symbols = tracer.symbols;
  TracedElement read = {element.value, {}};
  for (const Place &place : *places)
    read.indices.push_back(sideTracer.simplify(getExpr(place)));
  FailureOr<ComponentView> view = ComponentView::get(sideTracer, read);
  if (failed(view))
    return tracer.fail("its " + name + ": " + sideTracer.reason);
  shape[kTokens] = view->getRows();
  // A mask has to reach as far as a static capacity.
  int64_t seen = getExtent(axes.tokens);
  if (maskOperand && !ShapedType::isDynamic(seen))
    shape[kTokens] = seen;
  Type elementType = getElementTypeOrSelf(element.value);
  auto withShape = [&](auto make) {
    return make(ArrayRef<int64_t>(shape), elementType,
                FormatAttr::getExact(tracer.context),
                /*exactFirst=*/0, /*recent=*/std::nullopt,
                /*residual=*/std::nullopt, /*page=*/std::nullopt,
                /*ring=*/std::nullopt, /*keepFirst=*/0, /*tokenMajor=*/false);
  };
  if (failed(tracer.verify([&](function_ref<InFlightDiagnostic()> emitError) {
        return withShape([&](auto... parameters) {
          return CacheType::verify(emitError, parameters...);
        });
      })))
    return failure();
  CacheType type = withShape([&](auto... parameters) {
    return CacheType::get(tracer.context, parameters...);
  });
  if (failed(view->verifyExtents(sideTracer, type.getComponents().front())))
    return tracer.fail("its " + name + ": " + sideTracer.reason);
  return ExactSide{type, std::move(*view)};
}

/// Whether axes have each of the digits `parts` once, and no other.
static bool haveAll(ArrayRef<SmallVector<unsigned>> axes,
                    ArrayRef<ArrayRef<unsigned>> parts) {
  SmallVector<unsigned> found, expected;
  for (ArrayRef<unsigned> axis : axes)
    llvm::append_range(found, axis);
  for (ArrayRef<unsigned> part : parts)
    llvm::append_range(expected, part);
  llvm::sort(found);
  llvm::sort(expected);
  return found == expected;
}

SmallVector<unsigned> AttentionMatcher::getChannels(bool isKey) const {
  if (!isKey)
    return axes.valueChannels;
  return axes.channels ? SmallVector<unsigned>{*axes.channels}
                       : SmallVector<unsigned>();
}

/// The oldest tensor, if it is computed from codes, as far back as its axes are
/// those of a cache.
std::optional<CodedSide>
AttentionMatcher::findCoded(ArrayRef<HeldElement> holders,
                            ArrayRef<unsigned> channelDigits) {
  if (holders.empty())
    return std::nullopt;
  const TracedElement &oldest = holders.back().element;
  bool isDequantized =
      isComputedFrom(tracer, oldest, [](const TracedElement &found) {
        return found.value.getDefiningOp<DequantizeOp>() != nullptr;
      });
  bool mayBe =
      isDequantized ||
      isComputedFrom(tracer, oldest, [](const TracedElement &found) {
        return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp,
                               arith::BitcastOp>(found.value.getDefiningOp());
      });
  if (!mayBe)
    return std::nullopt;
  for (const HeldElement &holder : llvm::reverse(holders)) {
    auto found = getAxes(holder.element);
    if (found &&
        haveAll(*found, {axes.batch, axes.heads, {axes.tokens}, channelDigits}))
      return CodedSide{holder.element.value, *found, holder.factor,
                       isDequantized};
  }
  return std::nullopt;
}

FailureOr<RaisedSide> AttentionMatcher::matchSide(const TracedElement &element,
                                                  ArrayRef<HeldElement> holders,
                                                  StringRef name) {
  RaisedSide side;
  side.coded = findCoded(holders, getChannels(name == "keys"));
  FailureOr<ExactSide> exact = matchExact(element, name);
  if (failed(exact) && !side.coded)
    return failure();
  if (succeeded(exact))
    side.exact = std::move(*exact);
  return side;
}

LogicalResult AttentionMatcher::matchShapes() {
  for (ArrayRef<unsigned> axis :
       {ArrayRef<unsigned>(axes.batch), ArrayRef<unsigned>(axes.heads),
        ArrayRef<unsigned>(axes.groups)})
    if (ShapedType::isDynamic(getExtent(axis)))
      return tracer.fail("the number of its sequences or heads is not static");
  for (Value tensor : {query.element.value, result.value}) {
    Type type = getElementTypeOrSelf(tensor);
    if (type.isF16() || type.isBF16() || type.isF32())
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return tracer.fail("expected queries and a result of f16, bf16 or f32, "
                       "got " +
                       text);
  }
  auto found = getAxes(query.element);
  if (!found || !haveAll(*found, {axes.batch, axes.heads, axes.groups,
                                  axes.queries, getChannels(/*isKey=*/true)}))
    return tracer.fail("the axes of its queries are not sequences, heads, "
                       "query tokens and channels");
  queryAxes = *found;
  found = getAxes(result);
  if (!found || axes.valueChannels.size() > 1 ||
      !haveAll(*found, {axes.batch, axes.heads, axes.groups, axes.queries,
                        axes.valueChannels}))
    return tracer.fail("the axes of its result are not sequences, heads, "
                       "query tokens and channels of values");
  resultAxes = *found;
  FailureOr<RaisedSide> keySide = matchSide(key.element, keyHolders, "keys");
  if (failed(keySide))
    return failure();
  FailureOr<RaisedSide> valueSide = matchSide(value, valueHolders, "values");
  if (failed(valueSide))
    return failure();
  keys = std::move(*keySide);
  values = std::move(*valueSide);
  return success();
}
