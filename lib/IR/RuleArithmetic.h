//===- RuleArithmetic.h - The steps of #kvq.rule ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small function for each field of `#kvq.rule` (docs/Semantics.md, "Other
// rules"). They emit scalar ops on f32 without fast-math flags.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_RULEARITHMETIC_H
#define KVQ_LIB_IR_RULEARITHMETIC_H

#include "Codec.h"

namespace mlir::kvq {

/// The range of a group: `extent` takes `steps` steps, from `min` to `max`,
/// which are null without a zero. With `extremum = signed` it is an element,
/// otherwise 0 or more.
struct GroupRange {
  Value extent;
  double steps;
  Value min, max;
};

/// Emits the integer nearest to `number`, as an f32; with ties up, integers are
/// counted from `lowest`.
Value buildNearestInteger(OpBuilder &builder, Location loc, Value number,
                          RuleTies ties, double lowest);

/// Builds the scales and quotients of one format.
class RuleArithmetic {
public:
  RuleArithmetic(OpBuilder &builder, Location loc, FormatAttr format,
                 const Codec &codec)
      : b(builder), loc(loc), rule(format.getRule()), codec(codec) {}

  /// `value` as the rule's precision has it.
  Value round(Value value) const;
  /// Whether the scale is neither 0 nor NaN.
  Value isUsable(Value scale) const;
  /// `value`, where the scale is usable; else `otherwise`.
  Value whereUsable(Value scale, Value value, Value otherwise) const;
  /// The quotient of an element and the scale, plus the zero `point` of the
  /// format, if it has one.
  Value quotient(Value value, Value scale, Value point) const;
  /// The steps from the end of a range to 0 without a zero, else from end to
  /// end.
  double steps() const;
  /// The f32 scale of a group, before it is stored. A fitted one moves `min`.
  Value scale(GroupRange &range) const;
  /// `scale` as stored, to nearest or as the exponent of the extent.
  Value store(Value scale, const GroupRange &range, Type type,
              double cap) const;

  /// The zero point of a group from `min` on: the number of steps from it to 0,
  /// an f32, whole and within the codes if `type` is an integer. 0 where the
  /// scale is not usable.
  Value zeroPoint(Value min, Value scale, Type type) const;

private:
  Value fitEnd(Value scale, GroupRange &range) const;
  Value storeExponent(Value extent, Type type) const;
  Value constant(double value) const;

  OpBuilder &b;
  Location loc;
  RuleAttr rule;
  const Codec &codec;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_RULEARITHMETIC_H
