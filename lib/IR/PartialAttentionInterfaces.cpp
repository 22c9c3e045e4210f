//===- PartialAttentionInterfaces.cpp - Tiling of partial attention -------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

using namespace mlir;
using namespace mlir::kvq;

FailureOr<SmallVector<Value>> MergePartialsOp::decomposeOperation(OpBuilder &) {
  return failure();
}
SmallVector<utils::IteratorType> PartialAttentionOp::getLoopIteratorTypes() { return {}; }
SmallVector<Range> PartialAttentionOp::getIterationDomain(OpBuilder &) { return {}; }
FailureOr<TilingResult> PartialAttentionOp::getTiledImplementation(
    OpBuilder &, ArrayRef<OpFoldResult>, ArrayRef<OpFoldResult>) {
  return failure();
}
LogicalResult PartialAttentionOp::getResultTilePosition(
    OpBuilder &, unsigned, ArrayRef<OpFoldResult>, ArrayRef<OpFoldResult>,
    SmallVector<OpFoldResult> &, SmallVector<OpFoldResult> &) {
  return failure();
}
FailureOr<SmallVector<Value>> PartialAttentionOp::generateInitialTensorForPartialReduction(
    OpBuilder &, Location, ArrayRef<OpFoldResult>, const SetVector<unsigned> &) {
  return failure();
}
FailureOr<TilingResult> PartialAttentionOp::tileToPartialReduction(
    OpBuilder &, Location, ReductionTilingStrategy, ValueRange, ArrayRef<OpFoldResult>,
    ArrayRef<OpFoldResult>, const SetVector<unsigned> &, ArrayRef<OpFoldResult>) {
  return failure();
}
FailureOr<MergeResult> PartialAttentionOp::mergeReductions(
    OpBuilder &, Location, ValueRange, const SetVector<unsigned> &) {
  return failure();
}
LogicalResult PartialAttentionOp::getPartialResultTilePosition(
    OpBuilder &, unsigned, ReductionTilingStrategy, ArrayRef<OpFoldResult>,
    ArrayRef<OpFoldResult>, const SetVector<unsigned> &, ArrayRef<OpFoldResult>,
    SmallVector<OpFoldResult> &, SmallVector<OpFoldResult> &) {
  return failure();
}
