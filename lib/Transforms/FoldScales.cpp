//===- FoldScales.cpp - Scales out of contractions ------------------------===//
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

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_FOLDSCALESPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// A contraction of rows with dequantized tokens: `output[r, kept] +=
/// sum_reduced other[r, reduced] * dequantize(...)[t, c]`.
struct Contraction {
  DequantizeOp dequantize;
  Value other;
  Value output;
  /// Channels are reduced (keys), or else tokens (values).
  bool reducesChannels;
  /// The other operand has weights of which some are hidden.
  bool hides;
};

/// Emits the folded form of one contraction. Axes: r rows, t tokens, g channel
/// groups, c channels of a group.
class ScaleFolder {
public:
  ScaleFolder(RewriterBase &b, Location loc, Contraction contraction,
              int64_t tokenBound)
      : b(b), loc(loc), op(contraction), tokenBound(tokenBound) {
    auto codesType =
        cast<RankedTensorType>(op.dequantize.getInputs().front().getType());
    headDim = codesType.getDimSize(1);
    format = op.dequantize.getFormat().resolve(headDim);
    groups = headDim / format.getGroupChannels(headDim);
    rows = cast<RankedTensorType>(op.other.getType()).getDimSize(0);
    codes = op.dequantize.getInputs()[0];
    scales = op.dequantize.getInputs()[1];
    zeros = format.getZeroType() ? op.dequantize.getInputs()[2] : Value();
    if (format.getOuterScaleType())
      outer = op.dequantize.getInputs().back();
    tokens = tensor::getMixedSize(b, loc, codes, 0);
  }

  Value run() {
    weighted = buildWeighted();
    offsetOther = format.offsetNeedsScale() ? weighted : op.other;
    bool sharedByTokens =
        format.getGroupTokens() > 1 || format.hasStaticRange();
    if (op.reducesChannels)
      return sharedByTokens ? foldKeysOfBlock() : foldKeysOfToken();
    return sharedByTokens ? foldValuesOfBlock() : foldValuesOfToken();
  }

private:
  Value buildWeighted();
  Value foldKeysOfToken();
  Value foldKeysOfBlock();
  Value foldValuesOfToken();
  Value foldValuesOfBlock();
  Value sumWeights();
  Value scaleSums(Value sums, Value weight);

  /// `value` with its axis of all channels split into groups x channels; as it
  /// is where one group holds them all.
  Value splitChannels(Value value) {
    return groups == 1 ? value : expandChannels(value);
  }
  Value joinChannels(Value value, Type type) {
    return groups == 1 ? value : collapseChannels(value, type);
  }
  /// Axes of rows of all channels where tokens share metadata: split into
  /// groups and channels unless each channel is a group.
  struct BlockAxes {
    StringRef rows, groups, channels;
  };
  BlockAxes getBlockAxes() {
    if (groups == headDim)
      return {"rc", "c", "c"};
    return {"rgc", "g", "gc"};
  }
  Value splitBlock(Value value) {
    return groups == headDim ? value : expandChannels(value);
  }
  Value joinBlock(Value value, Type type) {
    return groups == headDim ? value : collapseChannels(value, type);
  }
  Value expandChannels(Value value);
  Value collapseChannels(Value value, Type type);
  /// Metadata without its axis of extent 1.
  Value dropUnitAxis(Value value);

  Value scratch(ArrayRef<int64_t> bound, ArrayRef<OpFoldResult> extents) {
    return buildScratch(b, loc, bound, extents);
  }
  Value zeroScratch(ArrayRef<int64_t> bound, ArrayRef<OpFoldResult> extents) {
    return buildFill(b, loc, scratch(bound, extents), 0.f);
  }
  OpFoldResult fixed(int64_t extent) { return b.getIndexAttr(extent); }

  /// output += left * right, the right operand codes or metadata.
  Value contractCodes(StringRef axes, StringRef reduced, StructuredOperand left,
                      StructuredOperand right, StructuredOperand output) {
    return buildContraction(
        b, loc, axes, reduced, left, right, output,
        [&](OpBuilder &b, Location loc, Value code) {
          return format.buildCodeValue(b, loc, code);
        },
        op.hides);
  }
  Value contract(StringRef axes, StringRef reduced, StructuredOperand left,
                 StructuredOperand right, StructuredOperand output) {
    return buildContraction(b, loc, axes, reduced, left, right, output,
                            buildExtend, op.hides);
  }
  /// output += left * offset of each group, whose axes are `groupAxes`.
  Value contractOffsets(StringRef axes, StringRef reduced,
                        StructuredOperand left, StringRef groupAxes,
                        StructuredOperand output) {
    auto getMetadata = [&](Value value) -> StructuredOperand {
      return {groupAxes.size() == 1 ? dropUnitAxis(value) : value, groupAxes};
    };
    SmallVector<StructuredOperand> inputs = {left, getMetadata(zeros)};
    if (format.offsetNeedsScale())
      inputs.push_back(getMetadata(scales));
    auto body = [&](OpBuilder &b, Location loc, ValueRange ins,
                    ValueRange outs) {
      Value scale = ins.size() == 3 ? buildExtend(b, loc, ins[2]) : Value();
      Value offset = format.buildOffset(b, loc, scale, ins[1]);
      return SmallVector<Value>{
          buildAdd(b, loc, outs[0], multiplyElements(b, loc, ins[0], offset))};
    };
    return buildStructuredOp(b, loc, axes, reduced, inputs, {output}, body)
        .front();
  }
  /// output = left * right, without a sum.
  Value multiply(StringRef axes, StructuredOperand left,
                 StructuredOperand right, StructuredOperand output) {
    return buildStructuredOp(
               b, loc, axes, "", {left, right}, {output},
               [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
                 return SmallVector<Value>{multiplyElements(
                     b, loc, ins[0], buildExtend(b, loc, ins[1]))};
               })
        .front();
  }
  /// A weight, an element of the query or of what was summed, times `factor`.
  Value multiplyElements(OpBuilder &b, Location loc, Value left, Value factor) {
    return op.hides ? buildWeightMul(b, loc, left, factor)
                    : buildMul(b, loc, left, factor);
  }
  /// output += input, summed over `reduced`.
  Value accumulate(StringRef axes, StringRef reduced, StructuredOperand input,
                   StructuredOperand output) {
    return buildStructuredOp(
               b, loc, axes, reduced, {input}, {output},
               [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
                 return SmallVector<Value>{buildAdd(b, loc, outs[0], ins[0])};
               })
        .front();
  }

  void leaveLoops(ArrayRef<Value> values);

  RewriterBase &b;
  Location loc;
  Contraction op;
  FormatInterface format;
  int64_t tokenBound;
  int64_t headDim, groups, rows;
  Value codes, scales, zeros;
  /// The outer scale of a two-level one, or null.
  Value outer;
  /// The other operand as the codes' scales see it, and as offsets do.
  Value weighted, offsetOther;
  OpFoldResult tokens;
};

} // namespace

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

/// score[r, t] += sum_g s[t, g] (sum_c q[r, g, c] code[t, g, c])
///              + sum_g z[t, g] (sum_c q[r, g, c]).
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
  Value dots = contractCodes("rtgc", "c", {query, "rgc"}, {splitCodes, "tgc"},
                             {zeroScratch({rows, tokenBound, groups},
                                          {fixed(rows), tokens, fixed(groups)}),
                              "rtg"});
  Value result =
      contract("rtg", "g", {dots, "rtg"}, {scales, "tg"}, {op.output, "rt"});
  if (!zeros)
    return result;
  Value sums = accumulate(
      "rgc", "c", {outer ? splitChannels(offsetOther) : query, "rgc"},
      {zeroScratch({rows, groups}, {fixed(rows), fixed(groups)}), "rg"});
  return contractOffsets("rtg", "g", {sums, "rg"}, "tg", {result, "rt"});
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
    Value result = contractCodes("rct", "t", {weights, "rt"}, {codes, "tc"},
                                 {op.output, "rc"});
    if (!zeros)
      return result;
    Value shift = contractOffsets("rt", "t", {offsetOther, "rt"}, "t",
                                  {zeroScratch({rows}, {fixed(rows)}), "r"});
    return accumulate("rc", "", {shift, "r"}, {result, "rc"});
  }
  Value weights = multiply("rtg", {weighted, "rt"}, {scales, "tg"},
                           {scratch({rows, tokenBound, groups},
                                    {fixed(rows), tokens, fixed(groups)}),
                            "rtg"});
  Value result = contractCodes("rgct", "t", {weights, "rtg"},
                               {splitChannels(codes), "tgc"},
                               {splitChannels(op.output), "rgc"});
  if (zeros) {
    Value shift = contractOffsets(
        "rgt", "t", {offsetOther, "rt"}, "tg",
        {zeroScratch({rows, groups}, {fixed(rows), fixed(groups)}), "rg"});
    result = accumulate("rgc", "", {shift, "rg"}, {result, "rgc"});
  }
  return joinChannels(result, op.output.getType());
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

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Matches `op` with operand `index` dequantized and the axes in the order that
/// `Contraction` names.
static FailureOr<Contraction> matchOperand(linalg::GenericOp op,
                                           unsigned index) {
  auto dequantize = op.getDpsInputs()[index].getDefiningOp<kvq::DequantizeOp>();
  if (!dequantize)
    return failure();
  Value other = op.getDpsInputs()[1 - index];
  Value output = op.getDpsInits().front();
  // Scratch of as many rows has to have a static size.
  if (cast<ShapedType>(other.getType()).isDynamicDim(0))
    return failure();
  if (!cast<ShapedType>(other.getType()).getElementType().isF32() ||
      !cast<ShapedType>(output.getType()).getElementType().isF32() ||
      !cast<ShapedType>(dequantize.getResult(0).getType())
           .getElementType()
           .isF32())
    return failure();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap tokensMap = maps[index], otherMap = maps[1 - index],
            outputMap = maps[2];
  for (AffineMap map : maps)
    if (!map.isProjectedPermutation() || map.getNumResults() != 2)
      return failure();
  unsigned token = tokensMap.getDimPosition(0),
           channel = tokensMap.getDimPosition(1);
  unsigned row = otherMap.getDimPosition(0),
           reduced = otherMap.getDimPosition(1);
  if (outputMap.getDimPosition(0) != row ||
      (reduced != token && reduced != channel) ||
      outputMap.getDimPosition(1) != (reduced == token ? channel : token))
    return failure();
  return Contraction{dequantize, other, output, reduced == channel,
                     /*hides=*/false};
}

static FailureOr<Contraction> matchContraction(linalg::GenericOp op) {
  // Product, sum and yield: upstream looks through any op of one operand, as
  // negation, between them.
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumLoops() != 3 || op.getNumReductionLoops() != 1)
    return failure();
  if (isHidingContraction(op)) {
    FailureOr<Contraction> match = matchOperand(op, /*index=*/1);
    if (failed(match) || match->reducesChannels)
      return failure();
    match->hides = true;
    return match;
  }
  if (!llvm::hasNItems(*op.getBody(), 3) ||
      !linalg::isaContractionOpInterface(
          cast<linalg::LinalgOp>(op.getOperation())))
    return failure();
  for (unsigned index : {0u, 1u})
    if (FailureOr<Contraction> match = matchOperand(op, index);
        succeeded(match))
      return match;
  return failure();
}

/// The most tokens that `dequantize` may yield: its extent, or that of the
/// storage which its destination is a slice of.
static std::optional<int64_t> getTokenBound(DequantizeOp dequantize) {
  Value destination = dequantize.getInits().front();
  auto getExtent = [](Value value) {
    return cast<ShapedType>(value.getType()).getDimSize(0);
  };
  if (auto slice = destination.getDefiningOp<tensor::ExtractSliceOp>())
    destination = slice.getSource();
  int64_t extent = getExtent(destination);
  return ShapedType::isDynamic(extent) ? std::nullopt
                                       : std::optional<int64_t>(extent);
}

namespace {

struct FoldIntoContraction : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    FailureOr<Contraction> contraction = matchContraction(op);
    if (failed(contraction))
      return rewriter.notifyMatchFailure(
          op, "not a contraction of a static number of f32 rows with a "
              "dequantized tile");
    DequantizeOp dequantize = contraction->dequantize;
    auto scalesType =
        cast<RankedTensorType>(dequantize.getInputs()[1].getType());
    if (dequantize.getFormat().getGroupTokens() > 1 &&
        scalesType.getDimSize(0) != 1)
      return rewriter.notifyMatchFailure(
          op, "the tile spans more than one group of tokens");
    std::optional<int64_t> bound = getTokenBound(dequantize);
    if (!bound)
      return rewriter.notifyMatchFailure(op, "the tile has no static bound");
    rewriter.replaceOp(
        op, ScaleFolder(rewriter, op.getLoc(), *contraction, *bound).run());
    return success();
  }
};

struct FoldScalesPass : kvq::impl::FoldScalesPassBase<FoldScalesPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldIntoContraction>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    // What was folded is read by nothing any more.
    getOperation()->walk([](DequantizeOp op) {
      if (isOpTriviallyDead(op))
        op.erase();
    });
  }
};

} // namespace
