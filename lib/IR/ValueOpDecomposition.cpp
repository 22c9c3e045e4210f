//===- ValueOpDecomposition.cpp - Value-level ops to structured ops ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AggregatedOpInterface of quantize and dequantize: linalg.generic on tensors,
// with the format's arithmetic in the bodies. What is written goes into the
// op's inits or views of them, so that bufferization is in place.
//
//===----------------------------------------------------------------------===//

#include "PairwiseSum.h"
#include "TensorSlices.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Loops over groups
//===----------------------------------------------------------------------===//

namespace {

/// How many tokens one row of metadata serves.
enum class MetadataRows {
  /// Those of one group, and every group is full.
  PerGroup,
  /// All tokens: they lie in one group.
  Single
};

/// The loops over rows `... x tokens x head_dim`, where each axis that groups
/// divide is split into the groups and what is inside a group.
class GroupLoops {
public:
  GroupLoops(FormatInterface format, RankedTensorType rows,
             MetadataRows metadataRows);

  unsigned size() const { return iterators.size(); }
  /// Maps the loops to an element of the split rows.
  AffineMap getRowsMap() const { return rowsMap; }
  /// Maps the loops to an element of the metadata.
  AffineMap getGroupsMap() const { return groupsMap; }
  /// Maps the loops to an element of metadata of the type `type`, of which an
  /// axis of extent 1 serves all.
  AffineMap getMetadataMap(Type type) const;
  /// Whether an axis runs over what is inside a group.
  bool isInside(int64_t axis) const {
    return iterators[axis] == utils::IteratorType::reduction;
  }
  /// How many elements of a group lie along a loop inside it.
  int64_t getExtentInside(int64_t axis) const { return insideExtents[axis]; }
  /// The iterators of a reduction over each group.
  ArrayRef<utils::IteratorType> getReductionIterators() const {
    return iterators;
  }
  SmallVector<utils::IteratorType> getParallelIterators() const {
    return SmallVector<utils::IteratorType>(size(),
                                            utils::IteratorType::parallel);
  }

  /// `rows`, or a tensor of their leading axes, split as the loops are.
  Value split(OpBuilder &b, Location loc, Value rows) const;
  /// The inverse of `split`, for rows of the type `type`.
  Value join(OpBuilder &b, Location loc, Value value, Type type) const;
  /// How many of the loops run over the first `axes` axes of the rows.
  unsigned countLoops(unsigned axes) const {
    unsigned loops = 0;
    for (const ReassociationIndices &group :
         ArrayRef(reassociation).take_front(axes))
      loops += group.size();
    return loops;
  }

private:
  bool isSplit(Type type) const {
    unsigned axes = cast<RankedTensorType>(type).getRank();
    return countLoops(axes) != axes;
  }

  /// For each axis of the rows, its loops.
  SmallVector<ReassociationIndices> reassociation;
  /// For each axis of the rows, how much of it is inside one group.
  SmallVector<int64_t> groupExtents;
  SmallVector<utils::IteratorType> iterators;
  /// For each loop, its extent if it is inside a group, else 1.
  SmallVector<int64_t> insideExtents;
  AffineMap rowsMap, groupsMap;
};

} // namespace

GroupLoops::GroupLoops(FormatInterface format, RankedTensorType rows,
                       MetadataRows metadataRows) {
  MLIRContext *context = format.getContext();
  int64_t rank = rows.getRank(), tokenAxis = rank - 2;
  bool singleRow = metadataRows == MetadataRows::Single;
  groupExtents.assign(rank, 1);
  groupExtents.back() = format.getGroupChannels(rows.getShape().back());
  if (!singleRow)
    groupExtents[tokenAxis] = format.getGroupTokens();
  if (rank > 2)
    groupExtents[tokenAxis - 1] =
        format.getGroupHeads(rows.getDimSize(tokenAxis - 1));

  SmallVector<AffineExpr> groups;
  auto addLoop = [&](int64_t axis, utils::IteratorType type) {
    reassociation[axis].push_back(iterators.size());
    iterators.push_back(type);
    insideExtents.push_back(
        type == utils::IteratorType::reduction ? groupExtents[axis] : 1);
    return getAffineDimExpr(iterators.size() - 1, context);
  };
  reassociation.resize(rank);
  for (int64_t axis = 0; axis < rank; ++axis) {
    AffineExpr group = addLoop(axis, utils::IteratorType::parallel);
    groups.push_back(singleRow && axis == tokenAxis
                         ? getAffineConstantExpr(0, context)
                         : group);
    if (groupExtents[axis] != 1)
      addLoop(axis, utils::IteratorType::reduction);
  }
  rowsMap = AffineMap::getMultiDimIdentityMap(size(), context);
  groupsMap = AffineMap::get(size(), /*symbolCount=*/0, groups, context);
}

/// `map`, but that an axis of extent 1 of `type` serves all indices.
static AffineMap broadcastUnitAxes(AffineMap map, Type type) {
  SmallVector<AffineExpr> results(map.getResults());
  for (auto [expr, extent] :
       llvm::zip_equal(results, cast<RankedTensorType>(type).getShape()))
    if (extent == 1)
      expr = getAffineConstantExpr(0, map.getContext());
  return AffineMap::get(map.getNumDims(), /*symbolCount=*/0, results,
                        map.getContext());
}

AffineMap GroupLoops::getMetadataMap(Type type) const {
  return broadcastUnitAxes(groupsMap, type);
}

/// How many rows of metadata serve rows that are full groups of tokens.
static MetadataRows getMetadataRows(FormatInterface format) {
  return format.hasStaticRange() ? MetadataRows::Single
                                 : MetadataRows::PerGroup;
}

Value GroupLoops::split(OpBuilder &b, Location loc, Value rows) const {
  if (!isSplit(rows.getType()))
    return rows;
  SmallVector<OpFoldResult> extents;
  SmallVector<OpFoldResult> rowExtents = tensor::getMixedSizes(b, loc, rows);
  for (auto [extent, inside] : llvm::zip_first(rowExtents, groupExtents)) {
    if (inside == 1) {
      extents.push_back(extent);
      continue;
    }
    extents.push_back(affine::makeComposedFoldedAffineApply(
        b, loc, b.getAffineDimExpr(0).floorDiv(inside), {extent}));
    extents.push_back(b.getIndexAttr(inside));
  }
  auto type = RankedTensorType::get(decomposeMixedValues(extents).first,
                                    getElementTypeOrSelf(rows));
  return tensor::ExpandShapeOp::create(
      b, loc, type, rows, ArrayRef(reassociation).take_front(rowExtents.size()),
      extents);
}

Value GroupLoops::join(OpBuilder &b, Location loc, Value value,
                       Type type) const {
  if (!isSplit(type))
    return value;
  unsigned axes = cast<RankedTensorType>(type).getRank();
  return tensor::CollapseShapeOp::create(
      b, loc, type, value, ArrayRef(reassociation).take_front(axes));
}

//===----------------------------------------------------------------------===//
// QuantizeOp
//===----------------------------------------------------------------------===//

/// The f32 of an input element, infinite ones clamped (rule R1).
static Value buildElement(OpBuilder &b, Location loc, Value element) {
  return buildClampToFinite(b, loc, buildExtend(b, loc, element),
                            element.getType());
}

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

/// The sum over each group of what `body` makes of its elements: `inputs` are
/// the split elements, then what each group has (rule R21).
static Value
buildGroupSum(OpBuilder &b, Location loc, const GroupLoops &loops,
              ValueRange inputs,
              function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<AffineMap> maps = {loops.getRowsMap()};
  for (Value metadata : inputs.drop_front())
    maps.push_back(loops.getMetadataMap(metadata.getType()));
  maps.push_back(loops.getRowsMap());
  Value terms = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, inputs.front()), b.getF32Type());
  terms = linalg::GenericOp::create(
              b, loc, terms.getType(), inputs, terms, maps,
              loops.getParallelIterators(),
              [&](OpBuilder &b, Location loc, ValueRange args) {
                linalg::YieldOp::create(b, loc, body(b, loc, args.drop_back()));
              })
              .getResult(0);
  // Channels come after tokens, and these after heads.
  for (int64_t axis = int64_t(loops.size()) - 1; axis >= 0; --axis)
    if (loops.isInside(axis))
      terms = buildPairwiseSum(b, loc, terms, axis);
  return terms;
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

static ArrayRef<int64_t> getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

using GroupBody =
    llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

/// An elementwise op on groups: `inputs` and `inits` have one element for each
/// (`inputs` perhaps one for all), and `body` makes the new ones of the latter from both.
static SmallVector<Value> mapGroups(OpBuilder &b, Location loc,
                                    ValueRange inputs, ValueRange inits,
                                    GroupBody body) {
  int64_t rank = cast<RankedTensorType>(inits.front().getType()).getRank();
  SmallVector<AffineMap> maps(inputs.size() + inits.size(),
                              b.getMultiDimIdentityMap(rank));
  for (auto [map, input] : llvm::zip(maps, inputs))
    if (getShape(input) != getShape(inits.front()))
      map = broadcastUnitAxes(map, input.getType());
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto buildBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    linalg::YieldOp::create(b, loc, body(b, loc, args));
  };
  return linalg::GenericOp::create(b, loc, inits.getTypes(), inputs, inits,
                                   maps, iterators, buildBody)
      .getResults();
}

/// An uninitialized tensor shaped as `value`.
static Value buildEmptyLike(OpBuilder &b, Location loc, Value value,
                            Type element) {
  return tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, value),
                                 element);
}

/// Reductions over each group: `inputs` are the split elements, then what each
/// group has; `body` makes the new results of these and the running ones, which
/// start as `neutrals`. The results have the shape of `scales`.
static SmallVector<Value> reduceGroups(OpBuilder &b, Location loc,
                                       const GroupLoops &loops,
                                       ValueRange inputs, Value scales,
                                       ArrayRef<double> neutrals,
                                       GroupBody body) {
  SmallVector<Value> inits;
  for (double neutral : neutrals) {
    Value empty = buildEmptyLike(b, loc, scales, b.getF32Type());
    inits.push_back(
        linalg::FillOp::create(b, loc, buildF32(b, loc, neutral), empty)
            .getResult(0));
  }
  SmallVector<AffineMap> maps(inputs.size() + inits.size(),
                              loops.getGroupsMap());
  for (auto [map, input] : llvm::zip(maps, inputs))
    if (cast<RankedTensorType>(input.getType()).getRank() ==
        int64_t(loops.size()))
      map = loops.getRowsMap();
  auto buildBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    linalg::YieldOp::create(b, loc, body(b, loc, args));
  };
  return linalg::GenericOp::create(b, loc, ValueRange(inits).getTypes(), inputs,
                                   inits, maps, loops.getReductionIterators(),
                                   buildBody)
      .getResults();
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

namespace {

/// The metadata of all groups.
struct MetadataTensors {
  /// The scales and, if the format has them, zeros as stored.
  SmallVector<Value> stored;
  /// Those that codes are computed with.
  SmallVector<Value> encode;
};

} // namespace

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
  llvm::append_range(metadata.encode, ArrayRef(results).take_back(inits.size()));
  if (!format.encodesUnrounded())
    llvm::append_range(metadata.encode, given);
  return metadata;
}

/// The f32 scale and the zero, or null, of an element whose metadata are scale,
/// zero and outer scale, as far as there are these.
static std::pair<Value, Value> readMetadata(OpBuilder &b, Location loc,
                                            FormatInterface format,
                                            ValueRange metadata) {
  size_t count = format.getZeroType() ? 2 : 1;
  Value zero = count == 2 ? metadata[1] : Value();
  Value outer = metadata.size() > count ? metadata.back() : Value();
  return {format.buildScaleValue(b, loc, metadata.front(), outer), zero};
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
  SmallVector<Value> best = {
      buildEmptyLike(b, loc, inits.front(), b.getF32Type())};
  llvm::append_range(best, inits);
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

/// The metadata of the groups of the split `input`, from these and from what is
/// given, written into `inits`.
static MetadataTensors measureGroups(OpBuilder &b, Location loc,
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

/// The codes of the split `input` under its metadata, written into `init`.
static Value buildCodes(OpBuilder &b, Location loc, FormatInterface format,
                        const GroupLoops &loops, Value input,
                        ValueRange metadata, Value init) {
  SmallVector<Value> inputs = {input};
  SmallVector<AffineMap> maps = {loops.getRowsMap()};
  for (Value part : metadata) {
    inputs.push_back(part);
    maps.push_back(loops.getMetadataMap(part.getType()));
  }
  maps.push_back(loops.getRowsMap());
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto [scale, zero] =
        readMetadata(b, loc, format, args.slice(1, metadata.size()));
    Value code = format.buildEncode(b, loc, buildElement(b, loc, args[0]),
                                    scale, zero);
    linalg::YieldOp::create(b, loc, code);
  };
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps,
                                   loops.getParallelIterators(), body)
      .getResult(0);
}

/// The scales that fit the `codes` of the elements `input`, both split, written
/// into `init`.
static Value buildFittedScales(OpBuilder &b, Location loc,
                               FormatInterface format, const GroupLoops &loops,
                               Value input, Value codes, ValueRange given,
                               Value init) {
  // The terms apart from their sums, whose order leaves no room for vectors.
  SmallVector<Value> terms(2);
  for (Value &term : terms)
    term = buildEmptyLike(b, loc, input, b.getF32Type());
  SmallVector<AffineMap> maps(4, loops.getRowsMap());
  auto buildTerms = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto [first, second] =
        format.buildFitTerms(b, loc, args[1], buildElement(b, loc, args[0]));
    linalg::YieldOp::create(b, loc, {first, second});
  };
  terms = linalg::GenericOp::create(b, loc, ValueRange(terms).getTypes(),
                                    ValueRange{input, codes}, terms, maps,
                                    loops.getParallelIterators(), buildTerms)
              .getResults();
  auto add = [&](OpBuilder &b, Location loc, ValueRange args) {
    return SmallVector<Value>{arith::AddFOp::create(b, loc, args[2], args[0]),
                              arith::AddFOp::create(b, loc, args[3], args[1])};
  };
  SmallVector<Value> sums =
      reduceGroups(b, loc, loops, terms, init, {0.0, 0.0}, add);
  auto buildScale = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value outer = given.empty() ? Value() : args[2];
    return SmallVector<Value>{
        format.buildFittedScale(b, loc, args[0], args[1], outer)};
  };
  llvm::append_range(sums, given);
  return mapGroups(b, loc, sums, init, buildScale).front();
}

/// `format` for rows of the type `rows`.
static FormatInterface resolve(FormatInterface format, RankedTensorType rows) {
  format = format.resolve(rows.getShape().back());
  if (rows.getRank() == 2)
    return format;
  return format.resolveHeads(rows.getDimSize(rows.getRank() - 3));
}

FailureOr<SmallVector<Value>> QuantizeOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  auto rows = cast<RankedTensorType>(getInputs().front().getType());
  FormatInterface format = resolve(getFormat(), rows);
  Value codesInit = getInits().front();
  ValueRange given = getInputs().drop_front();
  GroupLoops loops(format, rows, getMetadataRows(format));

  Value input = loops.split(b, loc, getInputs().front());
  MetadataTensors metadata = measureGroups(b, loc, format, loops, input, given,
                                           getInits().drop_front());
  Value init = loops.split(b, loc, codesInit);
  Value codes = buildCodes(b, loc, format, loops, input, metadata.encode, init);
  if (format.fitsScale() && !format.hasStaticRange())
    metadata.stored.front() =
        buildFittedScales(b, loc, format, loops, input, codes, given,
                          metadata.stored.front());
  SmallVector<Value> results = {loops.join(b, loc, codes, codesInit.getType())};
  llvm::append_range(results, metadata.stored);
  return results;
}

//===----------------------------------------------------------------------===//
// CountSaturatedOp
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
CountSaturatedOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  auto rows = cast<RankedTensorType>(getInputs().front().getType());
  FormatInterface format = resolve(getFormat(), rows);
  GroupLoops loops(format, rows, getMetadataRows(format));
  SmallVector<Value> inputs(getInputs());
  inputs.front() = loops.split(b, loc, inputs.front());
  Value init = loops.split(b, loc, getInit());

  // All tokens and channels, whether within a group or not, add to one count.
  unsigned leading = loops.countLoops(rows.getRank() - 2);
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), leading, utils::IteratorType::parallel);
  SmallVector<AffineMap> maps = {loops.getRowsMap()};
  for (Value metadata : ArrayRef(inputs).drop_front())
    maps.push_back(loops.getMetadataMap(metadata.getType()));
  maps.push_back(AffineMap::get(
      loops.size(), 0, loops.getRowsMap().getResults().take_front(leading),
      getContext()));
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto [scale, zero] =
        readMetadata(b, loc, format, args.slice(1, inputs.size() - 1));
    Value saturates = format.buildSaturates(
        b, loc, buildElement(b, loc, args.front()), scale, zero);
    Value one = arith::ExtUIOp::create(b, loc, b.getI64Type(), saturates);
    Value sum = arith::AddIOp::create(b, loc, args.back(), one);
    linalg::YieldOp::create(b, loc, sum);
  };
  Value counts = linalg::GenericOp::create(b, loc, init.getType(), inputs, init,
                                           maps, iterators, body)
                     .getResult(0);
  return SmallVector<Value>{loops.join(b, loc, counts, getInit().getType())};
}

//===----------------------------------------------------------------------===//
// DequantizeOp
//===----------------------------------------------------------------------===//

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
  FormatInterface format = resolve(getFormat(), codes);
  int64_t axis = codes.getRank() - 2, group = format.getGroupTokens();
  int64_t tokens = codes.getDimSize(axis);
  bool fullGroups =
      group == 1 || (!codes.isDynamicDim(axis) && tokens % group == 0);
  bool singleRow = format.hasStaticRange() ||
                   (group != 1 && scales.getDimSize(axis) == 1);
  if (singleRow || fullGroups)
    return SmallVector<Value>{buildDequantize(
        b, loc, format, getInputs(), init,
        singleRow ? MetadataRows::Single : MetadataRows::PerGroup)};
  return SmallVector<Value>{
      buildDequantizePartialGroup(b, loc, format, getInputs(), init)};
}
