//===- SideMatcher.h - From an operand to its codes -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_SIDEMATCHER_H
#define KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_SIDEMATCHER_H

#include "../ElementTracing/ComponentView.h"
#include "../ElementTracing/ElementTracer.h"
#include "ArithmeticMatcher.h"

namespace mlir::kvq {

/// Follows one side back to what dequantizes it: a kvq.dequantize, or
/// arithmetic that does the same.
class SideMatcher {
public:
  /// `isTurned`: attention turns the operand by RoPE as it reads it.
  SideMatcher(Value operand, bool isTurned)
      : operand(operand), isTurned(isTurned), tracer(operand),
        channels(getShape(operand)[kChannels]) {}

  /// Fails with a reason, `getReason`.
  LogicalResult match();

  /// The cache over the components, with the KV heads as they are stored.
  CacheType getCacheType() const { return type; }
  /// How often each KV head of the codes is repeated in the operand.
  int64_t getRepeat() const { return repeat; }
  StringRef getReason() const { return tracer.reason; }
  void fail(const Twine &why) { (void)tracer.fail(why); }

  /// The components of the cache, a ring that nobody reads included.
  SmallVector<Value> buildComponents(OpBuilder &b, Location loc) const;

private:
  LogicalResult matchDequantize(DequantizeOp op, const TracedElement &element);
  LogicalResult matchArithmetic(const ArithmeticMatch &found);
  TracedElement getMetadataElement(DequantizeOp op,
                                   const TracedElement &element,
                                   AffineExpr firstChannel, Value input,
                                   bool isGiven);
  LogicalResult addCodes(TracedElement element, FormatInterface format);
  LogicalResult addUnpacked(const TracedElement &element);
  LogicalResult addMetadata(TracedElement element, bool isStored,
                            FormatInterface format);
  LogicalResult addView(TracedElement element);
  LogicalResult makeCacheType(FormatInterface format, Type elementType);

  Value operand;
  bool isTurned;
  ElementTracer tracer;
  /// In the order of the cache's components, without the ring.
  SmallVector<ComponentView, 3> views;
  TracedElement codes;
  /// Where there is one: the unpack that the codes come from, and the result of
  /// it that comes next.
  UnpackOp unpack;
  unsigned nextUnpacked = 1;
  int64_t channels;
  int64_t repeat = 1;
  CacheType type;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_SIDEMATCHER_H
