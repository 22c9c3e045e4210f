//===- NestEmitter.h - Writes the loops of a planned nest -------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_NESTEMITTER_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_NESTEMITTER_H

#include "NestPlan.h"

#include <map>

namespace mlir::kvq {

/// A stretch of an axis that is walked in steps of `units` x `lanes` elements.
/// Without an `end` it is a single step.
struct Segment {
  OpFoldResult begin, end;
  int64_t units, lanes;
  /// Steps, where known; 0 where not.
  int64_t trips;
};

/// Where a nest under construction stands on an axis: `units` steps of `lanes`
/// elements that start at `base`.
struct AxisPosition {
  Value base;
  int64_t units = 1, lanes = 1;
};

/// The step of a block's axes, one offset (counted in steps) for each axis.
using Point = SmallVector<int64_t>;

/// Clones the body of a structured op for the points of a block. What several
/// points share (loads, conversions) is written once.
class BodyEmitter {
public:
  BodyEmitter(OpBuilder &builder, const NestPlan &plan,
              ArrayRef<AxisPosition> positions);

  /// Vectors have so many lanes, whatever the position on the lane axis.
  void setLanes(int64_t count) { lanes = count; }
  /// The value of an op of the body at `point`, in place of what it computes.
  void define(Value value, const Point &point, Value replacement);

  /// The values that the body yields at `point`, with `accumulators` for the
  /// outputs' arguments (empty: outputs are read from memory where used).
  SmallVector<Value> emit(const Point &point, ValueRange accumulators);

  Value load(OpOperand *operand, const Point &point);
  void store(Value value, OpOperand *operand, const Point &point);
  /// Indices of the operand's element at `point`.
  SmallVector<Value> indices(OpOperand *operand, const Point &point);

private:
  // BytesOfPairs.cpp:
  Value loadPairs(OpOperand *operand, const Point &point, int64_t neighbour);
  Value loadFromPairs(OpOperand *operand, const Point &point,
                      int64_t neighbour);
  OpOperand *findExtendedPairs(Operation *op);
  Value emitBytesOfPairs(Operation *op, const Point &point);
  Value splatInteger(int32_t value);
  Value extendBytes(Value words, int64_t neighbour);
  Value convertSignedBytes(Value words, int64_t neighbour);

  Value axisIndex(unsigned axis, const Point &point);
  Value vectorIndex(unsigned axis, const Point &point);
  Value emitSum(Operation *op, const Point &point, ValueRange accumulators);
  Value emitOp(Operation *op, unsigned resultNumber, const Point &point,
               ValueRange accumulators);
  Value emitValue(Value value, const Point &point, ValueRange accumulators);
  Point restrict(const Point &point, const llvm::SmallBitVector &axes);
  const llvm::SmallBitVector &axesOf(Value value);

  OpBuilder &builder;
  Location loc;
  const NestPlan &plan;
  ArrayRef<AxisPosition> positions;
  int64_t lanes;
  std::map<std::pair<void *, Point>, Value> emitted;
  llvm::DenseMap<Value, llvm::SmallBitVector> valueAxes;
};

/// Writes the products of an integer sum for the points of a block.
class ProductEmitter {
public:
  ProductEmitter(OpBuilder &builder, const NestPlan &plan,
                 ArrayRef<AxisPosition> positions)
      : builder(builder), loc(plan.op->getLoc()), plan(plan),
        positions(positions), body(builder, plan, positions) {}

  /// `sum` plus the product, or the two of a pair, at `point`.
  Value add(Value sum, const Point &point);

  /// Whether the lanes of two neighbouring vectors have each other's places
  /// while products are added.
  bool crossesVectors() const;
  /// The sums at `points` with their lanes in order.
  SmallVector<Value> uncross(ArrayRef<Point> points, ValueRange sums);

private:
  Value getFactor(unsigned index, const Point &point, int64_t count);
  Value apply(ArrayRef<Operation *> ops, Value element);
  bool isUniform(OpOperand *operand) const;
  Value broadcastNeighbours(OpOperand *operand, const Point &point,
                            int64_t count);
  Value loadPacked(OpOperand *operand, const Point &point, int64_t lanes);
  Value loadPair(OpOperand *operand, const Point &point);
  Value loadQuad(OpOperand *operand, const Point &point);
  Value loadCrossedQuad(OpOperand *operand, const Point &point);
  Value addNeighbours(Value products);
  int64_t getLanes() const {
    return plan.laneAxis ? positions[*plan.laneAxis].lanes : 1;
  }
  bool hasNeighbours() const;
  bool hasByteProducts() const;
  Value multiplyNeighbours(Value left, Value right);
  Value callByteProducts(Value sum, Value bytes, Value signedBytes);
  Value addByteProducts(Value sum, const Point &point);

  OpBuilder &builder;
  Location loc;
  const NestPlan &plan;
  ArrayRef<AxisPosition> positions;
  BodyEmitter body;
  /// Extended factors, by operand and by the point on its axes.
  std::map<std::pair<unsigned, Point>, Value> factors;
};

/// Writes the whole nest at the builder's insertion point.
void emitNest(OpBuilder &builder, const NestPlan &plan);

/// `value`, or a vector with `value` in each of `lanes` lanes.
Value splat(OpBuilder &builder, Location loc, Value value, int64_t lanes);

/// A scalar in one lane of a vector.
struct LaneOf {
  Value vector;
  int64_t lane;
};

/// Reduces the lanes of each accumulator with clones of `combiner`, all
/// together. Where the result of each lies does not depend on the values.
SmallVector<LaneOf> reduceLanes(OpBuilder &builder, Location loc,
                                Operation *combiner, ValueRange accumulators);

/// Most vectors that collectRuns() takes: the 32-bit lanes of 128 bits.
inline constexpr int64_t kMaxTransposed = 4;

/// Of a power of two of reduceLanes() results, `results[j][i]` becomes element
/// j of the i-th vector.
SmallVector<Value> collectRuns(OpBuilder &builder, Location loc,
                               ArrayRef<SmallVector<LaneOf>> results);

/// The value that `combiner` leaves every other value unchanged by.
TypedAttr neutralElement(Operation *combiner, Type elementType);

/// A clone of `combiner` on `lhs` and `rhs`.
Value combine(OpBuilder &builder, Operation *combiner, Value lhs, Value rhs);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_NESTEMITTER_H
