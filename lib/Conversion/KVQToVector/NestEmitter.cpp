//===- NestEmitter.cpp - Loops, blocks and accumulators of a nest ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::kvq;

/// Reductions of at most so many steps are written without a loop.
static constexpr int64_t kUnrolledTrips = 4;

namespace {

class NestEmitter {
public:
  NestEmitter(OpBuilder &builder, const NestPlan &plan)
      : builder(builder), loc(plan.op->getLoc()), plan(plan),
        positions(plan.kinds.size()) {}

  void run();

private:
  /// The carried values after a step at the position that was set.
  using Step = function_ref<SmallVector<Value>(ValueRange)>;

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  bool isUnrolled(unsigned axis);
  SmallVector<Segment> segmentsOf(unsigned axis, OpFoldResult extent);
  SmallVector<Segment> dynamicSegments(Value extent, int64_t units,
                                       int64_t lanes);
  SmallVector<Value> walk(unsigned axis, const Segment &segment,
                          ValueRange carried, Step step);
  void emitParallel(ArrayRef<unsigned> axes);
  void emitBlock();
  void emitReductionBlock(ArrayRef<Point> points);
  SmallVector<Value> emitReductions(ArrayRef<unsigned> axes,
                                    const Segment *laneSegment,
                                    ArrayRef<Point> points,
                                    ValueRange accumulators);
  SmallVector<Value> emitIntegerSums(ArrayRef<unsigned> axes,
                                     const Segment *laneSegment,
                                     ArrayRef<Point> points,
                                     ValueRange accumulators);
  SmallVector<Value> emitProducts(ArrayRef<unsigned> axes,
                                  const Segment *laneSegment,
                                  ArrayRef<Point> points, ValueRange sums);
  /// Carried values after all steps of `axis` (on the lane axis, those of
  /// `laneSegment` if it is not null).
  SmallVector<Value> walkAxis(unsigned axis, const Segment *laneSegment,
                              ValueRange carried, Step step);
  SmallVector<Value> emitLaneReductions(ArrayRef<Point> points,
                                        SmallVector<Value> accumulators);
  /// Reduces a stretch of the lane axis: for each output, the result of each
  /// point.
  SmallVector<SmallVector<LaneOf>> reduceSegment(const Segment &segment,
                                                 ArrayRef<Point> points);
  /// Reduces the block at each step of the run axis.
  void emitRuns(ArrayRef<Point> points);
  void storeRuns(OpOperand &init, Operation *combiner, ArrayRef<Point> points,
                 ArrayRef<Value> runs);
  SmallVector<Point> pointsOfBlock();

  OpBuilder &builder;
  Location loc;
  const NestPlan &plan;
  SmallVector<AxisPosition> positions;
  SmallVector<SmallVector<Segment>> segments;
  SmallVector<unsigned> parallelAxes, reducedAxes;
};

} // namespace

/// Full blocks, then the steps that are left, then ever narrower vectors.
static SmallVector<Segment> staticSegments(OpBuilder &builder, int64_t extent,
                                           int64_t units, int64_t lanes) {
  SmallVector<Segment> segments;
  int64_t position = 0;
  auto add = [&](int64_t trips, int64_t units, int64_t lanes) {
    if (trips == 0 || units == 0)
      return;
    int64_t end = position + trips * units * lanes;
    segments.push_back({builder.getIndexAttr(position),
                        builder.getIndexAttr(end), units, lanes, trips});
    position = end;
  };
  add(extent / (units * lanes), units, lanes);
  add(1, (extent - position) / lanes, lanes);
  while (position < extent)
    add(1, 1, llvm::bit_floor(static_cast<uint64_t>(extent - position)));
  return segments;
}

SmallVector<Segment> NestEmitter::dynamicSegments(Value extent, int64_t units,
                                                  int64_t lanes) {
  SmallVector<Segment> segments;
  OpFoldResult begin = builder.getIndexAttr(0);
  auto add = [&](int64_t units, int64_t lanes) {
    Value end = extent;
    if (units * lanes > 1)
      end = arith::SubIOp::create(
          builder, loc, extent,
          arith::RemUIOp::create(builder, loc, extent,
                                 constant(units * lanes)));
    segments.push_back({begin, end, units, lanes, 0});
    begin = end;
  };
  add(units, lanes);
  if (units > 1)
    add(1, lanes);
  if (lanes > 1)
    add(1, 1);
  return segments;
}

SmallVector<Segment> NestEmitter::segmentsOf(unsigned axis,
                                             OpFoldResult extent) {
  int64_t units = plan.block[axis];
  int64_t lanes = plan.step(axis);
  if (std::optional<int64_t> known = getConstantIntValue(extent))
    return staticSegments(builder, *known, units, lanes);
  return dynamicSegments(cast<Value>(extent), units, lanes);
}

/// Whether steps of `axis` are written one after another, together with those
/// of the reduced axes inside.
bool NestEmitter::isUnrolled(unsigned axis) {
  if (!plan.isReduced(axis))
    return false;
  int64_t trips = 1;
  for (unsigned inner : reducedAxes) {
    if (inner < axis)
      continue;
    if (ShapedType::isDynamic(plan.extents[inner]))
      return false;
    trips *= llvm::divideCeil(plan.extents[inner], plan.step(inner));
  }
  return trips <= kUnrolledTrips;
}

SmallVector<Value> NestEmitter::walk(unsigned axis, const Segment &segment,
                                     ValueRange carried, Step step) {
  int64_t stride = segment.units * segment.lanes;
  auto stepAt = [&](Value base, ValueRange values) {
    positions[axis] = {base, segment.units, segment.lanes};
    return step(values);
  };
  if (segment.trips == 1 || (segment.trips > 0 && isUnrolled(axis))) {
    SmallVector<Value> values(carried);
    int64_t begin = *getConstantIntValue(segment.begin);
    for (int64_t trip = 0; trip < segment.trips; ++trip)
      values = stepAt(constant(begin + trip * stride), values);
    return values;
  }
  auto value = [&](OpFoldResult bound) {
    return getValueOrCreateConstantIndexOp(builder, loc, bound);
  };
  auto loop = scf::ForOp::create(builder, loc, value(segment.begin),
                                 value(segment.end), constant(stride), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> values =
      stepAt(loop.getInductionVar(), loop.getRegionIterArgs());
  builder.setInsertionPointToEnd(loop.getBody());
  if (!carried.empty())
    scf::YieldOp::create(builder, loc, values);
  return loop.getResults();
}

SmallVector<Point> NestEmitter::pointsOfBlock() {
  SmallVector<Point> points = {Point(plan.kinds.size(), 0)};
  for (unsigned axis : parallelAxes) {
    SmallVector<Point> extended;
    int64_t units = axis == plan.runAxis ? 1 : positions[axis].units;
    for (const Point &point : points)
      for (int64_t unit = 0; unit < units; ++unit) {
        extended.push_back(point);
        extended.back()[axis] = unit;
      }
    points = std::move(extended);
  }
  return points;
}

void NestEmitter::emitParallel(ArrayRef<unsigned> axes) {
  if (axes.empty())
    return emitBlock();
  for (const Segment &segment : segments[axes.front()])
    walk(axes.front(), segment, {}, [&](ValueRange) {
      emitParallel(axes.drop_front());
      return SmallVector<Value>();
    });
}

void NestEmitter::emitBlock() {
  SmallVector<Point> points = pointsOfBlock();
  if (plan.runAxis && positions[*plan.runAxis].units > 1)
    return emitRuns(points);
  if (!reducedAxes.empty())
    return emitReductionBlock(points);
  BodyEmitter body(builder, plan, positions);
  SmallVector<SmallVector<Value>> results;
  for (const Point &point : points)
    results.push_back(body.emit(point, {}));
  for (auto [point, values] : llvm::zip_equal(points, results))
    for (auto [value, init] :
         llvm::zip_equal(values, plan.op.getDpsInitsMutable()))
      body.store(value, &init, point);
}

void NestEmitter::emitReductionBlock(ArrayRef<Point> points) {
  SmallVector<Value> accumulators;
  {
    BodyEmitter body(builder, plan, positions);
    for (const Point &point : points)
      for (OpOperand &init : plan.op.getDpsInitsMutable())
        accumulators.push_back(body.load(&init, point));
  }
  accumulators = plan.reducesLanes() ? emitLaneReductions(points, accumulators)
                                     : emitReductions(reducedAxes, nullptr,
                                                      points, accumulators);
  for (unsigned axis : reducedAxes)
    positions[axis] = AxisPosition();
  BodyEmitter body(builder, plan, positions);
  Value *accumulator = accumulators.begin();
  for (const Point &point : points)
    for (OpOperand &init : plan.op.getDpsInitsMutable())
      body.store(*accumulator++, &init, point);
}

void NestEmitter::emitRuns(ArrayRef<Point> points) {
  AxisPosition &position = positions[*plan.runAxis];
  const AxisPosition run = position;
  auto stepTo = [&](int64_t unit) {
    position = {
        builder.createOrFold<arith::AddIOp>(loc, run.base, constant(unit)), 1,
        1};
  };
  if (!llvm::isPowerOf2_64(run.units)) {
    for (int64_t unit = 0; unit < run.units; ++unit) {
      stepTo(unit);
      emitReductionBlock(points);
    }
    return;
  }

  unsigned outputs = plan.combiners.size();
  SmallVector<SmallVector<SmallVector<LaneOf>>> results(outputs);
  for (int64_t unit = 0; unit < run.units; ++unit) {
    stepTo(unit);
    // The extent is a multiple of the lanes, so that there is one segment.
    SmallVector<SmallVector<LaneOf>> reduced =
        reduceSegment(segments[*plan.laneAxis].front(), points);
    for (unsigned output = 0; output < outputs; ++output)
      results[output].push_back(std::move(reduced[output]));
  }
  position = run;
  for (unsigned axis : reducedAxes)
    positions[axis] = AxisPosition();
  for (unsigned output = 0; output < outputs; ++output)
    storeRuns(plan.op.getDpsInitsMutable()[output], plan.combiners[output],
              points, collectRuns(builder, loc, results[output]));
}

void NestEmitter::storeRuns(OpOperand &init, Operation *combiner,
                            ArrayRef<Point> points, ArrayRef<Value> runs) {
  BodyEmitter body(builder, plan, positions);
  for (auto [point, run] : llvm::zip_equal(points, runs)) {
    SmallVector<Value> at = body.indices(&init, point);
    Value previous = vector::LoadOp::create(
        builder, loc, cast<VectorType>(run.getType()), init.get(), at);
    vector::StoreOp::create(builder, loc,
                            combine(builder, combiner, previous, run),
                            init.get(), at);
  }
}

SmallVector<Value> NestEmitter::emitReductions(ArrayRef<unsigned> axes,
                                               const Segment *laneSegment,
                                               ArrayRef<Point> points,
                                               ValueRange accumulators) {
  if (axes.empty()) {
    BodyEmitter body(builder, plan, positions);
    unsigned outputs = plan.combiners.size();
    SmallVector<Value> results;
    for (auto [i, point] : llvm::enumerate(points))
      llvm::append_range(
          results, body.emit(point, accumulators.slice(i * outputs, outputs)));
    return results;
  }
  if (plan.integerSum && plan.integerSum->axes[axes.front()])
    return emitIntegerSums(axes, laneSegment, points, accumulators);
  return walkAxis(
      axes.front(), laneSegment, accumulators, [&](ValueRange carried) {
        return emitReductions(axes.drop_front(), laneSegment, points, carried);
      });
}

SmallVector<Value> NestEmitter::walkAxis(unsigned axis,
                                         const Segment *laneSegment,
                                         ValueRange carried, Step step) {
  SmallVector<Value> values(carried);
  if (laneSegment && axis == plan.laneAxis)
    return walk(axis, *laneSegment, values, step);
  for (const Segment &segment : segments[axis])
    values = walk(axis, segment, values, step);
  return values;
}

/// Adds, to each accumulator, the sum of products along `axes` times its scale.
SmallVector<Value> NestEmitter::emitIntegerSums(ArrayRef<unsigned> axes,
                                                const Segment *laneSegment,
                                                ArrayRef<Point> points,
                                                ValueRange accumulators) {
  auto type = dyn_cast<VectorType>(accumulators.front().getType());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  int64_t lanes = type ? type.getNumElements() : 1;
  SmallVector<Value> sums(points.size(), splat(builder, loc, zero, lanes));
  sums = emitProducts(axes, laneSegment, points, sums);
  if (ProductEmitter products(builder, plan, positions);
      products.crossesVectors())
    sums = products.uncross(points, sums);
  for (unsigned axis : axes)
    positions[axis] = AxisPosition();
  BodyEmitter body(builder, plan, positions);
  body.setLanes(lanes);
  Value converted = plan.integerSum->conversion->getResult(0);
  SmallVector<Value> results;
  for (auto [point, sum, accumulator] :
       llvm::zip_equal(points, sums, accumulators)) {
    Type floats = accumulator.getType();
    body.define(converted, point,
                arith::SIToFPOp::create(builder, loc, floats, sum));
    llvm::append_range(results, body.emit(point, accumulator));
  }
  return results;
}

SmallVector<Value> NestEmitter::emitProducts(ArrayRef<unsigned> axes,
                                             const Segment *laneSegment,
                                             ArrayRef<Point> points,
                                             ValueRange sums) {
  if (!axes.empty())
    return walkAxis(axes.front(), laneSegment, sums, [&](ValueRange carried) {
      return emitProducts(axes.drop_front(), laneSegment, points, carried);
    });
  ProductEmitter products(builder, plan, positions);
  SmallVector<Value> results;
  for (auto [point, sum] : llvm::zip_equal(points, sums))
    results.push_back(products.add(sum, point));
  return results;
}

SmallVector<SmallVector<LaneOf>>
NestEmitter::reduceSegment(const Segment &segment, ArrayRef<Point> points) {
  unsigned outputs = plan.combiners.size();
  int64_t lanes = segment.lanes / (plan.addsNeighbours(segment.lanes) ? 2 : 1);
  SmallVector<Value> partial;
  for (size_t i = 0; i < points.size(); ++i)
    for (auto [combiner, init] :
         llvm::zip_equal(plan.combiners, plan.op.getDpsInits())) {
      TypedAttr neutral =
          neutralElement(combiner, getElementTypeOrSelf(init.getType()));
      partial.push_back(splat(builder, loc,
                              arith::ConstantOp::create(builder, loc, neutral),
                              lanes));
    }
  partial = emitReductions(reducedAxes, &segment, points, partial);
  SmallVector<SmallVector<LaneOf>> results;
  for (unsigned output = 0; output < outputs; ++output) {
    SmallVector<Value> ofOutput;
    for (unsigned i = output; i < partial.size(); i += outputs)
      ofOutput.push_back(partial[i]);
    results.push_back(
        reduceLanes(builder, loc, plan.combiners[output], ofOutput));
  }
  return results;
}

SmallVector<Value>
NestEmitter::emitLaneReductions(ArrayRef<Point> points,
                                SmallVector<Value> accumulators) {
  unsigned outputs = plan.combiners.size();
  for (const Segment &segment : segments[*plan.laneAxis]) {
    if (segment.lanes == 1) {
      accumulators =
          emitReductions(reducedAxes, &segment, points, accumulators);
      continue;
    }
    for (auto [output, reduced] :
         llvm::enumerate(reduceSegment(segment, points)))
      for (auto [i, result] : llvm::enumerate(reduced)) {
        Value &accumulator = accumulators[i * outputs + output];
        accumulator = combine(builder, plan.combiners[output], accumulator,
                              vector::ExtractOp::create(
                                  builder, loc, result.vector, result.lane));
      }
  }
  return accumulators;
}

void NestEmitter::run() {
  SmallVector<Range, 4> ranges = cast<linalg::LinalgOp>(plan.op.getOperation())
                                     .createLoopRanges(builder, loc);
  for (unsigned axis = 0; axis < plan.kinds.size(); ++axis) {
    (plan.isReduced(axis) ? reducedAxes : parallelAxes).push_back(axis);
    segments.push_back(segmentsOf(axis, ranges[axis].size));
  }
  emitParallel(parallelAxes);
}

void kvq::emitNest(OpBuilder &builder, const NestPlan &plan) {
  NestEmitter(builder, plan).run();
}
