//===- StructuredOps.h - linalg.generic by named axes -----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builders for structured ops whose axes are letters, as in an einsum: a
// contraction of q[r, c] with k[t, c] is
//
//   buildStructuredOp(b, loc, "rtc", "c", {{q, "rc"}, {k, "tc"}}, {{s, "rt"}},
//                     body)
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_STRUCTUREDOPS_H
#define KVQ_IR_STRUCTUREDOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace mlir::kvq {

/// log2(e): scores are in the log2 domain, so that exp2 makes their weights.
inline constexpr double kLog2E = 1.4426950408889634;

/// An operand and the axes that index it, one letter for each of its own; or the
/// map from the op's axes to its elements.
struct StructuredOperand {
  Value value;
  StringRef axes;
  AffineMap map = {};
};

/// Emits the scalar computation; returns one value for each output.
using StructuredBody = llvm::function_ref<SmallVector<Value>(
    OpBuilder &, Location, ValueRange inputs, ValueRange outputs)>;

/// A `linalg.generic` on tensors over `axes`, outermost first, of which those
/// in `reduced` are reductions.
SmallVector<Value> buildStructuredOp(OpBuilder &b, Location loc, StringRef axes,
                                     StringRef reduced,
                                     ArrayRef<StructuredOperand> inputs,
                                     ArrayRef<StructuredOperand> outputs,
                                     StructuredBody body);

/// `output += left * right`, summed over `reduced`, where `extendRight` makes
/// an f32 of an element of the right operand. With `hides`, left elements that
/// are hidden weights leave the output as it is.
Value buildContraction(
    OpBuilder &b, Location loc, StringRef axes, StringRef reduced,
    StructuredOperand left, StructuredOperand right, StructuredOperand output,
    llvm::function_ref<Value(OpBuilder &, Location, Value)> extendRight,
    bool hides = false);

/// A scratch tensor of f32, or of another type, with the extents `bound`, cut
/// to `extents` where they differ: storage of a static size for a tile of a
/// dynamic one.
Value buildScratch(OpBuilder &b, Location loc, ArrayRef<int64_t> bound,
                   ArrayRef<OpFoldResult> extents, Type elementType = {});

/// `tensor` filled with an f32 value.
Value buildFill(OpBuilder &b, Location loc, Value tensor, float value);

/// Scalar f32 arithmetic that may be contracted to fused multiply-adds.
Value buildMul(OpBuilder &b, Location loc, Value left, Value right);
Value buildAdd(OpBuilder &b, Location loc, Value left, Value right);

/// The weight of a token that a mask hides is -0.0, which no exp2 yields: what
/// the token holds, be it NaN, has no part in sums then, where a weight of 0
/// that is merely very small lets a NaN through.
Value buildHiddenWeight(OpBuilder &b, Location loc);
Value buildIsHidden(OpBuilder &b, Location loc, Value weight);
/// weight * factor, which is hidden where the weight is.
Value buildWeightMul(OpBuilder &b, Location loc, Value weight, Value factor);
/// Whether `op`'s body is that of `buildContraction` with `hides`.
bool isHidingContraction(linalg::GenericOp op);

/// exp2(exponent - maximum) of online softmax; 0 where both are -inf (nothing
/// seen yet), and NaN where either is.
Value buildSoftmaxWeight(OpBuilder &b, Location loc, Value exponent,
                         Value maximum);

} // namespace mlir::kvq

#endif // KVQ_IR_STRUCTUREDOPS_H
