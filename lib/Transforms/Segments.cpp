//===- Segments.cpp - Segments of caches and their channels ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Segments.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

CacheSegment kvq::extractSegment(OpBuilder &b, Location loc, Value cache,
                                 unsigned index) {
  auto type = cast<CacheType>(cache.getType());
  CacheType part = type.getSegmentCaches()[index];
  int64_t end = type.getSegments().getEnds()[index];
  return {ExtractSegmentOp::create(b, loc, part, cache, index),
          end - part.getHeadDim()};
}

SmallVector<CacheSegment> kvq::splitSegments(OpBuilder &b, Location loc,
                                             Value cache) {
  auto type = cast<CacheType>(cache.getType());
  if (!type.getSegments())
    return {{cache, 0}};
  SmallVector<CacheSegment> segments;
  for (unsigned index = 0; index < type.getSegments().getEnds().size(); ++index)
    segments.push_back(extractSegment(b, loc, cache, index));
  return segments;
}

namespace {

/// A slice along the last axis of a tensor.
struct ChannelSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  ChannelSlice(OpBuilder &b, Location loc, Value tensor,
               const CacheSegment &segment)
      : sizes(tensor::getMixedSizes(b, loc, tensor)) {
    offsets.assign(sizes.size(), b.getIndexAttr(0));
    strides.assign(sizes.size(), b.getIndexAttr(1));
    offsets.back() = b.getIndexAttr(segment.begin);
    sizes.back() = b.getIndexAttr(segment.getChannels());
  }
};

} // namespace

static bool isWhole(Value tensor, const CacheSegment &segment) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return type.getShape().back() == segment.getChannels();
}

Value kvq::extractChannels(OpBuilder &b, Location loc, Value tensor,
                           const CacheSegment &segment) {
  if (isWhole(tensor, segment))
    return tensor;
  ChannelSlice slice(b, loc, tensor, segment);
  return tensor::ExtractSliceOp::create(b, loc, tensor, slice.offsets,
                                        slice.sizes, slice.strides);
}

Value kvq::insertChannels(OpBuilder &b, Location loc, Value channels,
                          Value tensor, const CacheSegment &segment) {
  if (isWhole(tensor, segment))
    return channels;
  ChannelSlice slice(b, loc, tensor, segment);
  return tensor::InsertSliceOp::create(b, loc, channels, tensor, slice.offsets,
                                       slice.sizes, slice.strides);
}
