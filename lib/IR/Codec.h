//===- Codec.h - The numbers that codes stand for ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_CODEC_H
#define KVQ_LIB_IR_CODEC_H

#include "kvq/IR/KVQ.h"

#include <memory>

namespace mlir::kvq {

/// What codes stand for before scale and zero apply: integers, small floats,
/// the values of a table. `#kvq.format` has one, from its field `codes`.
class Codec {
public:
  virtual ~Codec() = default;

  /// Bits of a packed code.
  virtual unsigned getBits() const = 0;
  /// Whether codes are two's complement integers.
  virtual bool isSigned() const { return false; }
  /// Whether codes are integers from 0 on, which need a zero.
  virtual bool isUnsigned() const { return false; }
  /// Whether numbers in the middle between two codes can go by `ties`.
  virtual bool supportsTies(RuleTies ties) const = 0;
  /// The largest magnitude of a number that quantization produces under the
  /// default rule.
  virtual double getLargest() const = 0;
  /// The lowest number that quantization produces.
  virtual double getLowest() const { return -getLargest(); }
  /// The number that code 0 stands for.
  virtual double getNumberOfZero() const { return 0.0; }
  /// Whether a coarse scale is rounded up, as a smaller one would make the
  /// largest elements saturate by more than half a step.
  virtual bool needsCoveringScale() const { return false; }

  /// The least and the largest f32 numbers that do not saturate (rule R24).
  virtual std::pair<float, float> getBounds() const = 0;

  /// Emits the i8 code nearest to the f32 `number`, which is not NaN.
  virtual Value buildCode(OpBuilder &builder, Location loc,
                          Value number) const = 0;
  /// Emits the f32 number of an i8 code.
  virtual Value buildNumber(OpBuilder &builder, Location loc,
                            Value code) const = 0;
};

/// The codec of a format's field `codes`; null if there is none for it.
std::unique_ptr<Codec> getCodec(Attribute codes, RuleTies ties = RuleTies::Even,
                                RuleBounds bounds = RuleBounds::Symmetric);

/// Whether a field `codes` keeps elements as they are: there is no codec then.
bool isExactCodes(Attribute codes);

/// The codec of a table of increasing values.
std::unique_ptr<Codec> getCodebookCodec(ArrayRef<float> values, RuleTies ties);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_CODEC_H
