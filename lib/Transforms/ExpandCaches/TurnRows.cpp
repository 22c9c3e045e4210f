//===- TurnRows.cpp - Rows of tokens that RoPE turns ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TurnRows.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

Value ChannelSlice::extract(OpBuilder &b, Location loc, Value rows) const {
  return tensor::ExtractSliceOp::create(b, loc, rows, offsets, sizes, strides);
}

Value ChannelSlice::insert(OpBuilder &b, Location loc, Value part,
                           Value rows) const {
  return tensor::InsertSliceOp::create(b, loc, part, rows, offsets, sizes,
                                       strides);
}

PairOperand kvq::getRowOperand(Value rows) {
  MLIRContext *context = rows.getContext();
  bool isOne = cast<RankedTensorType>(rows.getType()).getDimSize(0) == 1;
  AffineExpr row =
      isOne ? getAffineConstantExpr(0, context) : getAffineDimExpr(0, context);
  return {rows,
          AffineMap::get(2, 0, {row, getAffineDimExpr(1, context)}, context)};
}

Value kvq::mapChannels(
    OpBuilder &b, Location loc, ArrayRef<PairOperand> inputs,
    const ChannelSlice &slice, Value target,
    function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  Value part = slice.extract(b, loc, target);
  Type elementType = getElementTypeOrSelf(target.getType());
  SmallVector<AffineMap> maps;
  SmallVector<Value> operands;
  for (const PairOperand &input : inputs) {
    maps.push_back(input.map);
    operands.push_back(input.value);
  }
  maps.push_back(b.getMultiDimIdentityMap(2));
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

Value RowTurner::turn(OpBuilder &b, Location loc, Value rows, Value position,
                      OpFoldResult count, Value target) const {
  OpFoldResult tokens = tensor::getMixedSize(b, loc, target, 0);
  int64_t channels = cast<RankedTensorType>(target.getType()).getDimSize(1);
  RopePairs pairs(style, cast<RankedTensorType>(cos.getType()).getDimSize(1));
  ChannelSlice slices[] = {
      {b, tokens, 0, pairs.count, pairs.stride},
      {b, tokens, pairs.distance, pairs.count, pairs.stride}};
  SmallVector<PairOperand> inputs;
  for (bool second : {false, true})
    inputs.push_back(buildPairOperand(b, loc, rows, pairs, second));
  for (Value table : {cos, sin}) {
    SmallVector<OpFoldResult> offsets = {position, b.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes = {count, b.getIndexAttr(pairs.count)};
    SmallVector<OpFoldResult> ones(2, b.getIndexAttr(1));
    inputs.push_back(getRowOperand(
        tensor::ExtractSliceOp::create(b, loc, table, offsets, sizes, ones)));
  }
  for (int64_t which : {0, 1}) {
    auto turnPair = [&](OpBuilder &b, Location loc, ValueRange args) {
      Value sin = args[3];
      if (isBack)
        sin = arith::NegFOp::create(b, loc, sin);
      auto [x, y] = buildTurnedPair(b, loc, args[0], args[1], args[2], sin,
                                    /*contract=*/false);
      return which == 0 ? x : y;
    };
    target = mapChannels(b, loc, inputs, slices[which], target, turnPair);
  }
  int64_t turned = pairs.getChannels();
  if (turned == channels)
    return target;
  ChannelSlice rest(b, tokens, turned, channels - turned, 1);
  PairOperand others{rest.extract(b, loc, rows), b.getMultiDimIdentityMap(2)};
  return mapChannels(
      b, loc, others, rest, target,
      [](OpBuilder &, Location, ValueRange args) { return args[0]; });
}
