//===- Elements.h - What computes an element --------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small matchers over traced elements. An element is followed back through
// whatever only moves it, so that these see the arithmetic alone: it is the
// same to them whether an op works on tensors, is the body of a structured op,
// or is fused with others.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISEATTENTION_ELEMENTS_H
#define KVQ_LIB_TRANSFORMS_RAISEATTENTION_ELEMENTS_H

#include "../ElementTracing/ElementTracer.h"

namespace mlir::kvq {

/// The op that computes an element once moves and casts of floats are skipped;
/// `element` is then its result. Null where that is no op.
Operation *skipToOp(ElementTracer &tracer, TracedElement &element);

/// Whether `value` is a number from outside of the bodies of structured ops.
bool isOutsideBodies(Value value);

/// What computes an element, for reasons: "'arith.addf'" or "a block argument".
std::string describe(ElementTracer &tracer, TracedElement element);

/// The number that an element is, wherever it is read.
std::optional<double> getConstant(ElementTracer &tracer, TracedElement element);

/// A product or a quotient with a constant: what is scaled, and by how much.
struct ScaledElement {
  TracedElement element;
  double factor;
};
std::optional<ScaledElement> matchScaled(ElementTracer &tracer,
                                         TracedElement element);

/// A tensor that holds an element, up to a factor.
struct HeldElement {
  TracedElement element;
  double factor;
};
/// Tensors that hold the element, the one that is read first, as far back as
/// moves, casts of floats and, with `scales`, products with constants go.
SmallVector<HeldElement> getHolders(ElementTracer &tracer,
                                    TracedElement element, bool scales);

/// An element of what a structured op reduces along some of its loops.
struct ReducedElement {
  linalg::LinalgOp op;
  /// Combines `reduced` with what there is.
  Operation *combiner;
  /// In the body of `op`. The expressions of loops that are reduced are null.
  TracedElement reduced;
  /// What the reduction starts from.
  TracedElement initial;
  SmallVector<unsigned> reducedLoops;
};
std::optional<ReducedElement> matchReduction(ElementTracer &tracer,
                                             TracedElement element);

/// Whether two elements are computed alike.
bool isSameElement(ElementTracer &tracer, TracedElement left,
                   TracedElement right);

/// Whether an element is the same whatever `dimension` is.
bool isInvariant(ElementTracer &tracer, TracedElement element,
                 unsigned dimension);

/// Whether an element is computed from one that is sought, by a few ops of
/// one element each. With `throughMoves` also whether it may be, where tensors
/// are moved between them in a way that is not traced.
bool isComputedFrom(ElementTracer &tracer, TracedElement element,
                    function_ref<bool(const TracedElement &)> isSought,
                    bool throughMoves = false);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISEATTENTION_ELEMENTS_H
