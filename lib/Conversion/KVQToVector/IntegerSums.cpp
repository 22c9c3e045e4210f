//===- IntegerSums.cpp - Sums of products of integers ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Processors multiply i16 lanes and add each two neighbours as i32 in one
// instruction. What is written here is a product of i32 lanes whose even and
// odd ones are added; LLVM makes that instruction of it (pmaddwd, vpdpwssd).
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "Rounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// The operand of `op`, of a structured op's body, that is no constant, if
/// there is one such.
static OpOperand *getVariableOperand(Operation *op) {
  OpOperand *variable = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (matchPattern(operand.get(), m_Constant()))
      continue;
    if (variable)
      return nullptr;
    variable = &operand;
  }
  return variable;
}

/// The factor that `value`, an extension to i32, is: of an element, or of what
/// a few ops with constants cut out of one.
static std::optional<IntegerFactor> matchFactor(const NestPlan &plan,
                                                Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) ||
      !value.getType().isInteger(32))
    return std::nullopt;
  IntegerFactor factor;
  while (op && op->getBlock() == plan.op.getBody()) {
    if (!isa<arith::ExtSIOp, arith::ExtUIOp, arith::ShLIOp, arith::ShRSIOp,
             arith::ShRUIOp, arith::AndIOp, arith::XOrIOp, arith::SubIOp>(op))
      return std::nullopt;
    factor.ops.push_back(op);
    OpOperand *variable = getVariableOperand(op);
    if (!variable)
      return std::nullopt;
    value = variable->get();
    op = value.getDefiningOp();
  }
  std::reverse(factor.ops.begin(), factor.ops.end());
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != plan.op.getBody())
    return std::nullopt;
  factor.operand = plan.op.getMatchingOpOperand(argument);
  bool isElement = isa<MemRefType>(factor.operand->get().getType()) &&
                   !plan.op.isDpsInit(factor.operand);
  return isElement ? std::optional(factor) : std::nullopt;
}

/// The most that a factor may be, in magnitude.
static int64_t getLargest(const IntegerFactor &factor) {
  unsigned width =
      factor.ops.front()->getOperand(0).getType().getIntOrFloatBitWidth();
  ConstantIntRanges range = ConstantIntRanges::maxRange(width);
  for (Operation *op : factor.ops) {
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op->getOperands()) {
      APInt constant;
      operands.push_back(matchPattern(operand, m_ConstantInt(&constant))
                             ? ConstantIntRanges::constant(constant)
                             : range);
    }
    cast<InferIntRangeInterface>(op).inferResultRanges(
        operands,
        [&](Value, const ConstantIntRanges &found) { range = found; });
  }
  return std::max(range.smax().abs().getSExtValue(),
                  range.smin().abs().getSExtValue());
}

/// The most steps along `axis`: its extent, or that of the storage which an
/// operand is a part of.
static std::optional<int64_t> getMostSteps(const NestPlan &plan,
                                           unsigned axis) {
  if (!ShapedType::isDynamic(plan.extents[axis]))
    return plan.extents[axis];
  AffineExpr expr = getAffineDimExpr(axis, plan.op.getContext());
  for (OpOperand *operand : plan.op.getDpsInputOperands()) {
    auto part = operand->get().getDefiningOp<memref::SubViewOp>();
    std::optional<unsigned> position =
        plan.op.getMatchingIndexingMap(operand).getResultPosition(expr);
    if (!part || !position ||
        part.getSourceType().getRank() != part.getType().getRank() ||
        part.getSourceType().isDynamicDim(*position))
      continue;
    return part.getSourceType().getDimSize(*position);
  }
  return std::nullopt;
}

/// The axes that the values of `value`'s expression depend on, but for those
/// behind `except`.
static void collectAxes(const NestPlan &plan, Value value, Operation *except,
                        llvm::SmallBitVector &axes) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == plan.op.getBody())
      axes |= plan.axesOf(plan.op.getMatchingOpOperand(argument));
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op == except || op->getBlock() != plan.op.getBody())
    return;
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    axes.set(index.getDim());
  for (Value operand : op->getOperands())
    collectAxes(plan, operand, except, axes);
}

/// Whether the steps of `axis` are all elements of the last axis of the
/// factor's operand, or four in two rows of two.
static bool isPackedFactor(const NestPlan &plan, const IntegerFactor &factor,
                           unsigned axis) {
  int64_t extent = plan.extents[axis];
  if (extent != 2 && extent != 4)
    return false;
  if (isContiguousAlong(plan, factor.operand, axis))
    return true;
  AffineMap map = plan.op.getMatchingIndexingMap(factor.operand);
  AffineExpr dim = getAffineDimExpr(axis, plan.op.getContext());
  return extent == 4 && map.getNumResults() != 0 &&
         map.getResults().back() == dim % 2 &&
         llvm::any_of(map.getResults().drop_back(), [&](AffineExpr result) {
           auto sum = dyn_cast<AffineBinaryOpExpr>(result);
           return sum && sum.getKind() == AffineExprKind::Add &&
                  sum.getRHS() == dim.floorDiv(2) &&
                  sum.getLHS().isMultipleOf(2);
         });
}

std::optional<IntegerSum> kvq::matchIntegerSum(const NestPlan &plan) {
  if (plan.combiners.size() != 1 ||
      !isa_and_nonnull<arith::AddFOp>(plan.combiners.front()))
    return std::nullopt;
  auto sum = cast<arith::AddFOp>(plan.combiners.front());
  if (sum.getFastmath() == arith::FastMathFlags::none)
    return std::nullopt;
  Value accumulator = plan.op.getRegionOutputArgs().front();
  Value term = sum.getLhs() == accumulator ? sum.getRhs() : sum.getLhs();
  auto scaled = term.getDefiningOp<arith::MulFOp>();
  if (!scaled || !scaled->hasOneUse())
    return std::nullopt;
  for (bool isLeft : {true, false}) {
    Value number = isLeft ? scaled.getLhs() : scaled.getRhs();
    Value scale = isLeft ? scaled.getRhs() : scaled.getLhs();
    auto conversion = number.getDefiningOp<arith::SIToFPOp>();
    auto product = conversion
                       ? conversion.getIn().getDefiningOp<arith::MulIOp>()
                       : nullptr;
    if (!product || !number.hasOneUse() || !product->hasOneUse())
      continue;
    IntegerSum result;
    int64_t largest = 1;
    for (auto [index, factor] : llvm::enumerate(product->getOperands())) {
      std::optional<IntegerFactor> match = matchFactor(plan, factor);
      if (!match)
        return std::nullopt;
      result.factors[index] = *match;
      largest *= getLargest(*match);
    }
    result.conversion = conversion;
    llvm::SmallBitVector ofScale(plan.kinds.size());
    collectAxes(plan, scale, conversion, ofScale);
    result.axes.resize(plan.kinds.size());
    // Innermost first, as long as the scale stays the same.
    for (unsigned axis = plan.kinds.size(); axis-- > 0;) {
      if (!plan.isReduced(axis))
        continue;
      std::optional<int64_t> steps = getMostSteps(plan, axis);
      if (ofScale[axis] || !steps)
        break;
      largest *= *steps;
      result.axes.set(axis);
    }
    for (unsigned axis : result.axes.set_bits())
      if (llvm::all_of(result.factors, [&](const IntegerFactor &factor) {
            return isPackedFactor(plan, factor, axis);
          })) {
        result.packedAxis = axis;
        result.neighbours = plan.extents[axis];
      }
    if (result.axes.none() || largest > std::numeric_limits<int32_t>::max())
      return std::nullopt;
    return result;
  }
  return std::nullopt;
}

bool kvq::isPackedAlong(const NestPlan &plan, OpOperand *operand,
                        unsigned axis) {
  if (!plan.integerSum || !plan.integerSum->packedAxis ||
      llvm::none_of(plan.integerSum->factors, [&](const IntegerFactor &factor) {
        return factor.operand == operand;
      }))
    return false;
  auto type = cast<MemRefType>(operand->get().getType());
  AffineMap map = plan.op.getMatchingIndexingMap(operand);
  unsigned rank = type.getRank();
  SmallVector<int64_t> strides;
  int64_t offset;
  AffineExpr dim = getAffineDimExpr(axis, plan.op.getContext());
  return rank >= 2 && map.getResult(rank - 2) == dim &&
         map.getResultPosition(dim) == rank - 2 &&
         type.getShape().back() == 2 &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides[rank - 1] == 1 && strides[rank - 2] == 2;
}

void kvq::choosePairAxis(NestPlan &plan) {
  if (!plan.integerSum)
    return;
  IntegerSum &sum = *plan.integerSum;
  if (plan.reducesLanes()) {
    if (sum.axes[*plan.laneAxis])
      sum.pairAxis = plan.laneAxis;
    else
      plan.integerSum.reset();
    return;
  }
  if (!plan.laneAxis)
    return;
  if (sum.packedAxis) {
    sum.pairAxis = sum.packedAxis;
    return;
  }
  // One factor is in lanes, and the other the same in all.
  for (unsigned axis = plan.kinds.size(); axis-- > 0;)
    if (sum.axes[axis] &&
        llvm::all_of(sum.factors, [&](const IntegerFactor &factor) {
          return plan.axesOf(factor.operand).test(axis);
        })) {
      sum.pairAxis = axis;
      return;
    }
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// Whether the position is on all neighbours along an axis that is not the
/// lanes'.
bool ProductEmitter::hasNeighbours() const {
  const IntegerSum &sum = *plan.integerSum;
  return sum.pairAxis && sum.pairAxis != plan.laneAxis &&
         positions[*sum.pairAxis].units == sum.neighbours;
}

/// `count` neighbours of `operand`, the same for all lanes.
Value ProductEmitter::broadcastNeighbours(OpOperand *operand,
                                          const Point &point, int64_t count) {
  Type element = cast<MemRefType>(operand->get().getType()).getElementType();
  int64_t lanes = getLanes();
  // As one element, which is then broadcast.
  Value together =
      vector::LoadOp::create(builder, loc, VectorType::get({count}, element),
                             operand->get(), body.indices(operand, point));
  Type wide = builder.getIntegerType(count * element.getIntOrFloatBitWidth());
  together = vector::BitCastOp::create(builder, loc, VectorType::get({1}, wide),
                                       together);
  together = vector::ExtractOp::create(builder, loc, together, 0);
  together = vector::BroadcastOp::create(
      builder, loc, VectorType::get({lanes}, wide), together);
  return vector::BitCastOp::create(
      builder, loc, VectorType::get({count * lanes}, element), together);
}

bool ProductEmitter::isUniform(OpOperand *operand) const {
  return !plan.laneAxis || !plan.axesOf(operand)[*plan.laneAxis];
}

/// Pairs along the packed axis for `lanes` lanes.
Value ProductEmitter::loadPacked(OpOperand *operand, const Point &point,
                                 int64_t lanes) {
  SmallVector<Value> at = body.indices(operand, point);
  at.pop_back();
  at.back() = builder.createOrFold<arith::MulIOp>(
      loc, at.back(), arith::ConstantIndexOp::create(builder, loc, 2));
  Type element = cast<MemRefType>(operand->get().getType()).getElementType();
  return vector::LoadOp::create(builder, loc,
                                VectorType::get({2 * lanes}, element),
                                joinLastAxes(builder, loc, operand->get()), at);
}

/// Two elements of `operand` for each lane, side by side.
Value ProductEmitter::loadPair(OpOperand *operand, const Point &point) {
  unsigned axis = *plan.integerSum->pairAxis;
  int64_t lanes = getLanes();
  if (isUniform(operand) && isContiguousAlong(plan, operand, axis))
    return broadcastNeighbours(operand, point, /*count=*/2);
  if (!isUniform(operand) && isPackedAlong(plan, operand, *plan.laneAxis))
    return loadPacked(operand, point, lanes);
  Value elements[2];
  for (int64_t i : {0, 1}) {
    Point at(point);
    at[axis] += i;
    elements[i] = splat(builder, loc, body.load(operand, at), lanes);
  }
  return vector::InterleaveOp::create(builder, loc, elements[0], elements[1]);
}

/// Four bytes of `operand` for each lane, side by side.
Value ProductEmitter::loadQuad(OpOperand *operand, const Point &point) {
  if (isUniform(operand))
    return broadcastNeighbours(operand, point, /*count=*/4);
  if (crossesVectors())
    return loadCrossedQuad(operand, point);
  int64_t lanes = getLanes();
  Value pairs[2];
  for (int64_t i : {0, 1}) {
    Point at(point);
    at[*plan.integerSum->pairAxis] += 2 * i;
    pairs[i] = vector::BitCastOp::create(
        builder, loc, VectorType::get({lanes}, builder.getI16Type()),
        loadPair(operand, at));
  }
  return vector::BitCastOp::create(
      builder, loc, VectorType::get({4 * lanes}, builder.getI8Type()),
      vector::InterleaveOp::create(builder, loc, pairs[0], pairs[1]));
}

/// A factor of the products at `point`, extended; of `count` neighbours.
Value ProductEmitter::getFactor(unsigned index, const Point &point,
                                int64_t count) {
  const IntegerFactor &factor = plan.integerSum->factors[index];
  Point key(point);
  llvm::SmallBitVector axes = plan.axesOf(factor.operand);
  for (unsigned axis = 0; axis < key.size(); ++axis)
    if (!axes[axis])
      key[axis] = 0;
  Value &known = factors[{index, key}];
  if (known)
    return known;
  ArrayRef<Operation *> ops = factor.ops;
  if (count == 4) // the instruction extends
    return known = apply(ops.drop_back(), loadQuad(factor.operand, key));
  Value element =
      count == 2
          ? loadPair(factor.operand, key)
          : splat(builder, loc, body.load(factor.operand, key), getLanes());
  return known = apply(ops, element);
}

/// What the body's `ops` make of `element`.
Value ProductEmitter::apply(ArrayRef<Operation *> ops, Value element) {
  auto vector = dyn_cast<VectorType>(element.getType());
  for (Operation *op : ops) {
    Value previous = getVariableOperand(op)->get();
    IRMapping mapping;
    mapping.map(previous, element);
    for (Value operand : op->getOperands())
      if (operand != previous && vector)
        mapping.map(operand,
                    splat(builder, loc, operand, vector.getNumElements()));
    Operation *clone = builder.clone(*op, mapping);
    element = clone->getResult(0);
    if (vector)
      element.setType(vector.clone(element.getType()));
  }
  return element;
}

/// Every second element of a vector, from `first` on.
static Value buildHalf(OpBuilder &builder, Location loc, Value vector,
                       int64_t first) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  SmallVector<int64_t> mask;
  for (int64_t lane = first; lane < count; lane += 2)
    mask.push_back(lane);
  return vector::ShuffleOp::create(builder, loc, vector, vector, mask);
}

Value ProductEmitter::addNeighbours(Value products) {
  return arith::AddIOp::create(builder, loc,
                               buildHalf(builder, loc, products, 0),
                               buildHalf(builder, loc, products, 1));
}

/// The same sums, where a product is added to others by one instruction, and
/// neighbours are not.
Value ProductEmitter::multiplyNeighbours(Value left, Value right) {
  Value products[2];
  for (int64_t i : {0, 1})
    products[i] =
        arith::MulIOp::create(builder, loc, buildHalf(builder, loc, left, i),
                              buildHalf(builder, loc, right, i));
  return arith::AddIOp::create(builder, loc, products[0], products[1]);
}

/// Whether one instruction adds the four products at each lane.
bool ProductEmitter::hasByteProducts() const {
  int64_t bits = 32 * getLanes();
  bool hasLength = false;
  switch (plan.byteProducts) {
  case ByteProducts::None:
  case ByteProducts::Neon:
    break;
  case ByteProducts::AVXVNNI:
    hasLength = bits >= 128 && bits <= 256;
    break;
  case ByteProducts::AVX512VNNI:
    hasLength = bits >= 128 && bits <= 512;
    break;
  case ByteProducts::NeonDot:
  case ByteProducts::NeonMixedDot:
    hasLength = bits == 128;
    break;
  }
  if (!hasLength)
    return false;
  auto extendsByte = [&](const IntegerFactor &factor, bool isSigned) {
    Operation *last = factor.ops.back();
    return last->getOperand(0).getType().isInteger(8) &&
           isa<arith::ExtSIOp>(last) == isSigned &&
           (!isUniform(factor.operand) ||
            isContiguousAlong(plan, factor.operand,
                              *plan.integerSum->pairAxis));
  };
  const IntegerFactor *factors = plan.integerSum->factors;
  return (extendsByte(factors[0], true) && extendsByte(factors[1], false)) ||
         (extendsByte(factors[0], false) && extendsByte(factors[1], true));
}

/// `sum` + the four products of each lane of unsigned bytes, the first ones,
/// with signed ones.
Value ProductEmitter::callByteProducts(Value sum, Value bytes,
                                       Value signedBytes) {
  std::string name = "llvm.aarch64.neon.usdot";
  if (plan.byteProducts == ByteProducts::NeonDot)
    name = "llvm.aarch64.neon.sdot";
  else if (plan.byteProducts != ByteProducts::NeonMixedDot)
    name = ("llvm.x86.avx512.vpdpbusd." + Twine(32 * getLanes())).str();
  return LLVM::CallIntrinsicOp::create(builder, loc, sum.getType(),
                                       builder.getStringAttr(name),
                                       ValueRange{sum, bytes, signedBytes})
      .getResult(0);
}

/// `sum` + the four products of each lane at `point`.
Value ProductEmitter::addByteProducts(Value sum, const Point &point) {
  const IntegerFactor *all = plan.integerSum->factors;
  bool isUnsignedFirst = isa<arith::ExtUIOp>(all[0].ops.back());
  unsigned number = isUnsignedFirst ? 0 : 1;
  Value bytes = getFactor(number, point, 4);
  Value signedBytes = getFactor(1 - number, point, 4);
  constexpr int64_t kLargestSigned = 127;
  if (plan.byteProducts == ByteProducts::NeonDot &&
      getLargest(all[number]) > kLargestSigned) {
    // As signed bytes they are 128 less, which is made good: twice 64.
    auto splatByte = [&](int64_t byte) -> Value {
      auto type = cast<VectorType>(bytes.getType());
      return arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(type, builder.getI8IntegerAttr(byte)));
    };
    bytes = arith::XOrIOp::create(builder, loc, bytes, splatByte(-128));
    for (int i = 0; i < 2; ++i)
      sum = callByteProducts(sum, splatByte(64), signedBytes);
  }
  return callByteProducts(sum, bytes, signedBytes);
}

Value ProductEmitter::add(Value sum, const Point &point) {
  bool inVectors = getLanes() > 1;
  if (!hasNeighbours()) {
    Value product = arith::MulIOp::create(builder, loc, getFactor(0, point, 1),
                                          getFactor(1, point, 1));
    if (plan.addsNeighbours(getLanes()))
      product = addNeighbours(product);
    return arith::AddIOp::create(builder, loc, sum, product);
  }
  int64_t neighbours = plan.integerSum->neighbours;
  if (neighbours == 4 && hasByteProducts())
    return addByteProducts(sum, point);
  int64_t together = inVectors ? 2 : 1;
  Value products;
  for (int64_t i = 0; i < neighbours; i += together) {
    Point at(point);
    at[*plan.integerSum->pairAxis] += i;
    Value left = getFactor(0, at, together), right = getFactor(1, at, together);
    Value next = inVectors && !plan.addsPairs()
                     ? multiplyNeighbours(left, right)
                     : arith::MulIOp::create(builder, loc, left, right);
    if (inVectors && plan.addsPairs())
      next = addNeighbours(next);
    products =
        products
            ? arith::AddIOp::create(builder, loc, products, next).getResult()
            : next;
  }
  return arith::AddIOp::create(builder, loc, sum, products);
}
