//===- LoadTile.cpp - Loads from caches to slices of components ----------===//
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
        extent(math.sub(adaptor.getEnd().front(), begin)),
        tokenRows(cache, batch, getOptional(adaptor.getPages())) {}

  SmallVector<Value> load();

private:
  Value getComponent(ComponentKind kind) {
    return components[*cache.findComponent(kind)];
  }
  bool isPacked() { return cache.getFormat().getCodeBits() < 8; }
  /// Scratch for the tile's rows of a component: of static size where the tile
  /// has a bound, so that it can live on the stack.
  Value createScratch(int64_t rowSize, Type elementType);
  Value trimScratch(Value scratch) {
    return op.getTile() ? extractRows(builder, loc, scratch,
                                      builder.getIndexAttr(0), extent)
                        : scratch;
  }

  Value loadFirst();
  Value gatherRecent();
  SmallVector<Value> loadWithinBlock(ArrayRef<ComponentKind> kinds, Value row);
  SmallVector<Value> gatherRuns(ArrayRef<ComponentKind> kinds, Value row);

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  LoadTileOp op;
  CacheType cache;
  ValueRange components;
  Value batch, head, begin;
  /// Tokens of the tile.
  Value extent;
  TokenRows tokenRows;
};

} // namespace

Value TileLoader::createScratch(int64_t rowSize, Type elementType) {
  SmallVector<OpFoldResult> shape = {extent, builder.getIndexAttr(rowSize)};
  if (op.getTile())
    shape[0] = builder.getIndexAttr(*op.getTile());
  return tensor::EmptyOp::create(builder, loc, shape, elementType);
}

/// Tokens whose rows are their positions.
Value TileLoader::loadFirst() {
  return RowSlice{batch, head, begin, extent}.extract(
      builder, loc, getComponent(ComponentKind::First));
}

/// Tokens of the recent window may wrap round the end of its ring, so they are
/// copied row by row.
Value TileLoader::gatherRecent() {
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
      fillRows(builder, loc, tile, math.constant(0), extent, copyRow));
}

/// Unpacks `bytes` into `target`, one code a byte.
static Value unpack(OpBuilder &builder, Location loc, CacheType cache,
                    Value bytes, Value target) {
  return UnpackOp::create(builder, loc, TypeRange{target.getType()},
                          cache.getFormat().getCore(), ValueRange{bytes},
                          ValueRange{target})
      .getResult(0);
}

/// Tokens that lie one after the other: slices of storage, but for codes that
/// have to be unpacked.
SmallVector<Value> TileLoader::loadWithinBlock(ArrayRef<ComponentKind> kinds,
                                               Value row) {
  RowPlace place = tokenRows.locate(builder, loc, row);
  int64_t group = cache.getTokenGroup();
  SmallVector<Value> tile;
  for (ComponentKind kind : kinds) {
    RowSlice rows = getGroupSlice(math, cache, place, head, kind);
    if (group == 1 || !isMetadata(kind))
      rows.count = extent;
    tile.push_back(rows.extract(builder, loc, getComponent(kind)));
    if (kind == ComponentKind::Codes && isPacked())
      tile.back() = unpack(
          builder, loc, cache, tile.back(),
          trimScratch(createScratch(cache.getHeadDim(), builder.getI8Type())));
  }
  return tile;
}

/// Tokens that may lie apart: their rows are copied run by run, codes unpacked
/// on the way.
SmallVector<Value> TileLoader::gatherRuns(ArrayRef<ComponentKind> kinds,
                                          Value row) {
  SmallVector<Value> scratch;
  for (ComponentKind kind : kinds) {
    auto type = cast<RankedTensorType>(getComponent(kind).getType());
    int64_t rowSize =
        kind == ComponentKind::Codes ? cache.getHeadDim() : type.getDimSize(3);
    scratch.push_back(createScratch(rowSize, type.getElementType()));
  }
  auto copyRun = [&](OpBuilder &nested, Location loc, Value first, Value count,
                     ValueRange carried) {
    IndexMath math(nested, loc);
    RowPlace place = tokenRows.locate(nested, loc, first);
    Value offset = math.sub(first, row);
    SmallVector<Value> tile(carried);
    for (auto [kind, part] : llvm::zip_equal(kinds, tile)) {
      RowSlice run = getGroupSlice(math, cache, place, head, kind);
      run.count = count;
      Value source = run.extract(nested, loc, getComponent(kind));
      Value target = extractRows(nested, loc, part, offset, count);
      Value filled = kind == ComponentKind::Codes && isPacked()
                         ? unpack(nested, loc, cache, source, target)
                         : linalg::CopyOp::create(nested, loc, source, target)
                               .getResult(0);
      part = insertRows(nested, loc, filled, part, offset, count);
    }
    return tile;
  };
  SmallVector<Value> tile = tokenRows.forEachRun(
      builder, loc, row, math.add(row, extent), scratch, copyRun);
  for (Value &part : tile)
    part = trimScratch(part);
  return tile;
}

SmallVector<Value> TileLoader::load() {
  if (op.getRegion() == TokenRegion::First)
    return {loadFirst()};
  if (op.getRegion() == TokenRegion::Recent)
    return {gatherRecent()};
  Value row = math.sub(begin, cache.getExactFirst());
  SmallVector<ComponentKind> kinds = getTokenComponents(cache);
  // A tile of groups of several tokens lies within one of them.
  if (tokenRows.areScattered() && cache.getTokenGroup() == 1 &&
      !op.getWithinPage())
    return gatherRuns(kinds, row);
  return loadWithinBlock(kinds, row);
}

LogicalResult
LoadTilePattern::matchAndRewrite(LoadTileOp op, OneToNOpAdaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  rewriter.replaceOp(op, TileLoader(rewriter, op, adaptor).load());
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
