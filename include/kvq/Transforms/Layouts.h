//===- Layouts.h - Layouts for a target ------------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_LAYOUTS_H
#define KVQ_TRANSFORMS_LAYOUTS_H

#include "kvq/IR/Policy.h"
#include "kvq/Transforms/Passes.h"

#include <set>
#include <string>

namespace mlir::kvq {

/// The type of a cache once its open layouts are assigned.
struct AssignedLayout {
  CacheType type;
  /// Why rows do not lie in tiles; empty if they do.
  std::string whyPlanar;
};

/// Assigns the layouts that `cache`, which holds `sides`, leaves open.
AssignedLayout assignLayout(CacheType cache, const std::set<CacheSide> &sides,
                            LayoutTarget target);

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_LAYOUTS_H
