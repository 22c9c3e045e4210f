//===- Rotate.cpp - Hadamard rotations ------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// kvq.rotate: its verifier, and its butterflies as structured ops (rule R27).
// Each step reads one of two tensors, the output and a scratch of its size, and
// writes the other: what bufferization knows to be no conflict.
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::kvq;

LogicalResult RotateOp::verify() {
  RankedTensorType input = getInput().getType(), signs = getSigns().getType();
  int64_t size = getSize();
  if (size < 2 || !llvm::isPowerOf2_64(size))
    return emitOpError(
               "expected a rotation of a power of two of channels, 2 or "
               "more, got ")
           << size;
  if (input.getRank() < 1 ||
      input.isDynamicDim(std::max<int64_t>(input.getRank() - 1, 0)))
    return emitOpError("expected a tensor with a static head_dim as its last "
                       "extent, got ")
           << input;
  int64_t headDim = input.getShape().back();
  if (headDim % size != 0)
    return emitOpError("rotation of ")
           << size << " channels does not divide head_dim " << headDim;
  auto expected = RankedTensorType::get({1, headDim}, signs.getElementType());
  if (signs != expected)
    return emitOpError("expected signs of type ")
           << expected << ", got " << signs;
  if (getInit().getType() != input || getResult().getType() != input)
    return emitOpError("expected an output and a result of the input's type ")
           << input << ", got " << getInit().getType() << " and "
           << getResult().getType();
  return success();
}

namespace {

/// Builds the steps of a rotation on rows of one type.
class Rotator {
public:
  Rotator(OpBuilder &b, Location loc, RankedTensorType type)
      : b(b), loc(loc), type(type), rank(type.getRank()) {}

  /// For each element of `target`, what `body` makes of it, of that of `source`
  /// (which may be null) and of its channel's sign.
  Value map(Value source, Value signs, Value target,
            function_ref<Value(OpBuilder &, Location, Value, Value)> body);
  /// (a, b) -> (a + b, a - b) on the channels of `source` at distance `stride`,
  /// into `target`.
  Value butterfly(Value source, Value target, int64_t stride);

private:
  OpBuilder &b;
  Location loc;
  RankedTensorType type;
  int64_t rank;
};

} // namespace

Value Rotator::map(
    Value source, Value signs, Value target,
    function_ref<Value(OpBuilder &, Location, Value, Value)> body) {
  AffineMap rows = b.getMultiDimIdentityMap(rank);
  AffineMap channels = AffineMap::get(
      rank, 0, {b.getAffineConstantExpr(0), b.getAffineDimExpr(rank - 1)},
      b.getContext());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  if (source) {
    inputs.push_back(source);
    maps.push_back(rows);
  }
  inputs.push_back(signs);
  maps.append({channels, rows});
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto buildBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value sign = arith::SIToFPOp::create(b, loc, b.getF32Type(),
                                         args[inputs.size() - 1]);
    Value element = source ? args.front() : args.back();
    linalg::YieldOp::create(b, loc, body(b, loc, element, sign));
  };
  return linalg::GenericOp::create(b, loc, type, inputs, target, maps,
                                   iterators, buildBody)
      .getResult(0);
}

Value Rotator::butterfly(Value source, Value target, int64_t stride) {
  // Channels as blocks x 2 x stride.
  int64_t blocks = type.getShape().back() / (2 * stride);
  SmallVector<int64_t> shape(type.getShape().drop_back());
  shape.append({blocks, 2, stride});
  SmallVector<ReassociationIndices> reassociation;
  for (int64_t axis = 0; axis < rank - 1; ++axis)
    reassociation.push_back({axis});
  reassociation.push_back({rank - 1, rank, rank + 1});
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, source);
  sizes.pop_back();
  for (int64_t extent : {blocks, int64_t(2), stride})
    sizes.push_back(b.getIndexAttr(extent));
  auto split = [&](Value rows) -> Value {
    return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), rows,
                                         reassociation, sizes);
  };
  Value from = split(source), to = split(target);

  // One of each pair, without its axis.
  SmallVector<OpFoldResult> ones(rank + 2, b.getIndexAttr(1));
  sizes[rank] = b.getIndexAttr(1);
  SmallVector<int64_t> halfShape(shape);
  halfShape.erase(halfShape.begin() + rank);
  auto getOffsets = [&](int64_t which) {
    SmallVector<OpFoldResult> offsets(rank + 2, b.getIndexAttr(0));
    offsets[rank] = b.getIndexAttr(which);
    return offsets;
  };
  auto extract = [&](Value rows, int64_t which) -> Value {
    return tensor::ExtractSliceOp::create(b, loc, type.clone(halfShape), rows,
                                          getOffsets(which), sizes, ones);
  };
  SmallVector<Value> pair = {extract(from, 0), extract(from, 1)};
  SmallVector<AffineMap> maps(3, b.getMultiDimIdentityMap(rank + 1));
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  for (int64_t which : {0, 1}) {
    auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
      Value value =
          which == 0
              ? arith::AddFOp::create(b, loc, args[0], args[1]).getResult()
              : arith::SubFOp::create(b, loc, args[0], args[1]).getResult();
      linalg::YieldOp::create(b, loc, value);
    };
    Value half = extract(to, which);
    half = linalg::GenericOp::create(b, loc, half.getType(), pair, half, maps,
                                     iterators, body)
               .getResult(0);
    to = tensor::InsertSliceOp::create(b, loc, half, to, getOffsets(which),
                                       sizes, ones);
  }
  return tensor::CollapseShapeOp::create(b, loc, type, to, reassociation);
}

FailureOr<SmallVector<Value>> RotateOp::decomposeOperation(OpBuilder &b) {
  Rotator rotator(b, getLoc(), getInput().getType());
  int64_t size = getSize();
  double bound = std::numeric_limits<float>::max() / double(size);
  double root = 1 / std::sqrt(double(size));
  auto multiply = [](OpBuilder &b, Location loc, Value left, Value right) {
    return arith::MulFOp::create(b, loc, left, right).getResult();
  };
  // Sums of as many elements stay finite.
  auto enter = [&](OpBuilder &b, Location loc, Value element,
                   Value sign) -> Value {
    if (getInverse())
      return element;
    return buildClamp(b, loc, multiply(b, loc, element, sign), -bound, bound);
  };
  auto leave = [&](OpBuilder &b, Location loc, Value element, Value sign) {
    Value scaled = multiply(b, loc, element, buildF32(b, loc, root));
    return getInverse() ? multiply(b, loc, scaled, sign) : scaled;
  };
  Value rows = rotator.map(getInput(), getSigns(), getInit(), enter);
  Value other = tensor::EmptyOp::create(
      b, getLoc(), tensor::getMixedSizes(b, getLoc(), getInput()),
      b.getF32Type());
  bool isInOutput = true;
  for (int64_t stride = 1; stride < size; stride *= 2) {
    Value written = rotator.butterfly(rows, other, stride);
    other = rows;
    rows = written;
    isInOutput = !isInOutput;
  }
  if (isInOutput)
    return SmallVector<Value>{rotator.map(Value(), getSigns(), rows, leave)};
  return SmallVector<Value>{rotator.map(rows, getSigns(), other, leave)};
}
