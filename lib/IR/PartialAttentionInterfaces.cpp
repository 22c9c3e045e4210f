//===- PartialAttentionInterfaces.cpp - Tiling of partial attention -------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The iteration domain of kvq.partial_attention is its token range, one
// reduction. It starts at the last border of a token group before the range, so
// that tiles of whole groups stay whole; a tile's own range is clipped to the
// op's.
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Tiles of the token range
//===----------------------------------------------------------------------===//

namespace {

/// Where tiles may start: at multiples of `group` tokens from `origin`.
struct TileGrid {
  int64_t group, origin;
};

} // namespace

/// The grid on which a tile that divides `group`, or is a multiple of the only
/// group there is, holds no part of a group and the whole of another. Groups
/// constrain tiles only where the range holds codes of several tokens, pages
/// where tiles are to lie within them.
static TileGrid getTileGrid(PartialAttentionOp op) {
  TileGrid grid{0, 0};
  for (auto [cache, region] :
       {std::pair(op.getKey().getType(), op.getKeyRegion()),
        std::pair(op.getValue().getType(), op.getValueRegion())}) {
    if (region != TokenRegion::Codes)
      continue;
    int64_t group = cache.getTokenGroup();
    // A page holds whole groups.
    if (group == 1 && op.getWithinPages() && cache.isPaged())
      group = *cache.getPage();
    if (op.getWithinPages() && cache.getTileOrder().exists())
      group = cache.getTileOrder().tokens;
    if (group > 1)
      grid = {std::gcd(grid.group, group), cache.getExactFirst()};
  }
  grid.group = std::max<int64_t>(grid.group, 1);
  return grid;
}

/// The first token of the domain: `begin`, rounded down to the grid.
static OpFoldResult getDomainBegin(PartialAttentionOp op, OpBuilder &b) {
  TileGrid grid = getTileGrid(op);
  if (grid.group == 1)
    return op.getBegin();
  AffineExpr begin = b.getAffineDimExpr(0);
  AffineMap map = AffineMap::get(
      1, 0,
      (begin - grid.origin).floorDiv(grid.group) * grid.group + grid.origin);
  return affine::makeComposedFoldedAffineApply(b, op.getLoc(), map,
                                               {op.getBegin()});
}

/// The op over the tokens `[offset, offset + size)` of the domain, on the state
/// `inits`.
static PartialAttentionOp buildTile(PartialAttentionOp op, OpBuilder &b,
                                    OpFoldResult offset, OpFoldResult size,
                                    ValueRange inits) {
  Location loc = op.getLoc();
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1),
             d2 = b.getAffineDimExpr(2);
  OpFoldResult domainBegin = getDomainBegin(op, b);
  OpFoldResult first = affine::makeComposedFoldedAffineApply(
      b, loc, AffineMap::get(2, 0, d0 + d1), {domainBegin, offset});
  OpFoldResult begin = affine::makeComposedFoldedAffineMax(
      b, loc, AffineMap::get(2, 0, {d0, d1}, b.getContext()),
      {first, OpFoldResult(op.getBegin())});
  OpFoldResult end = affine::makeComposedFoldedAffineMin(
      b, loc, AffineMap::get(3, 0, {d0 + d1, d2}, b.getContext()),
      {first, size, OpFoldResult(op.getEnd())});
  // A tile may lie before the range, where it is smaller than the grid, or
  // behind it, where there are more tiles than tokens: it is empty then.
  end = affine::makeComposedFoldedAffineMax(
      b, loc, AffineMap::get(2, 0, {d0, d1}, b.getContext()), {begin, end});
  auto tile = cast<PartialAttentionOp>(b.clone(*op.getOperation()));
  tile.getBeginMutable().assign(getValueOrCreateConstantIndexOp(b, loc, begin));
  tile.getEndMutable().assign(getValueOrCreateConstantIndexOp(b, loc, end));
  tile.getDpsInitsMutable().assign(inits);
  return tile;
}

SmallVector<utils::IteratorType> PartialAttentionOp::getLoopIteratorTypes() {
  return {utils::IteratorType::reduction};
}

SmallVector<Range> PartialAttentionOp::getIterationDomain(OpBuilder &b) {
  AffineExpr begin = b.getAffineDimExpr(0), end = b.getAffineDimExpr(1);
  OpFoldResult extent = affine::makeComposedFoldedAffineMax(
      b, getLoc(),
      AffineMap::get(2, 0, {end - begin, b.getAffineConstantExpr(0)},
                     b.getContext()),
      {getDomainBegin(*this, b), OpFoldResult(getEnd())});
  return {Range{b.getIndexAttr(0), extent, b.getIndexAttr(1)}};
}

FailureOr<TilingResult>
PartialAttentionOp::getTiledImplementation(OpBuilder &b,
                                           ArrayRef<OpFoldResult> offsets,
                                           ArrayRef<OpFoldResult> sizes) {
  PartialAttentionOp tile =
      buildTile(*this, b, offsets.front(), sizes.front(), getDpsInits());
  return TilingResult{{tile}, SmallVector<Value>(tile->getResults()), {}};
}

/// All of a result of type `type`: every tile updates the whole state.
static void getWholeResult(OpBuilder &b, Type type,
                           SmallVector<OpFoldResult> &offsets,
                           SmallVector<OpFoldResult> &sizes) {
  auto tensor = cast<RankedTensorType>(type);
  offsets.assign(tensor.getRank(), b.getIndexAttr(0));
  sizes = getAsIndexOpFoldResult(b.getContext(), tensor.getShape());
}

LogicalResult PartialAttentionOp::getResultTilePosition(
    OpBuilder &b, unsigned resultNumber, ArrayRef<OpFoldResult>,
    ArrayRef<OpFoldResult>, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  getWholeResult(b, getResult(resultNumber).getType(), resultOffsets,
                 resultSizes);
  return success();
}

//===----------------------------------------------------------------------===//
// Token ranges reduced apart
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
PartialAttentionOp::generateInitialTensorForPartialReduction(
    OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes,
    const SetVector<unsigned> &) {
  SmallVector<Value> inits;
  for (auto [index, type] : llvm::enumerate(getResultTypes())) {
    SmallVector<OpFoldResult> shape = {sizes.front()};
    llvm::append_range(
        shape, getAsIndexOpFoldResult(b.getContext(),
                                      cast<RankedTensorType>(type).getShape()));
    Value empty = tensor::EmptyOp::create(b, loc, shape, b.getF32Type());
    // The identity: acc 0, max -inf, sum 0.
    float identity = index == 1 ? -std::numeric_limits<float>::infinity() : 0.f;
    Value fill = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(identity));
    inits.push_back(linalg::FillOp::create(b, loc, fill, empty).getResult(0));
  }
  return inits;
}

FailureOr<TilingResult> PartialAttentionOp::tileToPartialReduction(
    OpBuilder &b, Location loc, ReductionTilingStrategy strategy,
    ValueRange init, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, const SetVector<unsigned> &,
    ArrayRef<OpFoldResult> splitReductionIvs) {
  if (strategy != ReductionTilingStrategy::PartialReductionOuterParallel)
    return emitOpError("only outer-parallel partial reduction keeps one state "
                       "per token range");
  SmallVector<Value> states;
  SmallVector<Operation *> slices;
  for (auto [partial, type] : llvm::zip_equal(init, getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<OpFoldResult> sliceOffsets, sliceSizes;
    getWholeResult(b, type, sliceOffsets, sliceSizes);
    sliceOffsets.insert(sliceOffsets.begin(), splitReductionIvs.front());
    sliceSizes.insert(sliceSizes.begin(), b.getIndexAttr(1));
    SmallVector<OpFoldResult> strides(sliceSizes.size(), b.getIndexAttr(1));
    auto slice = tensor::ExtractSliceOp::create(
        b, loc, tensor, partial, sliceOffsets, sliceSizes, strides);
    states.push_back(slice);
    slices.push_back(slice);
  }
  PartialAttentionOp tile =
      buildTile(*this, b, offsets.front(), sizes.front(), states);
  return TilingResult{{tile}, SmallVector<Value>(tile->getResults()), slices};
}

FailureOr<MergeResult>
PartialAttentionOp::mergeReductions(OpBuilder &b, Location loc,
                                    ValueRange partialReduce,
                                    const SetVector<unsigned> &) {
  auto merge = MergePartialsOp::create(b, loc, getResultTypes(), partialReduce,
                                       getDpsInits());
  return MergeResult{{merge}, SmallVector<Value>(merge->getResults())};
}

LogicalResult PartialAttentionOp::getPartialResultTilePosition(
    OpBuilder &b, unsigned resultNumber, ReductionTilingStrategy,
    ArrayRef<OpFoldResult>, ArrayRef<OpFoldResult>, const SetVector<unsigned> &,
    ArrayRef<OpFoldResult> splitReductionIvs,
    SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  getWholeResult(b, getResult(resultNumber).getType(), resultOffsets,
                 resultSizes);
  resultOffsets.insert(resultOffsets.begin(), splitReductionIvs.front());
  resultSizes.insert(resultSizes.begin(), b.getIndexAttr(1));
  return success();
}
