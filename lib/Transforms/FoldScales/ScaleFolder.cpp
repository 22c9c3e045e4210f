//===- ScaleFolder.cpp - Scales out of one contraction --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With value = code * s + z, where s and the offset z are shared by a group,
// the sum over an axis takes s out as far as the group reaches along that axis,
// and z as a sum of the other operand. Which of the four cases applies follows
// from the group's token extent and from the axis that is reduced.
//
//===----------------------------------------------------------------------===//

#include "ScaleFolder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Value ScaleFolder::expandChannels(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {type.getDimSize(0), groups, headDim / groups};
  SmallVector<OpFoldResult> extents = {tensor::getMixedSize(b, loc, value, 0),
                                       fixed(groups), fixed(headDim / groups)};
  return tensor::ExpandShapeOp::create(
      b, loc, type.clone(shape), value,
      SmallVector<ReassociationIndices>{{0}, {1, 2}}, extents);
}

Value ScaleFolder::collapseChannels(Value value, Type type) {
  return tensor::CollapseShapeOp::create(
      b, loc, cast<RankedTensorType>(type), value,
      SmallVector<ReassociationIndices>{{0}, {1, 2}});
}

Value ScaleFolder::dropUnitAxis(Value value) {
  return tensor::CollapseShapeOp::create(
      b, loc, value, SmallVector<ReassociationIndices>{{0, 1}});
}

//===----------------------------------------------------------------------===//
// The four cases
//===----------------------------------------------------------------------===//

/// Moves the insertion point out of the loops that do not change `values` (of
/// which some may be null): what is given is read before them.
void ScaleFolder::leaveLoops(ArrayRef<Value> values) {
  while (auto loop =
             dyn_cast<scf::ForOp>(b.getInsertionBlock()->getParentOp())) {
    SmallVector<Operation *> loads;
    for (Value value : values) {
      if (!value || loop.isDefinedOutsideOfLoop(value))
        continue;
      auto load = value.getDefiningOp<LoadGivenOp>();
      if (!load || !loop.isDefinedOutsideOfLoop(load.getCache()) ||
          !loop.isDefinedOutsideOfLoop(load.getHead()))
        return;
      loads.push_back(load);
    }
    for (Operation *load : loads)
      b.moveOpBefore(load, loop);
    b.setInsertionPoint(loop);
  }
}

/// The other operand times the outer scale, so that the rest sees scales of one
/// level alone.
Value ScaleFolder::buildWeighted() {
  if (!outer)
    return op.other;
  OpBuilder::InsertionGuard guard(b);
  leaveLoops({op.other, outer});
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value scale =
      tensor::ExtractOp::create(b, loc, outer, ValueRange{zero, zero});
  Value init = op.reducesChannels
                   ? scratch({rows, headDim}, {fixed(rows), fixed(headDim)})
                   : scratch({rows, tokenBound}, {fixed(rows), tokens});
  return buildStructuredOp(
             b, loc, "rx", "", {{op.other, "rx"}}, {{init, "rx"}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
               return SmallVector<Value>{
                   multiplyElements(b, loc, ins[0], scale)};
             })
      .front();
}

Value ScaleFolder::contractCodes(StringRef axes, StringRef reduced,
                                 StructuredOperand left,
                                 StructuredOperand right,
                                 StructuredOperand output) {
  return buildContraction(
      b, loc, axes, reduced, left, right, output,
      [&](OpBuilder &b, Location loc, Value code) {
        return format.buildCodeValue(b, loc, code);
      },
      op.hides);
}

/// score[r, t] += sum_g s[t, g] (sum_c q[r, g, c] code[t, g, c])
///              + sum_g z[t, g] (sum_c q[r, g, c]),
/// where lanes sum with the scales of several groups next to the codes.
Value ScaleFolder::foldKeysOfToken() {
  Value query = splitChannels(weighted), splitCodes = splitChannels(codes);
  if (groups == 1) {
    Value dots = contractCodes(
        "rtc", "c", {query, "rc"}, {splitCodes, "tc"},
        {zeroScratch({rows, tokenBound}, {fixed(rows), tokens}), "rt"});
    Value result = contract("rt", "", {dots, "rt"}, {dropUnitAxis(scales), "t"},
                            {op.output, "rt"});
    if (!zeros)
      return result;
    Value sums = accumulate("rc", "c", {offsetOther, "rc"},
                            {zeroScratch({rows}, {fixed(rows)}), "r"});
    return contractOffsets("rt", "", {sums, "r"}, "t", {result, "rt"});
  }
  if (lanes)
    return addOffsetsOfKeys(scaleCodes(query, splitCodes), query);
  Value dots = contractCodes("rtgc", "c", {query, "rgc"}, {splitCodes, "tgc"},
                             {zeroScratch({rows, tokenBound, groups},
                                          {fixed(rows), tokens, fixed(groups)}),
                              "rtg"});
  return addOffsetsOfKeys(
      contract("rtg", "g", {dots, "rtg"}, {scales, "tg"}, {op.output, "rt"}),
      query);
}

/// score[r, t] += sum_gc q[r, g, c] (s[t, g] code[t, g, c]), of scales in f32
/// that a lane loads as they are. A product for each code is shared by all
/// rows, a sum over lanes for each group is not.
Value ScaleFolder::scaleCodes(Value query, Value splitCodes) {
  Value wide = scales;
  if (!cast<RankedTensorType>(scales.getType()).getElementType().isF32())
    wide = buildStructuredOp(
               b, loc, "tg", "", {{scales, "tg"}},
               {{scratch({tokenBound, groups}, {tokens, fixed(groups)}), "tg"}},
               [](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
                 return SmallVector<Value>{buildExtend(b, loc, ins[0])};
               })
               .front();
  return buildStructuredOp(
             b, loc, "rtgc", "gc",
             {{query, "rgc"}, {splitCodes, "tgc"}, {wide, "tg"}},
             {{op.output, "rt"}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value key = buildMul(
                   b, loc, format.buildCodeValue(b, loc, ins[1]), ins[2]);
               return SmallVector<Value>{
                   buildAdd(b, loc, outs[0], buildMul(b, loc, ins[0], key))};
             })
      .front();
}

/// `scores` (r, t) += sum_g z[t, g] (sum_c q[r, g, c]).
Value ScaleFolder::addOffsetsOfKeys(Value scores, Value query) {
  if (!zeros)
    return scores;
  Value sums = accumulate(
      "rgc", "c", {outer ? splitChannels(offsetOther) : query, "rgc"},
      {zeroScratch({rows, groups}, {fixed(rows), fixed(groups)}), "rg"});
  return contractOffsets("rtg", "g", {sums, "rg"}, "tg", {scores, "rt"});
}

/// score[r, t] += sum_gc (q[r, g, c] s[g]) code[t, g, c]
///              + sum_gc q[r, g, c] z[g].
/// One row of metadata serves all tokens of the block, so it goes into the
/// query once, however many channels share a scale: before all blocks, where it
/// is given.
Value ScaleFolder::foldKeysOfBlock() {
  BlockAxes block = getBlockAxes();
  Value scaled, offsetQuery;
  {
    OpBuilder::InsertionGuard guard(b);
    leaveLoops({weighted, offsetOther, scales, zeros});
    Value query = splitBlock(weighted);
    offsetQuery = outer ? splitBlock(offsetOther) : query;
    scaled = multiply(
        block.rows, {query, block.rows}, {dropUnitAxis(scales), block.groups},
        {splitBlock(scratch({rows, headDim}, {fixed(rows), fixed(headDim)})),
         block.rows});
    scaled = joinBlock(scaled, op.other.getType());
  }
  Value result = contractCodes("rtc", "c", {scaled, "rc"}, {codes, "tc"},
                               {op.output, "rt"});
  if (!zeros)
    return result;
  Value shift;
  {
    OpBuilder::InsertionGuard guard(b);
    leaveLoops({offsetQuery, scales, zeros});
    shift = contractOffsets(block.rows, block.channels,
                            {offsetQuery, block.rows}, block.groups,
                            {zeroScratch({rows}, {fixed(rows)}), "r"});
  }
  return accumulate("rt", "", {shift, "r"}, {result, "rt"});
}

/// acc[r, g, c] += sum_t (p[r, t] s[t, g]) code[t, g, c]
///               + sum_t p[r, t] z[t, g].
Value ScaleFolder::foldValuesOfToken() {
  if (groups == 1) {
    Value weights =
        multiply("rt", {weighted, "rt"}, {dropUnitAxis(scales), "t"},
                 {scratch({rows, tokenBound}, {fixed(rows), tokens}), "rt"});
    return addOffsetsOfValues(contractCodes("rct", "t", {weights, "rt"},
                                            {codes, "tc"}, {op.output, "rc"}));
  }
  Value weights = multiply("rtg", {weighted, "rt"}, {scales, "tg"},
                           {scratch({rows, tokenBound, groups},
                                    {fixed(rows), tokens, fixed(groups)}),
                            "rtg"});
  Value result = contractCodes("rgct", "t", {weights, "rtg"},
                               {splitChannels(codes), "tgc"},
                               {splitChannels(op.output), "rgc"});
  return joinChannels(addOffsetsOfValues(result), op.output.getType());
}

Value ScaleFolder::addOffsetsOfValues(Value result) {
  if (!zeros)
    return result;
  if (groups == 1) {
    Value shift = contractOffsets("rt", "t", {offsetOther, "rt"}, "t",
                                  {zeroScratch({rows}, {fixed(rows)}), "r"});
    return accumulate("rc", "", {shift, "r"}, {result, "rc"});
  }
  Value shift = contractOffsets(
      "rgt", "t", {offsetOther, "rt"}, "tg",
      {zeroScratch({rows, groups}, {fixed(rows), fixed(groups)}), "rg"});
  return accumulate("rgc", "", {shift, "rg"}, {result, "rgc"});
}

/// sum_t p[r, t]: hidden where all tokens are.
Value ScaleFolder::sumWeights() {
  Value init = scratch({rows}, {fixed(rows)});
  return accumulate("rt", "t", {offsetOther, "rt"},
                    {buildFill(b, loc, init, op.hides ? -0.f : 0.f), "r"});
}

/// acc[r, g, c] + s[g] sums[r, g, c], acc alone for rows with a hidden weight.
Value ScaleFolder::scaleSums(Value sums, Value weight) {
  BlockAxes block = getBlockAxes();
  StructuredOperand scale = {dropUnitAxis(scales), block.groups};
  StructuredOperand output = {splitBlock(op.output), block.rows};
  if (!op.hides)
    return contract(block.rows, "", {sums, block.rows}, scale, output);
  return buildStructuredOp(
             b, loc, block.rows, "", {{sums, block.rows}, scale, {weight, "r"}},
             {output},
             [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value product =
                   buildMul(b, loc, ins[0], buildExtend(b, loc, ins[1]));
               Value sum = buildAdd(b, loc, outs[0], product);
               return SmallVector<Value>{arith::SelectOp::create(
                   b, loc, buildIsHidden(b, loc, ins[2]), outs[0], sum)};
             })
      .front();
}

/// acc[r, g, c] += s[g] (sum_t p[r, t] code[t, g, c]) + z[g] (sum_t p[r, t]).
Value ScaleFolder::foldValuesOfBlock() {
  BlockAxes block = getBlockAxes();
  Value sums = contractCodes(
      "rct", "t", {weighted, "rt"}, {codes, "tc"},
      {zeroScratch({rows, headDim}, {fixed(rows), fixed(headDim)}), "rc"});
  Value weight = op.hides ? sumWeights() : Value();
  Value result = scaleSums(splitBlock(sums), weight);
  if (zeros) {
    if (!weight)
      weight = sumWeights();
    result = contractOffsets(block.rows, "", {weight, "r"}, block.groups,
                             {result, block.rows});
  }
  return joinBlock(result, op.output.getType());
}
