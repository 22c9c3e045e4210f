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
  return builder.createOrFold<arith::MulIOp>(loc, div(value, factor),
                                             constant(factor));
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

Value RowSlice::insert(OpBuilder &builder, Location loc, Value rows,
                       Value component) const {
  SliceBounds bounds(builder, *this, component);
  return tensor::InsertSliceOp::create(builder, loc, rows, component,
                                       bounds.offsets, bounds.sizes,
                                       bounds.strides);
}

Value kvq::fillRows(OpBuilder &builder, Location loc, Value tile, Value begin,
                    Value end, RowBuilder buildRow) {
  auto body = [&](OpBuilder &nested, Location loc, Value i, ValueRange tiles) {
    SliceBounds row(nested, i, nested.getIndexAttr(1), tiles[0]);
    Value target = tensor::ExtractSliceOp::create(
        nested, loc, tiles[0], row.offsets, row.sizes, row.strides);
    Value filled = tensor::InsertSliceOp::create(
        nested, loc, buildRow(nested, loc, i, target), tiles[0], row.offsets,
        row.sizes, row.strides);
    scf::YieldOp::create(nested, loc, filled);
  };
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  return scf::ForOp::create(builder, loc, begin, end, one, tile, body)
      .getResult(0);
}

Value kvq::extractLeadingRows(OpBuilder &builder, Location loc, Value tile,
                              Value count) {
  SliceBounds bounds(builder, builder.getIndexAttr(0), count, tile);
  return tensor::ExtractSliceOp::create(builder, loc, tile, bounds.offsets,
                                        bounds.sizes, bounds.strides);
}
