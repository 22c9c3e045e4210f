//===- CacheOps.cpp - Verifiers of the cache-level ops -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

using namespace mlir;
using namespace mlir::kvq;

/// Checks that a per-sequence operand has one element per sequence.
static LogicalResult verifyPerSequence(Operation *op, StringRef name,
                                       Value operand, int64_t batch) {
  if (!operand)
    return success();
  auto type = cast<RankedTensorType>(operand.getType());
  if (type.isDynamicDim(0) || type.getDimSize(0) == batch)
    return success();
  return op->emitOpError() << "expected " << name << " for " << batch
                           << " sequences, got " << type.getDimSize(0);
}

/// An extent as types print it.
static std::string formatExtent(int64_t extent) {
  return ShapedType::isDynamic(extent) ? "?" : std::to_string(extent);
}

/// A cache with a recent window needs the flushed counts; for one without,
/// they follow from the lengths.
static LogicalResult verifyFlushed(Operation *op, StringRef name,
                                   CacheType cache, Value flushed) {
  if (cache.hasRecentWindow() && !flushed)
    return op->emitOpError() << "a cache with a recent window needs " << name;
  if (!cache.hasRecentWindow() && flushed)
    return op->emitOpError() << name << " is given for a cache without a "
                             << "recent window: every token is flushed at once";
  return verifyPerSequence(op, name, flushed, cache.getBatch());
}

//===----------------------------------------------------------------------===//
// EmptyOp, FromComponentsOp
//===----------------------------------------------------------------------===//

LogicalResult EmptyOp::verify() {
  bool dynamic = ShapedType::isDynamic(getCache().getType().getCapacity());
  if (dynamic && !getCapacity())
    return emitOpError("expected a capacity operand, as the type's capacity is "
                       "dynamic");
  if (!dynamic && getCapacity())
    return emitOpError("expected no capacity operand, as the type's capacity "
                       "is ")
           << getCache().getType().getCapacity();
  return success();
}

LogicalResult FromComponentsOp::verify() {
  SmallVector<StorageComponent> components =
      getCache().getType().getComponents();
  if (components.size() != getComponents().size())
    return emitOpError("expected ")
           << components.size() << " storage components, got "
           << getComponents().size();
  for (auto [component, value] : llvm::zip_equal(components, getComponents()))
    if (value.getType() != component.getTensorType())
      return emitOpError("expected ")
             << component.getName() << " of type " << component.getTensorType()
             << ", got " << value.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// AppendOp
//===----------------------------------------------------------------------===//

/// Checks the counts of saturated elements, which are optional.
static LogicalResult verifySaturated(AppendOp op) {
  Value saturated = op.getSaturated(), result = op.getNewSaturated();
  if (!saturated != !result)
    return op.emitOpError("expected as many results as it updates, ")
           << (saturated ? 2 : 1) << ", got " << op->getNumResults();
  if (!saturated)
    return success();
  CacheType cache = op.getCache().getType();
  if (cache.isExact())
    return op.emitOpError("exact elements do not saturate: expected no "
                          "'saturated' with codes = none");
  for (CacheType part : cache.getSegmentCaches())
    if (!part.isExact() && part.getFormat().encodesUnrounded())
      return op.emitOpError(
                 "elements are counted under stored metadata: expected "
                 "no 'saturated' with metadata = unrounded, got ")
             << part.getFormat();
  auto expected = RankedTensorType::get({cache.getBatch(), cache.getHeads()},
                                        IntegerType::get(op.getContext(), 64));
  for (Type type : {saturated.getType(), result.getType()})
    if (type != expected)
      return op.emitOpError("expected counts of saturated elements of type ")
             << expected << ", got " << type;
  return success();
}

LogicalResult AppendOp::verify() {
  CacheType cache = getCache().getType();
  auto tokens = cast<RankedTensorType>(getTokens().getType());
  if (getResult().getType() != cache)
    return emitOpError("expected the result to be the cache's type ")
           << cache << ", got " << getResult().getType();
  if (tokens.getRank() != 4)
    return emitOpError("expected tokens of rank 4, batch x kv_heads x "
                       "new_tokens x head_dim, got rank ")
           << tokens.getRank();
  for (auto [axis, name] : {std::pair(0, "batch"), std::pair(1, "kv_heads"),
                            std::pair(3, "head_dim")})
    if (tokens.getDimSize(axis) != cache.getShape()[axis])
      return emitOpError("expected tokens with the cache's ")
             << name << " " << cache.getShape()[axis] << ", got "
             << formatExtent(tokens.getDimSize(axis));
  int64_t batch = cache.getBatch();
  if (failed(verifyPerSequence(*this, "lengths", getLengths(), batch)) ||
      failed(verifyPerSequence(*this, "counts", getCounts(), batch)) ||
      failed(verifyFlushed(*this, "flushed", cache, getFlushed())))
    return failure();
  return verifySaturated(*this);
}

//===----------------------------------------------------------------------===//
// TruncateOp
//===----------------------------------------------------------------------===//

LogicalResult TruncateOp::verify() {
  int64_t batch = getCache().getBatch();
  if (failed(verifyPerSequence(*this, "lengths", getLengths(), batch)) ||
      failed(verifyFlushed(*this, "flushed", getCache(), getFlushed())) ||
      failed(verifyPerSequence(*this, "new lengths", getTo(), batch)))
    return failure();
  if (!getFlushed() != !getNewFlushed())
    return emitOpError("expected as many results as counts given, ")
           << (getFlushed() ? 2 : 1) << ", got " << getNumResults();
  for (auto [name, count, result] :
       {std::tuple("lengths", getLengths(), getNewLengths()),
        std::tuple("flushed", getFlushed(), getNewFlushed())})
    if (count && count.getType() != result.getType())
      return emitOpError("expected a result of the type of ")
             << name << " " << count.getType() << ", got " << result.getType();
  return success();
}

//===----------------------------------------------------------------------===//
// ReorderOp
//===----------------------------------------------------------------------===//

LogicalResult ReorderOp::verify() {
  CacheType cache = getCache().getType();
  CacheType destination = getDestination().getType();
  if (getResult().getType() != destination)
    return emitOpError("expected the result to be the destination's type ")
           << destination << ", got " << getResult().getType();
  if (getCache() == getDestination())
    return emitOpError("expected a destination other than the cache that is "
                       "read");
  SmallVector<int64_t> shape(destination.getShape());
  shape[0] = cache.getBatch();
  shape[2] = cache.getCapacity();
  auto expected =
      CacheType::get(getContext(), shape, destination.getElementType(),
                     destination.getRowFormat(), destination.getExactFirst(),
                     destination.getRecent(), destination.getResidual());
  if (cache != expected)
    return emitOpError("expected caches that differ only in batch and "
                       "capacity, got ")
           << cache << " into " << destination;
  if (failed(verifyPerSequence(*this, "sources", getSources(),
                               destination.getBatch())) ||
      failed(
          verifyPerSequence(*this, "lengths", getLengths(), cache.getBatch())))
    return failure();
  return verifyFlushed(*this, "flushed", cache, getFlushed());
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

namespace {

/// The extents that attention asks of a side, whether cache or tensor.
struct SideShape {
  int64_t batch, heads, headDim;
};

} // namespace

/// The extents of a key or value operand; fails on a tensor of another rank.
static FailureOr<SideShape> getSideShape(AttentionOp op, StringRef name,
                                         Type type) {
  if (auto cache = dyn_cast<CacheType>(type))
    return SideShape{cache.getBatch(), cache.getHeads(), cache.getHeadDim()};
  auto tensor = cast<RankedTensorType>(type);
  if (tensor.getRank() != 4)
    return op.emitOpError("expected a ")
           << name << " of rank 4, batch x kv_heads x tokens x head_dim, got "
           << "rank " << tensor.getRank();
  return SideShape{tensor.getDimSize(0), tensor.getDimSize(1),
                   tensor.getDimSize(3)};
}

static LogicalResult expectEqual(AttentionOp op, StringRef what,
                                 int64_t expected, int64_t got) {
  if (expected == got)
    return success();
  return op.emitOpError("expected ") << what << " " << formatExtent(expected)
                                     << ", got " << formatExtent(got);
}

/// Two token groups can be tiled together only from a common origin.
static LogicalResult verifyGroupOrigins(AttentionOp op, CacheType key,
                                        CacheType value) {
  int64_t keyGroup = key.getTokenGroup(), valueGroup = value.getTokenGroup();
  if (keyGroup == 1 || valueGroup == 1 ||
      key.getExactFirst() == value.getExactFirst())
    return success();
  return op.emitOpError("unsupported pair: token groups of ")
         << keyGroup << " and " << valueGroup
         << " must start at the same token, but exact_first is "
         << key.getExactFirst() << " for keys and " << value.getExactFirst()
         << " for values";
}

LogicalResult AttentionOp::verify() {
  auto query = cast<RankedTensorType>(getQuery().getType());
  auto init = cast<RankedTensorType>(getInit().getType());
  if (query.getRank() != 4)
    return emitOpError("expected a query of rank 4, batch x query_heads x "
                       "query_tokens x head_dim, got rank ")
           << query.getRank();
  for (int64_t axis : {0, 1, 3})
    if (query.isDynamicDim(axis))
      return emitOpError(
                 "expected a query with only query_tokens dynamic, got ")
             << query;
  if (init.getRank() != 4)
    return emitOpError("expected an output of rank 4, got rank ")
           << init.getRank();
  if (getResult().getType() != init)
    return emitOpError("expected a result of the output's type ")
           << init << ", got " << getResult().getType();
  FailureOr<SideShape> key = getSideShape(*this, "key", getKey().getType());
  FailureOr<SideShape> value =
      getSideShape(*this, "value", getValue().getType());
  if (failed(key) || failed(value))
    return failure();

  if (failed(expectEqual(*this, "the query's batch for keys",
                         query.getDimSize(0), key->batch)) ||
      failed(expectEqual(*this, "the query's batch for values",
                         query.getDimSize(0), value->batch)) ||
      failed(expectEqual(*this, "keys with the query's head_dim",
                         query.getDimSize(3), key->headDim)) ||
      failed(expectEqual(*this, "values with the keys' kv_heads", key->heads,
                         value->heads)) ||
      failed(expectEqual(*this, "an output with the values' head_dim",
                         value->headDim, init.getDimSize(3))))
    return failure();
  for (int64_t axis : {0, 1, 2})
    if (failed(expectEqual(*this,
                           "an output with the query's extent on axis " +
                               std::to_string(axis),
                           query.getDimSize(axis), init.getDimSize(axis))))
      return failure();
  if (key->heads < 1)
    return emitOpError("expected at least 1 KV head, static, got ")
           << formatExtent(key->heads);
  if (query.getDimSize(1) % key->heads != 0)
    return emitOpError("query_heads ")
           << query.getDimSize(1) << " is not a multiple of kv_heads "
           << key->heads;

  int64_t batch = query.getDimSize(0);
  if (failed(verifyPerSequence(*this, "lengths", getLengths(), batch)))
    return failure();
  auto keyCache = dyn_cast<CacheType>(getKey().getType());
  auto valueCache = dyn_cast<CacheType>(getValue().getType());
  if (keyCache &&
      failed(verifyFlushed(*this, "key_flushed", keyCache, getKeyFlushed())))
    return failure();
  if (valueCache && failed(verifyFlushed(*this, "value_flushed", valueCache,
                                         getValueFlushed())))
    return failure();
  if (keyCache && valueCache)
    return verifyGroupOrigins(*this, keyCache, valueCache);
  return success();
}

int64_t AttentionOp::getGroupSize() {
  auto query = cast<RankedTensorType>(getQuery().getType());
  Type key = getKey().getType();
  int64_t heads = isa<CacheType>(key)
                      ? cast<CacheType>(key).getHeads()
                      : cast<RankedTensorType>(key).getDimSize(1);
  return query.getDimSize(1) / heads;
}
