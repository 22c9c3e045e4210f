//===- FloatArithmetic.h - Saturating float conversions ---------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between float types as docs/Semantics.md has them: infinite and
// too large values become the largest finite one, NaN stays NaN. They emit
// scalar arith ops for the bodies of structured ops.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_FLOATARITHMETIC_H
#define KVQ_IR_FLOATARITHMETIC_H

#include "mlir/IR/Builders.h"

namespace mlir::kvq {

/// Emits the f32 constant nearest to `value`.
Value buildF32(OpBuilder &builder, Location loc, double value);

/// Emits `value` clamped to [low, high]; NaN stays NaN.
Value buildClamp(OpBuilder &builder, Location loc, Value value, double low,
                 double high);

/// Emits the f32 of a float `value`, which is exact.
Value buildExtend(OpBuilder &builder, Location loc, Value value);

/// Emits the f32 `value` clamped to the finite values of `type`.
Value buildClampToFinite(OpBuilder &builder, Location loc, Value value,
                         Type type);

/// Emits the f32 `value` rounded to `type`, to nearest even and saturating
/// (rules R1, R7 and R10). Not for f8E8M0FNU, which only rounds up.
Value buildRound(OpBuilder &builder, Location loc, Value value, Type type);

/// Emits the f32 `value`, which is not negative and within the finite numbers
/// of the 8-bit float `type`, rounded up; NaN stays NaN.
Value buildRoundUp(OpBuilder &builder, Location loc, Value value, Type type);

} // namespace mlir::kvq

#endif // KVQ_IR_FLOATARITHMETIC_H
