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
  Value createScratch(Type elementType);
  Value trimScratch(Value scratch) {
    return op.getTile() ? extractLeadingRows(builder, loc, scratch, extent)
                        : scratch;
  }

  Value loadRange(ComponentKind kind, Value row);
  Value loadCodes(Value row);
  Value loadMetadata(ComponentKind kind, Value row);
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

Value TileLoader::createScratch(Type elementType) {
  SmallVector<OpFoldResult> shape = {extent,
                                     builder.getIndexAttr(cache.getHeadDim())};
  if (op.getTile())
    shape[0] = builder.getIndexAttr(*op.getTile());
  return tensor::EmptyOp::create(builder, loc, shape, elementType);
}

/// Rows that lie in a component one after the other.
Value TileLoader::loadRange(ComponentKind kind, Value row) {
  return getRows(row, extent).extract(builder, loc, getComponent(kind));
}

Value TileLoader::loadCodes(Value row) {
  Value bytes = loadRange(ComponentKind::Codes, row);
  if (cache.getFormat().getCodeBits() == 8)
    return bytes;
  Value scratch = trimScratch(createScratch(builder.getI8Type()));
  return UnpackOp::create(builder, loc, TypeRange{scratch.getType()},
                          cache.getFormat(), ValueRange{bytes},
                          ValueRange{scratch})
      .getResult(0);
}

Value TileLoader::loadMetadata(ComponentKind kind, Value row) {
  RowSlice rows = getRows(row, extent);
  rows.head = math.div(head, cache.getGroupHeads());
  if (int64_t group = cache.getTokenGroup(); group != 1) {
    rows.row = math.div(row, group);
    rows.count = builder.getIndexAttr(1);
  }
  return rows.extract(builder, loc, getComponent(kind));
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
  Value tile = createScratch(cache.getElementType());
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
  SmallVector<Value> results = {loadCodes(row),
                                loadMetadata(ComponentKind::Scales, row)};
  if (cache.getFormat().getZeroType())
    results.push_back(loadMetadata(ComponentKind::Zeros, row));
  return results;
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
