//===- LoadTile.cpp - Loads from caches to slices of components ----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct LoadTilePattern : OpConversionPattern<LoadTileOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadTileOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

/// A part of a tile: codes, scales, zeros or values.
struct TilePart {
  /// The component that holds it as it is; without one, it is unpacked.
  std::optional<ComponentKind> kind;
  int64_t rowSize;
  Type elementType;
};

/// Builds the loads of one tile.
class TileLoader {
public:
  /// `bound` is the most tokens that `extent` may be, if there is a bound.
  TileLoader(OpBuilder &builder, Location loc, CacheType cache,
             ValueRange components, Value head, OpFoldResult extent,
             std::optional<int64_t> bound)
      : builder(builder), loc(loc), math(builder, loc), cache(cache),
        components(components), head(head), extent(extent), bound(bound) {
    listParts();
  }

  /// Tokens of sequence `batch` from position `begin` on.
  Value loadFirst(Value batch, Value begin);
  Value gatherRecent(Value batch, Value begin);
  /// Quantized tokens (an exact cache's tokens) that lie one after the other.
  SmallVector<Value> loadWithinBlock(const RowPlace &place);
  /// The whole tile of a layout that a row is in; codes as their bytes if
  /// `packed`.
  SmallVector<Value> loadStoredTile(const RowPlace &place, bool packed);
  /// Those of one group, whose codes lie in rows of several tokens.
  SmallVector<Value> loadWithinGroup(const TokenRows &tokenRows, Value row);
  /// Those that may lie apart.
  SmallVector<Value> gatherRuns(const TokenRows &tokenRows, Value row);

private:
  SmallVector<Value> collectParts(const RowPlace &place, OpFoldResult count,
                                  ArrayRef<Value> unpacked);
  Value getComponent(ComponentKind kind) {
    return components[*cache.findComponent(kind)];
  }
  /// Scratch for the tile's rows of one kind: of static size where the tile has
  /// a bound, so that it can live on the stack.
  Value createScratch(int64_t rowSize, Type elementType);
  Value trimScratch(Value scratch) {
    return bound ? extractRows(builder, loc, scratch, builder.getIndexAttr(0),
                               extent)
                 : scratch;
  }
  Value getExtent() {
    return getValueOrCreateConstantIndexOp(builder, loc, extent);
  }

  void listParts();
  Value extractRowsOf(ComponentKind kind, const RowPlace &place,
                      OpFoldResult count, OpBuilder &nested);
  SmallVector<Value> unpackRows(const RowPlace &place, OpFoldResult count,
                                OpBuilder &nested,
                                llvm::function_ref<Value(unsigned)> getTarget);
  Value gatherTiledRows(ComponentKind kind, const RowPlace &place,
                        OpFoldResult count, OpBuilder &nested);
  Value extractTile(ComponentKind kind, Value batch, Value index);
  Value unpackTile(Value bytes);

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  CacheType cache;
  ValueRange components;
  Value head;
  /// Tokens of the tile.
  OpFoldResult extent;
  std::optional<int64_t> bound;
  SmallVector<TilePart> parts;
  /// The components that are unpacked.
  SmallVector<ComponentKind> packed;
};

} // namespace

Value TileLoader::createScratch(int64_t rowSize, Type elementType) {
  SmallVector<OpFoldResult> shape = {extent, builder.getIndexAttr(rowSize)};
  if (bound)
    shape[0] = builder.getIndexAttr(*bound);
  return tensor::EmptyOp::create(builder, loc, shape, elementType);
}

/// Tokens whose rows are their positions.
Value TileLoader::loadFirst(Value batch, Value begin) {
  return RowSlice{batch, head, begin, extent}.extract(
      builder, loc, getComponent(ComponentKind::First));
}

/// Tokens of the recent window may wrap round the end of its ring, so they are
/// copied row by row.
Value TileLoader::gatherRecent(Value batch, Value begin) {
  Value ring = getComponent(ComponentKind::Recent);
  OpFoldResult one = builder.getIndexAttr(1);
  auto copyRow = [&](OpBuilder &nested, Location loc, Value i, Value target) {
    IndexMath math(nested, loc);
    Value slot = getRingSlot(math, cache, math.add(begin, i));
    Value source = RowSlice{batch, head, slot, one}.extract(nested, loc, ring);
    return linalg::CopyOp::create(nested, loc, source, target).getResult(0);
  };
  Value tile = createScratch(cache.getHeadDim(), cache.getElementType());
  return trimScratch(
      fillRows(builder, loc, tile, math.constant(0), getExtent(), copyRow));
}

/// Says what a tile of quantized tokens (of an exact cache's tokens) consists
/// of.
void TileLoader::listParts() {
  FormatInterface format = cache.getFormat();
  int64_t headDim = cache.getHeadDim();
  RowLayout layout = cache.getRowLayout();
  if (format.isExact()) {
    bool inRecords = layout.records.exists();
    parts = {{inRecords ? std::nullopt : std::optional(ComponentKind::Values),
              headDim, cache.getElementType()}};
    if (inRecords)
      packed.push_back(ComponentKind::Records);
    return;
  }
  int64_t groups = headDim / format.getGroupChannels(headDim);
  auto add = [&](ComponentKind kind, bool isPacked, int64_t rowSize,
                 Type type) {
    parts.push_back(
        {isPacked ? std::nullopt : std::optional(kind), rowSize, type});
  };
  bool isPacked = !layout.isUnpacked();
  add(ComponentKind::Codes, isPacked, headDim, builder.getI8Type());
  // A static range is no part of a tile.
  if (!format.hasStaticRange())
    add(ComponentKind::Scales, layout.storesScales(), groups,
        format.getScaleType());
  if (Type zero = format.getZeroType(); zero && !format.hasStaticRange())
    add(ComponentKind::Zeros, layout.storesZeros(), groups, zero);
  if (isPacked && layout.codes.exists())
    packed.push_back(ComponentKind::Codes);
  if (layout.records.exists())
    packed.push_back(ComponentKind::Records);
}

/// `count` rows of a component that lies in tiles, one after the other.
Value TileLoader::gatherTiledRows(ComponentKind kind, const RowPlace &place,
                                  OpFoldResult count, OpBuilder &nested) {
  Value component = getComponent(kind);
  IndexMath math(nested, loc);
  RowSlice first = getGroupSlice(math, cache, place, head, kind);
  auto type = cast<RankedTensorType>(
      first.extractTarget(nested, loc, component).getType());
  auto copyRow = [&](OpBuilder &nested, Location loc, Value i, Value target) {
    RowSlice row = first;
    row.row = IndexMath(nested, loc).add(place.row, i);
    Value source = row.extract(nested, loc, component);
    return linalg::CopyOp::create(nested, loc, source, target).getResult(0);
  };
  Value scratch = createScratch(type.getDimSize(1), type.getElementType());
  Value rows =
      fillRows(nested, loc, scratch, math.constant(0),
               getValueOrCreateConstantIndexOp(nested, loc, count), copyRow);
  // A run may be a part of the tile.
  bool isAll = !bound && count == extent;
  return isAll ? rows
               : extractRows(nested, loc, rows, nested.getIndexAttr(0), count);
}

/// Tile `index` of a component that lies in tiles.
Value TileLoader::extractTile(ComponentKind kind, Value batch, Value index) {
  Value component = getComponent(kind);
  auto type = cast<RankedTensorType>(component.getType());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {batch, head, index}, sizes(3, one);
  for (int64_t extent : type.getShape().drop_front(3)) {
    offsets.push_back(zero);
    sizes.push_back(builder.getIndexAttr(extent));
  }
  SmallVector<OpFoldResult> strides(offsets.size(), one);
  return tensor::ExtractSliceOp::create(
      builder, loc,
      RankedTensorType::get(type.getShape().drop_front(3),
                            type.getElementType()),
      component, offsets, sizes, strides);
}

/// The codes of a tile's `bytes`, in its order. Bytes that lie together are as
/// one long row: planes of all its codes are planes of each row.
Value TileLoader::unpackTile(Value bytes) {
  TileOrder order = cache.getTileOrder();
  SmallVector<int64_t> shape = order.getShape(cache.getHeadDim());
  Type byte = builder.getI8Type();
  bool isOneRow = order.kind == TileKind::ChannelPairs;
  int64_t rows = isOneRow ? 1 : shape[0];
  int64_t size = shape[0] * shape[1] * shape[2] / rows;
  SmallVector<ReassociationIndices> all = {{0, 1, 2}}, last = {{0}, {1, 2}};
  SmallVector<ReassociationIndices> unit = {{0, 1}};
  bytes = tensor::CollapseShapeOp::create(builder, loc, bytes,
                                          isOneRow ? all : last);
  if (isOneRow) {
    int64_t count = cast<RankedTensorType>(bytes.getType()).getDimSize(0);
    bytes = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get({1, count}, byte), bytes, unit);
  }
  Value scratch = tensor::EmptyOp::create(builder, loc, {rows, size}, byte);
  Value codes = UnpackOp::create(builder, loc, scratch.getType(),
                                 cache.withoutTiles().getFormat().getCore(),
                                 bytes, scratch)
                    .getResult(0);
  if (isOneRow)
    codes = tensor::CollapseShapeOp::create(builder, loc, codes, unit);
  return tensor::ExpandShapeOp::create(builder, loc,
                                       RankedTensorType::get(shape, byte),
                                       codes, isOneRow ? all : last);
}

SmallVector<Value> TileLoader::loadStoredTile(const RowPlace &place,
                                              bool packed) {
  Value index = math.div(place.row, cache.getTileOrder().tokens);
  SmallVector<Value> tile;
  for (ComponentKind kind : getTokenComponents(cache))
    tile.push_back(extractTile(kind, place.block, index));
  if (!packed && !cache.getRowLayout().isUnpacked())
    tile.front() = unpackTile(tile.front());
  return tile;
}

/// The rows of a component for `count` tokens from `place` on.
Value TileLoader::extractRowsOf(ComponentKind kind, const RowPlace &place,
                                OpFoldResult count, OpBuilder &nested) {
  IndexMath math(nested, loc);
  if (liesInTiles(cache, kind))
    return gatherTiledRows(kind, place, count, nested);
  RowSlice rows = getGroupSlice(math, cache, place, head, kind);
  // One row of metadata serves all tokens of a group of several.
  if (cache.getRowTokens(kind) == 1)
    rows.count = count;
  return rows.extract(nested, loc, getComponent(kind));
}

/// What `count` tokens from `place` on hold in packed components, unpacked into
/// `getTarget` of each part that is.
SmallVector<Value>
TileLoader::unpackRows(const RowPlace &place, OpFoldResult count,
                       OpBuilder &nested,
                       llvm::function_ref<Value(unsigned)> getTarget) {
  if (packed.empty())
    return {};
  SmallVector<Value> sources, targets;
  for (ComponentKind kind : packed)
    sources.push_back(extractRowsOf(kind, place, count, nested));
  for (auto [index, part] : llvm::enumerate(parts))
    if (!part.kind)
      targets.push_back(getTarget(index));
  auto unpack = UnpackOp::create(nested, loc, TypeRange(ValueRange(targets)),
                                 cache.getFormat().getCore(), sources, targets);
  return llvm::to_vector_of<Value>(unpack.getResults());
}

/// Tokens that lie one after the other: slices of storage, but for what has to
/// be unpacked.
SmallVector<Value> TileLoader::loadWithinBlock(const RowPlace &place) {
  auto createTarget = [&](unsigned index) -> Value {
    const TilePart &part = parts[index];
    bool isOneRow = index != 0 && cache.getTokenGroup() != 1;
    if (isOneRow)
      return tensor::EmptyOp::create(builder, loc, {1, part.rowSize},
                                     part.elementType);
    return trimScratch(createScratch(part.rowSize, part.elementType));
  };
  SmallVector<Value> unpacked =
      unpackRows(place, extent, builder, createTarget);
  return collectParts(place, extent, unpacked);
}

/// The parts of a tile: those with components of their own, `count` tokens of
/// them, and those that were unpacked.
SmallVector<Value> TileLoader::collectParts(const RowPlace &place,
                                            OpFoldResult count,
                                            ArrayRef<Value> unpacked) {
  SmallVector<Value> tile;
  for (const TilePart &part : parts)
    tile.push_back(part.kind ? extractRowsOf(*part.kind, place, count, builder)
                             : unpacked.consume_front());
  return tile;
}

/// The rows of the whole group, which are there, are unpacked into scratch.
SmallVector<Value> TileLoader::loadWithinGroup(const TokenRows &tokenRows,
                                               Value row) {
  int64_t group = cache.getTokenGroup();
  Value first = math.alignDown(row, group);
  RowPlace place = tokenRows.locate(builder, loc, first);
  OpFoldResult one = builder.getIndexAttr(1);
  auto createTarget = [&](unsigned index) -> Value {
    return tensor::EmptyOp::create(
        builder, loc, {index == 0 ? group : 1, parts[index].rowSize},
        parts[index].elementType);
  };
  SmallVector<Value> unpacked = unpackRows(place, one, builder, createTarget);
  unpacked.front() =
      extractRows(builder, loc, unpacked.front(), math.sub(row, first), extent);
  return collectParts(place, one, unpacked);
}

/// Tokens that may lie apart: their rows are copied run by run, packed ones
/// unpacked on the way.
SmallVector<Value> TileLoader::gatherRuns(const TokenRows &tokenRows,
                                          Value row) {
  SmallVector<Value> scratch;
  for (const TilePart &part : parts)
    scratch.push_back(createScratch(part.rowSize, part.elementType));
  auto copyRun = [&](OpBuilder &nested, Location loc, Value first, Value count,
                     ValueRange carried) {
    IndexMath math(nested, loc);
    RowPlace place = tokenRows.locate(nested, loc, first);
    Value offset = math.sub(first, row);
    auto getTarget = [&](unsigned index) {
      return extractRows(nested, loc, carried[index], offset, count);
    };
    SmallVector<Value> unpacked = unpackRows(place, count, nested, getTarget);
    ArrayRef<Value> rest = unpacked;
    SmallVector<Value> tile;
    for (auto [index, part] : llvm::enumerate(parts)) {
      Value filled;
      if (part.kind) {
        Value source = extractRowsOf(*part.kind, place, count, nested);
        filled = linalg::CopyOp::create(nested, loc, source, getTarget(index))
                     .getResult(0);
      } else {
        filled = rest.consume_front();
      }
      tile.push_back(
          insertRows(nested, loc, filled, carried[index], offset, count));
    }
    return tile;
  };
  SmallVector<Value> tile = tokenRows.forEachRun(
      builder, loc, row, math.add(row, getExtent()), scratch, copyRun);
  for (Value &part : tile)
    part = trimScratch(part);
  return tile;
}

SmallVector<Value> kvq::loadGroup(OpBuilder &builder, Location loc,
                                  CacheType cache, ValueRange components,
                                  const RowPlace &place, Value head) {
  return TileLoader(builder, loc, cache, components, head,
                    builder.getIndexAttr(cache.getTokenGroup()),
                    /*bound=*/std::nullopt)
      .loadWithinBlock(place);
}

static SmallVector<Value> loadTile(OpBuilder &builder, LoadTileOp op,
                                   LoadTilePattern::OneToNOpAdaptor adaptor) {
  Location loc = op.getLoc();
  IndexMath math(builder, loc);
  CacheType cache = op.getCache().getType();
  Value batch = adaptor.getBatch().front(), begin = adaptor.getBegin().front();
  std::optional<int64_t> bound;
  if (op.getTile())
    bound = *op.getTile();
  TileLoader loader(builder, loc, cache, adaptor.getCache(),
                    adaptor.getHead().front(),
                    math.sub(adaptor.getEnd().front(), begin), bound);
  if (op.getRegion() == TokenRegion::First)
    return {loader.loadFirst(batch, begin)};
  if (op.getRegion() == TokenRegion::Recent)
    return {loader.gatherRecent(batch, begin)};
  TokenRows tokenRows(cache, batch, getOptional(adaptor.getPages()));
  Value row = math.sub(begin, cache.getExactFirst());
  if (op.getAsTile())
    return loader.loadStoredTile(tokenRows.locate(builder, loc, row),
                                 op.getPacked());
  // A tile of groups of several tokens lies within one of them.
  if (!cache.getFormat().isExact() && cache.getRowLayout().getCodeTokens() != 1)
    return loader.loadWithinGroup(tokenRows, row);
  if (tokenRows.areScattered() && cache.getTokenGroup() == 1 &&
      !op.getWithinPage())
    return loader.gatherRuns(tokenRows, row);
  return loader.loadWithinBlock(tokenRows.locate(builder, loc, row));
}

LogicalResult
LoadTilePattern::matchAndRewrite(LoadTileOp op, OneToNOpAdaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  rewriter.replaceOp(op, loadTile(rewriter, op, adaptor));
  return success();
}

namespace {

struct LoadGivenPattern : OpConversionPattern<LoadGivenOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadGivenOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    CacheType cache = op.getCache().getType();
    unsigned index = *cache.findComponent(op.getComponent());
    rewriter.replaceOp(op, extractGivenRow(rewriter, op.getLoc(), cache,
                                           adaptor.getCache()[index],
                                           adaptor.getHead().front()));
    return success();
  }
};

} // namespace

void kvq::populateLoadTilePatterns(const TypeConverter &converter,
                                   RewritePatternSet &patterns) {
  patterns.add<LoadTilePattern, LoadGivenPattern>(converter,
                                                  patterns.getContext());
}
