//===- Rope.cpp - Rotary position embeddings ------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/Rope.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

std::pair<Value, Value> kvq::buildTurnedPair(OpBuilder &builder, Location loc,
                                             Value x, Value y, Value cos,
                                             Value sin, bool contract) {
  auto flags =
      contract ? arith::FastMathFlags::contract : arith::FastMathFlags::none;
  auto multiply = [&](Value left, Value right) {
    return arith::MulFOp::create(builder, loc, left, right, flags).getResult();
  };
  Value first = arith::SubFOp::create(builder, loc, multiply(x, cos),
                                      multiply(y, sin), flags);
  Value second = arith::AddFOp::create(builder, loc, multiply(x, sin),
                                       multiply(y, cos), flags);
  return {first, second};
}

PairOperand kvq::buildPairOperand(OpBuilder &b, Location loc, Value rows,
                                  const RopePairs &pairs, bool second) {
  bool areNeighbours = pairs.stride == 1;
  int64_t begin = areNeighbours && second ? pairs.distance : 0;
  int64_t channels = areNeighbours ? pairs.count : pairs.getChannels();
  AffineExpr row = b.getAffineDimExpr(0), pair = b.getAffineDimExpr(1);
  if (!areNeighbours)
    pair = pair * pairs.stride + (second ? pairs.distance : 0);
  AffineMap map = AffineMap::get(2, 0, {row, pair}, b.getContext());
  auto type = cast<RankedTensorType>(rows.getType());
  if (type.getDimSize(1) == channels)
    return {rows, map};
  SmallVector<OpFoldResult> offsets = {b.getIndexAttr(0),
                                       b.getIndexAttr(begin)};
  SmallVector<OpFoldResult> sizes = {tensor::getMixedSize(b, loc, rows, 0),
                                     b.getIndexAttr(channels)};
  SmallVector<OpFoldResult> ones(2, b.getIndexAttr(1));
  return {tensor::ExtractSliceOp::create(b, loc, rows, offsets, sizes, ones),
          map};
}

Value kvq::buildPairChannels(OpBuilder &b, Location loc, Value rows,
                             const RopePairs &pairs, bool second) {
  PairOperand channels = buildPairOperand(b, loc, rows, pairs, second);
  AffineMap identity = b.getMultiDimIdentityMap(2);
  if (channels.map == identity)
    return channels.value;
  SmallVector<OpFoldResult> sizes = {tensor::getMixedSize(b, loc, rows, 0),
                                     b.getIndexAttr(pairs.count)};
  Value init = tensor::EmptyOp::create(b, loc, sizes,
                                       getElementTypeOrSelf(rows.getType()));
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto copy = [](OpBuilder &nested, Location loc, ValueRange args) {
    linalg::YieldOp::create(nested, loc, args.front());
  };
  return linalg::GenericOp::create(b, loc, init.getType(), channels.value, init,
                                   ArrayRef({channels.map, identity}),
                                   iterators, copy)
      .getResult(0);
}

std::pair<Value, Value> kvq::buildTurnedRows(OpBuilder &b, Location loc,
                                             Value rows, const RopePairs &pairs,
                                             Value cos, Value sin, Value first,
                                             Value second) {
  PairOperand x = buildPairOperand(b, loc, rows, pairs, /*second=*/false);
  PairOperand y = buildPairOperand(b, loc, rows, pairs, /*second=*/true);
  AffineMap identity = b.getMultiDimIdentityMap(2);
  SmallVector<Value> inputs = {x.value, y.value, cos, sin};
  SmallVector<Value> outputs = {first, second};
  SmallVector<AffineMap> maps = {x.map,    y.map,    identity,
                                 identity, identity, identity};
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto turn = [](OpBuilder &nested, Location loc, ValueRange args) {
    auto [x, y] = buildTurnedPair(
        nested, loc, buildExtend(nested, loc, args[0]),
        buildExtend(nested, loc, args[1]), args[2], args[3], /*contract=*/true);
    linalg::YieldOp::create(nested, loc, ValueRange{x, y});
  };
  auto turned =
      linalg::GenericOp::create(b, loc, ValueRange(outputs).getTypes(), inputs,
                                outputs, maps, iterators, turn);
  return {turned.getResult(0), turned.getResult(1)};
}
