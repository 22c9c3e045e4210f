//===- DequantizeDecomposition.cpp - kvq.dequantize to structured ops -----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AggregatedOpInterface of kvq.dequantize: linalg.generic on tensors, with the
// format's arithmetic in the bodies. What is written goes into the op's inits
// or views of them, so that bufferization is in place.
//
//===----------------------------------------------------------------------===//

#include "GroupMetadata.h"
#include "TensorSlices.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

/// Dequantizes `inputs` (codes and metadata) into `init`.
static Value buildDequantize(OpBuilder &b, Location loc, FormatInterface format,
                             ValueRange inputs, Value init,
                             MetadataRows metadataRows) {
  auto initType = cast<RankedTensorType>(init.getType());
  GroupLoops loops(format, initType, metadataRows);
  SmallVector<Value> splitInputs(inputs);
  splitInputs.front() = loops.split(b, loc, inputs.front());
  Value splitInit = loops.split(b, loc, init);

  SmallVector<AffineMap> maps = {loops.getRowsMap()};
  for (Value metadata : inputs.drop_front())
    maps.push_back(loops.getMetadataMap(metadata.getType()));
  maps.push_back(loops.getRowsMap());
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto [scale, zero] =
        readMetadata(b, loc, format, args.slice(1, inputs.size() - 1));
    Value value = format.buildDecode(b, loc, args[0], scale, zero);
    if (!initType.getElementType().isF32())
      value = buildRound(b, loc, value, initType.getElementType());
    linalg::YieldOp::create(b, loc, value);
  };
  Value values = linalg::GenericOp::create(b, loc, splitInit.getType(),
                                           splitInputs, splitInit, maps,
                                           loops.getParallelIterators(), body)
                     .getResult(0);
  return loops.join(b, loc, values, initType);
}

/// Dequantizes the full groups of tokens, then the last one, of which only
/// some tokens (perhaps none) are there.
static Value buildDequantizePartialGroup(OpBuilder &b, Location loc,
                                         FormatInterface format,
                                         ValueRange inputs, Value init) {
  int64_t axis = cast<RankedTensorType>(init.getType()).getRank() - 2;
  int64_t group = format.getGroupTokens();
  ValueRange given = inputs.take_back(countGivenInputs(format));
  AffineExpr d0 = b.getAffineDimExpr(0);
  OpFoldResult tokens = tensor::getMixedSize(b, loc, init, axis);
  auto apply = [&](AffineExpr expr) {
    return affine::makeComposedFoldedAffineApply(b, loc, expr, {tokens});
  };
  OpFoldResult fullRows = apply(d0.floorDiv(group));
  OpFoldResult fullTokens = apply(d0.floorDiv(group) * group);
  OpFoldResult restRows = apply(d0.ceilDiv(group) - d0.floorDiv(group));
  OpFoldResult restTokens = apply(d0 % group);
  OpFoldResult start = b.getIndexAttr(0);

  auto dequantize = [&](OpFoldResult token, OpFoldResult tokenCount,
                        OpFoldResult row, OpFoldResult rowCount,
                        MetadataRows metadataRows) {
    SmallVector<Value> slices = {
        buildSlice(b, loc, inputs.front(), axis, token, tokenCount)};
    for (Value metadata : inputs.drop_front().drop_back(given.size()))
      slices.push_back(buildSlice(b, loc, metadata, axis, row, rowCount));
    llvm::append_range(slices, given);
    Value part = buildSlice(b, loc, init, axis, token, tokenCount);
    part = buildDequantize(b, loc, format, slices, part, metadataRows);
    init = buildInsert(b, loc, part, init, axis, token, tokenCount);
  };
  dequantize(start, fullTokens, start, fullRows, MetadataRows::PerGroup);
  dequantize(fullTokens, restTokens, fullRows, restRows, MetadataRows::Single);
  return init;
}

FailureOr<SmallVector<Value>> DequantizeOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value init = getInits().front();
  auto codes = cast<RankedTensorType>(getInputs()[0].getType());
  auto scales = cast<RankedTensorType>(getInputs()[1].getType());
  FormatInterface format = resolveFormat(getFormat(), codes);
  int64_t axis = codes.getRank() - 2, group = format.getGroupTokens();
  int64_t tokens = codes.getDimSize(axis);
  bool fullGroups =
      group == 1 || (!codes.isDynamicDim(axis) && tokens % group == 0);
  bool singleRow =
      format.hasStaticRange() || (group != 1 && scales.getDimSize(axis) == 1);
  if (singleRow || fullGroups)
    return SmallVector<Value>{buildDequantize(
        b, loc, format, getInputs(), init,
        singleRow ? MetadataRows::Single : MetadataRows::PerGroup)};
  return SmallVector<Value>{
      buildDequantizePartialGroup(b, loc, format, getInputs(), init)};
}
