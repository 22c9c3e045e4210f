//===- Rows.cpp - Index arithmetic and rows of components ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value IndexMath::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IndexMath::add(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AddIOp>(loc, lhs, rhs);
}

Value IndexMath::sub(Value lhs, Value rhs) {
  return builder.createOrFold<arith::SubIOp>(loc, lhs, rhs);
}

Value IndexMath::max(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MaxSIOp>(loc, lhs, rhs);
}

Value IndexMath::min(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MinSIOp>(loc, lhs, rhs);
}

Value IndexMath::mul(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::MulIOp>(loc, lhs, constant(rhs));
}

Value IndexMath::div(Value lhs, int64_t rhs) {
  if (rhs == 1)
    return lhs;
  return builder.createOrFold<arith::DivUIOp>(loc, lhs, constant(rhs));
}

Value IndexMath::rem(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::RemUIOp>(loc, lhs, constant(rhs));
}

Value IndexMath::alignDown(Value value, int64_t factor) {
  if (factor == 1)
    return value;
  return mul(div(value, factor), factor);
}

Value kvq::buildFlushed(IndexMath &math, CacheType cache, Value length) {
  Value beyond = math.max(math.sub(length, cache.getHeldTokens()), 0);
  return math.alignDown(beyond, cache.getFlushTokens());
}

Value kvq::getRingSlot(IndexMath &math, CacheType cache, Value token) {
  return math.rem(math.sub(token, cache.getExactFirst()),
                  cache.getRecentRows());
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {

/// The offsets, sizes and strides of rows in a component or a matrix.
struct SliceBounds {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  SliceBounds(OpBuilder &builder, const RowSlice &slice, Value component) {
    auto type = cast<RankedTensorType>(component.getType());
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    offsets = {slice.batch, slice.head, slice.row, zero};
    sizes = {one, builder.getIndexAttr(slice.heads.value_or(1)), slice.count,
             builder.getIndexAttr(type.getDimSize(3))};
    strides.assign(4, one);
    if (slice.tokenMajor) {
      std::swap(offsets[1], offsets[2]);
      std::swap(sizes[1], sizes[2]);
    }
  }

  SliceBounds(OpBuilder &builder, OpFoldResult row, OpFoldResult count,
              Value matrix) {
    auto type = cast<RankedTensorType>(matrix.getType());
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    offsets = {row, zero};
    sizes = {count, builder.getIndexAttr(type.getDimSize(1))};
    strides.assign(2, one);
  }
};

} // namespace

namespace {

/// The elements of one row in a component that lies in tiles.
struct TiledRow {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  /// The row without axes of one element, and its number of elements.
  RankedTensorType type;
  int64_t elements;
  /// The order of these axes in which elements are those of the row.
  SmallVector<int64_t> order;

  TiledRow(OpBuilder &builder, Location loc, const RowSlice &slice,
           Value component);
  /// The row as it lies in its component.
  Value extract(OpBuilder &builder, Location loc, Value component) const;
  /// Copies `row` into `target`, its axes in the order of the row, or of the
  /// component.
  Value copy(OpBuilder &builder, Location loc, Value row, Value target,
             ArrayRef<int64_t> permutation) const;
  /// A row to fill, in the order of the row.
  Value createScratch(OpBuilder &builder, Location loc) const;
  /// `row`, of this type, as `1 x elements`.
  Value flatten(OpBuilder &builder, Location loc, Value row) const;
  /// The inverse.
  Value unflatten(OpBuilder &builder, Location loc, Value row) const;
};

} // namespace

TiledRow::TiledRow(OpBuilder &builder, Location loc, const RowSlice &slice,
                   Value component) {
  auto whole = cast<RankedTensorType>(component.getType());
  IndexMath math(builder, loc);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  Value index = math.rem(slice.row, slice.tile.tokens);
  offsets = {slice.batch, slice.head, math.div(slice.row, slice.tile.tokens)};
  // Takes all of some axes, given in the order of the row; which of several
  // axes of one element a slice has left out would be unclear.
  auto takeAll = [&](std::initializer_list<int64_t> axes) {
    sizes.assign(whole.getRank(), one);
    SmallVector<int64_t> ofRow, sorted, shape;
    for (int64_t axis : axes)
      if (whole.getDimSize(axis) != 1 || axes.size() == 1)
        ofRow.push_back(axis);
    sorted = ofRow;
    llvm::sort(sorted);
    for (int64_t axis : sorted) {
      shape.push_back(whole.getDimSize(axis));
      sizes[axis] = builder.getIndexAttr(shape.back());
    }
    for (int64_t axis : ofRow)
      order.push_back(llvm::find(sorted, axis) - sorted.begin());
    type = RankedTensorType::get(shape, whole.getElementType());
  };
  if (whole.getRank() == 5) { // Metadata, groups x tokens.
    offsets.append({zero, index});
    takeAll({3});
  } else if (slice.tile.kind == TileKind::ChannelPairs) {
    offsets.append({zero, index, zero});
    takeAll({3, 5});
  } else if (slice.tile.kind == TileKind::TokenPairs) {
    offsets.append({math.div(index, 2), zero, math.rem(index, 2)});
    takeAll({4});
  } else {
    // Rule R39: token 2 F (2 t + e) + 2 f + h of a tile of F fragments.
    int64_t laneTokens = slice.tile.tokens / 8;
    Value pair = math.div(index, laneTokens);
    Value inLane = math.rem(index, laneTokens);
    Value half = math.mul(math.rem(inLane, 2), 2);
    offsets.append({math.div(inLane, 2), zero, zero, math.div(pair, 2), zero,
                    math.add(half, math.rem(pair, 2)), zero});
    takeAll({4, 7, 9, 5});
  }
  strides.assign(offsets.size(), one);
  elements = type.getNumElements();
}

Value TiledRow::extract(OpBuilder &builder, Location loc,
                        Value component) const {
  return tensor::ExtractSliceOp::create(builder, loc, type, component, offsets,
                                        sizes, strides);
}

Value TiledRow::copy(OpBuilder &builder, Location loc, Value row, Value target,
                     ArrayRef<int64_t> permutation) const {
  if (isIdentityPermutation(permutation))
    return linalg::CopyOp::create(builder, loc, row, target).getResult(0);
  return linalg::TransposeOp::create(builder, loc, row, target, permutation)
      ->getResult(0);
}

Value TiledRow::createScratch(OpBuilder &builder, Location loc) const {
  return tensor::EmptyOp::create(builder, loc,
                                 applyPermutation(type.getShape(), order),
                                 type.getElementType());
}

static ReassociationIndices getAllAxes(int64_t rank) {
  return llvm::to_vector<2>(llvm::seq<int64_t>(0, rank));
}

Value TiledRow::flatten(OpBuilder &builder, Location loc, Value row) const {
  if (type.getRank() > 1)
    row = tensor::CollapseShapeOp::create(
        builder, loc, row,
        SmallVector<ReassociationIndices>{getAllAxes(type.getRank())});
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get({1, elements}, type.getElementType()),
      row, SmallVector<ReassociationIndices>{{0, 1}});
}

Value TiledRow::unflatten(OpBuilder &builder, Location loc, Value row) const {
  row = tensor::CollapseShapeOp::create(
      builder, loc, row, SmallVector<ReassociationIndices>{{0, 1}});
  if (type.getRank() == 1)
    return row;
  return tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get(applyPermutation(type.getShape(), order),
                            type.getElementType()),
      row, SmallVector<ReassociationIndices>{getAllAxes(type.getRank())});
}

/// The extent of a dimension of a tensor type: dynamic if it is a value, even a
/// constant one, as the type must not depend on what could be folded.
static int64_t getStaticExtent(OpFoldResult extent) {
  auto attribute = dyn_cast<Attribute>(extent);
  return attribute ? cast<IntegerAttr>(attribute).getInt()
                   : ShapedType::kDynamic;
}

Value RowSlice::extract(OpBuilder &builder, Location loc,
                        Value component) const {
  if (tile.exists()) {
    TiledRow row(builder, loc, *this, component);
    Value copy = row.copy(builder, loc, row.extract(builder, loc, component),
                          row.createScratch(builder, loc), row.order);
    return row.flatten(builder, loc, copy);
  }
  auto type = cast<RankedTensorType>(component.getType());
  SliceBounds bounds(builder, *this, component);
  SmallVector<int64_t> shape = {getStaticExtent(count), type.getDimSize(3)};
  if (heads)
    shape.insert(shape.begin(), *heads);
  auto rows = RankedTensorType::get(shape, type.getElementType());
  return tensor::ExtractSliceOp::create(builder, loc, rows, component,
                                        bounds.offsets, bounds.sizes,
                                        bounds.strides);
}

Value RowSlice::extractTarget(OpBuilder &builder, Location loc,
                              Value component) const {
  if (!tile.exists())
    return extract(builder, loc, component);
  TiledRow row(builder, loc, *this, component);
  return tensor::EmptyOp::create(builder, loc, {1, row.elements},
                                 row.type.getElementType());
}

Value RowSlice::extractPacked(OpBuilder &builder, Location loc,
                              Value tokens) const {
  auto type = cast<RankedTensorType>(tokens.getType());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets = {row, head, zero};
  SmallVector<OpFoldResult> sizes = {count, one,
                                     builder.getIndexAttr(type.getDimSize(2))};
  SmallVector<OpFoldResult> strides(3, one);
  auto rows = RankedTensorType::get(
      {getStaticExtent(count), type.getDimSize(2)}, type.getElementType());
  return tensor::ExtractSliceOp::create(builder, loc, rows, tokens, offsets,
                                        sizes, strides);
}

Value RowSlice::insert(OpBuilder &builder, Location loc, Value rows,
                       Value component) const {
  if (tile.exists()) {
    TiledRow row(builder, loc, *this, component);
    Value source = row.unflatten(builder, loc, rows);
    if (!isIdentityPermutation(row.order))
      source =
          row.copy(builder, loc, source, row.extract(builder, loc, component),
                   invertPermutationVector(row.order));
    return tensor::InsertSliceOp::create(builder, loc, source, component,
                                         row.offsets, row.sizes, row.strides);
  }
  SliceBounds bounds(builder, *this, component);
  return tensor::InsertSliceOp::create(builder, loc, rows, component,
                                       bounds.offsets, bounds.sizes,
                                       bounds.strides);
}

Value kvq::extractGivenRow(OpBuilder &builder, Location loc, CacheType cache,
                           Value component, Value head,
                           std::optional<int64_t> heads) {
  IndexMath math(builder, loc);
  Value zero = math.constant(0);
  int64_t extent = cast<RankedTensorType>(component.getType()).getDimSize(1);
  Value first = extent == 1 ? zero : math.div(head, cache.getHeads() / extent);
  RowSlice row{zero, first, zero, builder.getIndexAttr(1), heads};
  return row.extract(builder, loc, component);
}

Value kvq::extractRows(OpBuilder &builder, Location loc, Value tile,
                       OpFoldResult row, OpFoldResult count) {
  SliceBounds bounds(builder, row, count, tile);
  return tensor::ExtractSliceOp::create(builder, loc, tile, bounds.offsets,
                                        bounds.sizes, bounds.strides);
}

Value kvq::insertRows(OpBuilder &builder, Location loc, Value rows, Value tile,
                      OpFoldResult row, OpFoldResult count) {
  SliceBounds bounds(builder, row, count, tile);
  return tensor::InsertSliceOp::create(builder, loc, rows, tile, bounds.offsets,
                                       bounds.sizes, bounds.strides);
}

Value kvq::fillRows(OpBuilder &builder, Location loc, Value tile, Value begin,
                    Value end, RowBuilder buildRow) {
  auto body = [&](OpBuilder &nested, Location loc, Value i, ValueRange tiles) {
    OpFoldResult one = nested.getIndexAttr(1);
    Value target = extractRows(nested, loc, tiles[0], i, one);
    Value row = buildRow(nested, loc, i, target);
    scf::YieldOp::create(nested, loc,
                         insertRows(nested, loc, row, tiles[0], i, one));
  };
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  return scf::ForOp::create(builder, loc, begin, end, one, tile, body)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

bool kvq::isOfHeadGroup(ComponentKind kind) {
  return kind == ComponentKind::Scales || kind == ComponentKind::Zeros;
}

SmallVector<ComponentKind> kvq::getTokenComponents(CacheType cache) {
  SmallVector<ComponentKind> kinds;
  for (const StorageComponent &component : cache.getComponents())
    if (component.kind != ComponentKind::First &&
        component.kind != ComponentKind::Recent && !component.given)
      kinds.push_back(component.kind);
  return kinds;
}

Value kvq::extractIndex(OpBuilder &builder, Location loc, Value tensor,
                        ValueRange index) {
  Value count = tensor::ExtractOp::create(builder, loc, tensor, index);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    count);
}

Value kvq::getOptional(ValueRange values) {
  return values.empty() ? Value() : values.front();
}

/// `index` of the ring of a cache whose rows are counted in blocks of `size`.
static Value wrap(IndexMath &math, CacheType cache, Value index,
                  int64_t size = 1) {
  if (!cache.isRing())
    return index;
  int64_t kept = cache.getKeptRows() / size;
  Value beyond = math.max(math.sub(index, kept), 0);
  Value slot = math.add(math.rem(beyond, cache.getRingRows() / size), kept);
  return kept == 0 ? slot : math.min(index, slot);
}

RowPlace TokenRows::locate(OpBuilder &builder, Location loc, Value row) const {
  IndexMath math(builder, loc);
  if (!cache.isPaged())
    return {sequence, wrap(math, cache, row)};
  int64_t page = *cache.getPage();
  Value entry = wrap(math, cache, math.div(row, page), page);
  return {extractIndex(builder, loc, pages, {sequence, entry}),
          math.rem(row, page)};
}

SmallVector<Value> TokenRows::forEachRun(OpBuilder &builder, Location loc,
                                         Value begin, Value end,
                                         ValueRange inits,
                                         RunBuilder body) const {
  IndexMath math(builder, loc);
  if (!areScattered())
    return body(builder, loc, begin, math.sub(end, begin), inits);
  // Runs are numbered; they end at the borders of pages, or without pages of
  // rounds of the ring, which begin behind the rows that stay.
  int64_t size = cache.isPaged() ? *cache.getPage() : cache.getRingRows();
  int64_t shift = cache.isPaged() ? 0
                                  : llvm::alignTo(cache.getKeptRows(), size) -
                                        cache.getKeptRows();
  auto buildRun = [&](OpBuilder &nested, Location loc, Value run,
                      ValueRange carried) {
    IndexMath math(nested, loc);
    Value border = math.sub(math.mul(run, size), shift);
    Value first = math.max(begin, border);
    Value count = math.sub(math.min(end, math.add(border, size)), first);
    scf::YieldOp::create(nested, loc, body(nested, loc, first, count, carried));
  };
  // No run where there is no row: the number of its page may be anything.
  Value runEnd = math.div(math.add(end, shift + size - 1), size);
  Value isEmpty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                        begin, end);
  Value runBegin = arith::SelectOp::create(
      builder, loc, isEmpty, runEnd, math.div(math.add(begin, shift), size));
  auto loop = scf::ForOp::create(builder, loc, runBegin, runEnd,
                                 math.constant(1), inits, buildRun);
  return llvm::to_vector_of<Value>(loop.getResults());
}

bool kvq::liesInTiles(CacheType cache, ComponentKind kind) {
  TileOrder tile = cache.getTileOrder();
  return tile.exists() && (tile.hasMetadata() || kind == ComponentKind::Codes);
}

RowSlice kvq::getGroupSlice(IndexMath &math, CacheType cache,
                            const RowPlace &place, Value head,
                            ComponentKind kind) {
  Builder &builder = math.getBuilder();
  if (liesInTiles(cache, kind))
    return {place.block,
            head,
            place.row,
            builder.getIndexAttr(1),
            /*heads=*/std::nullopt,
            cache.getTileOrder()};
  int64_t tokens = cache.getRowTokens(kind);
  if (isOfHeadGroup(kind))
    head = math.div(head, cache.getGroupHeads());
  return {place.block,
          head,
          math.div(place.row, tokens),
          builder.getIndexAttr(cache.getTokenGroup() / tokens),
          /*heads=*/std::nullopt,
          /*tile=*/{},
          cache.getTokenMajor()};
}
