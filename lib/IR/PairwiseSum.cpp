//===- PairwiseSum.cpp - Sums whose order is given ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairwiseSum.h"
#include "TensorSlices.h"

#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

/// An uninitialized f32 tensor shaped as `value`, but `extent` along `axis`.
static Value buildEmptyLike(OpBuilder &b, Location loc, Value value,
                            int64_t axis, int64_t extent) {
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, value);
  extents[axis] = b.getIndexAttr(extent);
  return tensor::EmptyOp::create(b, loc, extents, b.getF32Type());
}

/// `terms` and zeros behind them, up to a power of two along `axis`.
static Value buildPadded(OpBuilder &b, Location loc, Value terms,
                         int64_t axis) {
  int64_t extent = cast<RankedTensorType>(terms.getType()).getDimSize(axis);
  if (llvm::isPowerOf2_64(extent))
    return terms;
  Value padded = buildFill(
      b, loc, buildEmptyLike(b, loc, terms, axis, llvm::PowerOf2Ceil(extent)),
      0.f);
  return buildInsert(b, loc, terms, padded, axis, b.getIndexAttr(0),
                     b.getIndexAttr(extent));
}

/// Sums of neighbours along `axis`: half the extent.
static Value buildHalf(OpBuilder &b, Location loc, Value terms, int64_t axis) {
  auto type = cast<RankedTensorType>(terms.getType());
  unsigned rank = type.getRank();
  AffineExpr pair = b.getAffineDimExpr(axis) * 2;
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps;
  for (int64_t neighbour : {0, 1}) {
    SmallVector<AffineExpr> exprs(identity.getResults());
    exprs[axis] = pair + neighbour;
    maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  Value half = buildEmptyLike(b, loc, terms, axis, type.getDimSize(axis) / 2);
  auto body = [](OpBuilder &b, Location loc, ValueRange args) {
    Value sum = arith::AddFOp::create(b, loc, args[0], args[1]);
    linalg::YieldOp::create(b, loc, sum);
  };
  return linalg::GenericOp::create(b, loc, half.getType(),
                                   ValueRange{terms, terms}, half, maps,
                                   iterators, body)
      .getResult(0);
}

/// `value` without its axis `axis`, of extent 1.
static Value dropUnitAxis(OpBuilder &b, Location loc, Value value,
                          int64_t axis) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, value);
  SmallVector<OpFoldResult> zeros(sizes.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return tensor::ExtractSliceOp::create(b, loc, type.clone(shape), value, zeros,
                                        sizes, ones);
}

Value kvq::buildPairwiseSum(OpBuilder &b, Location loc, Value terms,
                            int64_t axis) {
  terms = buildPadded(b, loc, terms, axis);
  while (cast<RankedTensorType>(terms.getType()).getDimSize(axis) > 1)
    terms = buildHalf(b, loc, terms, axis);
  return dropUnitAxis(b, loc, terms, axis);
}
