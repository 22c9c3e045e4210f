//===- TensorSlices.h - Slices along one axis -------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_TENSORSLICES_H
#define KVQ_LIB_IR_TENSORSLICES_H

#include "mlir/IR/Builders.h"

namespace mlir::kvq {

/// The part `[offset, offset + size)` of `value` along `axis`.
Value buildSlice(OpBuilder &builder, Location loc, Value value, int64_t axis,
                 OpFoldResult offset, OpFoldResult size);

/// `into`, with that part replaced by `slice`.
Value buildInsert(OpBuilder &builder, Location loc, Value slice, Value into,
                  int64_t axis, OpFoldResult offset, OpFoldResult size);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_TENSORSLICES_H
