//===- TurnBack.cpp - Keys to earlier positions ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without fast-math, so that what is quantized again has the same codes on
// every target.
//
//===----------------------------------------------------------------------===//

#include "TurnBack.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/Rope.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// Channels `first`, `first + stride`, … of rows.
struct ChannelSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  ChannelSlice(OpBuilder &b, int64_t tokens, int64_t first, int64_t count,
               int64_t stride)
      : offsets({b.getIndexAttr(0), b.getIndexAttr(first)}),
        sizes({b.getIndexAttr(tokens), b.getIndexAttr(count)}),
        strides({b.getIndexAttr(1), b.getIndexAttr(stride)}) {}

  Value extract(OpBuilder &b, Location loc, Value rows) const {
    return tensor::ExtractSliceOp::create(b, loc, rows, offsets, sizes,
                                          strides);
  }
  Value insert(OpBuilder &b, Location loc, Value part, Value rows) const {
    return tensor::InsertSliceOp::create(b, loc, part, rows, offsets, sizes,
                                         strides);
  }
};

} // namespace

/// Replaces the channels `slice` of `target` by what `body` makes, in f32, of
/// the rows `inputs` and of one row of each of `tables`.
static Value
mapChannels(OpBuilder &b, Location loc, ValueRange inputs, ValueRange tables,
            const ChannelSlice &slice, Value target,
            function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  Value part = slice.extract(b, loc, target);
  Type elementType = getElementTypeOrSelf(target.getType());
  AffineMap rows = b.getMultiDimIdentityMap(2);
  AffineMap row =
      AffineMap::get(2, 0, {b.getAffineConstantExpr(0), b.getAffineDimExpr(1)},
                     b.getContext());
  SmallVector<AffineMap> maps(inputs.size(), rows);
  maps.append(tables.size(), row);
  maps.push_back(rows);
  SmallVector<Value> operands(inputs);
  llvm::append_range(operands, tables);
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto buildBody = [&](OpBuilder &nested, Location loc, ValueRange args) {
    SmallVector<Value> numbers;
    for (Value number : args.drop_back())
      numbers.push_back(buildExtend(nested, loc, number));
    Value result = body(nested, loc, numbers);
    linalg::YieldOp::create(nested, loc,
                            buildRound(nested, loc, result, elementType));
  };
  part = linalg::GenericOp::create(b, loc, part.getType(), operands, part, maps,
                                   iterators, buildBody)
             .getResult(0);
  return slice.insert(b, loc, part, target);
}

/// Elements that `rows` are turned into, in `target`.
Value KeyTurner::turnInto(OpBuilder &b, Location loc, Value rows,
                          Value target) const {
  auto type = cast<RankedTensorType>(target.getType());
  int64_t tokens = type.getDimSize(0), headDim = type.getDimSize(1);
  RopePairs pairs(style, cast<RankedTensorType>(cos.getType()).getDimSize(1));
  ChannelSlice slices[] = {
      {b, tokens, 0, pairs.count, pairs.stride},
      {b, tokens, pairs.distance, pairs.count, pairs.stride}};
  SmallVector<Value> inputs, tables;
  for (const ChannelSlice &slice : slices)
    inputs.push_back(slice.extract(b, loc, rows));
  for (Value table : {cos, sin}) {
    SmallVector<OpFoldResult> offsets = {positions, b.getIndexAttr(0)};
    SmallVector<OpFoldResult> ones(2, b.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes = {ones[0], b.getIndexAttr(pairs.count)};
    tables.push_back(
        tensor::ExtractSliceOp::create(b, loc, table, offsets, sizes, ones));
  }
  for (int64_t which : {0, 1}) {
    auto turn = [&](OpBuilder &b, Location loc, ValueRange args) {
      Value sin = arith::NegFOp::create(b, loc, args[3]);
      auto [x, y] = buildTurnedPair(b, loc, args[0], args[1], args[2], sin,
                                    /*contract=*/false);
      return which == 0 ? x : y;
    };
    target = mapChannels(b, loc, inputs, tables, slices[which], target, turn);
  }
  int64_t turned = pairs.getChannels();
  if (turned == headDim)
    return target;
  ChannelSlice rest(b, tokens, turned, headDim - turned, 1);
  return mapChannels(
      b, loc, rest.extract(b, loc, rows), {}, rest, target,
      [](OpBuilder &, Location, ValueRange args) { return args[0]; });
}

Value KeyTurner::turnRows(OpBuilder &b, Location loc, Value rows) const {
  auto type = cast<RankedTensorType>(rows.getType());
  Value target =
      tensor::EmptyOp::create(b, loc, type.getShape(), cache.getElementType());
  return turnInto(b, loc, rows, target);
}

/// The token that `stored`, its code and the metadata of its group, stands for,
/// in f32.
Value KeyTurner::decodeToken(OpBuilder &b, Location loc, ValueRange components,
                             ValueRange stored, Value head) const {
  FormatInterface format = cache.getFormat();
  auto getGiven = [&](ComponentKind kind) {
    return extractGivenRow(b, loc, cache,
                           components[*cache.findComponent(kind)], head);
  };
  SmallVector<Value> inputs(stored);
  for (const StorageComponent &component : cache.getComponents())
    if (component.given && goesWithCodes(component.kind))
      inputs.push_back(getGiven(component.kind));
  SmallVector<int64_t> shape = {1, cache.getHeadDim()};
  Value scratch = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
  Value values =
      DequantizeOp::create(b, loc, scratch.getType(),
                           format.resolveHeads(cache.getHeads()).getCore(),
                           inputs, scratch)
          .getResult(0);
  if (cache.getRotation() != 0)
    values = RotateOp::create(b, loc, values.getType(), values,
                              getGiven(ComponentKind::Signs), values,
                              cache.getRotation(), /*inverse=*/true);
  if (!format.getCenterType())
    return values;
  ChannelSlice all(b, /*tokens=*/1, 0, cache.getHeadDim(), 1);
  return mapChannels(b, loc, values, getGiven(ComponentKind::Means), all,
                     values,
                     [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                       return arith::AddFOp::create(b, loc, args[0], args[1]);
                     });
}

/// Fills `target` with what the group at `place` is turned into, of one head.
Value KeyTurner::turnHead(OpBuilder &b, Location loc, ValueRange components,
                          const RowPlace &place, Value head,
                          Value target) const {
  SmallVector<Value> stored = loadGroup(b, loc, cache, components, place, head);
  if (cache.isExact())
    return turnInto(b, loc, stored.front(), target);
  // One after the other: floats of a whole group may be more than a tile.
  auto turnToken = [&](OpBuilder &nested, Location loc, Value i, Value row) {
    SmallVector<Value> token(stored);
    token.front() =
        extractRows(nested, loc, stored.front(), i, nested.getIndexAttr(1));
    return turnInto(nested, loc,
                    decodeToken(nested, loc, components, token, head), row);
  };
  IndexMath math(b, loc);
  return fillRows(b, loc, target, math.constant(0),
                  math.constant(cache.getTokenGroup()), turnToken);
}

Value KeyTurner::turnGroup(OpBuilder &b, Location loc, ValueRange components,
                           const RowPlace &place, Value head) const {
  int64_t heads = cache.getGroupHeads(), tokens = cache.getTokenGroup();
  auto type = RankedTensorType::get({tokens, cache.getHeadDim()},
                                    cache.getElementType());
  if (heads == 1) {
    Value target =
        tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
    return turnHead(b, loc, components, place, head, target);
  }
  Value all = tensor::EmptyOp::create(
      b, loc, {heads, tokens, cache.getHeadDim()}, type.getElementType());
  auto turnEach = [&](OpBuilder &nested, Location loc, Value i,
                      ValueRange carried) {
    OpFoldResult zero = nested.getIndexAttr(0), one = nested.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets = {i, zero, zero}, strides(3, one);
    SmallVector<OpFoldResult> sizes = {one, nested.getIndexAttr(tokens),
                                       nested.getIndexAttr(cache.getHeadDim())};
    Value target = tensor::ExtractSliceOp::create(nested, loc, type, carried[0],
                                                  offsets, sizes, strides);
    target = turnHead(nested, loc, components, place,
                      IndexMath(nested, loc).add(head, i), target);
    scf::YieldOp::create(nested, loc,
                         tensor::InsertSliceOp::create(nested, loc, target,
                                                       carried[0], offsets,
                                                       sizes, strides)
                             .getResult());
  };
  IndexMath math(b, loc);
  return scf::ForOp::create(b, loc, math.constant(0), math.constant(heads),
                            math.constant(1), all, turnEach)
      .getResult(0);
}
