//===- TurnBack.h - Keys to earlier positions -------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_EXPANDCACHES_TURNBACK_H
#define KVQ_LIB_TRANSFORMS_EXPANDCACHES_TURNBACK_H

#include "Rows.h"
#include "TurnRows.h"

namespace mlir::kvq {

/// Turns keys after RoPE back by some positions (rule R37).
class KeyTurner {
public:
  /// `cos` and `sin` are tables of RoPE, of which row `positions` is read.
  KeyTurner(CacheType cache, RopeStyle style, Value cos, Value sin,
            Value positions)
      : cache(cache), turner{cos, sin, style, /*isBack=*/true},
        positions(positions) {}

  /// Elements of the cache, `tokens x head_dim`, that `rows`, elements or f32
  /// values, are turned into.
  Value turnRows(OpBuilder &builder, Location loc, Value rows) const;
  /// What the group of tokens at `place` is turned into: elements
  /// `tokens x head_dim`, with an axis of the heads from `head` on where these
  /// share metadata.
  Value turnGroup(OpBuilder &builder, Location loc, ValueRange components,
                  const RowPlace &place, Value head) const;

private:
  Value turnInto(OpBuilder &builder, Location loc, Value rows,
                 Value target) const;
  Value decodeToken(OpBuilder &builder, Location loc, ValueRange components,
                    ValueRange stored, Value head) const;
  Value turnHead(OpBuilder &builder, Location loc, ValueRange components,
                 const RowPlace &place, Value head, Value target) const;

  CacheType cache;
  RowTurner turner;
  Value positions;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_EXPANDCACHES_TURNBACK_H
