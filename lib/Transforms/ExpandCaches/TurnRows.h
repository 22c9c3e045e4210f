//===- TurnRows.h - Rows of tokens that RoPE turns --------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without fast-math, so that what is quantized afterwards has the same codes on
// every target.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_EXPANDCACHES_TURNROWS_H
#define KVQ_LIB_TRANSFORMS_EXPANDCACHES_TURNROWS_H

#include "kvq/IR/Rope.h"

namespace mlir::kvq {

/// Channels `first`, `first + stride`, … of rows.
struct ChannelSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  ChannelSlice(OpBuilder &b, OpFoldResult tokens, int64_t first, int64_t count,
               int64_t stride)
      : offsets({b.getIndexAttr(0), b.getIndexAttr(first)}),
        sizes({tokens, b.getIndexAttr(count)}),
        strides({b.getIndexAttr(1), b.getIndexAttr(stride)}) {}

  Value extract(OpBuilder &b, Location loc, Value rows) const;
  Value insert(OpBuilder &b, Location loc, Value part, Value rows) const;
};

/// `rows`, of which an op over rows and channels reads its own one, or all the
/// only one.
PairOperand getRowOperand(Value rows);

/// Replaces the channels `slice` of `target` by what `body` makes of `inputs`
/// in f32.
Value mapChannels(
    OpBuilder &b, Location loc, ArrayRef<PairOperand> inputs,
    const ChannelSlice &slice, Value target,
    llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> body);

/// How RoPE turns rows: by the angles of tables, `positions x pairs`, or by the
/// opposite ones.
struct RowTurner {
  Value cos, sin;
  RopeStyle style;
  bool isBack = false;

  /// Fills `target`, `tokens x channels` of the element type, with what `rows`,
  /// floats of the same shape, are turned into: by `count` rows of the tables
  /// from `position` on, one for each token or one for all.
  Value turn(OpBuilder &b, Location loc, Value rows, Value position,
             OpFoldResult count, Value target) const;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_EXPANDCACHES_TURNROWS_H
