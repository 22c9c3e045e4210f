//===- IntegerFolder.cpp - Contractions of integers with codes ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule R38: the operand that is not codes becomes integers, x ~ step * integer,
// with one step for all elements that are summed under one scale. Scales that
// belong to an element go into it first, as in the other folds. What is left
// are sums of products of integers, each times a scale.
//
//===----------------------------------------------------------------------===//

#include "IntegerFolder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::kvq;

/// Without `reduced`.
static std::string keepAxes(StringRef axes, StringRef reduced) {
  std::string kept;
  for (char axis : axes)
    if (!reduced.contains(axis))
      kept += axis;
  return kept;
}

Value IntegerFolder::scratchFor(ArrayRef<StructuredOperand> operands,
                                StringRef axes, Type elementType) {
  SmallVector<int64_t> bound;
  SmallVector<OpFoldResult> extents;
  for (char axis : axes) {
    const StructuredOperand *operand =
        llvm::find_if(operands, [&](const StructuredOperand &operand) {
          return operand.axes.contains(axis);
        });
    OpFoldResult extent =
        tensor::getMixedSize(b, loc, operand->value, operand->axes.find(axis));
    extents.push_back(extent);
    // Tokens alone are of a dynamic number.
    bound.push_back(getConstantIntValue(extent).value_or(tokenBound));
  }
  return buildScratch(b, loc, bound, extents, elementType);
}

IntegerFolder::Numbers IntegerFolder::getNumbers(StructuredOperand values) {
  return {values.axes, {values}, [](OpBuilder &, Location, ValueRange ins) {
            return ins.front();
          }};
}

/// Probabilities times scales of tokens in each group.
IntegerFolder::Numbers IntegerFolder::getWeights(StructuredOperand scales) {
  return {"rgt",
          {{weighted, "rt"}, scales},
          [this](OpBuilder &b, Location loc, ValueRange ins) {
            return multiplyElements(b, loc, ins[0],
                                    buildExtend(b, loc, ins[1]));
          }};
}

/// step = max |x| / N; code = round(x (N / max |x|)), to nearest even, with N
/// the largest integer.
IntegerFolder::Integers IntegerFolder::buildIntegers(const Numbers &numbers,
                                                     StringRef summed,
                                                     IntegerType type,
                                                     Value init) {
  OpBuilder::InsertionGuard guard(b);
  ArrayRef<StructuredOperand> operands = numbers.operands;
  if (operands.size() == 1)
    leaveLoops({operands.front().value});
  std::string kept = keepAxes(numbers.axes, summed);
  double largest = (1 << (width - 1)) - 1;
  // As integers, the bits of magnitudes have their order, NaN above all.
  Value none = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value least = scratchFor(operands, kept, b.getI32Type());
  least = linalg::FillOp::create(b, loc, none, least).getResult(0);
  Value magnitudes =
      buildStructuredOp(
          b, loc, numbers.axes, summed, operands, {{least, kept}},
          [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
            Type i32 = b.getI32Type();
            Value magnitude = arith::BitcastOp::create(
                b, loc, i32,
                math::AbsFOp::create(b, loc, numbers.compute(b, loc, ins)));
            return SmallVector<Value>{
                arith::MaxUIOp::create(b, loc, outs[0], magnitude)};
          })
          .front();
  SmallVector<Value> factors = buildStructuredOp(
      b, loc, kept, "", {{magnitudes, kept}},
      {{scratchFor(operands, kept, b.getF32Type()), kept},
       {scratchFor(operands, kept, b.getF32Type()), kept}},
      [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
        Value range = buildF32(b, loc, largest);
        Value magnitude =
            arith::BitcastOp::create(b, loc, b.getF32Type(), ins[0]);
        return SmallVector<Value>{
            arith::DivFOp::create(b, loc, magnitude, range),
            arith::DivFOp::create(b, loc, range, magnitude)};
      });
  SmallVector<StructuredOperand> withFactors(operands);
  withFactors.push_back({factors[1], kept});
  Value codes =
      buildStructuredOp(
          b, loc, numbers.axes, "", withFactors,
          {{init ? init : scratchFor(operands, numbers.axes, type),
            numbers.axes}},
          [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            // The sum has the integer in its lowest bits. What is not a number
            // gives some integer, and what is infinite or too small for its
            // reciprocal 0: the step decides then.
            Value number = numbers.compute(b, loc, ins.drop_back());
            Value shifted =
                buildAdd(b, loc, buildMul(b, loc, number, ins.back()),
                         buildF32(b, loc, 1.5 * (1 << 23)));
            Value bits =
                arith::BitcastOp::create(b, loc, b.getI32Type(), shifted);
            return SmallVector<Value>{
                arith::TruncIOp::create(b, loc, type, bits)};
          })
          .front();
  return {codes, factors[0]};
}

/// The sums of what the integers stand for.
Value IntegerFolder::buildSums(const Integers &integers, Value steps,
                               StringRef axes, StringRef summed) {
  std::string kept = keepAxes(axes, summed);
  Value init = buildFill(
      b, loc, scratchFor({{integers.codes, axes}}, kept, b.getF32Type()), 0.f);
  return buildStructuredOp(
             b, loc, axes, summed, {{integers.codes, axes}, {steps, kept}},
             {{init, kept}},
             [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value number =
                   arith::SIToFPOp::create(b, loc, b.getF32Type(), ins[0]);
               return SmallVector<Value>{
                   buildAdd(b, loc, outs[0], buildMul(b, loc, number, ins[1]))};
             })
      .front();
}

/// output += the product of all scales * sum of integer * code.
Value IntegerFolder::contractIntegers(StringRef axes, StringRef reduced,
                                      StructuredOperand integers,
                                      StructuredOperand codes,
                                      ArrayRef<StructuredOperand> scales,
                                      StructuredOperand output,
                                      const CodeBody &extend) {
  bool isSigned = format.hasSignedCodes();
  auto extendByte = [&](OpBuilder &b, Location loc, Value byte) -> Value {
    if (isSigned)
      return arith::ExtSIOp::create(b, loc, b.getI32Type(), byte);
    return arith::ExtUIOp::create(b, loc, b.getI32Type(), byte);
  };
  SmallVector<StructuredOperand> inputs = {integers, codes};
  llvm::append_range(inputs, scales);
  return buildStructuredOp(
             b, loc, axes, reduced, inputs, {output},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value integer =
                   arith::ExtSIOp::create(b, loc, b.getI32Type(), ins[0]);
               Value code =
                   extend ? extend(b, loc, ins[1]) : extendByte(b, loc, ins[1]);
               Value product = arith::MulIOp::create(b, loc, integer, code);
               Value number =
                   arith::SIToFPOp::create(b, loc, b.getF32Type(), product);
               Value scale = buildExtend(b, loc, ins[2]);
               for (Value factor : ins.drop_front(3))
                 scale = buildMul(b, loc, scale, buildExtend(b, loc, factor));
               return SmallVector<Value>{
                   buildAdd(b, loc, outs[0], buildMul(b, loc, number, scale))};
             })
      .front();
}

Value IntegerFolder::contractCodes(StringRef axes, StringRef reduced,
                                   StructuredOperand left,
                                   StructuredOperand right,
                                   StructuredOperand output) {
  Integers integers = buildIntegers(getNumbers(left), reduced, type);
  std::string kept = keepAxes(left.axes, reduced);
  return contractIntegers(axes, reduced, {integers.codes, left.axes}, right,
                          {{integers.steps, kept}}, output);
}

/// `steps` times the outer scale, if there is one.
Value IntegerFolder::scaleSteps(Value steps, StringRef axes) {
  if (!outer)
    return steps;
  OpBuilder::InsertionGuard guard(b);
  leaveLoops({steps, outer});
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value scale =
      tensor::ExtractOp::create(b, loc, outer, ValueRange{zero, zero});
  return buildStructuredOp(
             b, loc, axes, "", {{steps, axes}},
             {{scratchFor({{steps, axes}}, axes, b.getF32Type()), axes}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
               return SmallVector<Value>{buildMul(b, loc, ins[0], scale)};
             })
      .front();
}

//===----------------------------------------------------------------------===//
// Rows of tokens
//===----------------------------------------------------------------------===//

/// score[r, t] += sum_g (s[t, g] step[r, g]) (sum_c n[r, g, c] code[t, g, c])
///              + sum_g z[t, g] step[r, g] (sum_c n[r, g, c]).
/// The query's integers n and steps are the same for all tiles.
Value IntegerFolder::foldKeysOfToken() {
  if (paysToTurnRows())
    return contractKeysOfTile(/*planes=*/std::nullopt, fixed(0),
                              [&] { return turnRows(); });
  bool split = groups != 1;
  StringRef query = split ? "rgc" : "rc", ofGroups = split ? "rg" : "r";
  StringRef ofTokens = split ? "tg" : "t", all = split ? "rtg" : "rt";
  Value queryValues;
  Integers integers;
  Value steps, sums;
  {
    OpBuilder::InsertionGuard guard(b);
    leaveLoops({op.other, outer});
    queryValues = splitChannels(op.other);
    integers = buildIntegers(getNumbers({queryValues, query}), "c", type);
    steps = scaleSteps(integers.steps, ofGroups);
    if (zeros)
      sums = buildSums(integers,
                       format.offsetNeedsScale() ? steps : integers.steps,
                       query, "c");
  }
  Value tokenScales = split ? scales : dropUnitAxis(scales);
  Value factors =
      scratch(split ? ArrayRef<int64_t>{rows, tokenBound, groups}
                    : ArrayRef<int64_t>{rows, tokenBound},
              split ? ArrayRef<OpFoldResult>{fixed(rows), tokens, fixed(groups)}
                    : ArrayRef<OpFoldResult>{fixed(rows), tokens});
  // In vectors: where channels lie in lanes, a sum takes one scale at a time.
  factors =
      multiply(all, {steps, ofGroups}, {tokenScales, ofTokens}, {factors, all});
  Value result = contractIntegers(split ? "rtgc" : "rtc", split ? "gc" : "c",
                                  {integers.codes, query},
                                  {splitChannels(codes), split ? "tgc" : "tc"},
                                  {{factors, all}}, {op.output, "rt"});
  if (!zeros)
    return result;
  return contractOffsets(all, split ? "g" : "", {sums, ofGroups}, ofTokens,
                         {result, "rt"});
}

/// acc[r, g, c] += step[r, g] (sum_t n[r, g, t] code[t, g, c])
///               + sum_t p[r, t] z[t, g],
/// with step[r, g] n[r, g, t] ~ p[r, t] s[t, g].
Value IntegerFolder::foldValuesOfToken() {
  if (groups == 1)
    return ScaleFolder::foldValuesOfToken();
  // Tokens last, as they are summed.
  Type element = getElementTypeOrSelf(scales);
  Value byGroup =
      buildStructuredOp(b, loc, "gt", "", {{scales, "tg"}},
                        {{buildScratch(b, loc, {groups, tokenBound},
                                       {fixed(groups), tokens}, element),
                          "gt"}},
                        [](OpBuilder &, Location, ValueRange ins, ValueRange) {
                          return SmallVector<Value>{ins[0]};
                        })
          .front();
  Integers integers = buildIntegers(getWeights({byGroup, "gt"}), "t", type);
  Value result = contractIntegers(
      "rgct", "t", {integers.codes, "rgt"}, {splitChannels(codes), "tgc"},
      {{integers.steps, "rg"}}, {splitChannels(op.output), "rgc"});
  return joinChannels(addOffsetsOfValues(result), op.output.getType());
}

Value kvq::foldWithIntegers(RewriterBase &b, Location loc,
                            Contraction contraction, int64_t tokenBound,
                            IntegerType type, bool lanes) {
  return IntegerFolder(b, loc, contraction, tokenBound, type.getWidth(), lanes)
      .run();
}
