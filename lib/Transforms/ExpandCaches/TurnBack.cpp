//===- TurnBack.cpp - Keys to earlier positions ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TurnBack.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

/// Elements that `rows` are turned into, in `target`.
Value KeyTurner::turnInto(OpBuilder &b, Location loc, Value rows,
                          Value target) const {
  return turner.turn(b, loc, rows, positions, b.getIndexAttr(1), target);
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
  ChannelSlice all(b, b.getIndexAttr(1), 0, cache.getHeadDim(), 1);
  PairOperand centred[] = {{values, b.getMultiDimIdentityMap(2)},
                           getRowOperand(getGiven(ComponentKind::Means))};
  return mapChannels(b, loc, centred, all, values,
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
