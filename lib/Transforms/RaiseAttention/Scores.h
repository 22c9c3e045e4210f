//===- Scores.h - What scores are made of -----------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISEATTENTION_SCORES_H
#define KVQ_LIB_TRANSFORMS_RAISEATTENTION_SCORES_H

#include "Elements.h"

namespace mlir::kvq {

/// What hides tokens, or is added to their scores.
struct MaskTerm {
  TracedElement element;
  /// For a condition, an i1: the value of it that hides a token. Nothing for
  /// numbers, which are added times `factor`.
  std::optional<bool> hidesWhere;
  double factor = 1;
};

/// score = softcap * tanh(scale * sum(query * key) / softcap), without a
/// softcap scale * sum(query * key), and masks.
struct Scores {
  double scale = 1;
  std::optional<double> softcap;
  /// The outermost first.
  SmallVector<MaskTerm, 2> masks;
  linalg::LinalgOp contraction;
  TracedElement query, key;
};

/// Whether a number hides a token where it is its score or is added to it:
/// -inf, and finite numbers that leave no weight in f32, as -10000 and the
/// lowest numbers of float types.
bool isHiding(std::optional<double> number);

/// Follows a score back to the contraction of queries and keys. Dimension
/// `tokens` of the tracer is that along which keys differ, and `channels` will
/// be the one that is contracted. Fails with the tracer's reason.
FailureOr<Scores> matchScores(ElementTracer &tracer, ScaledElement score,
                              unsigned tokens, unsigned channels);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISEATTENTION_SCORES_H
