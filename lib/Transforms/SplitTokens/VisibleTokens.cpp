//===- VisibleTokens.cpp - Which tokens a query sees ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisibleTokens.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

Value kvq::loadCount(OpBuilder &b, Location loc, Value counts, Value sequence) {
  Value count = tensor::ExtractOp::create(b, loc, counts, ValueRange{sequence});
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), count);
}

Value VisibleTokens::getLength() {
  return loadCount(b, loc, op.getLengths(), sequence);
}

/// The position of the first query, which without positions is
/// length - query_tokens, and the query's number.
OpFoldResult VisibleTokens::getPosition() {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1),
             d2 = b.getAffineDimExpr(2);
  if (op.getPositions())
    return affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(2, 0, d0 + d1),
        {OpFoldResult(loadCount(b, loc, op.getPositions(), sequence)), token});
  OpFoldResult queryTokens =
      tensor::getMixedSize(b, loc, op.getQuery(), /*dim=*/2);
  return affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(3, 0, d0 - d1 + d2),
      {OpFoldResult(getLength()), queryTokens, token});
}

/// Behind the last token that may be seen: the sequence's or, with causality,
/// that at the query's own position.
Value VisibleTokens::getEnd() {
  Value length = getLength();
  if (!op.getCausal())
    return length;
  AffineExpr position = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0, {position + 1, b.getAffineConstantExpr(0)}, b.getContext());
  Value end = getValueOrCreateConstantIndexOp(
      b, loc,
      affine::makeComposedFoldedAffineMax(b, loc, map, {getPosition()}));
  // Without positions the newest query is the newest token.
  return op.getPositions() ? arith::MinSIOp::create(b, loc, end, length) : end;
}

/// The ring and the window. Of a ring the newest tokens are those of the
/// sequence as long as it is: what older queries than the newest one would see
/// beside is gone.
SmallVector<VisibleTokens::Limit> VisibleTokens::getLimits() {
  SmallVector<Limit> limits;
  auto add = [&](int64_t first, OpFoldResult origin, int64_t back) {
    AffineExpr d0 = b.getAffineDimExpr(0);
    AffineMap map = AffineMap::get(
        1, 0, {d0 - back, b.getAffineConstantExpr(first)}, b.getContext());
    Value newest = getValueOrCreateConstantIndexOp(
        b, loc, affine::makeComposedFoldedAffineMax(b, loc, map, {origin}));
    limits.push_back({first, newest});
  };
  auto key = cast<CacheType>(op.getKey().getType());
  if (key.isRing())
    add(key.getKeepFirst(), getLength(), key.getNewestTokens());
  if (IntegerAttr window = op.getWindowAttr())
    add(op.getWindowFirst().value_or(0), getPosition(), window.getInt() - 1);
  return limits;
}

/// With two limits, what is among the first tokens of one and the newest of the
/// other is a range between the first of both and the newest of both. It begins
/// with the newest of the limit that has fewer first tokens: those of the other
/// one lie behind its first, where the range ends.
SmallVector<VisibleRange> VisibleTokens::getRanges() {
  Value end = getEnd();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  SmallVector<Limit> limits = getLimits();
  if (limits.empty())
    return {{zero, end}};
  SmallVector<VisibleRange> ranges;
  auto getFirst = [&](int64_t tokens) -> Value {
    return arith::MinSIOp::create(
        b, loc, arith::ConstantIndexOp::create(b, loc, tokens), end);
  };
  Limit one = limits.front(), other = limits.back();
  if (other.first < one.first)
    std::swap(one, other);
  if (one.first > 0)
    ranges.push_back({zero, getFirst(one.first)});
  if (limits.size() == 1) {
    ranges.push_back({one.newest, end});
    return ranges;
  }
  if (other.first > one.first)
    ranges.push_back({one.newest, getFirst(other.first)});
  Value newest = arith::MaxSIOp::create(b, loc, one.newest, other.newest);
  ranges.push_back({newest, end});
  return ranges;
}
