//===- BodyEmitter.cpp - The body of a structured op, point by point ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvq;

Value kvq::splat(OpBuilder &builder, Location loc, Value value, int64_t lanes) {
  if (lanes == 1 || isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, constant));
  return vector::BroadcastOp::create(builder, loc, type, value);
}

BodyEmitter::BodyEmitter(OpBuilder &builder, const NestPlan &plan,
                         ArrayRef<AxisPosition> positions)
    : builder(builder), loc(plan.op->getLoc()), plan(plan),
      positions(positions),
      lanes(plan.laneAxis ? positions[*plan.laneAxis].lanes : 1) {}

Point BodyEmitter::restrict(const Point &point,
                            const llvm::SmallBitVector &axes) {
  Point restricted(point);
  for (unsigned axis = 0; axis < restricted.size(); ++axis)
    if (!axes[axis])
      restricted[axis] = 0;
  return restricted;
}

const llvm::SmallBitVector &BodyEmitter::axesOf(Value value) {
  auto known = valueAxes.find(value);
  if (known != valueAxes.end())
    return known->second;
  llvm::SmallBitVector axes(plan.kinds.size());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == plan.op.getBody())
      axes = plan.op.isDpsInit(plan.op.getMatchingOpOperand(argument))
                 ? llvm::SmallBitVector(plan.kinds.size(), true)
                 : plan.axesOf(plan.op.getMatchingOpOperand(argument));
  } else if (Operation *op = value.getDefiningOp();
             op->getBlock() == plan.op.getBody()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      axes.set(index.getDim());
    for (Value operand : op->getOperands())
      axes |= axesOf(operand);
  }
  return valueAxes.try_emplace(value, axes).first->second;
}

Value BodyEmitter::axisIndex(unsigned axis, const Point &point) {
  const AxisPosition &position = positions[axis];
  int64_t offset = point[axis] * position.lanes;
  if (offset == 0)
    return position.base;
  Value &index = emitted[{const_cast<AxisPosition *>(&position), {offset}}];
  if (!index)
    index = builder.createOrFold<arith::AddIOp>(
        loc, position.base,
        arith::ConstantIndexOp::create(builder, loc, offset));
  return index;
}

SmallVector<Value> BodyEmitter::indices(OpOperand *operand,
                                        const Point &point) {
  SmallVector<Value> axes, results;
  for (unsigned axis = 0; axis < positions.size(); ++axis)
    axes.push_back(positions[axis].base ? axisIndex(axis, point) : Value());
  for (AffineExpr result : plan.op.getMatchingIndexingMap(operand).getResults())
    results.push_back(affine::expandAffineExpr(builder, loc, result, axes, {}));
  return results;
}

Value BodyEmitter::load(OpOperand *operand, const Point &point) {
  Value memref = operand->get();
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type)
    return memref;
  SmallVector<Value> at = indices(operand, point);
  if (lanes == 1 || !plan.axesOf(operand)[*plan.laneAxis])
    return memref::LoadOp::create(builder, loc, memref, at);
  if (std::optional<int64_t> neighbour =
          plan.neighbourInPairs(operand, *plan.laneAxis))
    return loadFromPairs(operand, point, *neighbour);
  auto vectorType = VectorType::get({lanes}, type.getElementType());
  return vector::LoadOp::create(builder, loc, vectorType, memref, at);
}

void BodyEmitter::store(Value value, OpOperand *operand, const Point &point) {
  SmallVector<Value> at = indices(operand, point);
  if (lanes == 1 || !plan.axesOf(operand)[*plan.laneAxis]) {
    memref::StoreOp::create(builder, loc, value, operand->get(), at);
    return;
  }
  value = splat(builder, loc, value, lanes);
  if (!isScatteredAlong(plan, operand, *plan.laneAxis)) {
    vector::StoreOp::create(builder, loc, value, operand->get(), at);
    return;
  }
  Value first = at.back();
  for (int64_t lane = 0; lane < lanes; ++lane) {
    at.back() = builder.createOrFold<arith::AddIOp>(
        loc, first, arith::ConstantIndexOp::create(builder, loc, lane));
    memref::StoreOp::create(
        builder, loc, vector::ExtractOp::create(builder, loc, value, lane),
        operand->get(), at);
  }
}

Value BodyEmitter::vectorIndex(unsigned axis, const Point &point) {
  Value index = axisIndex(axis, point);
  if (lanes == 1 || axis != plan.laneAxis)
    return index;
  Value steps = vector::StepOp::create(
      builder, loc, VectorType::get({lanes}, builder.getIndexType()));
  return arith::AddIOp::create(builder, loc, steps,
                               splat(builder, loc, index, lanes));
}

/// The elements of a table's row that `indices`' last, a vector, chooses.
static Value gather(OpBuilder &builder, memref::LoadOp load, Value memref,
                    SmallVector<Value> indices, int64_t lanes) {
  Location loc = load.getLoc();
  auto type = VectorType::get({lanes}, load.getType());
  Value chosen = std::exchange(indices.back(),
                               arith::ConstantIndexOp::create(builder, loc, 0));
  Value all = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(VectorType::get({lanes}, builder.getI1Type()),
                             true));
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return vector::GatherOp::create(builder, loc, type, memref, indices, chosen,
                                  all, none);
}

/// `lookup` with its number in lanes, `positions`: one lane after the other, in
/// a form that LLVM turns into one shuffle of the table.
static Value lookUpLanes(OpBuilder &builder, vector::ExtractOp lookup,
                         Value table, Value positions, int64_t lanes) {
  Location loc = lookup.getLoc();
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value narrow = vector::ExtractOp::create(builder, loc, positions, lane);
    // Not extended before it is taken out, or the shuffle is not recognised.
    Value position = arith::IndexCastUIOp::create(
        builder, loc, builder.getIndexType(), narrow);
    elements.push_back(
        vector::ExtractOp::create(builder, loc, table, OpFoldResult(position)));
  }
  auto type = VectorType::get({lanes}, lookup.getType());
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

static bool isReassociable(arith::AddFOp add) {
  return add && add.getFastmath() != arith::FastMathFlags::none;
}

/// Where `op` adds a sum of two terms to an accumulator, these terms one after
/// the other: each is a multiply-add then. Null elsewhere.
Value BodyEmitter::emitSum(Operation *op, const Point &point,
                           ValueRange accumulators) {
  auto add = dyn_cast<arith::AddFOp>(op);
  if (!isReassociable(add) || !llvm::is_contained(plan.combiners, op))
    return {};
  bool isLeft = isa<BlockArgument>(add.getLhs());
  Value accumulator = isLeft ? add.getLhs() : add.getRhs();
  auto terms =
      (isLeft ? add.getRhs() : add.getLhs()).getDefiningOp<arith::AddFOp>();
  if (!isReassociable(terms) || !terms->hasOneUse())
    return {};
  Value sum = emitValue(accumulator, point, accumulators);
  for (Value term : terms->getOperands()) {
    Value value = emitValue(term, point, accumulators);
    bool isVector = isa<VectorType>(sum.getType());
    if (isVector != isa<VectorType>(value.getType())) {
      sum = splat(builder, loc, sum, lanes);
      value = splat(builder, loc, value, lanes);
    }
    sum = arith::AddFOp::create(builder, loc, sum, value, add.getFastmath());
  }
  return sum;
}

Value BodyEmitter::emitOp(Operation *op, unsigned resultNumber,
                          const Point &point, ValueRange accumulators) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return vectorIndex(index.getDim(), point);
  if (isTableLookup(op)) {
    auto lookup = cast<vector::ExtractOp>(op);
    Value table = emitValue(lookup.getSource(), point, accumulators);
    auto cast = lookup.getDynamicPosition()
                    .front()
                    .getDefiningOp<arith::IndexCastUIOp>();
    Value position = emitValue(cast.getIn(), point, accumulators);
    if (isa<VectorType>(position.getType()))
      return lookUpLanes(builder, lookup, table, position, lanes);
    position = emitValue(cast.getOut(), point, accumulators);
    return vector::ExtractOp::create(builder, loc, table,
                                     OpFoldResult(position));
  }
  if (Value sum = emitSum(op, point, accumulators))
    return sum;
  if (Value bytes = emitBytesOfPairs(op, point))
    return bytes;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emitValue(operand, point, accumulators));
  bool isVector = llvm::any_of(
      operands, [](Value value) { return isa<VectorType>(value.getType()); });
  if (auto load = dyn_cast<memref::LoadOp>(op); load && isVector)
    return gather(builder, load, operands.front(),
                  SmallVector<Value>(ArrayRef(operands).drop_front()), lanes);
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(op->getOperands(), operands))
    mapping.map(from, isVector ? splat(builder, loc, to, lanes) : to);
  Operation *clone = builder.clone(*op, mapping);
  if (isVector)
    for (Value result : clone->getResults())
      result.setType(VectorType::get({lanes}, result.getType()));
  return clone->getResult(resultNumber);
}

Value BodyEmitter::emitValue(Value value, const Point &point,
                             ValueRange accumulators) {
  if (value.getParentBlock() != plan.op.getBody())
    return value;
  auto argument = dyn_cast<BlockArgument>(value);
  OpOperand *operand =
      argument ? plan.op.getMatchingOpOperand(argument) : nullptr;
  if (operand && plan.op.isDpsInit(operand) && !accumulators.empty())
    return accumulators[operand->getOperandNumber() -
                        plan.op.getNumDpsInputs()];
  Point key = restrict(point, axesOf(value));
  auto known = emitted.find({value.getAsOpaquePointer(), key});
  if (known != emitted.end())
    return known->second;
  Value result = operand ? load(operand, point)
                         : emitOp(value.getDefiningOp(),
                                  cast<OpResult>(value).getResultNumber(),
                                  point, accumulators);
  emitted[{value.getAsOpaquePointer(), key}] = result;
  return result;
}

void BodyEmitter::define(Value value, const Point &point, Value replacement) {
  emitted[{value.getAsOpaquePointer(), restrict(point, axesOf(value))}] =
      replacement;
}

SmallVector<Value> BodyEmitter::emit(const Point &point,
                                     ValueRange accumulators) {
  SmallVector<Value> results;
  for (Value yielded : plan.op.getBody()->getTerminator()->getOperands())
    results.push_back(emitValue(yielded, point, accumulators));
  return results;
}
