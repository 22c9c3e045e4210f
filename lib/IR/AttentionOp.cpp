//===- AttentionOp.cpp - The verifier of kvq.attention --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

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

/// Both sides keep the same tokens, among them those of all queries.
static LogicalResult verifyRings(AttentionOp op, CacheType key,
                                 CacheType value) {
  if (key.getRing() != value.getRing() ||
      key.getKeepFirst() != value.getKeepFirst()) {
    auto describe = [](CacheType cache) {
      return cache.isRing()
                 ? "ring = " + std::to_string(*cache.getRing()) +
                       ", keep_first = " + std::to_string(cache.getKeepFirst())
                 : std::string("no ring");
    };
    return op.emitOpError("expected keys and values that keep the same tokens, "
                          "got ")
           << describe(key) << " for keys and " << describe(value)
           << " for values";
  }
  int64_t queries =
      cast<RankedTensorType>(op.getQuery().getType()).getDimSize(2);
  if (!key.isRing() || ShapedType::isDynamic(queries) ||
      queries <= key.getNewestTokens())
    return success();
  return op.emitOpError("expected a ring of at least ")
         << key.getKeepFirst() + queries
         << " tokens, keep_first = " << key.getKeepFirst() << " and those of "
         << queries << " queries, got " << *key.getRing();
}

/// A float operand with an element for each query head.
static LogicalResult verifyPerHead(AttentionOp op, StringRef name,
                                   Value operand) {
  if (!operand)
    return success();
  int64_t heads = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1);
  int64_t found = cast<RankedTensorType>(operand.getType()).getDimSize(0);
  if (found == heads)
    return success();
  return op.emitOpError("expected ")
         << name << " for " << heads << " query heads, got "
         << formatExtent(found);
}

/// The mask has the extents of the scores, or 1 where sequences or heads share
/// it. It has to reach as far as a static capacity: lengths are known at run
/// time only.
static LogicalResult verifyMask(AttentionOp op) {
  if (!op.getMask())
    return success();
  auto mask = cast<RankedTensorType>(op.getMask().getType());
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  if (mask.getRank() != 4)
    return op.emitOpError("expected a mask of rank 4, batch x query_heads x "
                          "query_tokens x tokens, got rank ")
           << mask.getRank();
  for (auto [axis, name] :
       {std::pair(0, "batch"), std::pair(1, "query_heads")}) {
    int64_t found = mask.getDimSize(axis), expected = query.getDimSize(axis);
    if (found != 1 && found != expected)
      return op.emitOpError("expected a mask with ")
             << name << " 1 or " << expected << ", got " << formatExtent(found);
  }
  if (mask.getDimSize(2) != query.getDimSize(2))
    return op.emitOpError("expected a mask with the query's query_tokens ")
           << formatExtent(query.getDimSize(2)) << ", got "
           << formatExtent(mask.getDimSize(2));
  auto key = dyn_cast<CacheType>(op.getKey().getType());
  int64_t capacity = key ? key.getCapacity() : ShapedType::kDynamic;
  if (ShapedType::isDynamic(capacity) || mask.isDynamicDim(3) ||
      mask.getDimSize(3) >= capacity)
    return success();
  return op.emitOpError("expected a mask for at least ")
         << capacity << " tokens, got " << mask.getDimSize(3);
}

static LogicalResult verifyLse(AttentionOp op) {
  if ((op.getLse() != nullptr) != (op.getLseResult() != nullptr))
    return op.emitOpError("expected an output and a result for lse or neither");
  if (!op.getLse())
    return success();
  auto lse = cast<RankedTensorType>(op.getLse().getType());
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  if (op.getLseResult().getType() != lse)
    return op.emitOpError("expected an lse of the output's type ")
           << lse << ", got " << op.getLseResult().getType();
  for (auto [axis, name] : {std::pair(0, "batch"), std::pair(1, "query_heads"),
                            std::pair(2, "query_tokens")})
    if (failed(expectEqual(op, "an lse with the query's " + std::string(name),
                           query.getDimSize(axis), lse.getDimSize(axis))))
      return failure();
  return success();
}

static LogicalResult verifyWindow(AttentionOp op) {
  // Signed, unlike what the accessors return.
  IntegerAttr window = op.getWindowAttr(), first = op.getWindowFirstAttr();
  if (window && window.getInt() < 1)
    return op.emitOpError("expected a window of at least 1 token, got ")
           << window.getInt();
  if (first && !window)
    return op.emitOpError("window_first = ")
           << first.getInt() << " is given without a window";
  if (first && first.getInt() < 1)
    return op.emitOpError("expected a window_first of at least 1 token, got ")
           << first.getInt();
  return success();
}

static LogicalResult verifySoftcap(AttentionOp op) {
  if (!op.getSoftcap())
    return success();
  float cap = op.getSoftcap()->convertToFloat();
  if (std::isfinite(cap) && cap > 0)
    return success();
  return op.emitOpError("expected a positive, finite softcap, got ")
         << op.getSoftcapAttr();
}

/// Keys may be turned as they are read; keys that are tensors, where there are
/// tables.
static LogicalResult verifyRope(AttentionOp op, CacheType key,
                                CacheType value) {
  // Of channels that are chosen, verifyValueChannels has asked.
  if (value && value.isBeforeRope() && !op.getValueChannels())
    return op.emitOpError("RoPE turns keys only: expected values without rope "
                          "= pre, got ")
           << value;
  Value cos = op.getCos(), sin = op.getSin();
  if (key)
    return verifyKeyRope(op, key, cos, sin, op.getRopeStyle());
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  return verifyRopeTables(op, cos, sin, op.getRopeStyle(), query.getDimSize(3));
}

/// What caches need beside their shapes.
static LogicalResult verifySides(AttentionOp op) {
  auto keyCache = dyn_cast<CacheType>(op.getKey().getType());
  auto valueCache = dyn_cast<CacheType>(op.getValue().getType());
  if (keyCache &&
      failed(verifyFlushed(op, "key_flushed", keyCache, op.getKeyFlushed())))
    return failure();
  if (valueCache && failed(verifyFlushed(op, "value_flushed", valueCache,
                                         op.getValueFlushed())))
    return failure();
  for (auto [name, cache, table] :
       {std::tuple("key_pages", keyCache, op.getKeyPages()),
        std::tuple("value_pages", valueCache, op.getValuePages())}) {
    if (cache && failed(verifyPageTable(op, name, cache, table)))
      return failure();
    if (!cache && table)
      return op.emitOpError() << name << " is given for a tensor";
  }
  if (failed(verifyRope(op, keyCache, valueCache)) ||
      failed(
          verifyQueryCodes(op, op.getQueryCodesAttr(), keyCache, valueCache)))
    return failure();
  if (keyCache && valueCache && failed(verifyRings(op, keyCache, valueCache)))
    return failure();
  if (keyCache && valueCache)
    return verifyGroupOrigins(op, keyCache, valueCache);
  return success();
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
  FailureOr<int64_t> valueChannels = verifyValueChannels(
      *this, getValue().getType(), value->headDim, getValueChannels());
  if (failed(valueChannels))
    return failure();

  if (failed(expectEqual(*this, "the query's batch for keys",
                         query.getDimSize(0), key->batch)) ||
      failed(expectEqual(*this, "the query's batch for values",
                         query.getDimSize(0), value->batch)) ||
      failed(expectEqual(*this, "keys with the query's head_dim",
                         query.getDimSize(3), key->headDim)) ||
      failed(expectEqual(*this, "values with the keys' kv_heads", key->heads,
                         value->heads)) ||
      failed(expectEqual(*this,
                         getValueChannels()
                             ? "an output of the value_channels,"
                             : "an output with the values' head_dim",
                         *valueChannels, init.getDimSize(3))))
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
  if (failed(verifyPerSequence(*this, "lengths", getLengths(), batch)) ||
      failed(verifyPerSequence(*this, "positions", getPositions(), batch)) ||
      failed(verifyPerHead(*this, "slopes", getSlopes())) ||
      failed(verifyPerHead(*this, "sinks", getSinks())) ||
      failed(verifyMask(*this)) || failed(verifyLse(*this)) ||
      failed(verifyWindow(*this)) || failed(verifySoftcap(*this)))
    return failure();
  return verifySides(*this);
}

MutableOperandRange AttentionOp::getDpsInitsMutable() {
  // The output and lse, if there is one, are consecutive operands.
  return MutableOperandRange(
      getOperation(), getInitMutable().getOperandNumber(), getLse() ? 2 : 1);
}

int64_t AttentionOp::getGroupSize() {
  auto query = cast<RankedTensorType>(getQuery().getType());
  Type key = getKey().getType();
  int64_t heads = isa<CacheType>(key)
                      ? cast<CacheType>(key).getHeads()
                      : cast<RankedTensorType>(key).getDimSize(1);
  return query.getDimSize(1) / heads;
}
