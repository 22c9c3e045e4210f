//===- AttentionMatcher.h - A contraction that is attention -----*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISEATTENTION_ATTENTIONMATCHER_H
#define KVQ_LIB_TRANSFORMS_RAISEATTENTION_ATTENTIONMATCHER_H

#include "../ElementTracing/ComponentView.h"
#include "Masks.h"

#include "kvq/IR/AttentionLike.h"

namespace mlir::kvq {

/// The digits that are the axes of attention, the outermost first. Query head
/// h * (heads in a group) + g reads KV head h.
struct AttentionAxes {
  SmallVector<unsigned> batch, heads, groups, queries, valueChannels;
  unsigned tokens;
  std::optional<unsigned> channels;
};

/// A tensor that is the keys or the values, as a cache.
struct ExactSide {
  CacheType type;
  ComponentView view;
};

/// A tensor that is the keys or the values and that is computed from codes,
/// with the digits of its axes: kvq-fuse-dequantize makes a cache of it.
struct CodedSide {
  Value tensor;
  SmallVector<SmallVector<unsigned>> axes;
  double factor;
  /// Whether there is a kvq.dequantize, not arithmetic that may be one.
  bool isDequantized;
};

/// Keys or values: as either or as both.
struct RaisedSide {
  std::optional<ExactSide> exact;
  std::optional<CodedSide> coded;
};

/// A mask that stays an operand.
struct MaskOperand {
  Value tensor;
  /// Digits of each of its axes.
  SmallVector<SmallVector<unsigned>> axes;
  /// As of ParsedMask.
  std::optional<bool> hidesWhere;
};

/// Follows the contraction of weights with values, or an op that is attention
/// by itself, back to queries, keys, values and masks.
class AttentionMatcher {
public:
  explicit AttentionMatcher(linalg::LinalgOp op);
  explicit AttentionMatcher(AttentionLikeOpInterface op);

  /// Whether it contracts what comes from a softmax.
  bool hasWeights();

  /// Fails with a reason, `getReason`. Changes nothing.
  LogicalResult match();
  StringRef getReason() const { return tracer.reason; }

  /// Emits the attention before the contraction; what takes the place of the
  /// contraction's result.
  Value build(RewriterBase &b);

private:
  LogicalResult matchContraction();
  LogicalResult matchOp(AttentionLikeOpInterface attention);
  FailureOr<TracedElement> getElement(Value tensor, StringRef letters,
                                      StringRef name);
  LogicalResult takeOperands();
  LogicalResult matchAxes();
  /// Where an axis is read: at a sum of digits, or, without one, at what tokens
  /// and channels give.
  struct Place {
    std::optional<DigitSum> sum;
    AffineExpr index;
  };
  bool uses(const Place &place, unsigned digit) const;
  bool uses(ArrayRef<Place> places, unsigned digit) const;
  void splitLoops();
  void classify(unsigned digit, ArrayRef<Place> keyAxes);
  void orderHeads(ArrayRef<Place> keyAxes);
  LogicalResult matchMasks();
  LogicalResult addMaskOperand(const ParsedMask &mask);
  bool fitsMask(ArrayRef<SmallVector<unsigned>> maskAxes) const;
  LogicalResult matchShapes();
  FailureOr<ExactSide> matchExact(const TracedElement &element, StringRef name);
  std::optional<CodedSide> findCoded(ArrayRef<HeldElement> holders,
                                     ArrayRef<unsigned> channelDigits);
  FailureOr<RaisedSide> matchSide(const TracedElement &element,
                                  ArrayRef<HeldElement> holders,
                                  StringRef name);
  FailureOr<SmallVector<Place>> getPlaces(const TracedElement &element,
                                          StringRef name);
  std::optional<SmallVector<SmallVector<unsigned>>>
  getAxes(const TracedElement &element) const;
  bool dependsOn(const ParsedMask &mask, unsigned digit) const;
  AffineExpr getExpr(const Place &place) const;
  int64_t getExtent(ArrayRef<unsigned> axis) const;
  SmallVector<unsigned> getQueryHeads() const;

  Value buildCoded(OpBuilder &b, Location loc, const CodedSide &side,
                   ArrayRef<unsigned> channelDigits);
  Value buildSide(RewriterBase &b, Location loc, const RaisedSide &side,
                  bool isKey, double &factor);
  SmallVector<unsigned> getChannels(bool isKey) const;
  Value buildPerSequence(OpBuilder &b, Location loc,
                         function_ref<Value(int64_t sequence)> build);
  Value buildLengths(OpBuilder &b, Location loc);
  Value buildPositions(OpBuilder &b, Location loc);
  Value buildMask(OpBuilder &b, Location loc);
  Value buildBound(OpBuilder &b, Location loc, const Bound &bound,
                   int64_t sequence);
  Value buildValue(OpBuilder &b, Location loc, const TracedElement &element,
                   int64_t sequence);
  OpFoldResult getSize(OpBuilder &b, Location loc, ArrayRef<unsigned> axis);
  Value buildCount(OpBuilder &b, Location loc, ArrayRef<unsigned> axis);

  Operation *op;
  ElementTracer tracer;
  /// Dimensions of the tracer: the loops of `op`, of which `rows` are those
  /// that weights differ along beside tokens, and, last, the channels that
  /// queries and keys are contracted along.
  unsigned tokens = 0, channels = 0;
  SmallVector<unsigned> rows;
  /// The loop of query tokens, where an op says which one it is.
  std::optional<unsigned> queryLoop;
  /// The element of the result that the dimensions name.
  TracedElement result;
  TracedElement weights, value;
  /// As it is contracted, which tells how many tokens there are.
  TracedElement contracted;
  Scores scores;
  HeldElement query, key;
  /// Tensors that may be computed from codes.
  SmallVector<HeldElement> keyHolders, valueHolders;
  SmallVector<ParsedMask, 2> masks;
  Digits digits;
  AttentionAxes axes;
  SmallVector<SmallVector<unsigned>> queryAxes, resultAxes;
  Visibility visibility;
  /// Tokens of each sequence, where an op has them.
  Value givenLengths;
  std::optional<MaskOperand> maskOperand;
  std::optional<RaisedSide> keys, values;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISEATTENTION_ATTENTIONMATCHER_H
