//===- Softmax.h - The scores behind the weights ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISEATTENTION_SOFTMAX_H
#define KVQ_LIB_TRANSFORMS_RAISEATTENTION_SOFTMAX_H

#include "Elements.h"

namespace mlir::kvq {

/// Whether an element is computed from a softmax: linalg.softmax, or a sum of
/// exponentials.
bool comesFromSoftmax(ElementTracer &tracer, const TracedElement &element);

/// Follows an element of a softmax along `dimension` back to what it is taken
/// of: linalg.softmax, or exp(x - m) / sum(exp(x - m)), also with exp2, with a
/// product with the reciprocal, and without m, which may be any number that is
/// the same for all tokens. Where rows of which all is -inf are set to 0, as
/// attention has them, that is skipped. Fails with the tracer's reason.
FailureOr<ScaledElement>
matchSoftmax(ElementTracer &tracer, TracedElement element, unsigned dimension);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISEATTENTION_SOFTMAX_H
