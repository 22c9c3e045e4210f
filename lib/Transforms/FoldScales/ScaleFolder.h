//===- ScaleFolder.h - Scales out of one contraction ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_FOLDSCALES_SCALEFOLDER_H
#define KVQ_LIB_TRANSFORMS_FOLDSCALES_SCALEFOLDER_H

#include "kvq/IR/CodePlanes.h"
#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::kvq {

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

  /// Matches a contraction of a static number of f32 rows with a dequantized
  /// tile.
  static FailureOr<Contraction> match(linalg::GenericOp op);
  /// The most tokens that the tile may have, if that is known.
  std::optional<int64_t> getTokenBound() const;
};

/// Emits the folded form of one contraction. Axes: r rows, t tokens, g channel
/// groups, c channels of a group.
class ScaleFolder {
public:
  virtual ~ScaleFolder() = default;
  ScaleFolder(RewriterBase &b, Location loc, Contraction contraction,
              int64_t tokenBound, bool lanes)
      : b(b), loc(loc), op(contraction), tokenBound(tokenBound), lanes(lanes) {
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
    if (LoadTileOp load = findTile())
      return op.reducesChannels ? foldKeysOfTile(load) : foldValuesOfTile(load);
    if (op.reducesChannels)
      return sharedByTokens ? foldKeysOfBlock() : foldKeysOfToken();
    return sharedByTokens ? foldValuesOfBlock() : foldValuesOfToken();
  }

protected:
  virtual Value foldKeysOfToken();
  Value scaleCodes(Value query, Value splitCodes);
  Value addOffsetsOfKeys(Value scores, Value query);
  Value foldKeysOfBlock();
  virtual Value foldValuesOfToken();
  Value foldValuesOfBlock();
  virtual Value foldKeysOfTile(LoadTileOp load);
  virtual Value foldValuesOfTile(LoadTileOp load);
  /// The part of a tile's channels that is contracted at once, as planes are.
  struct TilePart {
    int64_t firstGroup, groups;
    int64_t firstChannel, channels; // of each of the groups
  };
  LoadTileOp findTile();
  std::optional<CodePlanes> findPlanes(LoadTileOp load);
  SmallVector<TilePart> getTileParts(std::optional<CodePlanes> planes);
  tensor::ExtractSliceOp slice(Value value, ArrayRef<int64_t> offsets,
                               ArrayRef<int64_t> sizes);
  SmallVector<Value> loadStored(LoadTileOp load, bool packed = false);
  OpFoldResult getFirstOfTile(LoadTileOp load);
  Value cutTokens(Value matrix, OpFoldResult first);
  Value insertTokens(Value part, Value matrix, OpFoldResult first);
  Value splitLast(Value value, int64_t size);
  Value splitPairs(Value value) { return splitLast(value, 2); }
  SmallVector<Value> contractPairs(StringRef axes, StringRef reduced,
                                   ArrayRef<StructuredOperand> lefts,
                                   StructuredOperand stored, char pairsAlong,
                                   ArrayRef<StructuredOperand> outputs,
                                   std::optional<CodePlanes> planes);
  Value addPlanes(Value result, ArrayRef<TilePart> parts, ValueRange sums,
                  const CodePlanes &planes);
  SmallVector<Value> splitQuery(ArrayRef<TilePart> parts,
                                std::optional<CodePlanes> planes);
  Value finishKeysOfTile(Value scores, Value sums, OpFoldResult first,
                         ArrayRef<Value> stored);
  Value finishValuesOfTile(Value result, OpFoldResult first,
                           ArrayRef<Value> stored);
  /// Scratch of a static shape.
  Value buildEmpty(ArrayRef<int64_t> shape) {
    return buildScratch(b, loc, shape,
                        getAsIndexOpFoldResult(b.getContext(), shape));
  }
  /// `result` (r, g, c) += sum_t p[r, t] z[t, g].
  Value addOffsetsOfValues(Value result);
  Value buildWeighted();
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

  /// output += left * right, the right operand codes.
  virtual Value contractCodes(StringRef axes, StringRef reduced,
                              StructuredOperand left, StructuredOperand right,
                              StructuredOperand output);
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
  /// Whether sums are over lanes of vectors, and not by threads of their own.
  bool lanes;
  int64_t headDim, groups, rows;
  Value codes, scales, zeros;
  /// The outer scale of a two-level one, or null.
  Value outer;
  /// The other operand as the codes' scales see it, and as offsets do.
  Value weighted, offsetOther;
  OpFoldResult tokens;
};

/// The folded form of `contraction`, whose other operand becomes integers of
/// type `codes`.
Value foldWithIntegers(RewriterBase &b, Location loc, Contraction contraction,
                       int64_t tokenBound, IntegerType codes, bool lanes);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_FOLDSCALES_SCALEFOLDER_H
