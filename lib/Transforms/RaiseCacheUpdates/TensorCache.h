//===- TensorCache.h - A cache that is a tensor of a model ------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function argument, the updates of it, the attention that reads it and the
// results that it comes back as. What else reads it needs the tensor.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_TENSORCACHE_H
#define KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_TENSORCACHE_H

#include "CacheUpdate.h"
#include "CacheView.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::kvq {

/// Why something stays as it is, and the place to look at.
struct WhyNot {
  std::string reason;
  std::optional<Location> loc;
};

struct TensorCache {
  /// Follows `component`, which attention reads as a cache of type `type`, back
  /// to an argument of `function`.
  static FailureOr<TensorCache> get(func::FuncOp function, Value component,
                                    CacheType type, WhyNot &whyNot);

  /// Fails where an op reads the tensor that is none of a cache's, nor one of
  /// `reads`, which make caches of it.
  LogicalResult verifyUses(const DenseSet<Operation *> &reads,
                           WhyNot &whyNot) const;

  /// Whether `op` stores the tensor, all updates done, in the argument's place,
  /// for the function to return.
  bool isStore(Operation *op) const;

  /// The tensors that are the cache: the argument, and after each update.
  SmallVector<Value> getValues() const;
  /// Whether it is told by its extent how many tokens the tensor holds.
  bool grows() const { return !updates.empty() && updates.front().grows; }
  /// The type that the argument gets.
  CacheType getType() const;

  BlockArgument argument;
  /// In the order in which they are done.
  SmallVector<CacheUpdate> updates;
  CacheView view;
  unsigned tokenAxis;
  /// As attention has it.
  CacheType readType;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_RAISECACHEUPDATES_TENSORCACHE_H
