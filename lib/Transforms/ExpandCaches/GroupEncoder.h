//===- GroupEncoder.h - A group of tokens to storage ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_EXPANDCACHES_GROUPENCODER_H
#define KVQ_LIB_TRANSFORMS_EXPANDCACHES_GROUPENCODER_H

#include "Rows.h"

namespace mlir::kvq {

/// Quantizes groups of tokens into a cache's components: those of one head of a
/// sequence, or of the heads from `head` on that share metadata.
class GroupEncoder {
public:
  /// `components`, which are updated, may have counts of saturated elements
  /// behind them: these are then counted.
  GroupEncoder(OpBuilder &builder, Location loc, CacheType cache,
               Value sequence, Value head, SmallVectorImpl<Value> &components)
      : builder(builder), loc(loc), math(builder, loc), cache(cache),
        sequence(sequence), head(head), components(components) {}

  /// Quantizes `group`, elements `[heads x] tokens x head_dim`, into the rows
  /// from `place` on: straight into the components, except for what is packed
  /// on the way.
  void encode(Value group, const RowPlace &place);

private:
  Value &getComponent(ComponentKind kind) {
    return components[*cache.findComponent(kind)];
  }
  bool countsSaturated() {
    return components.size() > cache.getComponents().size();
  }
  Value extractGiven(ComponentKind kind, int64_t heads);
  Value prepare(Value group);
  void countSaturated(Value group, ValueRange metadata);

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  CacheType cache;
  Value sequence, head;
  SmallVectorImpl<Value> &components;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_EXPANDCACHES_GROUPENCODER_H
