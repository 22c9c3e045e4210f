//===- Rounds.cpp - Ops that read in another order than they write --------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unpacking a stream of codes, say: output[.., b, i] from input[.., b, f(i)],
// with f and what the body makes of i known for each i. Vectors lie along both
// axes; a value that depends on i alone is a constant of each lane.
//
//===----------------------------------------------------------------------===//

#include "Rounds.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::kvq;

/// Longer rounds have lanes enough by themselves.
static constexpr int64_t kMaxRound = 8;

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// Whether the last axis of `type` is contiguous and, where `withOuter`, the
/// one before continues it.
static bool isContiguous(MemRefType type, bool withOuter) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.empty() ||
      strides.back() != 1)
    return false;
  return !withOuter || (strides.size() > 1 &&
                        strides[strides.size() - 2] == type.getShape().back());
}

/// The value of `expr` where `axis`, which alone it depends on, is `value`.
static std::optional<int64_t> evaluate(AffineExpr expr, unsigned axis,
                                       int64_t value) {
  MLIRContext *context = expr.getContext();
  AffineExpr known = expr.replace(getAffineDimExpr(axis, context),
                                  getAffineConstantExpr(value, context));
  if (auto constant = dyn_cast<AffineConstantExpr>(known))
    return constant.getValue();
  return std::nullopt;
}

static std::optional<RoundRead> planRead(const RoundPlan &plan,
                                         OpOperand *operand) {
  auto type = dyn_cast<MemRefType>(operand->get().getType());
  RoundRead read;
  read.isUniform = true;
  if (!type)
    return read;
  AffineMap map = plan.op.getMatchingIndexingMap(operand);
  auto usesLanes = [&](AffineExpr expr) {
    return expr.isFunctionOfDim(plan.roundAxis) ||
           (plan.innerAxis && expr.isFunctionOfDim(*plan.innerAxis));
  };
  if (llvm::none_of(map.getResults(), usesLanes))
    return read;

  read.isUniform = false;
  ArrayRef<AffineExpr> results = map.getResults();
  AffineExpr round = getAffineDimExpr(plan.roundAxis, map.getContext());
  unsigned position = llvm::find(results, round) - results.begin();
  bool countsRounds = position != results.size();
  // The round and what follows, else what is inside a round.
  unsigned first = countsRounds ? position : results.size() - 1;
  if (results.size() - first > 2 ||
      llvm::any_of(results.take_front(first), usesLanes))
    return std::nullopt;
  read.hasInnerAxis = !countsRounds || first + 1 < results.size();
  if (read.hasInnerAxis && results.back().isFunctionOfDim(plan.roundAxis))
    return std::nullopt;
  if (!isContiguous(type, countsRounds && read.hasInnerAxis))
    return std::nullopt;
  read.offsets.assign(plan.roundSize, 0);
  if (read.hasInnerAxis) {
    int64_t extent = type.getShape().back();
    for (auto [step, offset] : llvm::enumerate(read.offsets)) {
      std::optional<int64_t> found = evaluate(
          results.back(), plan.innerAxis.value_or(plan.roundAxis), step);
      if (!found || *found < 0 || ShapedType::isDynamic(extent) ||
          *found >= extent)
        return std::nullopt;
      offset = *found;
    }
    read.window = extent;
  } else {
    read.window = 1;
  }
  if (!countsRounds)
    read.window = 0;
  return read;
}

/// The widest element that lies in lanes, in bits; 0 if one cannot. What
/// follows from the place in a round alone is a constant, whatever its width.
static unsigned getWidestElement(const RoundPlan &plan) {
  linalg::GenericOp op = plan.op;
  unsigned widest = 8;
  bool canLie = true;
  auto visit = [&](Type type) {
    canLie &= type.isIntOrFloat() && type.getIntOrFloatBitWidth() % 8 == 0;
    if (canLie)
      widest = std::max(widest, type.getIntOrFloatBitWidth());
  };
  llvm::SmallPtrSet<Value, 16> inLanes;
  for (auto [input, read] : llvm::zip(op.getDpsInputOperands(), plan.reads)) {
    if (read.isUniform)
      continue;
    inLanes.insert(op.getMatchingBlockArgument(input));
    visit(getElementTypeOrSelf(input->get().getType()));
  }
  inLanes.insert_range(op.getRegionOutputArgs());
  visit(getElementTypeOrSelf(op.getDpsInits().front().getType()));
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      canLie &= index.getDim() != plan.roundAxis;
      continue;
    }
    canLie &= OpTrait::hasElementwiseMappableTraits(&inner) ||
              inner.hasTrait<OpTrait::ConstantLike>();
    if (llvm::none_of(inner.getOperands(),
                      [&](Value value) { return inLanes.contains(value); }))
      continue;
    for (Value result : inner.getResults()) {
      inLanes.insert(result);
      // A vector of conditions takes as many lanes as what it is about.
      if (!result.getType().isInteger(1))
        visit(result.getType());
    }
  }
  return canLie ? widest : 0;
}

/// Plans with the last axes of the output as lanes: two of them, of which the
/// last is inside a round, or one.
static FailureOr<RoundPlan> planAxes(linalg::GenericOp op, bool hasInnerAxis,
                                     int64_t vectorWidth) {
  RoundPlan plan;
  plan.op = op;
  OpOperand *output = op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(output);
  if (map.getNumResults() < 1u + hasInnerAxis)
    return failure();
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  unsigned last = map.getDimPosition(map.getNumResults() - 1);
  plan.roundAxis = last;
  plan.roundSize = 1;
  if (hasInnerAxis) {
    plan.innerAxis = last;
    plan.roundAxis = map.getDimPosition(map.getNumResults() - 2);
    plan.roundSize = extents[last];
  }
  plan.rounds = extents[plan.roundAxis];
  if (ShapedType::isDynamic(plan.rounds) ||
      ShapedType::isDynamic(plan.roundSize) || plan.roundSize > kMaxRound ||
      !isContiguous(cast<MemRefType>(output->get().getType()), hasInnerAxis))
    return failure();
  for (OpOperand *input : op.getDpsInputOperands()) {
    std::optional<RoundRead> read = planRead(plan, input);
    if (!read)
      return failure();
    plan.reads.push_back(std::move(*read));
  }
  unsigned widest = getWidestElement(plan);
  if (widest == 0)
    return failure();
  int64_t fitting =
      std::max<int64_t>(vectorWidth * 32 / widest / plan.roundSize, 1);
  plan.roundsPerVector =
      llvm::bit_floor(static_cast<uint64_t>(std::min(fitting, plan.rounds)));
  return plan;
}

FailureOr<RoundPlan> kvq::planRounds(linalg::GenericOp op,
                                     int64_t vectorWidth) {
  if (op.getNumParallelLoops() != op.getNumLoops() || op.getNumDpsInits() != 1)
    return failure();
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!map.isProjectedPermutation() || map.getNumResults() != op.getNumLoops())
    return failure();
  FailureOr<RoundPlan> best = failure();
  for (bool hasInnerAxis : {false, true}) {
    FailureOr<RoundPlan> plan = planAxes(op, hasInnerAxis, vectorWidth);
    if (succeeded(plan) &&
        (failed(best) || plan->getLanes() > best->getLanes()))
      best = plan;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Writes the code of one op.
class RoundEmitter {
public:
  RoundEmitter(OpBuilder &builder, const RoundPlan &plan)
      : builder(builder), loc(plan.op.getLoc()), plan(plan), op(plan.op),
        indices(op.getNumLoops()) {}

  void run();

private:
  void emitOuter(ArrayRef<unsigned> axes);
  void emitRow();
  /// `count` rounds from `round` on.
  void emitVector(Value round, int64_t count);
  Value readInput(OpOperand *input, const RoundRead &read, Value round,
                  int64_t count);
  Value loadLanes(Value buffer, SmallVector<Value> at, Value round,
                  int64_t perRound, bool hasInnerAxis, int64_t size);
  SmallVector<Value> getOuterIndices(OpOperand *operand, unsigned count);
  Value emitInner(Operation *inner, IRMapping &mapping, int64_t lanes);

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  OpBuilder &builder;
  Location loc;
  const RoundPlan &plan;
  linalg::GenericOp op;
  /// Those of the outer loops.
  SmallVector<Value> indices;
};

} // namespace

Value kvq::joinLastAxes(OpBuilder &builder, Location loc, Value buffer) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<ReassociationIndices> groups;
  for (int64_t axis = 0; axis + 1 < rank; ++axis)
    groups.push_back({axis});
  groups.back().push_back(rank - 1);
  return memref::CollapseShapeOp::create(builder, loc, buffer, groups);
}

/// The indices of the leading `count` axes of an operand.
SmallVector<Value> RoundEmitter::getOuterIndices(OpOperand *operand,
                                                 unsigned count) {
  SmallVector<Value> at;
  for (AffineExpr expr :
       op.getMatchingIndexingMap(operand).getResults().take_front(count))
    at.push_back(affine::expandAffineExpr(builder, loc, expr, indices, {}));
  return at;
}

Value RoundEmitter::loadLanes(Value buffer, SmallVector<Value> at, Value round,
                              int64_t perRound, bool hasInnerAxis,
                              int64_t size) {
  if (hasInnerAxis && perRound != 0)
    buffer = joinLastAxes(builder, loc, buffer);
  at.push_back(perRound == 1 ? round
                             : builder.createOrFold<arith::MulIOp>(
                                   loc, round, constant(perRound)));
  auto type = VectorType::get(
      {size}, cast<MemRefType>(buffer.getType()).getElementType());
  return vector::LoadOp::create(builder, loc, type, buffer, at);
}

Value RoundEmitter::readInput(OpOperand *input, const RoundRead &read,
                              Value round, int64_t count) {
  auto type = dyn_cast<MemRefType>(input->get().getType());
  if (!type)
    return input->get();
  if (read.isUniform)
    return memref::LoadOp::create(builder, loc, input->get(),
                                  getOuterIndices(input, type.getRank()));
  unsigned outer =
      type.getRank() - (read.window != 0) - unsigned(read.hasInnerAxis);
  int64_t size =
      read.window == 0 ? type.getShape().back() : read.window * count;
  Value window = loadLanes(input->get(), getOuterIndices(input, outer), round,
                           read.window, read.hasInnerAxis, size);
  SmallVector<int64_t> lanes;
  for (int64_t step = 0; step < count; ++step)
    for (int64_t offset : read.offsets)
      lanes.push_back(step * read.window + offset);
  if (llvm::equal(lanes, llvm::seq<int64_t>(size)))
    return window;
  return vector::ShuffleOp::create(builder, loc, window, window, lanes);
}

/// `value` in each of `lanes` lanes, also where that is one.
static Value broadcast(OpBuilder &builder, Location loc, Value value,
                       int64_t lanes) {
  if (isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  return vector::BroadcastOp::create(builder, loc, type, value);
}

/// The value of an op of the body, in lanes where an operand is.
Value RoundEmitter::emitInner(Operation *inner, IRMapping &mapping,
                              int64_t lanes) {
  if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
    if (index.getDim() != plan.innerAxis)
      return indices[index.getDim()];
    SmallVector<Attribute> steps;
    for (int64_t lane = 0; lane < lanes; ++lane)
      steps.push_back(builder.getIndexAttr(lane % plan.roundSize));
    auto type = VectorType::get({lanes}, builder.getIndexType());
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, steps));
  }
  bool isVector = llvm::any_of(inner->getOperands(), [&](Value value) {
    return isa<VectorType>(mapping.lookupOrDefault(value).getType());
  });
  if (isVector)
    for (Value operand : inner->getOperands())
      mapping.map(operand, broadcast(builder, loc,
                                     mapping.lookupOrDefault(operand), lanes));
  Operation *clone = builder.clone(*inner, mapping);
  if (isVector)
    for (Value result : clone->getResults())
      result.setType(VectorType::get({lanes}, result.getType()));
  return clone->getResult(0);
}

void RoundEmitter::emitVector(Value round, int64_t count) {
  int64_t lanes = count * plan.roundSize;
  IRMapping mapping;
  for (auto [input, read] : llvm::zip(op.getDpsInputOperands(), plan.reads)) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (!argument.use_empty())
      mapping.map(argument, readInput(input, read, round, count));
  }
  OpOperand *output = op.getDpsInitOperand(0);
  bool hasInnerAxis = plan.innerAxis.has_value();
  unsigned outer = op.getNumLoops() - 1 - unsigned(hasInnerAxis);
  SmallVector<Value> at = getOuterIndices(output, outer);
  BlockArgument previous = op.getRegionOutputArgs().front();
  if (!previous.use_empty())
    mapping.map(previous, loadLanes(output->get(), at, round, plan.roundSize,
                                    hasInnerAxis, lanes));
  for (Operation &inner : op.getBody()->without_terminator())
    mapping.map(inner.getResult(0), emitInner(&inner, mapping, lanes));

  Value value =
      mapping.lookupOrDefault(op.getBody()->getTerminator()->getOperand(0));
  Value buffer = output->get();
  if (hasInnerAxis)
    buffer = joinLastAxes(builder, loc, buffer);
  at.push_back(builder.createOrFold<arith::MulIOp>(loc, round,
                                                   constant(plan.roundSize)));
  vector::StoreOp::create(builder, loc, broadcast(builder, loc, value, lanes),
                          buffer, at);
}

void RoundEmitter::emitRow() {
  int64_t step = plan.roundsPerVector, full = plan.rounds / step * step;
  if (full == step) {
    emitVector(constant(0), step);
  } else {
    auto loop = scf::ForOp::create(builder, loc, constant(0), constant(full),
                                   constant(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    emitVector(loop.getInductionVar(), step);
  }
  while (full < plan.rounds) {
    int64_t count = llvm::bit_floor(static_cast<uint64_t>(plan.rounds - full));
    emitVector(constant(full), count);
    full += count;
  }
}

void RoundEmitter::emitOuter(ArrayRef<unsigned> axes) {
  if (axes.empty())
    return emitRow();
  OpOperand *output = op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(output);
  std::optional<unsigned> position =
      map.getResultPosition(getAffineDimExpr(axes.front(), map.getContext()));
  Value extent =
      builder.createOrFold<memref::DimOp>(loc, output->get(), *position);
  auto loop =
      scf::ForOp::create(builder, loc, constant(0), extent, constant(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  indices[axes.front()] = loop.getInductionVar();
  emitOuter(axes.drop_front());
}

void RoundEmitter::run() {
  SmallVector<unsigned> outer;
  for (unsigned axis = 0; axis < op.getNumLoops(); ++axis)
    if (axis != plan.roundAxis && axis != plan.innerAxis)
      outer.push_back(axis);
  emitOuter(outer);
}

void kvq::emitRounds(OpBuilder &builder, const RoundPlan &plan) {
  RoundEmitter(builder, plan).run();
}
