//===- Softmax.cpp - Scores to probabilities of a tile --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileDecomposer.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// What is done to scores
//===----------------------------------------------------------------------===//

namespace {

/// What a score of one row and token depends on; null where it does not.
struct ScoreTerms {
  Value softcap, slope, mask;
  /// Of the token from the row's position, i32.
  Value distance;
  bool isCausal = false;
  std::optional<int64_t> window;
  /// The token's number, i32, and which it has to have for the window to hide
  /// it; null where that is any.
  Value token;
  int64_t windowFirst = 0;
};

} // namespace

static Value buildI32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

/// The score as the softmax sees it.
static Value adjustScore(OpBuilder &b, Location loc, Value score,
                         const ScoreTerms &terms) {
  if (terms.softcap) {
    Value quotient = arith::DivFOp::create(b, loc, score, terms.softcap);
    score =
        buildMul(b, loc, math::TanhOp::create(b, loc, quotient), terms.softcap);
  }
  if (terms.slope) {
    Value distance =
        arith::SIToFPOp::create(b, loc, b.getF32Type(), terms.distance);
    score = buildAdd(b, loc, score, buildMul(b, loc, terms.slope, distance));
  }
  Value hidden = buildF32(b, loc, -std::numeric_limits<float>::infinity());
  // A hidden token's score may be NaN.
  auto hide = [&](Value isHidden) {
    score = arith::SelectOp::create(b, loc, isHidden, hidden, score);
  };
  if (terms.mask && terms.mask.getType().isInteger()) {
    Value zero = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
    hide(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, terms.mask,
                               zero));
  } else if (terms.mask) {
    Value added = buildExtend(b, loc, terms.mask);
    score = buildAdd(b, loc, score,
                     buildMul(b, loc, added, buildF32(b, loc, kLog2E)));
    hide(arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, added,
                               hidden));
  }
  if (terms.isCausal)
    hide(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                               terms.distance, buildI32(b, loc, 0)));
  if (!terms.window)
    return score;
  Value isBefore =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, terms.distance,
                            buildI32(b, loc, -*terms.window));
  if (terms.token) {
    Value isLater =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, terms.token,
                              buildI32(b, loc, terms.windowFirst));
    isBefore = arith::AndIOp::create(b, loc, isBefore, isLater);
  }
  hide(isBefore);
  return score;
}

/// first, first + 1, ... for the tokens of the tile.
Value TileDecomposer::buildNumbers(Value first) {
  Value init = buildScratch(b, loc, {tile}, {tokens}, b.getI32Type());
  return buildStructuredOp(
             b, loc, "t", "", {}, {{init, "t"}},
             [&](OpBuilder &b, Location loc, ValueRange, ValueRange) {
               Value t = linalg::IndexOp::create(b, loc, 0);
               Value distance = arith::AddIOp::create(b, loc, first, t);
               return SmallVector<Value>{arith::IndexCastOp::create(
                   b, loc, b.getI32Type(), distance)};
             })
      .front();
}

/// The number of each row's query token.
Value TileDecomposer::buildQueryNumbers() {
  Value init =
      buildScratch(b, loc, {rows}, {b.getIndexAttr(rows)}, b.getI32Type());
  return buildStructuredOp(
             b, loc, "r", "", {}, {{init, "r"}},
             [&](OpBuilder &b, Location loc, ValueRange, ValueRange) {
               Value row = linalg::IndexOp::create(b, loc, 0);
               Value count =
                   arith::ConstantIndexOp::create(b, loc, queryTokens);
               Value number = arith::RemUIOp::create(b, loc, row, count);
               return SmallVector<Value>{
                   arith::IndexCastOp::create(b, loc, b.getI32Type(), number)};
             })
      .front();
}

/// Scores with their axis of rows as heads and query tokens.
Value TileDecomposer::splitRows(Value scores) {
  auto type = cast<RankedTensorType>(scores.getType());
  int64_t rowAxis = rowsInLanes ? 1 : 0, heads = rows / queryTokens;
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, scores);
  shape[rowAxis] = heads;
  extents[rowAxis] = b.getIndexAttr(heads);
  shape.insert(shape.begin() + rowAxis + 1, queryTokens);
  extents.insert(extents.begin() + rowAxis + 1, b.getIndexAttr(queryTokens));
  SmallVector<ReassociationIndices> axes = {{0, 1}, {2}};
  if (rowsInLanes)
    axes = {{0}, {1, 2}};
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), scores, axes,
                                       extents);
}

/// The mask of the tile's tokens: for each query token, if there may be
/// several, and for each head or for all of them.
StructuredOperand TileDecomposer::loadMask() {
  Value mask = op.getMask();
  auto type = cast<RankedTensorType>(mask.getType());
  int64_t heads = rows / queryTokens;
  bool perHead = type.getDimSize(0) == heads && heads != 1;
  SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0), b.getIndexAttr(0),
                                       OpFoldResult(op.getBegin())};
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(perHead ? heads : 1),
                                     tensor::getMixedSize(b, loc, mask, 1),
                                     tokens};
  SmallVector<OpFoldResult> ones(3, b.getIndexAttr(1));
  SmallVector<int64_t> shape;
  if (perHead)
    shape.push_back(heads);
  if (queryTokens != 1)
    shape.push_back(type.getDimSize(1));
  shape.push_back(getConstantIntValue(tokens).value_or(ShapedType::kDynamic));
  Value slice = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), mask,
      offsets, sizes, ones);
  if (queryTokens == 1)
    return {slice, perHead ? "rt" : "t"};
  return {slice, perHead ? "hnt" : "nt"};
}

/// Adds a mask that has an axis of query tokens, to the scores of those that it
/// is for.
Value TileDecomposer::addMask(Value scores) {
  int64_t queryAxis = rowsInLanes ? 2 : 1;
  Value split = splitRows(scores);
  SmallVector<OpFoldResult> offsets(3, b.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(3, b.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, split);
  sizes[queryAxis] = tensor::getMixedSize(b, loc, op.getMask(), 1);
  bool isPadded = getConstantIntValue(sizes[queryAxis]) != queryTokens;
  Value part = split;
  if (isPadded)
    part = tensor::ExtractSliceOp::create(b, loc, split, offsets, sizes, ones);
  StringRef axes = rowsInLanes ? "thn" : "hnt";
  auto body = [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
    ScoreTerms terms;
    terms.mask = ins[0];
    return SmallVector<Value>{adjustScore(b, loc, outs[0], terms)};
  };
  Value masked =
      buildStructuredOp(b, loc, axes, "", {loadMask()}, {{part, axes}}, body)
          .front();
  if (isPadded)
    masked = tensor::InsertSliceOp::create(b, loc, masked, split, offsets,
                                           sizes, ones);
  SmallVector<ReassociationIndices> joined = {{0, 1}, {2}};
  if (rowsInLanes)
    joined = {{0}, {1, 2}};
  return tensor::CollapseShapeOp::create(
      b, loc, cast<RankedTensorType>(scores.getType()), masked, joined);
}

/// The scores as the softmax sees them, in place.
Value TileDecomposer::adjustScores(Value scores) {
  SmallVector<StructuredOperand> inputs;
  auto add = [&](StructuredOperand operand) {
    inputs.push_back(operand);
    return inputs.size() - 1;
  };
  std::optional<size_t> distances, numbers, slopes, mask, numbersOfTokens;
  // Numbers of tokens are no more than an i32 holds.
  constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();
  IntegerAttr window = op.getWindowAttr();
  if (window && window.getInt() > kMostTokens)
    window = {};
  int64_t windowFirst =
      std::min<int64_t>(op.getWindowFirst().value_or(0), kMostTokens);
  if (op.getPosition()) {
    distances = add({buildNumbers(arith::SubIOp::create(b, loc, op.getBegin(),
                                                        op.getPosition())),
                     "t"});
    if (queryTokens != 1)
      numbers = add({buildQueryNumbers(), "r"});
  }
  if (window && windowFirst != 0)
    numbersOfTokens = add({buildNumbers(op.getBegin()), "t"});
  if (op.getSlopes())
    slopes = add({op.getSlopes(), "r"});
  if (op.getMask() && queryTokens == 1)
    mask = add(loadMask());
  auto body = [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
    auto get = [&](std::optional<size_t> index) {
      return index ? ins[*index] : Value();
    };
    ScoreTerms terms;
    terms.slope = get(slopes);
    terms.mask = get(mask);
    terms.distance = get(distances);
    if (numbers)
      terms.distance =
          arith::SubIOp::create(b, loc, terms.distance, get(numbers));
    if (op.getSoftcap())
      terms.softcap =
          buildF32(b, loc, op.getSoftcap()->convertToFloat() * kLog2E);
    terms.isCausal = op.getCausal();
    if (window)
      terms.window = window.getInt();
    terms.token = get(numbersOfTokens);
    terms.windowFirst = windowFirst;
    return SmallVector<Value>{adjustScore(b, loc, outs[0], terms)};
  };
  if (!inputs.empty() || op.getSoftcap())
    scores = buildStructuredOp(b, loc, getScoreAxes(), "", inputs,
                               {{scores, getScoreAxes()}}, body)
                 .front();
  return op.getMask() && queryTokens != 1 ? addMask(scores) : scores;
}

//===----------------------------------------------------------------------===//
// Online softmax
//===----------------------------------------------------------------------===//

/// The larger of two scores, either where one is NaN (its weight makes NaN of
/// the sum anyway), and of either sign where both are zeros: processors have
/// one instruction for that.
static Value buildMaximum(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return arith::MaximumFOp::create(
      b, loc, lhs, rhs, arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
}

Value TileDecomposer::computeTileMaximum(Value scores) {
  Value init =
      buildFill(b, loc, buildScratch(b, loc, {rows}, {b.getIndexAttr(rows)}),
                -std::numeric_limits<float>::infinity());
  return buildStructuredOp(
             b, loc, getScoreAxes(), "t", {{scores, getScoreAxes()}},
             {{init, "r"}},
             [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               return SmallVector<Value>{buildMaximum(b, loc, outs[0], ins[0])};
             })
      .front();
}

/// Moves the state to the new maximum: acc, max and sum, the first and last
/// weighed by exp2(max - max').
SmallVector<Value> TileDecomposer::updateState(Value tileMaximum) {
  Value weightInit = buildScratch(b, loc, {rows}, {b.getIndexAttr(rows)});
  SmallVector<Value> updated = buildStructuredOp(
      b, loc, "r", "", {{tileMaximum, "r"}},
      {{weightInit, "r"}, {op.getMax(), "r"}, {op.getSum(), "r"}},
      [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
        Value maximum = buildMaximum(b, loc, outs[1], ins[0]);
        Value weight = buildSoftmaxWeight(b, loc, outs[1], maximum);
        return SmallVector<Value>{weight, maximum,
                                  buildMul(b, loc, outs[2], weight)};
      });
  Value acc =
      buildStructuredOp(
          b, loc, "rc", "", {{updated[0], "r"}}, {{op.getAcc(), "rc"}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
            return SmallVector<Value>{buildMul(b, loc, outs[0], ins[0])};
          })
          .front();
  return {acc, updated[1], updated[2]};
}

/// p[r, t] = exp2(scores[r, t] - max[r]), in place.
Value TileDecomposer::computeProbabilities(Value scores, Value maximum) {
  StringRef axes = getScoreAxes();
  return buildStructuredOp(
             b, loc, axes, "", {{maximum, "r"}}, {{scores, axes}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value weight = buildSoftmaxWeight(b, loc, outs[0], ins[0]);
               if (!op.hidesTokens())
                 return SmallVector<Value>{weight};
               Value isHidden = arith::CmpFOp::create(
                   b, loc, arith::CmpFPredicate::OEQ, outs[0],
                   buildF32(b, loc, -std::numeric_limits<float>::infinity()));
               Value hidden = buildHiddenWeight(b, loc);
               return SmallVector<Value>{
                   arith::SelectOp::create(b, loc, isHidden, hidden, weight)};
             })
      .front();
}

SmallVector<Value> TileDecomposer::run() {
  Value scores = adjustScores(computeScores());
  SmallVector<Value> state = updateState(computeTileMaximum(scores));
  Value p = computeProbabilities(scores, state[1]);
  Value sum =
      buildStructuredOp(
          b, loc, getScoreAxes(), "t", {{p, getScoreAxes()}}, {{state[2], "r"}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
            return SmallVector<Value>{buildAdd(b, loc, outs[0], ins[0])};
          })
          .front();
  return {accumulate(p, state[0]), state[1], sum};
}
