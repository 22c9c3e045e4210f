//===- CrossedQuads.cpp - Quads of bytes for two vectors at once ----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four bytes of each lane lie in two rows of pairs. Where two neighbouring
// vectors of the lane axis are in a block, both are interleaved within parts of
// 128 bits, which x86 does in one instruction each, where interleaving halves
// of vectors takes three. The lanes of the two then have each other's places,
// which is made good when all products are added.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvq;

/// Lanes of 32 bits in a part.
static constexpr int64_t kPart = 4;

bool ProductEmitter::crossesVectors() const {
  const IntegerSum &sum = *plan.integerSum;
  if (sum.neighbours != 4 || !sum.pairAxis || !plan.laneAxis ||
      sum.pairAxis == plan.laneAxis || getLanes() <= kPart ||
      positions[*plan.laneAxis].units % 2 != 0 || !hasByteProducts())
    return false;
  // All steps have to be of quads, and lanes differ in one factor alone.
  int64_t extent = plan.extents[*sum.pairAxis];
  if (ShapedType::isDynamic(extent) || extent % sum.neighbours != 0)
    return false;
  auto isPacked = [&](const IntegerFactor &factor) {
    return !isUniform(factor.operand) &&
           isPackedAlong(plan, factor.operand, *plan.laneAxis);
  };
  return (isUniform(sum.factors[0].operand) && isPacked(sum.factors[1])) ||
         (isUniform(sum.factors[1].operand) && isPacked(sum.factors[0]));
}

/// As loadQuad, of the lanes that the vector has while sums are taken: the
/// lower halves of the parts of two vectors, or the upper ones.
Value ProductEmitter::loadCrossedQuad(OpOperand *operand, const Point &point) {
  unsigned laneAxis = *plan.laneAxis;
  int64_t lanes = getLanes(), unit = point[laneAxis];
  Value rows[2];
  for (int64_t i : {0, 1}) {
    Point at(point);
    at[laneAxis] = unit & ~1;
    at[*plan.integerSum->pairAxis] += 2 * i;
    rows[i] = vector::BitCastOp::create(
        builder, loc, VectorType::get({2 * lanes}, builder.getI16Type()),
        loadPacked(operand, at, 2 * lanes));
  }
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t part = lane / kPart * 2 + unit % 2;
    int64_t word = part * kPart + lane % kPart;
    mask.append({word, 2 * lanes + word});
  }
  return vector::BitCastOp::create(
      builder, loc, VectorType::get({4 * lanes}, builder.getI8Type()),
      vector::ShuffleOp::create(builder, loc, rows[0], rows[1], mask));
}

SmallVector<Value> ProductEmitter::uncross(ArrayRef<Point> points,
                                           ValueRange sums) {
  unsigned laneAxis = *plan.laneAxis;
  int64_t lanes = getLanes();
  SmallVector<Value> results;
  for (auto [i, point] : llvm::enumerate(points)) {
    Point other(point);
    other[laneAxis] ^= 1;
    Value found[2];
    bool isUpper = point[laneAxis] % 2 != 0;
    found[isUpper] = sums[i];
    found[!isUpper] = sums[llvm::find(points, other) - points.begin()];
    SmallVector<int64_t> mask;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      // The lane among those of both vectors, in their order.
      int64_t all = isUpper * lanes + lane, part = all / kPart;
      mask.push_back(part % 2 * lanes + part / 2 * kPart + all % kPart);
    }
    results.push_back(
        vector::ShuffleOp::create(builder, loc, found[0], found[1], mask));
  }
  return results;
}
