//===- Segments.h - Segments of caches and their channels -------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes share that take the segments of a cache apart.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_SEGMENTS_H
#define KVQ_LIB_TRANSFORMS_SEGMENTS_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// Channels of one format: a segment of a cache as a cache of its own, or a
/// whole one.
struct CacheSegment {
  Value cache;
  /// The first of its channels in the whole row.
  int64_t begin;

  CacheType getType() const { return cast<CacheType>(cache.getType()); }
  int64_t getChannels() const { return getType().getHeadDim(); }
};

/// The segment `index` of `cache`, whose rows have several formats.
CacheSegment extractSegment(OpBuilder &b, Location loc, Value cache,
                            unsigned index);

/// The segments of `cache`, in order; itself where its rows have one format.
SmallVector<CacheSegment> splitSegments(OpBuilder &b, Location loc,
                                        Value cache);

/// The channels of `segment`, along the last axis of `tensor`; `tensor` itself
/// where these are all.
Value extractChannels(OpBuilder &b, Location loc, Value tensor,
                      const CacheSegment &segment);
/// `tensor` with the channels of `segment` replaced by `channels`.
Value insertChannels(OpBuilder &b, Location loc, Value channels, Value tensor,
                     const CacheSegment &segment);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_SEGMENTS_H
