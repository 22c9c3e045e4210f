//===- CacheOps.cpp - Verifiers of the cache-level ops -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// EmptyOp, FromComponentsOp
//===----------------------------------------------------------------------===//

/// Checks that `values` have the types of as many components.
static LogicalResult verifyComponents(Operation *op,
                                      ArrayRef<StorageComponent> components,
                                      OperandRange values) {
  for (auto [component, value] : llvm::zip_equal(components, values))
    if (value.getType() != component.getTensorType())
      return op->emitOpError("expected ")
             << component.getName() << " of type " << component.getTensorType()
             << ", got " << value.getType();
  return success();
}

/// Checks that the components that its type says are given to `op`.
static LogicalResult verifyGiven(EmptyOp op) {
  SmallVector<StorageComponent> given;
  for (const StorageComponent &component :
       op.getCache().getType().getComponents())
    if (component.given)
      given.push_back(component);
  if (given.size() != op.getGiven().size())
    return op.emitOpError("expected ")
           << given.size() << " given components, got " << op.getGiven().size();
  return verifyComponents(op, given, op.getGiven());
}

LogicalResult EmptyOp::verify() {
  CacheType cache = getCache().getType();
  if (cache.isPaged() != bool(getPages()))
    return emitOpError("expected ")
           << (cache.isPaged() ? "the number of pages, as the cache is paged"
                               : "no pages, as the cache is not paged");
  if (cache.isPaged() && getCapacity())
    return emitOpError(
        "expected no capacity operand, as the storage of a paged "
        "cache is its pages");
  if (cache.isPaged())
    return verifyGiven(*this);
  if (cache.isRing() && getCapacity())
    return emitOpError("expected no capacity operand, as the storage of a ring "
                       "does not depend on it");
  bool dynamic = ShapedType::isDynamic(cache.getCapacity()) && !cache.isRing();
  if (dynamic && !getCapacity())
    return emitOpError("expected a capacity operand, as the type's capacity is "
                       "dynamic");
  if (!dynamic && getCapacity())
    return emitOpError("expected no capacity operand, as the type's capacity "
                       "is ")
           << cache.getCapacity();
  return verifyGiven(*this);
}

LogicalResult FromComponentsOp::verify() {
  if (failed(verifyAssignedLayout(*this, getCache().getType())))
    return failure();
  SmallVector<StorageComponent> components =
      getCache().getType().getComponents();
  if (components.size() != getComponents().size())
    return emitOpError("expected ")
           << components.size() << " storage components, got "
           << getComponents().size();
  return verifyComponents(*this, components, getComponents());
}

//===----------------------------------------------------------------------===//
// AppendOp
//===----------------------------------------------------------------------===//

/// The axes of the tokens that an append takes, with the extents that the cache
/// asks for: padded or packed.
static LogicalResult verifyTokens(AppendOp op) {
  CacheType cache = op.getCache().getType();
  auto tokens = cast<RankedTensorType>(op.getTokens().getType());
  if (tokens.getRank() != 4 && tokens.getRank() != 3)
    return op.emitOpError(
               "expected tokens of rank 4, batch x kv_heads x new_tokens x "
               "head_dim, or packed ones of rank 3, total x kv_heads x "
               "head_dim, got rank ")
           << tokens.getRank();
  auto verifyAxis = [&](int64_t axis, StringRef name,
                        int64_t expected) -> LogicalResult {
    if (tokens.getDimSize(axis) == expected)
      return success();
    return op.emitOpError("expected tokens with the cache's ")
           << name << " " << expected << ", got "
           << formatExtent(tokens.getDimSize(axis));
  };
  if (!op.isPacked() && failed(verifyAxis(0, "batch", cache.getBatch())))
    return failure();
  if (failed(verifyAxis(1, "kv_heads", cache.getHeads())))
    return failure();
  return verifyAxis(tokens.getRank() - 1, "head_dim", cache.getHeadDim());
}

/// What says which sequence a packed token belongs to, or which slot.
static LogicalResult verifyPacking(AppendOp op) {
  int64_t batch = op.getCache().getType().getBatch();
  Value starts = op.getStarts(), slots = op.getSlots();
  if (!op.isPacked()) {
    if (starts || slots)
      return op.emitOpError("expected packed tokens of rank 3 with ")
             << (starts ? "starts" : "slots") << ", got rank 4";
    return success();
  }
  if (!starts == !slots)
    return op.emitOpError("expected either starts or slots with packed tokens, "
                          "got ")
           << (starts ? "both" : "neither");
  if (op.getCounts())
    return op.emitOpError("counts are given for packed tokens, whose starts or "
                          "slots say where they belong");
  if (starts) {
    int64_t found = cast<RankedTensorType>(starts.getType()).getDimSize(0);
    if (!ShapedType::isDynamic(found) && found != batch + 1)
      return op.emitOpError("expected ") << batch + 1 << " starts for " << batch
                                         << " sequences, got " << found;
    return success();
  }
  int64_t total =
      cast<RankedTensorType>(op.getTokens().getType()).getDimSize(0);
  int64_t found = cast<RankedTensorType>(slots.getType()).getDimSize(0);
  if (!ShapedType::isDynamic(total) && !ShapedType::isDynamic(found) &&
      total != found)
    return op.emitOpError("expected a slot for each of ")
           << total << " tokens, got " << found;
  return success();
}

/// Slots stand for everything else that says where a token lies.
static LogicalResult verifySlots(AppendOp op) {
  CacheType cache = op.getCache().getType();
  if (!cache.isPaged())
    return op.emitOpError("slots are rows of pages: expected a paged cache, "
                          "got ")
           << cache;
  if (cache.getTokenGroup() != 1)
    return op.emitOpError("slots need groups of 1 token, as tokens are stored "
                          "one by one, got groups of ")
           << cache.getTokenGroup();
  if (cache.hasRecentWindow() || cache.getExactFirst() != 0)
    return op.emitOpError("slots need a cache without exact windows, got "
                          "exact_first = ")
           << cache.getExactFirst() << " and a recent window of "
           << cache.getRecentRows() << " tokens";
  for (auto [name, operand] : {std::pair("lengths", op.getLengths()),
                               std::pair("flushed", op.getFlushed()),
                               std::pair("pages", op.getPages())})
    if (operand)
      return op.emitOpError()
             << name << " are given beside slots, which say where tokens lie";
  return success();
}

/// Checks the counts of saturated elements, which are optional.
static LogicalResult verifySaturated(AppendOp op) {
  Value saturated = op.getSaturated(), result = op.getNewSaturated();
  if (!saturated != !result)
    return op.emitOpError("expected as many results as it updates, ")
           << (saturated ? 2 : 1) << ", got " << op->getNumResults();
  if (!saturated)
    return success();
  if (op.getSlots())
    return op.emitOpError("saturated elements are counted for each sequence: "
                          "expected no 'saturated' with slots");
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

/// The position of a token follows from lengths; one with a slot needs it for
/// RoPE.
static LogicalResult verifyPositions(AppendOp op) {
  Value positions = op.getPositions();
  bool areNeeded = op.getSlots() && op.getCos();
  if (areNeeded != bool(positions))
    return op.emitOpError(areNeeded
                              ? "expected positions beside slots, which do not "
                                "say which rows of the tables turn tokens"
                              : "positions are for tokens with slots that RoPE "
                                "turns: expected none without both");
  if (!positions)
    return success();
  int64_t total =
      cast<RankedTensorType>(op.getTokens().getType()).getDimSize(0);
  int64_t found = cast<RankedTensorType>(positions.getType()).getDimSize(0);
  if (ShapedType::isDynamic(total) || ShapedType::isDynamic(found) ||
      total == found)
    return success();
  return op.emitOpError("expected a position for each of ")
         << total << " tokens, got " << found;
}

/// What RoPE turns: the rows of the cache, or those of one of its segments.
static FailureOr<CacheType> getTurned(AppendOp op) {
  CacheType cache = op.getCache().getType();
  std::optional<uint64_t> segment = op.getRopeSegment();
  if (!cache.getSegments() && !segment)
    return cache;
  if (!cache.getSegments())
    return op.emitOpError("rope_segment = ")
           << *segment << " is given for a cache without segments: " << cache;
  if (!segment)
    return op.emitOpError("expected rope_segment, which of the segments RoPE "
                          "turns, for ")
           << cache;
  std::vector<CacheType> segments = cache.getSegmentCaches();
  if (*segment < segments.size())
    return segments[*segment];
  return op.emitOpError("expected a rope_segment below ")
         << segments.size() << ", the number of segments, got " << *segment;
}

/// Keys may be turned before they are stored.
static LogicalResult verifyRope(AppendOp op) {
  if (failed(verifyPositions(op)))
    return failure();
  Value cos = op.getCos();
  if (!cos && op.getRopeSegment())
    return op.emitOpError("rope_segment is given without tables of RoPE");
  CacheType cache = op.getCache().getType();
  if (!cos)
    return verifyRopeTables(op, cos, op.getSin(), op.getRopeStyle(),
                            cache.getHeadDim());
  auto side = op->getAttrOfType<CacheSideAttr>(kSideAttrName);
  if (side && side.getValue() == CacheSide::Values)
    return op.emitOpError("RoPE turns keys only: expected no tables with ")
           << kSideAttrName << " = " << side;
  FailureOr<CacheType> turned = getTurned(op);
  if (failed(turned))
    return failure();
  if (turned->isBeforeRope())
    return op.emitOpError("keys with rope = pre are stored before RoPE: "
                          "expected no tables, got ")
           << *turned;
  if (failed(verifyRopeTables(op, cos, op.getSin(), op.getRopeStyle(),
                              turned->getHeadDim())))
    return failure();
  return verifyRopeRows(op, cache, cos);
}

LogicalResult AppendOp::verify() {
  CacheType cache = getCache().getType();
  if (getResult().getType() != cache)
    return emitOpError("expected the result to be the cache's type ")
           << cache << ", got " << getResult().getType();
  if (failed(verifyTokens(*this)) || failed(verifyPacking(*this)))
    return failure();
  if (getSlots() && failed(verifySlots(*this)))
    return failure();
  if (failed(verifyRope(*this)))
    return failure();
  if (getSlots())
    return verifySaturated(*this);
  if (!getLengths())
    return emitOpError("expected lengths, which only an append to slots does "
                       "without");
  int64_t batch = cache.getBatch();
  if (failed(verifyPerSequence(*this, "lengths", getLengths(), batch)) ||
      failed(verifyPerSequence(*this, "counts", getCounts(), batch)) ||
      failed(verifyPageTable(*this, "pages", cache, getPages())) ||
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
  CacheType expected = destination.withShape(shape);
  if (cache != expected)
    return emitOpError("expected caches that differ only in batch and "
                       "capacity, got ")
           << cache << " into " << destination;
  if (failed(verifyPerSequence(*this, "sources", getSources(),
                               destination.getBatch())) ||
      failed(verifyPerSequence(*this, "shared", getShared(),
                               destination.getBatch())) ||
      failed(verifyPerSequence(*this, "lengths", getLengths(),
                               cache.getBatch())) ||
      failed(verifyPageTable(*this, "pages", cache, getPages())) ||
      failed(verifyPageTable(*this, "to_pages", destination, getToPages())))
    return failure();
  if (getShared() && !cache.isPaged())
    return emitOpError("shared is given for caches without pages");
  return verifyFlushed(*this, "flushed", cache, getFlushed());
}

//===----------------------------------------------------------------------===//
// ShiftOp
//===----------------------------------------------------------------------===//

LogicalResult ShiftOp::verify() {
  CacheType cache = getCache().getType();
  int64_t batch = cache.getBatch();
  if (getResult().getType() != cache)
    return emitOpError("expected the result to be the cache's type ")
           << cache << ", got " << getResult().getType();
  if (cache.isRing())
    return emitOpError("expected a cache without a ring, whose slots follow "
                       "from positions, got ")
           << cache;
  if (failed(verifyPerSequence(*this, "begin", getBegin(), batch)) ||
      failed(verifyPerSequence(*this, "count", getCount(), batch)) ||
      failed(verifyPerSequence(*this, "lengths", getLengths(), batch)) ||
      failed(verifyPageTable(*this, "pages", cache, getPages())) ||
      failed(verifyRopeTables(*this, getCos(), getSin(), getRopeStyle(),
                              cache.getHeadDim())))
    return failure();
  if (getCos() && cache.isBeforeRope())
    return emitOpError("keys before RoPE do not depend on positions: expected "
                       "no tables of RoPE with rope = pre, got ")
           << cache;
  if (getCos() && cache.getSegments())
    return emitOpError("RoPE turns the first channels of rows of one format: "
                       "expected no tables with segments, got ")
           << cache;
  return verifyFlushed(*this, "flushed", cache, getFlushed());
}
