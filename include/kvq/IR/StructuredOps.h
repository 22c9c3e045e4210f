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

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace mlir::kvq {

/// An operand and the axes that index it, one letter for each of its own.
struct StructuredOperand {
  Value value;
  StringRef axes;
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
/// an f32 of an element of the right operand.
Value buildContraction(
    OpBuilder &b, Location loc, StringRef axes, StringRef reduced,
    StructuredOperand left, StructuredOperand right, StructuredOperand output,
    llvm::function_ref<Value(OpBuilder &, Location, Value)> extendRight);

/// A scratch tensor of f32, or of another type, with the extents `bound`, cut to
/// `extents` where they differ: storage of a static size for a tile of a dynamic
/// one.
Value buildScratch(OpBuilder &b, Location loc, ArrayRef<int64_t> bound,
                   ArrayRef<OpFoldResult> extents, Type elementType = {});

/// `tensor` filled with an f32 value.
Value buildFill(OpBuilder &b, Location loc, Value tensor, float value);

/// Scalar f32 arithmetic that may be contracted to fused multiply-adds.
Value buildMul(OpBuilder &b, Location loc, Value left, Value right);
Value buildAdd(OpBuilder &b, Location loc, Value left, Value right);

/// exp2(exponent - maximum) of online softmax; 0 where both are -inf (nothing
/// seen yet), and NaN where either is.
Value buildSoftmaxWeight(OpBuilder &b, Location loc, Value exponent,
                         Value maximum);

} // namespace mlir::kvq

#endif // KVQ_IR_STRUCTUREDOPS_H
