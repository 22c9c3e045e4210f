//===- CacheUpdate.h - Ops that put tokens into a tensor --------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How models write the new tokens of a cache: behind what is there, by a
// concatenation, or into a tensor of a fixed size at a position, as a slice or
// element by element.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_CACHEUPDATE_H
#define KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_CACHEUPDATE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace mlir::kvq {

struct CacheUpdate {
  /// The update that made `updated`, of which tokens lie along `axis`. Fails,
  /// with a reason, where what made it is none.
  static FailureOr<CacheUpdate> get(Value updated, unsigned axis,
                                    std::string &reason);

  /// The new tokens, whose axes are those of the tensor.
  Value buildTokens(OpBuilder &b, Location loc) const;

  /// Whether sequences, which lie along axis 0 then, have positions of their
  /// own.
  bool hasPositions() const;

  /// Builds the i64 that says how many tokens lie before the new ones in
  /// sequence `sequence`. Not of a tensor that grows.
  Value buildPosition(OpBuilder &b, Location loc, int64_t sequence) const;

  /// The tensor before and after.
  Value old, updated;
  /// Holds the new tokens in the order of the tensor's axes; where that is all
  /// that it shares with them, `tokenShape` has the extents.
  Value tokens;
  SmallVector<int64_t> tokenShape;
  /// Whether the new tokens are behind all that the tensor held. It is longer
  /// then.
  bool grows = false;
  /// Otherwise, where they are: a number, or an element of `position` at
  /// `positionIndices`, expressions of the sequence.
  OpFoldResult position = {};
  SmallVector<AffineExpr> positionIndices;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_CACHEUPDATE_H
