//===- GroupMetadata.cpp - Scales and zeros of groups ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How elements become the metadata of their groups: statistics first, then
// scales and zeros from these, where the format searches the best of several.
//
//===----------------------------------------------------------------------===//

#include "GroupMetadata.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

Value kvq::buildElement(OpBuilder &b, Location loc, Value element) {
  return buildClampToFinite(b, loc, buildExtend(b, loc, element),
                            element.getType());
}

std::pair<Value, Value> kvq::readMetadata(OpBuilder &b, Location loc,
                                          FormatInterface format,
                                          ValueRange metadata) {
  size_t count = format.getZeroType() ? 2 : 1;
  Value zero = count == 2 ? metadata[1] : Value();
  Value outer = metadata.size() > count ? metadata.back() : Value();
  return {format.buildScaleValue(b, loc, metadata.front(), outer), zero};
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

/// The value that a reduction of `statistic` starts with.
static double getNeutral(RangeStatistic statistic) {
  double infinity = std::numeric_limits<double>::infinity();
  switch (statistic) {
  case RangeStatistic::LargestMagnitude:
    return 0.0;
  case RangeStatistic::Smallest:
    return infinity;
  case RangeStatistic::Largest:
    return -infinity;
  case RangeStatistic::FirstLargest:
  case RangeStatistic::SumOfSquares:
    break;
  }
  llvm_unreachable("a statistic that is no reduction");
}

/// Folds `element` into the running `statistic`, a largest or smallest; NaN
/// stays.
static Value buildStatistic(OpBuilder &b, Location loc,
                            RangeStatistic statistic, Value element,
                            Value running) {
  if (statistic == RangeStatistic::LargestMagnitude)
    element = math::AbsFOp::create(b, loc, element);
  if (statistic == RangeStatistic::Smallest)
    return arith::MinimumFOp::create(b, loc, running, element);
  return arith::MaximumFOp::create(b, loc, running, element);
}
static Value buildSumOfSquares(OpBuilder &b, Location loc,
                               const GroupLoops &loops, Value input) {
  return buildGroupSum(
      b, loc, loops, input,
      [](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value element = buildElement(b, loc, args.front());
        return arith::MulFOp::create(b, loc, element, element);
      });
}
/// The number of an element in its group, an f32: tokens before channels.
static Value buildPosition(OpBuilder &b, Location loc,
                           const GroupLoops &loops) {
  Value position;
  for (unsigned axis = 0; axis < loops.size(); ++axis) {
    if (!loops.isInside(axis))
      continue;
    Value index = linalg::IndexOp::create(b, loc, axis);
    index = arith::IndexCastOp::create(b, loc, b.getI32Type(), index);
    if (position) {
      Value extent = arith::ConstantOp::create(
          b, loc, b.getI32IntegerAttr(loops.getExtentInside(axis)));
      position = arith::MulIOp::create(b, loc, position, extent);
      index = arith::AddIOp::create(b, loc, position, index);
    }
    position = index;
  }
  if (!position)
    return buildF32(b, loc, 0.0);
  return arith::SIToFPOp::create(b, loc, b.getF32Type(), position);
}

/// The first element of the magnitude `largest` of each group. Any order gives
/// it: it is the one with the least of numbers that hold the position and, in
/// the last bit, the sign.
static Value buildFirstLargest(OpBuilder &b, Location loc,
                               const GroupLoops &loops, Value input,
                               Value largest) {
  double infinity = std::numeric_limits<double>::infinity();
  auto findFirst = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value element = buildElement(b, loc, args[0]);
    Value isLargest =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                              math::AbsFOp::create(b, loc, element), args[1]);
    Value isNegative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                             element, buildF32(b, loc, 0.0));
    Value half = arith::SelectOp::create(
        b, loc, isNegative, buildF32(b, loc, 0.5), buildF32(b, loc, 0.0));
    Value number =
        arith::AddFOp::create(b, loc, buildPosition(b, loc, loops), half);
    number = arith::SelectOp::create(b, loc, isLargest, number,
                                     buildF32(b, loc, infinity));
    return SmallVector<Value>{
        arith::MinimumFOp::create(b, loc, args[2], number)};
  };
  Value first = reduceGroups(b, loc, loops, {input, largest}, largest, infinity,
                             findFirst)
                    .front();
  auto giveSign = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value whole = math::FloorOp::create(b, loc, args[0]);
    Value isPositive = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                             whole, args[0]);
    Value negative = arith::NegFOp::create(b, loc, args[1]);
    return SmallVector<Value>{
        arith::SelectOp::create(b, loc, isPositive, args[1], negative)};
  };
  return mapGroups(b, loc, first, largest, giveSign).front();
}

/// The statistics of each group of the split `input`, f32 tensors of the shape
/// of `scales`.
static SmallVector<Value> buildStatistics(OpBuilder &b, Location loc,
                                          FormatInterface format,
                                          const GroupLoops &loops, Value input,
                                          Value scales) {
  SmallVector<RangeStatistic> statistics = format.getRangeStatistics();
  if (statistics.front() == RangeStatistic::SumOfSquares)
    return {buildSumOfSquares(b, loc, loops, input)};
  bool isFirst = statistics.front() == RangeStatistic::FirstLargest;
  if (isFirst)
    statistics = {RangeStatistic::LargestMagnitude};
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value element = buildElement(b, loc, args.front());
    SmallVector<Value> results;
    for (auto [statistic, running] :
         llvm::zip_equal(statistics, args.drop_front()))
      results.push_back(buildStatistic(b, loc, statistic, element, running));
    return results;
  };
  SmallVector<Value> found =
      reduceGroups(b, loc, loops, input, scales,
                   llvm::map_to_vector(statistics, getNeutral), body);
  if (isFirst)
    found.front() = buildFirstLargest(b, loc, loops, input, found.front());
  return found;
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// The metadata that follow from the groups' statistics and what is given, of
/// the range `candidate` where there are several; the stored ones are written
/// into `inits`.
static MetadataTensors buildMetadata(OpBuilder &b, Location loc,
                                     FormatInterface format,
                                     ValueRange statistics, ValueRange given,
                                     Value candidate, ValueRange inits) {
  SmallVector<Value> targets(inits);
  if (format.encodesUnrounded()) {
    SmallVector<OpFoldResult> extents =
        tensor::getMixedSizes(b, loc, inits.front());
    for (size_t i = 0; i < inits.size(); ++i)
      targets.push_back(
          tensor::EmptyOp::create(b, loc, extents, b.getF32Type()));
  }
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value outer = given.empty() ? Value() : args[statistics.size()];
    GroupMetadata metadata = format.buildMetadata(
        b, loc, args.take_front(statistics.size()), candidate, outer);
    SmallVector<Value> results = {metadata.scale};
    if (metadata.zero)
      results.push_back(metadata.zero);
    if (format.encodesUnrounded()) {
      results.push_back(metadata.encodeScale);
      if (metadata.encodeZero)
        results.push_back(metadata.encodeZero);
    }
    return results;
  };
  SmallVector<Value> inputs(statistics);
  llvm::append_range(inputs, given);
  SmallVector<Value> results = mapGroups(b, loc, inputs, targets, body);
  MetadataTensors metadata;
  llvm::append_range(metadata.stored,
                     ArrayRef(results).take_front(inits.size()));
  llvm::append_range(metadata.encode,
                     ArrayRef(results).take_back(inits.size()));
  if (!format.encodesUnrounded())
    llvm::append_range(metadata.encode, given);
  return metadata;
}
/// The squared error of each group of the split `input` under `metadata`.
static Value buildSquaredError(OpBuilder &b, Location loc,
                               FormatInterface format, const GroupLoops &loops,
                               Value input, ValueRange metadata) {
  SmallVector<Value> inputs = {input};
  llvm::append_range(inputs, metadata);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
    Value element = buildElement(b, loc, args[0]);
    auto [scale, zero] = readMetadata(b, loc, format, args.drop_front());
    Value code = format.buildEncode(b, loc, element, scale, zero);
    Value value = format.buildDecode(b, loc, code, scale, zero);
    Value difference = arith::SubFOp::create(b, loc, value, element);
    return arith::MulFOp::create(b, loc, difference, difference);
  };
  return buildGroupSum(b, loc, loops, inputs, body);
}

/// What `best` of each group becomes after a candidate: `found` where its error
/// is less than the least one so far, or it is the first. Each by itself:
/// integer zeros lead to no float.
static Value buildBetter(OpBuilder &b, Location loc, Value isFirst, Value error,
                         Value least, Value found, Value best) {
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value isLess = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                         args[0], args[1]);
    Value isBetter = arith::OrIOp::create(b, loc, isFirst, isLess);
    return SmallVector<Value>{
        arith::SelectOp::create(b, loc, isBetter, args[2], args[3])};
  };
  return mapGroups(b, loc, {error, least, found}, best, body).front();
}

/// Tries each range, and leaves in `inits` the metadata of the one with the
/// least squared error, of each group by itself (rule R20).
static MetadataTensors searchMetadata(OpBuilder &b, Location loc,
                                      FormatInterface format,
                                      const GroupLoops &loops, Value input,
                                      ValueRange statistics, ValueRange given,
                                      ValueRange inits) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value).getResult();
  };
  // What the first candidate replaces is read, and so has to be something.
  SmallVector<Value> best = {
      buildEmptyLike(b, loc, inits.front(), b.getF32Type())};
  llvm::append_range(best, inits);
  // The first candidate is chosen whatever these hold, but they are read.
  for (Value &init : best) {
    Value none = arith::ConstantOp::create(
        b, loc, b.getZeroAttr(getElementTypeOrSelf(init)));
    init = linalg::FillOp::create(b, loc, none, init).getResult(0);
  }
  Value zero = constant(0);
  auto tryRange = [&](OpBuilder &b, Location loc, Value i, ValueRange best) {
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, i, zero);
    Value number = arith::IndexCastOp::create(b, loc, b.getI32Type(), i);
    number = arith::SIToFPOp::create(b, loc, b.getF32Type(), number);
    SmallVector<Value> scratch;
    for (Value init : best.drop_front())
      scratch.push_back(
          buildEmptyLike(b, loc, init, getElementTypeOrSelf(init)));
    MetadataTensors candidate =
        buildMetadata(b, loc, format, statistics, given, number, scratch);
    SmallVector<Value> metadata = candidate.stored;
    llvm::append_range(metadata, given);
    Value error = buildSquaredError(b, loc, format, loops, input, metadata);
    SmallVector<Value> better;
    for (auto [found, kept] :
         llvm::zip_equal(candidate.stored, best.drop_front()))
      better.push_back(
          buildBetter(b, loc, isFirst, error, best.front(), found, kept));
    better.insert(
        better.begin(),
        buildBetter(b, loc, isFirst, error, best.front(), error, best.front()));
    scf::YieldOp::create(b, loc, better);
  };
  auto loop =
      scf::ForOp::create(b, loc, zero, constant(format.getRangeCandidates()),
                         constant(1), best, tryRange);
  MetadataTensors metadata;
  llvm::append_range(metadata.stored, loop.getResults().drop_front());
  metadata.encode = metadata.stored;
  llvm::append_range(metadata.encode, given);
  return metadata;
}
MetadataTensors kvq::measureGroups(OpBuilder &b, Location loc,
                                   FormatInterface format,
                                   const GroupLoops &loops, Value input,
                                   ValueRange given, ValueRange inits) {
  // All of it is given: nothing to measure.
  if (format.hasStaticRange())
    return {{}, llvm::to_vector(given)};
  SmallVector<Value> statistics =
      buildStatistics(b, loc, format, loops, input, inits.front());
  if (format.getRangeCandidates() == 1)
    return buildMetadata(b, loc, format, statistics, given,
                         /*candidate=*/Value(), inits);
  return searchMetadata(b, loc, format, loops, input, statistics, given, inits);
}
