//===- Rounds.h - Reads in another order than writes ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_ROUNDS_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_ROUNDS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::kvq {

/// How the elements of an input that one round needs lie in memory: those of
/// consecutive rounds one after the other, in windows of `window` elements.
struct RoundRead {
  /// Whether every lane reads the same element: the rest has no meaning then.
  bool isUniform = false;
  /// Elements from one round to the next; 0 where all read the same ones.
  int64_t window = 0;
  /// Whether the input has an axis inside a round, its last one.
  bool hasInnerAxis = false;
  /// For each step of a round, where in the window its element is.
  SmallVector<int64_t> offsets;
};

/// The decisions about an op without reductions that writes rounds of a few
/// elements one after the other, and reads each round's input in any order: a
/// vector is some rounds, and an input one load and one shuffle.
struct RoundPlan {
  /// Op handles have no const methods.
  mutable linalg::GenericOp op;
  /// The axis that counts rounds, and the one inside a round if there is one.
  unsigned roundAxis;
  std::optional<unsigned> innerAxis;
  int64_t rounds;
  /// Elements that a round writes.
  int64_t roundSize;
  /// Rounds in a vector.
  int64_t roundsPerVector;
  SmallVector<RoundRead> reads;

  int64_t getLanes() const { return roundSize * roundsPerVector; }
};

/// `buffer` with its last two axes, which are contiguous, as one.
Value joinLastAxes(OpBuilder &builder, Location loc, Value buffer);

/// Plans vectors whose widest elements fill `vectorWidth` lanes of 32 bits.
FailureOr<RoundPlan> planRounds(linalg::GenericOp op, int64_t vectorWidth);

/// Writes the whole op at the builder's insertion point.
void emitRounds(OpBuilder &builder, const RoundPlan &plan);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_ROUNDS_H
