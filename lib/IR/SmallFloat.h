//===- SmallFloat.h - Floats of 4 to 8 bits ---------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f32 and the bit patterns of small floats, in integer
// arithmetic: no target lowers `arith.extf` and `arith.truncf` of them.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_SMALLFLOAT_H
#define KVQ_LIB_IR_SMALLFLOAT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::kvq {

/// Ties go to the even or to the lower magnitude; or all numbers go up.
enum class SmallRounding { NearestEven, NearestLower, Up };

/// Emits the i8 bit pattern of the f32 `value`, which lies within the finite
/// numbers of `type` or is NaN. One rounding; the sign of zero is kept.
/// Rounding up is for values that are not negative. NaN becomes the type's NaN,
/// where it has one.
Value buildSmallFloatBits(OpBuilder &builder, Location loc, Value value,
                          FloatType type,
                          SmallRounding rounding = SmallRounding::NearestEven);

/// Emits the f32 of the i8 bit pattern `bits`, which is exact.
Value buildSmallFloatValue(OpBuilder &builder, Location loc, Value bits,
                           FloatType type);

/// Emits the i8 exponent of the smallest power of two that is at least the f32
/// `value`, which is not negative and at most 2^127: f8E8M0FNU, rounded up. NaN
/// stays NaN.
Value buildExponentBits(OpBuilder &builder, Location loc, Value value);

/// Emits the f32 of an f8E8M0FNU bit pattern in an i8.
Value buildExponentValue(OpBuilder &builder, Location loc, Value bits);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_SMALLFLOAT_H
