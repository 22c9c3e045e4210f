//===- Masks.h - Which tokens scores are masked for -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask that compares token numbers with positions becomes lengths, causality
// and a window; any other one stays an operand.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISEATTENTION_MASKS_H
#define KVQ_LIB_TRANSFORMS_RAISEATTENTION_MASKS_H

#include "Digits.h"
#include "Scores.h"

namespace mlir::kvq {

/// An integer: expr + sum(factor * value), with values that are read from
/// tensors or are numbers from outside.
struct LinearIndex {
  AffineExpr expr;
  SmallVector<std::pair<int64_t, TracedElement>> values;
};

/// A token is visible where `difference` is at most 0.
using Comparison = LinearIndex;

/// What a mask is, before it is known which axes are those of attention.
struct ParsedMask {
  /// All of them have to hold; none where it is no such mask.
  SmallVector<Comparison, 2> comparisons;
  /// Tensors that hold the mask, or the condition that it is.
  SmallVector<HeldElement> holders;
  /// For a condition, an i1, as of MaskTerm; nothing for what is added and for
  /// bytes that are 0 where a token is hidden.
  std::optional<bool> hidesWhere;
};

/// Fails, with the tracer's reason, where it is neither.
FailureOr<ParsedMask> parseMask(ElementTracer &tracer, const MaskTerm &term);

/// A bound of token numbers, both ends of which are visible: perQuery * (number
/// of the query token) + constant + sum(factor * value).
struct Bound {
  int64_t perQuery, constant;
  SmallVector<std::pair<int64_t, TracedElement>> values;
};

/// The digits that masks may depend on.
struct MaskAxes {
  unsigned tokens;
  std::optional<unsigned> queries;
  SmallVector<unsigned> batch;
};

/// What comparisons say of the tokens that are visible.
struct Visibility {
  /// Tokens up to this one, for all queries; the least of them counts.
  SmallVector<Bound, 2> last;
  /// The position of the first query, with `causal` or a window.
  std::optional<Bound> position;
  bool isCausal = false;
  std::optional<int64_t> window;
};

/// Adds what the comparisons of a mask say; false, with nothing added, where it
/// is nothing that attention has.
bool addComparisons(ElementTracer &tracer, const Digits &digits,
                    const MaskAxes &axes, ArrayRef<Comparison> comparisons,
                    Visibility &visibility);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISEATTENTION_MASKS_H
