//===- ApproximateMath.h - Functions without a library ----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_APPROXIMATEMATH_H
#define KVQ_LIB_CONVERSION_APPROXIMATEMATH_H

#include "mlir/IR/Operation.h"

namespace mlir::kvq {

/// Replaces the f32 functions that variants of attention need (tanh, log2), of
/// scalars and vectors, by polynomials, to within a few units in the last
/// place: there is no library to call.
void approximateMath(Operation *root);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_APPROXIMATEMATH_H
