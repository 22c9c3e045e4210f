//===- Rows.cpp - Index arithmetic and rows of components ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

/// The extent of a dimension of a tensor type: dynamic if it is a value, even a
/// constant one, as the type must not depend on what could be folded.
static int64_t getStaticExtent(OpFoldResult extent) {
  auto attribute = dyn_cast<Attribute>(extent);
  return attribute ? cast<IntegerAttr>(attribute).getInt()
                   : ShapedType::kDynamic;
}

Value RowSlice::extract(OpBuilder &builder, Location loc,
                        Value component) const {
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

RowSlice kvq::getGroupSlice(IndexMath &math, CacheType cache,
                            const RowPlace &place, Value head,
                            ComponentKind kind) {
  Builder &builder = math.getBuilder();
  int64_t tokens = cache.getRowTokens(kind);
  if (isOfHeadGroup(kind))
    head = math.div(head, cache.getGroupHeads());
  return {place.block, head, math.div(place.row, tokens),
          builder.getIndexAttr(cache.getTokenGroup() / tokens)};
}
