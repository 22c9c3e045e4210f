//===- CacheView.h - The axes of a tensor as those of a cache ---*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model keeps a cache as a tensor whose axes lie as it likes; attention reads
// it as batch x kv_heads x tokens x head_dim. What stands between the two moves
// no element: a list of transposes and reshapes.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_CACHEVIEW_H
#define KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_CACHEVIEW_H

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::kvq {

class CacheView {
public:
  /// The view that `component`, of a cache, is of a tensor: of what no op of
  /// these has made.
  static CacheView get(Value component);

  /// The tensor.
  Value getSource() const { return source; }

  /// The axis of the tensor that `axis` of the cache lies along, and nothing
  /// else. Fails where there is none.
  FailureOr<unsigned> getSourceAxis(unsigned axis) const;

  /// Whether a token's heads follow each other in the tensor: batch x tokens x
  /// kv_heads x head_dim.
  bool isTokenMajor() const;

  /// `tokens`, which lie as those of the tensor do, as batch x kv_heads x
  /// tokens x head_dim.
  Value build(OpBuilder &b, Location loc, Value tokens) const;

  bool isSameAs(const CacheView &other) const { return steps == other.steps; }

  /// Whether `op` is one of those that a view is made of.
  static bool isStep(Operation *op);

private:
  struct Step {
    /// Axis i of the result is axis permutation[i] of the operand.
    SmallVector<int64_t> permutation;
    /// Of a reshape, whether axes are split or joined, and the groups.
    bool isExpand = false;
    SmallVector<ReassociationIndices> groups;
    /// Extents of the operand and of the result.
    SmallVector<int64_t> from, to;

    bool isReshape() const { return permutation.empty(); }
    bool operator==(const Step &other) const {
      return permutation == other.permutation && isExpand == other.isExpand &&
             groups == other.groups;
    }
  };
  /// The axis of the step's operand that `axis` of its result is.
  static FailureOr<unsigned> getOperandAxis(const Step &step, unsigned axis);
  Value buildStep(OpBuilder &b, Location loc, const Step &step, Value tokens,
                  unsigned tokenAxis) const;
  /// Goes one op back from `source`.
  bool addStep();

  Value source;
  /// From the tensor on.
  SmallVector<Step> steps;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_CACHEVIEW_H
