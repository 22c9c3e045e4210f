//===- Rope.h - Rotary position embeddings ----------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RoPE turns pairs of channels: (x, y) -> (x cos - y sin, x sin + y cos), by an
// angle that depends on the token's position and on the pair.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_ROPE_H
#define KVQ_IR_ROPE_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// Where the channels of pairs lie in a row: those of pair j at `j * stride`
/// and `j * stride + distance`.
struct RopePairs {
  int64_t count, stride, distance;

  RopePairs(RopeStyle style, int64_t count)
      : count(count), stride(style == RopeStyle::Half ? 1 : 2),
        distance(style == RopeStyle::Half ? count : 1) {}

  /// Channels that are turned, the first ones.
  int64_t getChannels() const { return 2 * count; }
};

/// Emits what the pair of f32 numbers `x` and `y` is turned into.
std::pair<Value, Value> buildTurnedPair(OpBuilder &builder, Location loc,
                                        Value x, Value y, Value cos, Value sin,
                                        bool contract);

/// An operand of a structured op over rows and pairs.
struct PairOperand {
  Value value;
  AffineMap map;
};

/// One channel of each pair of `rows`: a slice where these are neighbours, else
/// all channels, of which the map chooses.
PairOperand buildPairOperand(OpBuilder &builder, Location loc, Value rows,
                             const RopePairs &pairs, bool second);

/// The first, or the second, channels of pairs of `rows`, next to each other:
/// `rows x pairs`.
Value buildPairChannels(OpBuilder &builder, Location loc, Value rows,
                        const RopePairs &pairs, bool second);

/// The first and the second channels of pairs of `rows`, tokens x channels of
/// floats, turned by the angles of `cos` and `sin`, tokens x pairs, into the
/// f32 tensors `first` and `second` of that shape. May be contracted.
std::pair<Value, Value> buildTurnedRows(OpBuilder &builder, Location loc,
                                        Value rows, const RopePairs &pairs,
                                        Value cos, Value sin, Value first,
                                        Value second);

} // namespace mlir::kvq

#endif // KVQ_IR_ROPE_H
