//===- LoadTile.cpp - kvq.load_tile to slices of components --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

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

/// Builds the loads of one tile.
class TileLoader {
public:
  TileLoader(OpBuilder &builder, LoadTileOp op,
             LoadTilePattern::OneToNOpAdaptor adaptor)
      : builder(builder), loc(op.getLoc()), math(builder, loc), op(op),
        cache(op.getCache().getType()), components(adaptor.getCache()),
        batch(adaptor.getBatch().front()), head(adaptor.getHead().front()),
        begin(adaptor.getBegin().front()),
        extent(math.sub(adaptor.getEnd().front(), begin)) {}

  SmallVector<Value> load();

private:
  Value getComponent(ComponentKind kind) {
    return components[*cache.findComponent(kind)];
  }
  RowSlice getRows(Value row, OpFoldResult count) {
    return {batch, head, row, count};
  }
  /// Scratch that holds the tile's rows: of static size where the tile has a
  /// bound, so that it can live on the stack.
  Value createScratch(int64_t rowSize, Type elementType);
  Value trimScratch(Value scratch) {
    return op.getTile() ? extractLeadingRows(builder, loc, scratch, extent)
                        : scratch;
  }
  Value createTrimmedScratch(int64_t rowSize, Type elementType) {
    return trimScratch(createScratch(rowSize, elementType));
  }

  Value loadRange(ComponentKind kind, Value row);
  Value loadMetadata(ComponentKind kind, Value row);
  SmallVector<Value> loadCodes(Value row);
  Value gatherRecent();

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  LoadTileOp op;
  CacheType cache;
  ValueRange components;
  Value batch, head, begin;
  /// Tokens of the tile.
  Value extent;
};

} // namespace

Value TileLoader::createScratch(int64_t rowSize, Type elementType) {
  SmallVector<OpFoldResult> shape = {extent, builder.getIndexAttr(rowSize)};
  if (op.getTile())
    shape[0] = builder.getIndexAttr(*op.getTile());
  return tensor::EmptyOp::create(builder, loc, shape, elementType);
}

/// Rows that lie in a component one after the other.
Value TileLoader::loadRange(ComponentKind kind, Value row) {
  return getRows(row, extent).extract(builder, loc, getComponent(kind));
}

/// Rows of metadata, or of records of them: one for each token, or for the
/// group that all of the tile lies in.
Value TileLoader::loadMetadata(ComponentKind kind, Value row) {
  int64_t group = cache.getTokenGroup();
  if (group == 1)
    return loadRange(kind, row);
  return getRows(math.div(row, group), builder.getIndexAttr(1))
      .extract(builder, loc, getComponent(kind));
}

/// Codes, scales and zeros: unpacked into scratch, unless they lie in memory as
/// they are.
SmallVector<Value> TileLoader::loadCodes(Value row) {
  FormatInterface format = cache.getFormat();
  int64_t headDim = cache.getHeadDim();
  int64_t groups = headDim / format.getGroupChannels(headDim);
  RowLayout layout = format.getRowLayout(headDim);
  SmallVector<Value> packed;
  if (layout.codes.exists())
    packed.push_back(loadRange(ComponentKind::Codes, row));
  if (layout.records.exists())
    packed.push_back(loadMetadata(ComponentKind::Records, row));
  SmallVector<Value> loaded = packed;
  if (!layout.isUnpacked()) {
    SmallVector<Value> scratch = {createTrimmedScratch(headDim, builder.getI8Type())};
    auto addMetadata = [&](Type type) {
      // One row serves all tokens of several.
      if (cache.getTokenGroup() == 1)
        scratch.push_back(createTrimmedScratch(groups, type));
      else
        scratch.push_back(
            tensor::EmptyOp::create(builder, loc, {1, groups}, type));
    };
    if (layout.storesScales())
      addMetadata(format.getScaleType());
    if (layout.storesZeros())
      addMetadata(format.getZeroType());
    loaded = UnpackOp::create(builder, loc, TypeRange(ValueRange(scratch)),
                              format, packed, scratch)
                 .getResults();
  }
  SmallVector<Value> results = {loaded.front()};
  ArrayRef<Value> stored = ArrayRef(loaded).drop_front();
  auto takeMetadata = [&](ComponentKind kind, bool isStored) {
    results.push_back(isStored ? stored.consume_front()
                               : loadMetadata(kind, row));
  };
  takeMetadata(ComponentKind::Scales, layout.storesScales());
  if (format.getZeroType())
    takeMetadata(ComponentKind::Zeros, layout.storesZeros());
  return results;
}

/// Tokens of the recent window may wrap round the end of its ring, so they are
/// copied row by row.
Value TileLoader::gatherRecent() {
  Value ring = getComponent(ComponentKind::Recent);
  OpFoldResult one = builder.getIndexAttr(1);
  auto copyRow = [&](OpBuilder &nested, Location loc, Value i, Value target) {
    IndexMath math(nested, loc);
    Value slot = getRingSlot(math, cache, math.add(begin, i));
    Value source = getRows(slot, one).extract(nested, loc, ring);
    return linalg::CopyOp::create(nested, loc, source, target).getResult(0);
  };
  Value tile = createScratch(cache.getHeadDim(), cache.getElementType());
  return trimScratch(
      fillRows(builder, loc, tile, math.constant(0), extent, copyRow));
}

SmallVector<Value> TileLoader::load() {
  if (op.getRegion() == TokenRegion::First)
    return {loadRange(ComponentKind::First, begin)};
  if (op.getRegion() == TokenRegion::Recent)
    return {gatherRecent()};
  Value row = math.sub(begin, cache.getExactFirst());
  if (cache.getFormat().isExact())
    return {loadRange(ComponentKind::Values, row)};
  return loadCodes(row);
}

LogicalResult
LoadTilePattern::matchAndRewrite(LoadTileOp op, OneToNOpAdaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  rewriter.replaceOp(op, TileLoader(rewriter, op, adaptor).load());
  return success();
}

void kvq::populateLoadTilePatterns(const TypeConverter &converter,
                                   RewritePatternSet &patterns) {
  patterns.add<LoadTilePattern>(converter, patterns.getContext());
}
