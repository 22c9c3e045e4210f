//===- Digits.h - Loops as numbers of several digits ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop of a contraction may run over several axes of attention that have been
// collapsed: sequences, KV heads and the query heads of each. Where tensors are
// read at x floordiv n or x mod n of a loop x, the loop is split there, and
// what tensors are read at are sums of its digits.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISEATTENTION_DIGITS_H
#define KVQ_LIB_TRANSFORMS_RAISEATTENTION_DIGITS_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallSet.h"

namespace mlir::kvq {

/// (loop floordiv stride) mod extent.
struct Digit {
  unsigned loop;
  int64_t stride;
  /// Dynamic for one that is all of a dynamic loop.
  int64_t extent;
};

/// sum(factors[i] * digit i) + rest, where the rest has symbols only.
struct DigitSum {
  SmallVector<int64_t> factors;
  AffineExpr rest;

  /// Whether there is a part that is no digit's.
  bool hasRest() const;
};

class Digits {
public:
  /// Loops of the given extents, none of which is split as yet, and only those
  /// in `splittable` ever will be.
  Digits(MLIRContext *context, ArrayRef<int64_t> extents,
         ArrayRef<unsigned> splittable);

  /// Splits loops so that `expr`, of loops, is a sum of digits, as far as that
  /// is possible. Before any use of the digits.
  void splitFor(AffineExpr expr);

  /// Those with more than one value, the outermost of a loop first.
  ArrayRef<Digit> get() const { return digits; }

  /// Nothing for what is no sum of digits.
  std::optional<DigitSum> getSum(AffineExpr expr) const;

  /// The digits that an axis of `extent` is, the outermost first; nothing where
  /// it is not just these, one after the other.
  std::optional<SmallVector<unsigned>> getAxis(AffineExpr expr,
                                               int64_t extent) const;

private:
  void makeDigits();
  std::optional<DigitSum> divide(DigitSum sum, int64_t divisor,
                                 bool isRemainder) const;

  MLIRContext *context;
  SmallVector<int64_t> extents;
  SmallVector<unsigned> splittable;
  /// Of each loop: strides of digits.
  SmallVector<llvm::SmallSet<int64_t, 4>> strides;
  SmallVector<Digit> digits;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISEATTENTION_DIGITS_H
