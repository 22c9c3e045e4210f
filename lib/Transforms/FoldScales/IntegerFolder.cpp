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

#include "ScaleFolder.h"

#include "kvq/IR/CodePlanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

class IntegerFolder : public ScaleFolder {
public:
  IntegerFolder(RewriterBase &b, Location loc, Contraction contraction,
                int64_t tokenBound, unsigned width)
      : ScaleFolder(b, loc, contraction, tokenBound), width(width),
        type(b.getIntegerType(16)) {}

private:
  /// Elements as `codes` times `steps`, of which there is one for all elements
  /// that are summed.
  struct Integers {
    Value codes, steps;
  };

  Value foldKeysOfToken() override;
  Value foldValuesOfToken() override;
  Value foldKeysOfTile(LoadTileOp load) override;
  Value foldValuesOfTile(LoadTileOp load) override;
  Value contractCodes(StringRef axes, StringRef reduced, StructuredOperand left,
                      StructuredOperand right,
                      StructuredOperand output) override;

  /// With `init`, the codes are written there.
  Integers buildIntegers(StructuredOperand values, StringRef summed,
                         Value init = {});
  Value buildSums(const Integers &integers, Value steps, StringRef axes,
                  StringRef summed);
  /// Extends an element that holds a code to i32; null where it is the code.
  using CodeBody = std::function<Value(OpBuilder &, Location, Value)>;
  Value contractIntegers(StringRef axes, StringRef reduced,
                         StructuredOperand integers, StructuredOperand codes,
                         StructuredOperand scales, StructuredOperand output,
                         const CodeBody &extend = nullptr);
  /// The part of a tile's channels that is contracted at once.
  struct TilePart {
    int64_t firstGroup, groups;
    int64_t firstChannel, channels; // of each of the groups
    CodeBody extend;
  };
  std::optional<CodePlanes> findPlanes(LoadTileOp load);
  SmallVector<TilePart> getTileParts(std::optional<CodePlanes> planes);
  tensor::ExtractSliceOp slice(Value value, ArrayRef<int64_t> offsets,
                               ArrayRef<int64_t> sizes);
  Value scaleSteps(Value steps, StringRef axes);
  /// Scratch for the `axes` of `value`, whose axes are `valueAxes`.
  Value scratchFor(StructuredOperand value, StringRef axes, Type elementType);

  /// Bits of the integers, and the type that products are taken of: processors
  /// multiply pairs of i16, to which codes are extended anyway.
  unsigned width;
  IntegerType type;
};

} // namespace

/// Without `reduced`.
static std::string keepAxes(StringRef axes, StringRef reduced) {
  std::string kept;
  for (char axis : axes)
    if (!reduced.contains(axis))
      kept += axis;
  return kept;
}

Value IntegerFolder::scratchFor(StructuredOperand value, StringRef axes,
                                Type elementType) {
  SmallVector<int64_t> bound;
  SmallVector<OpFoldResult> extents;
  for (char axis : axes) {
    OpFoldResult extent =
        tensor::getMixedSize(b, loc, value.value, value.axes.find(axis));
    extents.push_back(extent);
    // Tokens alone are of a dynamic number.
    bound.push_back(getConstantIntValue(extent).value_or(tokenBound));
  }
  return buildScratch(b, loc, bound, extents, elementType);
}

/// step = max |x| / N; code = round(x (N / max |x|)), to nearest even, with N
/// the largest integer.
IntegerFolder::Integers IntegerFolder::buildIntegers(StructuredOperand values,
                                                     StringRef summed,
                                                     Value init) {
  OpBuilder::InsertionGuard guard(b);
  leaveLoops({values.value});
  std::string kept = keepAxes(values.axes, summed);
  double largest = (1 << (width - 1)) - 1;
  // As integers, the bits of magnitudes have their order, NaN above all.
  Value none = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
  Value least = scratchFor(values, kept, b.getI32Type());
  least = linalg::FillOp::create(b, loc, none, least).getResult(0);
  Value magnitudes =
      buildStructuredOp(
          b, loc, values.axes, summed, {values}, {{least, kept}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
            Type i32 = b.getI32Type();
            Value magnitude = arith::BitcastOp::create(
                b, loc, i32, math::AbsFOp::create(b, loc, ins[0]));
            return SmallVector<Value>{
                arith::MaxUIOp::create(b, loc, outs[0], magnitude)};
          })
          .front();
  SmallVector<Value> factors = buildStructuredOp(
      b, loc, kept, "", {{magnitudes, kept}},
      {{scratchFor(values, kept, b.getF32Type()), kept},
       {scratchFor(values, kept, b.getF32Type()), kept}},
      [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
        Value range = buildF32(b, loc, largest);
        Value magnitude =
            arith::BitcastOp::create(b, loc, b.getF32Type(), ins[0]);
        return SmallVector<Value>{
            arith::DivFOp::create(b, loc, magnitude, range),
            arith::DivFOp::create(b, loc, range, magnitude)};
      });
  Value codes =
      buildStructuredOp(
          b, loc, values.axes, "", {values, {factors[1], kept}},
          {{init ? init : scratchFor(values, values.axes, type), values.axes}},
          [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            // The sum has the integer in its lowest bits. What is not a number
            // gives some integer, and what is infinite or too small for its
            // reciprocal 0: the step decides then.
            Value number = arith::MulFOp::create(b, loc, ins[0], ins[1]);
            Value shifted = arith::AddFOp::create(
                b, loc, number, buildF32(b, loc, 1.5 * (1 << 23)));
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
      b, loc, scratchFor({integers.codes, axes}, kept, b.getF32Type()), 0.f);
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

/// output += scale * sum of integer * code.
Value IntegerFolder::contractIntegers(StringRef axes, StringRef reduced,
                                      StructuredOperand integers,
                                      StructuredOperand codes,
                                      StructuredOperand scales,
                                      StructuredOperand output,
                                      const CodeBody &extend) {
  bool isSigned = format.hasSignedCodes();
  auto extendByte = [&](OpBuilder &b, Location loc, Value byte) -> Value {
    if (isSigned)
      return arith::ExtSIOp::create(b, loc, b.getI32Type(), byte);
    return arith::ExtUIOp::create(b, loc, b.getI32Type(), byte);
  };
  return buildStructuredOp(
             b, loc, axes, reduced, {integers, codes, scales}, {output},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
               Value integer =
                   arith::ExtSIOp::create(b, loc, b.getI32Type(), ins[0]);
               Value code =
                   extend ? extend(b, loc, ins[1]) : extendByte(b, loc, ins[1]);
               Value product = arith::MulIOp::create(b, loc, integer, code);
               Value number =
                   arith::SIToFPOp::create(b, loc, b.getF32Type(), product);
               return SmallVector<Value>{
                   buildAdd(b, loc, outs[0], buildMul(b, loc, number, ins[2]))};
             })
      .front();
}

Value IntegerFolder::contractCodes(StringRef axes, StringRef reduced,
                                   StructuredOperand left,
                                   StructuredOperand right,
                                   StructuredOperand output) {
  Integers integers = buildIntegers(left, reduced);
  std::string kept = keepAxes(left.axes, reduced);
  return contractIntegers(axes, reduced, {integers.codes, left.axes}, right,
                          {integers.steps, kept}, output);
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
             {{scratchFor({steps, axes}, axes, b.getF32Type()), axes}},
             [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
               return SmallVector<Value>{buildMul(b, loc, ins[0], scale)};
             })
      .front();
}

//===----------------------------------------------------------------------===//
// Tiles of a layout
//===----------------------------------------------------------------------===//

/// The planes that the codes of a tile are contracted in; nothing where each is
/// a byte, or where a plane would cut groups of channels elsewhere than between
/// equal parts. They are unpacked then.
std::optional<CodePlanes> IntegerFolder::findPlanes(LoadTileOp load) {
  auto planes = CodePlanes::get(load.getCache().getType());
  if (!planes)
    return std::nullopt;
  int64_t ofPlane = headDim / planes->count, ofGroup = headDim / groups;
  bool fits = ofPlane % ofGroup == 0 || ofGroup % ofPlane == 0;
  return fits ? planes : std::nullopt;
}

SmallVector<IntegerFolder::TilePart>
IntegerFolder::getTileParts(std::optional<CodePlanes> planes) {
  int64_t ofGroup = headDim / groups;
  if (!planes)
    return {{0, groups, 0, ofGroup, nullptr}};
  int64_t ofPlane = headDim / planes->count;
  SmallVector<TilePart> parts;
  for (int64_t plane = 0; plane < planes->count; ++plane) {
    int64_t first = plane * ofPlane;
    auto extend = [planes, plane](OpBuilder &b, Location loc, Value byte) {
      Value code = planes->buildCode(b, loc, byte, plane);
      return arith::ExtSIOp::create(b, loc, b.getI32Type(), code).getResult();
    };
    parts.push_back({first / ofGroup, std::max<int64_t>(ofPlane / ofGroup, 1),
                     first % ofGroup, std::min(ofPlane, ofGroup), extend});
  }
  return parts;
}

tensor::ExtractSliceOp IntegerFolder::slice(Value value,
                                            ArrayRef<int64_t> offsets,
                                            ArrayRef<int64_t> sizes) {
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      b, loc, value, getAsIndexOpFoldResult(b.getContext(), offsets),
      getAsIndexOpFoldResult(b.getContext(), sizes), ones);
}

/// As foldKeysOfToken, for all tokens of a tile of pairs p of channels: what is
/// no token of the load gives a score that nothing reads.
Value IntegerFolder::foldKeysOfTile(LoadTileOp load) {
  std::optional<CodePlanes> planes = findPlanes(load);
  SmallVector<TilePart> parts = getTileParts(planes);
  Integers integers;
  Value steps, sums;
  SmallVector<Value> pairs;
  {
    OpBuilder::InsertionGuard guard(b);
    leaveLoops({op.other, outer});
    Value query = expandChannels(op.other);
    integers = buildIntegers({query, "rgc"}, "c");
    steps = scaleSteps(integers.steps, "rg");
    if (zeros)
      sums = buildSums(integers,
                       format.offsetNeedsScale() ? steps : integers.steps,
                       "rgc", "c");
    Value all = splitPairs(integers.codes);
    for (const TilePart &part : parts)
      pairs.push_back(slice(all, {0, part.firstGroup, part.firstChannel / 2, 0},
                            {rows, part.groups, part.channels / 2, 2}));
  }
  SmallVector<Value> stored = loadStored(load, planes.has_value());
  Type byte = getElementTypeOrSelf(stored[0]);
  SmallVector<int64_t> ofGroups = {rows, groups, tokenBound};
  SmallVector<int64_t> ofRows = {rows, tokenBound};
  Value factors = multiply("rgt", {steps, "rg"}, {stored[1], "gt"},
                           {buildEmpty(ofGroups), "rgt"});
  Value scores = buildFill(b, loc, buildEmpty(ofRows), 0.f);
  for (auto [part, ofPart] : llvm::zip_equal(parts, pairs)) {
    Value tile = tensor::ExpandShapeOp::create(
        b, loc,
        RankedTensorType::get({part.groups, part.channels / 2, tokenBound, 2},
                              byte),
        stored[0], SmallVector<ReassociationIndices>{{0, 1}, {2}, {3}});
    Value scale = slice(factors, {0, part.firstGroup, 0},
                        {rows, part.groups, tokenBound});
    scores = contractIntegers("rtgcp", "gcp", {ofPart, "rgcp"}, {tile, "gctp"},
                              {scale, "rgt"}, {scores, "rt"}, part.extend);
  }
  return finishKeysOfTile(scores, sums, load, stored);
}

/// As foldValuesOfToken, in a tile of pairs p of tokens: what is no token of
/// the load has the integer 0.
Value IntegerFolder::foldValuesOfTile(LoadTileOp load) {
  std::optional<CodePlanes> planes = findPlanes(load);
  SmallVector<Value> stored = loadStored(load, planes.has_value());
  Value weights =
      multiply("rgt", {weighted, "rt"}, {cutTokens(stored[1], load), "gt"},
               {scratch({rows, groups, tokenBound},
                        {fixed(rows), fixed(groups), tokens}),
                "rgt"});
  SmallVector<int64_t> shape = {rows, groups, tokenBound};
  Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 0));
  Value all = tensor::EmptyOp::create(b, loc, shape, type);
  all = linalg::FillOp::create(b, loc, zero, all).getResult(0);
  Integers integers =
      buildIntegers({weights, "rgt"}, "t", cutTokens(all, load));
  all = splitPairs(insertTokens(integers.codes, all, load));
  Type byte = getElementTypeOrSelf(stored[0]);
  Value result = expandChannels(op.output);
  for (const TilePart &part : getTileParts(planes)) {
    Value tile = tensor::ExpandShapeOp::create(
        b, loc,
        RankedTensorType::get({tokenBound / 2, part.groups, part.channels, 2},
                              byte),
        stored[0], SmallVector<ReassociationIndices>{{0}, {1, 2}, {3}});
    Value pairs = slice(all, {0, part.firstGroup, 0, 0},
                        {rows, part.groups, tokenBound / 2, 2});
    Value steps =
        slice(integers.steps, {0, part.firstGroup}, {rows, part.groups});
    auto output = slice(result, {0, part.firstGroup, part.firstChannel},
                        {rows, part.groups, part.channels});
    Value sums =
        contractIntegers("rgcsp", "sp", {pairs, "rgsp"}, {tile, "sgcp"},
                         {steps, "rg"}, {output, "rgc"}, part.extend);
    result = tensor::InsertSliceOp::create(
        b, loc, sums, result, output.getMixedOffsets(), output.getMixedSizes(),
        output.getMixedStrides());
  }
  return finishValuesOfTile(result, load, stored);
}

//===----------------------------------------------------------------------===//
// Rows of tokens
//===----------------------------------------------------------------------===//

/// score[r, t] += sum_g (s[t, g] step[r, g]) (sum_c n[r, g, c] code[t, g, c])
///              + sum_g z[t, g] step[r, g] (sum_c n[r, g, c]).
/// The query's integers n and steps are the same for all tiles.
Value IntegerFolder::foldKeysOfToken() {
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
    integers = buildIntegers({queryValues, query}, "c");
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
  factors =
      multiply(all, {steps, ofGroups}, {tokenScales, ofTokens}, {factors, all});
  Value result = contractIntegers(split ? "rtgc" : "rtc", split ? "gc" : "c",
                                  {integers.codes, query},
                                  {splitChannels(codes), split ? "tgc" : "tc"},
                                  {factors, all}, {op.output, "rt"});
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
  Value byGroup =
      buildStructuredOp(
          b, loc, "tg", "", {{scales, "tg"}},
          {{scratch({groups, tokenBound}, {fixed(groups), tokens}), "gt"}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            return SmallVector<Value>{buildExtend(b, loc, ins[0])};
          })
          .front();
  Value weights = multiply("rgt", {weighted, "rt"}, {byGroup, "gt"},
                           {scratch({rows, groups, tokenBound},
                                    {fixed(rows), fixed(groups), tokens}),
                            "rgt"});
  Value result = contractCodes("rgct", "t", {weights, "rgt"},
                               {splitChannels(codes), "tgc"},
                               {splitChannels(op.output), "rgc"});
  return joinChannels(addOffsetsOfValues(result), op.output.getType());
}

Value kvq::foldWithIntegers(RewriterBase &b, Location loc,
                            Contraction contraction, int64_t tokenBound,
                            IntegerType type) {
  return IntegerFolder(b, loc, contraction, tokenBound, type.getWidth()).run();
}
