//===- TensorSlices.cpp - Slices along one axis ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorSlices.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

/// The offsets, sizes and strides of the rows `[offset, offset + size)` of
/// `value` along `axis`.
static void getSlice(OpBuilder &b, Location loc, Value value, int64_t axis,
                     OpFoldResult offset, OpFoldResult size,
                     SmallVectorImpl<OpFoldResult> &offsets,
                     SmallVectorImpl<OpFoldResult> &sizes,
                     SmallVectorImpl<OpFoldResult> &strides) {
  sizes = tensor::getMixedSizes(b, loc, value);
  offsets.assign(sizes.size(), b.getIndexAttr(0));
  strides.assign(sizes.size(), b.getIndexAttr(1));
  offsets[axis] = offset;
  sizes[axis] = size;
}

Value kvq::buildSlice(OpBuilder &b, Location loc, Value value, int64_t axis,
                      OpFoldResult offset, OpFoldResult size) {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  getSlice(b, loc, value, axis, offset, size, offsets, sizes, strides);
  return tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, strides);
}

Value kvq::buildInsert(OpBuilder &b, Location loc, Value slice, Value into,
                       int64_t axis, OpFoldResult offset, OpFoldResult size) {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  getSlice(b, loc, into, axis, offset, size, offsets, sizes, strides);
  return tensor::InsertSliceOp::create(b, loc, slice, into, offsets, sizes,
                                       strides);
}
