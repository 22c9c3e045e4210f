//===- SideMatcher.h - From an operand to its dequantize --------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_SIDEMATCHER_H
#define KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_SIDEMATCHER_H

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::kvq {

/// The axes of an operand of an attention.
enum Axis : unsigned { kBatch, kHeads, kTokens, kChannels };

/// Stands for an axis of the operand that the tensor at hand does not have; its
/// extent is 1.
constexpr int64_t kAbsent = -1;

/// Follows one side back to its dequantize. `reason` says why not where it
/// fails.
class SideMatcher {
public:
  explicit SideMatcher(Value operand) : value(operand) {}

  LogicalResult match();

  DequantizeOp dequantize;
  /// What a cache stores of it, in the order of its components.
  SmallVector<Value, 3> components;
  /// The axes of `dequantize` that are the operand's.
  std::array<int64_t, 4> axes = {0, 1, 2, 3};
  /// How often each KV head of the codes is repeated in the operand.
  int64_t repeat = 1;
  std::string reason;

private:
  LogicalResult fail(const Twine &why) {
    reason = why.str();
    return failure();
  }
  LogicalResult lookThrough(Operation *producer);
  LogicalResult lookThroughSlice(tensor::ExtractSliceOp slice);
  LogicalResult lookThroughCollapse(tensor::CollapseShapeOp collapse);
  LogicalResult lookThroughExpand(tensor::ExpandShapeOp expand);
  bool lookThroughRepeat(tensor::CollapseShapeOp collapse);
  LogicalResult findComponents();
  LogicalResult checkGiven();

  Value value;
};

/// The shape of a ranked tensor.
ArrayRef<int64_t> getShape(Value tensor);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_SIDEMATCHER_H
