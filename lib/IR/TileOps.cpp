//===- TileOps.cpp - Verifiers of the tile-level ops ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "kvq/IR/CodePlanes.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// PartialAttentionOp
//===----------------------------------------------------------------------===//

MutableOperandRange PartialAttentionOp::getDpsInitsMutable() {
  // acc, max and sum are consecutive operands.
  return MutableOperandRange(getOperation(), getAccMutable().getOperandNumber(),
                             3);
}

/// The query tokens that rows are of, and where they stand.
static LogicalResult verifyPositions(PartialAttentionOp op, int64_t rows) {
  if (failed(verifyQueryTokens(op, rows, op.getQueryTokens(),
                               op.getWindowAttr(), op.getWindowFirstAttr())))
    return failure();
  bool needsPosition = op.getSlopes() || op.hidesByPosition();
  if (needsPosition && !op.getPosition())
    return op.emitOpError(
        "expected a position, that of the first query token, for slopes, "
        "causal or a window");
  if (!needsPosition && op.getPosition())
    return op.emitOpError("expected no position without slopes, causal and a "
                          "window");
  return success();
}

LogicalResult PartialAttentionOp::verify() {
  auto query = cast<RankedTensorType>(getQuery().getType());
  auto acc = cast<RankedTensorType>(getAcc().getType());
  if (query.getRank() != 2 || !query.hasStaticShape() ||
      !query.getElementType().isF32())
    return emitOpError("expected a static f32 query, rows x head_dim, got ")
           << query;
  int64_t rows = query.getDimSize(0);
  if (query.getDimSize(1) != getKey().getType().getHeadDim())
    return emitOpError("expected a query with the keys' head_dim ")
           << getKey().getType().getHeadDim() << ", got "
           << query.getDimSize(1);
  CacheType key = getKey().getType(), value = getValue().getType();
  if (failed(verifyAssignedLayout(*this, key)) ||
      failed(verifyAssignedLayout(*this, value)))
    return failure();
  for (auto [axis, name] : {std::pair(0, "batch"), std::pair(1, "kv_heads")})
    if (key.getShape()[axis] != value.getShape()[axis])
      return emitOpError("expected values with the keys' ")
             << name << " " << key.getShape()[axis] << ", got "
             << value.getShape()[axis];
  FailureOr<int64_t> valueChannels =
      verifyValueChannels(*this, value, value.getHeadDim(), getValueChannels());
  if (failed(valueChannels))
    return failure();
  SmallVector<int64_t> accShape = {rows, *valueChannels};
  if (acc.getShape() != ArrayRef(accShape))
    return emitOpError("expected an accumulator of ")
           << accShape[0] << " x " << accShape[1] << ", got " << acc;
  for (Value state : {getMax(), getSum()})
    if (cast<RankedTensorType>(state.getType()).getDimSize(0) != rows)
      return emitOpError("expected a maximum and a sum for ")
             << rows << " rows, got " << state.getType();
  for (auto [name, perRow] :
       {std::pair("a bias", getBias()), std::pair("slopes", getSlopes())})
    if (perRow &&
        cast<RankedTensorType>(perRow.getType()).getDimSize(0) != rows)
      return emitOpError("expected ")
             << name << " for " << rows << " rows, got " << perRow.getType();
  if (failed(verifyPositions(*this, rows)))
    return failure();
  if (failed(verifyRowMask(*this, getMask(), rows, getQueryTokens())))
    return failure();
  for (auto [init, result] : llvm::zip_equal(getDpsInits(), getResults()))
    if (init.getType() != result.getType())
      return emitOpError("expected a result of type ")
             << init.getType() << ", got " << result.getType();
  if (getKeyRegion().has_value() != getValueRegion().has_value())
    return emitOpError("expected both key_region and value_region or neither");
  // Signed, unlike what getTile() returns.
  if (IntegerAttr tile = getTileAttr(); tile && tile.getInt() < 1)
    return emitOpError("expected a tile of at least 1 token, got ")
           << tile.getInt();
  if (failed(verifyKeyRope(*this, key, getCos(), getSin(), getRopeStyle())))
    return failure();
  if (failed(verifyPageTable(*this, "key_pages", key, getKeyPages())) ||
      failed(verifyPageTable(*this, "value_pages", value, getValuePages())))
    return failure();
  if (failed(verifyQueryCodes(*this, getQueryCodesAttr(), key, value)))
    return failure();
  auto hasPages = [](CacheType cache, std::optional<TokenRegion> region) {
    return region && (LoadTileOp::hasPages(cache, *region) ||
                      LoadTileOp::hasTiles(cache, *region));
  };
  if (getWithinPages() && !hasPages(key, getKeyRegion()) &&
      !hasPages(value, getValueRegion()))
    return emitOpError("within_pages is given for tokens of regions without "
                       "pages");
  return success();
}

//===----------------------------------------------------------------------===//
// MergePartialsOp
//===----------------------------------------------------------------------===//

LogicalResult MergePartialsOp::verify() {
  constexpr StringRef kNames[] = {"acc", "max", "sum"};
  for (auto [what, count] : {std::pair("inputs", getInputs().size()),
                             std::pair("outputs", getInits().size()),
                             std::pair("results", getResults().size())})
    if (count != 3)
      return emitOpError("expected acc, max and sum as ")
             << what << ", got " << count << " " << what;
  auto acc = cast<RankedTensorType>(getInputs().front().getType());
  if (acc.getRank() < 2)
    return emitOpError("expected partial accumulators of rank 2 or more, "
                       "splits x ... x head_dim, got ")
           << acc;
  ArrayRef<int64_t> partialRows = acc.getShape().drop_back();
  for (auto [i, name] : llvm::enumerate(kNames)) {
    auto input = cast<RankedTensorType>(getInputs()[i].getType());
    auto init = cast<RankedTensorType>(getInits()[i].getType());
    if (i != 0 && input.getShape() != partialRows)
      return emitOpError("expected the ")
             << name << " of " << acc << " without head_dim, got " << input;
    if (input.getShape().drop_front() != init.getShape())
      return emitOpError("expected the output ")
             << name << " of " << input << " without splits, got " << init;
    if (getResults()[i].getType() != init)
      return emitOpError("expected a result of type ")
             << init << ", got " << getResults()[i].getType();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// LoadTileOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyOneSegment(Operation *op, CacheType cache) {
  if (!cache.getSegments())
    return success();
  return op->emitOpError("expected one segment of the cache, got ")
         << cache << " (see kvq.extract_segment)";
}

bool LoadTileOp::hasCodes(CacheType cache, TokenRegion region) {
  return region == TokenRegion::Codes && !cache.getFormat().isExact();
}

bool LoadTileOp::hasPages(CacheType cache, TokenRegion region) {
  return region == TokenRegion::Codes && cache.isPaged();
}

bool LoadTileOp::hasTiles(CacheType cache, TokenRegion region) {
  return region == TokenRegion::Codes && cache.getTileOrder().exists();
}

/// The types of a whole tile in the order of its layout.
static SmallVector<Type> getStoredTileTypes(CacheType cache, bool packed) {
  FormatInterface format = cache.getFormat();
  TileOrder tile = cache.getTileOrder();
  int64_t headDim = cache.getHeadDim();
  SmallVector<int64_t> metadata = {headDim / format.getGroupChannels(headDim),
                                   tile.tokens};
  int64_t rowSize = packed ? headDim / CodePlanes::get(cache)->count : headDim;
  SmallVector<Type> types = {
      RankedTensorType::get(tile.getShape(rowSize),
                            IntegerType::get(cache.getContext(), 8)),
      RankedTensorType::get(metadata, format.getScaleType())};
  if (Type zero = format.getZeroType())
    types.push_back(RankedTensorType::get(metadata, zero));
  return types;
}

SmallVector<Type> LoadTileOp::getTileTypes(CacheType cache, TokenRegion region,
                                           bool asTile, bool packed) {
  if (asTile)
    return getStoredTileTypes(cache, packed);
  int64_t headDim = cache.getHeadDim();
  constexpr int64_t kDynamic = ShapedType::kDynamic;
  if (!hasCodes(cache, region))
    return {RankedTensorType::get({kDynamic, headDim}, cache.getElementType())};
  FormatInterface format = cache.getFormat();
  int64_t rows = format.getGroupTokens() == 1 ? kDynamic : 1;
  int64_t groups = headDim / format.getGroupChannels(headDim);
  SmallVector<Type> types = {RankedTensorType::get(
      {kDynamic, headDim}, IntegerType::get(cache.getContext(), 8))};
  if (format.hasStaticRange())
    return types;
  types.push_back(RankedTensorType::get({rows, groups}, format.getScaleType()));
  if (Type zero = format.getZeroType())
    types.push_back(RankedTensorType::get({rows, groups}, zero));
  return types;
}

LogicalResult LoadTileOp::verify() {
  CacheType cache = getCache().getType();
  if (failed(verifyOneSegment(*this, cache)) ||
      failed(verifyAssignedLayout(*this, cache)))
    return failure();
  if (getRegion() == TokenRegion::First && cache.getExactFirst() == 0)
    return emitOpError("the cache has no region 'first': exact_first is 0");
  if (getRegion() == TokenRegion::Recent && !cache.hasRecentWindow())
    return emitOpError("the cache has no region 'recent'");
  if (IntegerAttr tile = getTileAttr(); tile && tile.getInt() < 1)
    return emitOpError("expected a tile of at least 1 token, got ")
           << tile.getInt();
  if (getAsTile() && (!hasTiles(cache, getRegion()) || !getWithinPage()))
    return emitOpError(
        "as_tile needs a range within_page, of codes that lie in "
        "tiles");
  if (getPacked() && (!getAsTile() || !CodePlanes::get(cache)))
    return emitOpError(
        "packed needs a range as_tile, of codes of which several "
        "share a byte");
  SmallVector<Type> expected =
      getTileTypes(cache, getRegion(), getAsTile(), getPacked());
  if (!llvm::equal(expected, getResultTypes()))
    return emitOpError("expected tile types ")
           << expected << ", got " << getResultTypes();
  if (hasPages(cache, getRegion()))
    return verifyPageTable(*this, "pages", cache, getPages());
  if (getWithinPage() && !hasTiles(cache, getRegion()))
    return emitOpError("within_page is given for a region without pages, '")
           << stringifyTokenRegion(getRegion()) << "'";
  if (getPages())
    return emitOpError("pages are given for a region without pages, '")
           << stringifyTokenRegion(getRegion()) << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// LoadGivenOp
//===----------------------------------------------------------------------===//

RankedTensorType LoadGivenOp::getRowType(const StorageComponent &component) {
  return RankedTensorType::get({1, component.shape.back()},
                               component.elementType);
}

void LoadGivenOp::build(OpBuilder &builder, OperationState &state, Value cache,
                        ComponentKind component, Value head) {
  auto type = cast<CacheType>(cache.getType());
  unsigned index = *type.findComponent(component);
  build(builder, state, getRowType(type.getComponents()[index]), cache,
        component, head);
}

LogicalResult LoadGivenOp::verify() {
  CacheType cache = getCache().getType();
  if (failed(verifyOneSegment(*this, cache)))
    return failure();
  std::optional<unsigned> index = cache.findComponent(getComponent());
  if (!index || !cache.getComponents()[*index].given)
    return emitOpError("the cache has no given component '")
           << stringifyComponentKind(getComponent()) << "'";
  RankedTensorType expected = getRowType(cache.getComponents()[*index]);
  if (getRow().getType() != expected)
    return emitOpError("expected a row of type ")
           << expected << ", got " << getRow().getType();
  return success();
}
