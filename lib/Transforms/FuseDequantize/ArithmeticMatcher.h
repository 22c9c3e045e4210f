//===- ArithmeticMatcher.h - Dequantization that is written out -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes that are unpacked and scaled by ops of arith and linalg. Each channel
// of a row is followed by itself, so that it does not matter how what differs
// from channel to channel is written: as parts that are joined, as reshapes, as
// arithmetic on the channel's number. The bits of a byte that a code is made of
// are followed one by one; which layout it is is seen from their places.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_ARITHMETICMATCHER_H
#define KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_ARITHMETICMATCHER_H

#include "../ElementTracing/ElementTracer.h"

namespace mlir::kvq {

/// The bits of an integer: each is one of an element that is read, or 0.
struct TracedBits {
  struct Bit {
    /// Which of `sources`; -1 for a bit that is 0.
    int source = -1;
    unsigned position = 0;

    bool operator==(const Bit &other) const {
      return source == other.source && position == other.position;
    }
    bool operator!=(const Bit &other) const { return !(*this == other); }
  };
  /// The lowest first.
  SmallVector<Bit> bits;
  SmallVector<TracedElement, 1> sources;
};

/// The value of one channel: (number - point) * scale, or number * scale + min.
struct TracedProduct {
  TracedBits code;
  /// The bits of the number go on with copies of its highest one.
  bool isSigned = false;
  /// The type of a code that is the bits of a float.
  Type floatCode;
  /// What is subtracted from all codes.
  int64_t bias = 0;
  TracedElement scale, point, min;
  /// How the bytes of integer zero points count.
  bool hasSignedPoint = false;
};

/// What the arithmetic of all channels is.
struct ArithmeticMatch {
  FormatAttr format;
  /// An element of each component: codes, scales, zeros. Those of a row are the
  /// columns (kChannels). Codes may be those of a kvq.unpack.
  SmallVector<TracedElement, 3> components;
};

class ArithmeticMatcher {
public:
  explicit ArithmeticMatcher(ElementTracer &tracer) : tracer(tracer) {}

  /// The arithmetic that makes the operand. Fails with a reason of the tracer.
  FailureOr<ArithmeticMatch> match();

  /// Whether there was any.
  bool hasArithmetic() const { return foundArithmetic; }

private:
  FailureOr<TracedProduct> traceValue(TracedElement element);
  FailureOr<TracedProduct> traceProduct(TracedElement element);
  FailureOr<TracedProduct> traceFactors(const TracedElement &element);
  FailureOr<TracedProduct> traceNumber(TracedElement element);
  LogicalResult traceInteger(TracedElement element, bool isSigned,
                             TracedProduct &product);
  LogicalResult traceDifference(const TracedElement &element,
                                TracedProduct &product);
  std::optional<TracedBits> traceSignExtension(TracedElement element,
                                               int64_t middle);
  LogicalResult tracePoint(TracedElement element, TracedProduct &product);
  FailureOr<TracedBits> traceBits(TracedElement element);
  FailureOr<TracedBits> traceShift(const TracedElement &element);
  FailureOr<TracedBits> traceMask(const TracedElement &element);
  FailureOr<TracedBits> traceOr(const TracedElement &element);
  std::optional<int64_t> evaluate(TracedElement element);

  ElementTracer &tracer;
  bool foundArithmetic = false;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_ARITHMETICMATCHER_H
