//===- AttentionBuilder.cpp - kvq.attention in the place of linalg --------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../DeadProducers.h"
#include "../ElementTracing/Extents.h"
#include "../FuseDequantize/SideMatcher.h"
#include "AttentionMatcher.h"
#include "Regroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

OpFoldResult AttentionMatcher::getSize(OpBuilder &b, Location loc,
                                       ArrayRef<unsigned> axis) {
  int64_t extent = getExtent(axis);
  if (!ShapedType::isDynamic(extent))
    return b.getIndexAttr(extent);
  // A dynamic digit is all of a loop, and of an axis.
  unsigned digit = axis.front();
  if (digit == axes.tokens) {
    AffineExpr loop = getAffineDimExpr(tokens, tracer.context);
    auto *found = llvm::find(contracted.indices, loop);
    return buildExtent(b, loc, contracted.value,
                       found - contracted.indices.begin());
  }
  auto *found = llvm::find_if(queryAxes, [&](ArrayRef<unsigned> other) {
    return llvm::is_contained(other, digit);
  });
  return buildExtent(b, loc, query.element.value, found - queryAxes.begin());
}

/// As an i64.
Value AttentionMatcher::buildCount(OpBuilder &b, Location loc,
                                   ArrayRef<unsigned> axis) {
  OpFoldResult size = getSize(b, loc, axis);
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return arith::ConstantIntOp::create(b, loc, *constant, 64);
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), cast<Value>(size));
}

//===----------------------------------------------------------------------===//
// Lengths and positions
//===----------------------------------------------------------------------===//

static Value buildI64(OpBuilder &b, Location loc, Value number) {
  if (number.getType().isIndex())
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), number);
  return convertScalarToDtype(b, loc, number, b.getI64Type(),
                              /*isUnsignedCast=*/false);
}

Value AttentionMatcher::buildValue(OpBuilder &b, Location loc,
                                   const TracedElement &element,
                                   int64_t sequence) {
  if (isOutsideBodies(element.value))
    return buildI64(b, loc, element.value);
  SmallVector<Value> indices;
  for (AffineExpr index : element.indices) {
    DigitSum sum = *digits.getSum(index);
    int64_t place = cast<AffineConstantExpr>(sum.rest).getValue(),
            inner = getExtent(axes.batch);
    for (unsigned digit : axes.batch) {
      int64_t outer = std::exchange(inner, inner / digits.get()[digit].extent);
      place += sequence % outer / inner * sum.factors[digit];
    }
    indices.push_back(arith::ConstantIndexOp::create(b, loc, place));
  }
  return buildI64(b, loc,
                  tensor::ExtractOp::create(b, loc, element.value, indices));
}

/// Of the first query token, for a bound that counts them.
Value AttentionMatcher::buildBound(OpBuilder &b, Location loc,
                                   const Bound &bound, int64_t sequence) {
  Value sum;
  for (const auto &[factor, value] : bound.values) {
    Value term = buildValue(b, loc, value, sequence);
    if (factor != 1)
      term = b.createOrFold<arith::MulIOp>(
          loc, term, arith::ConstantIntOp::create(b, loc, factor, 64));
    sum = sum ? b.createOrFold<arith::AddIOp>(loc, sum, term) : term;
  }
  Value constant = arith::ConstantIntOp::create(b, loc, bound.constant, 64);
  return sum ? b.createOrFold<arith::AddIOp>(loc, sum, constant) : constant;
}

Value AttentionMatcher::buildPerSequence(OpBuilder &b, Location loc,
                                         function_ref<Value(int64_t)> build) {
  auto differs = [&](const Bound &bound) {
    return llvm::any_of(bound.values, [&](const auto &term) {
      return llvm::any_of(term.second.indices, [&](AffineExpr index) {
        std::optional<DigitSum> sum = digits.getSum(index);
        return llvm::any_of(axes.batch, [&](unsigned digit) {
          return sum->factors[digit] != 0;
        });
      });
    });
  };
  bool isPerSequence = llvm::any_of(visibility.last, differs) ||
                       (visibility.position && differs(*visibility.position));
  int64_t batch = getExtent(axes.batch);
  SmallVector<Value> numbers;
  for (int64_t sequence = 0; sequence < (isPerSequence ? batch : 1); ++sequence)
    numbers.push_back(build(sequence));
  numbers.resize(batch, numbers.front());
  auto type = RankedTensorType::get({batch}, b.getI64Type());
  return b.createOrFold<tensor::FromElementsOp>(loc, type, numbers);
}

/// Of the tokens that there are, those up to the last one that a query sees.
Value AttentionMatcher::buildLengths(OpBuilder &b, Location loc) {
  if (givenLengths)
    return givenLengths;
  Value all = buildCount(b, loc, axes.tokens);
  bool isBounded = visibility.isCausal && visibility.position;
  Value queries = isBounded ? buildCount(b, loc, axes.queries) : Value();
  return buildPerSequence(b, loc, [&](int64_t sequence) {
    Value length = all;
    auto addBound = [&](const Bound &bound, Value more) {
      Value end = b.createOrFold<arith::AddIOp>(
          loc, buildBound(b, loc, bound, sequence), more);
      length = b.createOrFold<arith::MinSIOp>(loc, end, length);
    };
    for (const Bound &bound : visibility.last)
      addBound(bound, arith::ConstantIntOp::create(b, loc, 1, 64));
    if (isBounded)
      addBound(*visibility.position, queries);
    return length;
  });
}

/// Null where queries are the newest tokens in any case.
Value AttentionMatcher::buildPositions(OpBuilder &b, Location loc) {
  if (!visibility.position)
    return {};
  const Bound &first = *visibility.position;
  int64_t queries = getExtent(axes.queries), all = getExtent(axes.tokens);
  bool areNewest = first.values.empty() && visibility.last.empty() &&
                   !ShapedType::isDynamic(queries) &&
                   first.constant + queries == all;
  if (areNewest)
    return {};
  return buildPerSequence(b, loc, [&](int64_t sequence) {
    return buildBound(b, loc, first, sequence);
  });
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// 1 where a token is visible, 0 where the condition hides it, as i8.
static Value buildVisible(OpBuilder &b, Location loc, Value condition,
                          bool hidesWhere) {
  auto type = cast<RankedTensorType>(condition.getType());
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, condition), b.getI8Type());
  AffineMap map = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), condition, empty, ArrayRef{map, map},
             loops,
             [&](OpBuilder &body, Location at, ValueRange elements) {
               Value bit = elements.front();
               if (hidesWhere)
                 bit = arith::XOrIOp::create(
                     body, at, bit,
                     arith::ConstantIntOp::create(body, at, 1, 1));
               linalg::YieldOp::create(
                   body, at,
                   arith::ExtUIOp::create(body, at, body.getI8Type(), bit)
                       .getResult());
             })
      .getResult(0);
}

Value AttentionMatcher::buildMask(OpBuilder &b, Location loc) {
  if (!maskOperand)
    return {};
  auto keepUsed = [&](ArrayRef<unsigned> members) {
    return SmallVector<unsigned>(
        llvm::make_filter_range(members, [&](unsigned digit) {
          return llvm::any_of(maskOperand->axes, [&](ArrayRef<unsigned> axis) {
            return llvm::is_contained(axis, digit);
          });
        }));
  };
  DigitAxes target = {keepUsed(axes.batch),
                      keepUsed(getQueryHeads()),
                      keepUsed(axes.queries),
                      {axes.tokens}};
  bool isForAllQueries = target[2].size() != axes.queries.size();
  if (isForAllQueries)
    target.erase(target.begin() + 2);
  Value mask =
      buildRegrouped(b, loc, maskOperand->tensor, maskOperand->axes, target,
                     [&](unsigned digit) { return getSize(b, loc, digit); });
  if (isForAllQueries) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, mask);
    sizes.insert(sizes.begin() + 2, getSize(b, loc, axes.queries));
    Value empty =
        tensor::EmptyOp::create(b, loc, sizes, getElementTypeOrSelf(mask));
    mask =
        linalg::BroadcastOp::create(b, loc, mask, empty, ArrayRef<int64_t>{2})
            ->getResult(0);
  }
  if (maskOperand->hidesWhere)
    mask = buildVisible(b, loc, mask, *maskOperand->hidesWhere);
  return mask;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Value AttentionMatcher::buildCoded(OpBuilder &b, Location loc,
                                   const CodedSide &side,
                                   ArrayRef<unsigned> channelDigits) {
  DigitAxes target = {axes.batch,
                      axes.heads,
                      {axes.tokens},
                      SmallVector<unsigned>(channelDigits)};
  return buildRegrouped(b, loc, side.tensor, side.axes, target,
                        [&](unsigned digit) { return getSize(b, loc, digit); });
}

/// An exact cache, or a tensor of what kvq-fuse-dequantize reads as codes. What
/// says that it dequantizes is not read as an exact cache in any case: that
/// would dequantize all of the cache, and nobody would know.
Value AttentionMatcher::buildSide(RewriterBase &b, Location loc,
                                  const RaisedSide &side, bool isKey,
                                  double &factor) {
  if (side.coded) {
    Value tensor = buildCoded(b, loc, *side.coded, getChannels(isKey));
    factor = side.coded->factor;
    bool isCoded = side.coded->isDequantized || !side.exact;
    if (isCoded || succeeded(SideMatcher(tensor, /*isTurned=*/false).match()))
      return tensor;
    eraseDeadProducers(b, tensor);
  }
  factor = isKey ? key.factor : 1.0;
  Value tensor = side.exact->view.build(
      b, loc, tracer, side.exact->type.getComponents().front());
  return FromComponentsOp::create(b, loc, side.exact->type, tensor);
}

Value AttentionMatcher::build(RewriterBase &b) {
  Location loc = op->getLoc();
  auto getDigitSize = [&](unsigned digit) { return getSize(b, loc, digit); };
  DigitAxes target = {axes.batch, getQueryHeads(), axes.queries,
                      getChannels(/*isKey=*/true)};
  Value q = buildRegrouped(b, loc, query.element.value, queryAxes, target,
                           getDigitSize);
  double keyFactor, valueFactor;
  Value k = buildSide(b, loc, *keys, /*isKey=*/true, keyFactor);
  Value v = buildSide(b, loc, *values, /*isKey=*/false, valueFactor);
  Value lengths = buildLengths(b, loc), positions = buildPositions(b, loc),
        mask = buildMask(b, loc);

  target.back() = axes.valueChannels;
  SmallVector<OpFoldResult> sizes;
  for (ArrayRef<unsigned> axis : target)
    sizes.push_back(getSize(b, loc, axis));
  Value init = tensor::EmptyOp::create(b, loc, sizes,
                                       getElementTypeOrSelf(result.value));
  UnitAttr causal = visibility.isCausal ? b.getUnitAttr() : UnitAttr();
  FloatAttr softcap =
      scores.softcap ? b.getF32FloatAttr(*scores.softcap) : FloatAttr();
  IntegerAttr window = visibility.window
                           ? b.getI64IntegerAttr(*visibility.window)
                           : IntegerAttr();
  auto attention = AttentionOp::create(
      b, loc, TypeRange(init.getType()), q, k, v, lengths,
      /*keyFlushed=*/Value(), /*valueFlushed=*/Value(), /*keyPages=*/Value(),
      /*valuePages=*/Value(), positions, mask, /*slopes=*/Value(),
      /*sinks=*/Value(), /*cos=*/Value(), /*sin=*/Value(), init,
      /*lse=*/Value(),
      b.getF32FloatAttr(scores.scale * query.factor * keyFactor), causal,
      softcap, window, /*window_first=*/IntegerAttr(),
      /*value_channels=*/DenseI64ArrayAttr(), /*query_codes=*/TypeAttr(),
      /*rope_style=*/RopeStyleAttr(), /*schedule=*/ScheduleAttr());
  return buildRegrouped(b, loc, attention.getResult(), target, resultAxes,
                        getDigitSize);
}
