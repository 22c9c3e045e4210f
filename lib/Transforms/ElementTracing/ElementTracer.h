//===- ElementTracer.h - Where an element comes from ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One element of a tensor is followed back through whatever only moves
// elements: casts, slices, reshapes, transposes, broadcasts, joined parts. Its
// place is a list of affine expressions of dimensions that whoever asks chooses
// (batch, KV head, token and channel of a side of an attention, say, or the
// loops of an op), so that each of these is a composition of expressions.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_ELEMENTTRACING_ELEMENTTRACER_H
#define KVQ_LIB_TRANSFORMS_ELEMENTTRACING_ELEMENTTRACER_H

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AffineExpr.h"

namespace mlir::kvq {

/// The axes of an operand of an attention, which are also the dimensions of the
/// expressions.
enum Axis : unsigned { kBatch, kHeads, kTokens, kChannels };
constexpr unsigned kAxes = 4;

/// An element of a tensor, or a number in the body of a structured op.
struct TracedElement {
  Value value;
  /// Of a tensor: one for each of its axes. Of a number: one for each loop of
  /// the op whose body it is in.
  SmallVector<AffineExpr> indices;
};

class ElementTracer {
public:
  /// For an operand of an attention: dimensions are its axes.
  explicit ElementTracer(Value operand);

  /// Dimensions of the given extents.
  ElementTracer(MLIRContext *context, ArrayRef<int64_t> extents)
      : context(context), extents(extents) {}

  /// The element of the operand that the expressions' dimensions name, or the
  /// one of a given channel.
  TracedElement getElement(std::optional<int64_t> channel = {});

  /// One move back; false where something else made the element. Fails, with a
  /// reason, at a move that no expressions tell. The element that it moves to
  /// is normalized.
  FailureOr<bool> move(TracedElement &element);

  /// Through a cast from one float type to another; false where there is none.
  bool moveThroughFloatCast(TracedElement &element);

  /// Goes back to what does more than to move the element. Fails, with a
  /// reason, at a move that no expressions tell.
  LogicalResult skipMoves(TracedElement &element);

  /// Likewise, and through casts from one float type to another.
  LogicalResult skipFloatCasts(TracedElement &element);

  /// What the op that computes `element` reads for it.
  static TracedElement getOperand(const TracedElement &element,
                                  unsigned number) {
    return {element.value.getDefiningOp()->getOperand(number), element.indices};
  }

  AffineExpr simplify(AffineExpr expr) const {
    return simplifyAffineExpr(expr, extents.size(), symbols.size());
  }
  /// Runs a verifier, whose error becomes the reason.
  LogicalResult verify(
      function_ref<LogicalResult(function_ref<InFlightDiagnostic()>)> verifier);

  LogicalResult fail(const Twine &why) {
    reason = why.str();
    return failure();
  }

  MLIRContext *context;
  /// Of the dimensions.
  SmallVector<int64_t> extents;
  /// What the symbols of the expressions stand for.
  SmallVector<Value> symbols;
  /// Why it failed.
  std::string reason;

private:
  Value operand;

  FailureOr<bool> moveOnce(TracedElement &element);
  bool moveThroughStructured(TracedElement &element, OpResult result);
  bool moveIntoArgument(TracedElement &element, BlockArgument argument);
  bool moveIntoExtracted(TracedElement &element, tensor::ExtractOp extract);
  void moveThroughSlice(TracedElement &element, tensor::ExtractSliceOp slice);
  FailureOr<bool> moveThroughInsert(TracedElement &element,
                                    tensor::InsertSliceOp insert);
  FailureOr<bool> moveThroughConcat(TracedElement &element,
                                    tensor::ConcatOp concat);
  LogicalResult moveThroughCollapse(TracedElement &element,
                                    tensor::CollapseShapeOp collapse);
  LogicalResult moveThroughExpand(TracedElement &element,
                                  tensor::ExpandShapeOp expand);
  AffineExpr getConstant(int64_t value) const {
    return getAffineConstantExpr(value, context);
  }
  /// The number that a slice gives for an axis.
  AffineExpr getExpr(OpFoldResult number);
  AffineExpr getIndexExpr(Value index, ArrayRef<AffineExpr> loops, Value tensor,
                          int64_t axis);
  void normalize(TracedElement &element);
};

/// The shape of a ranked tensor.
inline ArrayRef<int64_t> getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

/// The constant that an expression is, if it is one.
std::optional<int64_t> getConstantIndex(AffineExpr expr);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_ELEMENTTRACING_ELEMENTTRACER_H
