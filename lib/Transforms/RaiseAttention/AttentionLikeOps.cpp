//===- AttentionLikeOps.cpp - Ops of other dialects that are attention ----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatcher.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// The dimensions of the tracer, and the letters of axes that they are.
enum Dimension : unsigned { kB, kH, kI, kT, kValueC, kC, kDimensions };

} // namespace

/// The extent of the axis with a letter, 1 without one.
static int64_t getExtent(Value tensor, StringRef letters, char letter) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  size_t axis = letters.find(letter);
  if (!type || axis >= size_t(type.getRank()))
    return 1;
  return type.getDimSize(axis);
}

static SmallVector<int64_t> getDimensions(AttentionLikeOpInterface op) {
  StringRef query = op.getQueryAxes(), key = op.getKeyAxes(),
            value = op.getValueAxes();
  return {getExtent(op.getQuery(), query, 'b'),
          getExtent(op.getQuery(), query, 'h'),
          getExtent(op.getQuery(), query, 'i'),
          getExtent(op.getKey(), key, 't'),
          getExtent(op.getValue(), value, 'c'),
          getExtent(op.getQuery(), query, 'c')};
}

AttentionMatcher::AttentionMatcher(AttentionLikeOpInterface op)
    : op(op), tracer(op.getContext(), getDimensions(op)), tokens(kT),
      channels(kC), rows({kB, kH, kI}), queryLoop(kI),
      digits(op.getContext(), {}, {}) {}

/// The element of `tensor` that the dimensions name.
FailureOr<TracedElement>
AttentionMatcher::getElement(Value tensor, StringRef letters, StringRef name) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || type.getRank() != int64_t(letters.size()))
    return tracer.fail("expected " + name + " of rank " +
                       Twine(letters.size()) + ", with the axes '" + letters +
                       "'");
  constexpr StringLiteral kLetters = "bhit";
  TracedElement element = {tensor, {}};
  for (auto [axis, letter] : llvm::enumerate(letters)) {
    size_t dimension = kLetters.find(letter);
    bool isRepeated = letters.find(letter) != axis;
    if ((dimension == StringRef::npos && letter != 'c') || isRepeated)
      return tracer.fail("expected " + name +
                         " with axes of the letters b, h, "
                         "i, t and c, each once, got '" +
                         letters + "'");
    if (letter == 'c')
      dimension = name == "values" || name == "a result" ? kValueC : kC;
    AffineExpr index = getAffineDimExpr(dimension, tracer.context);
    int64_t all = tracer.extents[dimension], own = type.getDimSize(axis);
    // Query heads that share a KV head, and all that share one element.
    bool isShared = own != all && !ShapedType::isDynamic(own) &&
                    !ShapedType::isDynamic(all);
    if (isShared && own != 1 && (dimension != kH || all % own != 0))
      return tracer.fail("expected " + name + " with an extent of " +
                         Twine(all) + " on axis '" + Twine(letter) + "', got " +
                         Twine(own));
    element.indices.push_back(isShared ? index.floorDiv(all / own) : index);
  }
  return element;
}

LogicalResult AttentionMatcher::matchOp(AttentionLikeOpInterface attention) {
  if (op->getNumResults() != 1)
    return tracer.fail("expected one result, got " +
                       Twine(op->getNumResults()));
  FailureOr<TracedElement> found =
      getElement(attention.getQuery(), attention.getQueryAxes(), "queries");
  if (failed(found))
    return failure();
  scores.query = *found;
  found = getElement(attention.getKey(), attention.getKeyAxes(), "keys");
  if (failed(found))
    return failure();
  scores.key = *found;
  found = getElement(attention.getValue(), attention.getValueAxes(), "values");
  if (failed(found))
    return failure();
  value = *found;
  found = getElement(op->getResult(0), attention.getResultAxes(), "a result");
  if (failed(found))
    return failure();
  result = *found;
  if (Value mask = attention.getMask()) {
    found = getElement(mask, attention.getMaskAxes(), "a mask");
    if (failed(found))
      return failure();
    MaskTerm term = {*found, std::nullopt};
    if (getElementTypeOrSelf(mask).isInteger(1))
      term.hidesWhere = false;
    scores.masks.push_back(term);
  }
  scores.scale = attention.getScale();
  scores.softcap = attention.getSoftcap();
  givenLengths = attention.getLengths();
  auto expected = RankedTensorType::get(tracer.extents[kB],
                                        IntegerType::get(op->getContext(), 64));
  if (givenLengths && givenLengths.getType() != expected)
    return tracer.fail("expected lengths of another type, one i64 for each "
                       "sequence");
  visibility.isCausal = attention.isCausal();
  return success();
}
