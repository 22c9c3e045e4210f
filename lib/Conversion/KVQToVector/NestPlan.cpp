//===- NestPlan.cpp - Lane axis and register block of a structured op -----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestPlan.h"

#include "NestEmitter.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::kvq;

/// Points of a block of an elementwise nest.
static constexpr int64_t kElementwiseBlock = 4;

/// Instructions that step and test of a loop take.
static constexpr double kLoopCost = 3.0;

/// Instructions of an exp2 (Exp2.cpp), and about those of a tanh.
static constexpr double kExp2Cost = 16.0;

bool NestPlan::hasReduction() const {
  return llvm::is_contained(kinds, utils::IteratorType::reduction);
}

llvm::SmallBitVector NestPlan::axesOf(OpOperand *operand) const {
  llvm::SmallBitVector axes(kinds.size());
  AffineMap map = op.getMatchingIndexingMap(operand);
  for (unsigned axis = 0; axis < kinds.size(); ++axis)
    axes[axis] = map.isFunctionOfDim(axis);
  return axes;
}

/// Whether the operand is in memory, and `axis` moves along the last axis of it
/// alone.
static bool runsAlongLastAxis(const NestPlan &plan, OpOperand *operand,
                              unsigned axis) {
  AffineMap map = plan.op.getMatchingIndexingMap(operand);
  return isa<MemRefType>(operand->get().getType()) &&
         map.getNumResults() != 0 &&
         llvm::none_of(map.getResults().drop_back(), [&](AffineExpr result) {
           return result.isFunctionOfDim(axis);
         });
}

/// The same, where elements along that last axis are neighbours.
static bool runsAlongMemory(const NestPlan &plan, OpOperand *operand,
                            unsigned axis) {
  return runsAlongLastAxis(plan, operand, axis) &&
         cast<MemRefType>(operand->get().getType()).isLastDimUnitStride();
}

/// Whether the operand's last index is the position along `axis`.
static bool isIndexedBy(const NestPlan &plan, OpOperand *operand,
                        unsigned axis) {
  return plan.op.getMatchingIndexingMap(operand).getResults().back() ==
         getAffineDimExpr(axis, plan.op.getContext());
}

bool kvq::isContiguousAlong(const NestPlan &plan, OpOperand *operand,
                            unsigned axis) {
  return runsAlongMemory(plan, operand, axis) &&
         isIndexedBy(plan, operand, axis);
}

bool kvq::isScatteredAlong(const NestPlan &plan, OpOperand *operand,
                           unsigned axis) {
  return plan.op.isDpsInit(operand) && !plan.hasReduction() &&
         plan.op.getMatchingBlockArgument(operand).use_empty() &&
         runsAlongLastAxis(plan, operand, axis) &&
         isIndexedBy(plan, operand, axis) &&
         !runsAlongMemory(plan, operand, axis);
}

std::optional<int64_t> NestPlan::neighbourInPairs(OpOperand *operand,
                                                  unsigned axis) const {
  if (op.isDpsInit(operand) || !runsAlongMemory(*this, operand, axis))
    return std::nullopt;
  // Both elements of every pair have to be there.
  int64_t extent = cast<MemRefType>(operand->get().getType()).getShape().back();
  if (ShapedType::isDynamic(extent) || ShapedType::isDynamic(extents[axis]) ||
      extent < 2 * extents[axis])
    return std::nullopt;
  AffineExpr read = op.getMatchingIndexingMap(operand).getResults().back();
  AffineExpr pair = getAffineDimExpr(axis, op.getContext()) * 2;
  for (int64_t neighbour : {0, 1})
    if (read == pair + neighbour)
      return neighbour;
  return std::nullopt;
}

/// Whether `op` reads elements of one row of a table, chosen by the lanes.
static bool isGather(Operation &op,
                     const llvm::SmallPtrSetImpl<Value> &inLanes) {
  auto load = dyn_cast<memref::LoadOp>(op);
  return load && load.getMemRefType().isLastDimUnitStride() &&
         !load.getIndices().empty() &&
         llvm::none_of(load.getIndices().drop_back(),
                       [&](Value index) { return inLanes.contains(index); });
}

bool kvq::isTableLookup(Operation *op) {
  auto extract = dyn_cast<vector::ExtractOp>(op);
  return extract && extract.getSourceVectorType().getRank() == 1 &&
         extract.getDynamicPosition().size() == 1 &&
         extract.getDynamicPosition()
             .front()
             .getDefiningOp<arith::IndexCastUIOp>();
}

/// The widest element that lies in lanes, in bits; 0 if one cannot.
static unsigned widestLaneElement(NestPlan &plan, unsigned axis) {
  unsigned widest = 8;
  bool canLie = true;
  auto visit = [&](Type type) {
    // Indices come from narrow numbers, and lead to f32 elements at most.
    unsigned width = type.isIndex() ? 32 : 0;
    if (type.isIntOrFloat())
      width = type.getIntOrFloatBitWidth();
    canLie &= width > 0 && width <= 64;
    widest = std::max(widest, width);
  };
  llvm::SmallPtrSet<Value, 16> inLanes;
  for (OpOperand &operand : plan.op->getOpOperands()) {
    if (!plan.axesOf(&operand)[axis])
      continue;
    Type type = getElementTypeOrSelf(operand.get().getType());
    visit(type);
    // Vectors of less than a byte an element are packed, memrefs are not.
    canLie &= type.isIndex() || type.getIntOrFloatBitWidth() % 8 == 0;
    inLanes.insert(plan.op.getMatchingBlockArgument(&operand));
  }
  // Accumulators of a reduction over the lanes are vectors.
  if (plan.isReduced(axis))
    inLanes.insert_range(plan.op.getRegionOutputArgs());
  for (Operation &op : plan.op.getBody()->without_terminator()) {
    auto index = dyn_cast<linalg::IndexOp>(op);
    bool isInLanes = index ? index.getDim() == axis
                           : llvm::any_of(op.getOperands(), [&](Value value) {
                               return inLanes.contains(value);
                             });
    if (!isInLanes)
      continue;
    canLie &= index || OpTrait::hasElementwiseMappableTraits(&op) ||
              isGather(op, inLanes) || isTableLookup(&op);
    for (Value result : op.getResults()) {
      visit(result.getType());
      inLanes.insert(result);
    }
  }
  return canLie ? widest : 0;
}

/// Whether `combiner`, null for anything but one known op, may take the
/// elements of a reduction in another order. Sums and products of floats that
/// carry no fast-math flag keep theirs.
static bool canReorder(Operation *combiner) {
  if (isa_and_nonnull<arith::AddFOp, arith::MulFOp>(combiner))
    return cast<arith::ArithFastMathInterface>(combiner)
               .getFastMathFlagsAttr()
               .getValue() != arith::FastMathFlags::none;
  return isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
                         arith::MinNumFOp, arith::AddIOp, arith::MaxSIOp,
                         arith::MaxUIOp, arith::MinSIOp, arith::MinUIOp,
                         arith::AndIOp, arith::OrIOp, arith::XOrIOp>(combiner);
}

static bool canBeLaneAxis(NestPlan &plan, unsigned axis) {
  for (OpOperand &operand : plan.op->getOpOperands()) {
    bool isOutput = plan.op.isDpsInit(&operand);
    bool mustUse = isOutput && !plan.isReduced(axis);
    if (!mustUse && !plan.axesOf(&operand)[axis])
      continue;
    if (!isContiguousAlong(plan, &operand, axis) &&
        !isScatteredAlong(plan, &operand, axis) &&
        !isPackedAlong(plan, &operand, axis) &&
        !plan.neighbourInPairs(&operand, axis))
      return false;
  }
  return !plan.isReduced(axis) || llvm::all_of(plan.combiners, canReorder);
}

static void chooseLaneAxis(NestPlan &plan, int64_t vectorWidth) {
  int64_t best = -1;
  for (unsigned axis = 0; axis < plan.kinds.size(); ++axis) {
    bool isShort =
        !ShapedType::isDynamic(plan.extents[axis]) && plan.extents[axis] < 2;
    if (isShort || !canBeLaneAxis(plan, axis))
      continue;
    unsigned widest = widestLaneElement(plan, axis);
    if (widest == 0)
      continue;
    int64_t lanes = std::max<int64_t>(vectorWidth * 32 / widest, 1);
    // Products are added in pairs.
    if (plan.integerSum && plan.integerSum->axes[axis])
      lanes *= 2;
    if (!ShapedType::isDynamic(plan.extents[axis]))
      lanes = std::min<int64_t>(
          lanes, llvm::bit_floor(static_cast<uint64_t>(plan.extents[axis])));
    if (lanes == 1)
      continue;
    // A parallel axis needs no reduction over lanes; then what more operands
    // read as vectors.
    int64_t score = plan.isReduced(axis) ? 0 : 1000;
    for (OpOperand &operand : plan.op->getOpOperands())
      score += plan.axesOf(&operand)[axis];
    if (score <= best)
      continue;
    best = score;
    plan.laneAxis = axis;
    plan.lanes = lanes;
  }
}

namespace {
/// Searches the register block with the least work per point. What it weighs:
/// loads (and conversions) of operands that points of a block share, and the
/// latency that too few accumulators leave exposed.
class BlockSearch {
public:
  BlockSearch(NestPlan &plan, int64_t vectorWidth)
      : plan(plan), sizes(plan.kinds.size()) {
    for (OpOperand *operand : plan.op.getDpsInputOperands()) {
      if (!isa<MemRefType>(operand->get().getType()))
        continue;
      inputs.push_back({plan.axesOf(operand), loadCost(operand)});
    }
    isDense = plan.hasReduction() && plan.laneAxis && !plan.reducesLanes() &&
              llvm::hasNItems(plan.op.getBody()->without_terminator(), 2) &&
              llvm::all_of(plan.op->getOperandTypes(), [](Type type) {
                return getElementTypeOrSelf(type).isF32();
              });
    // Processors with vectors of 512 bits have 32 of them, others mostly 16.
    registers = vectorWidth >= 16 ? 32 : 16;
    if (isDense)
      limit = registers * 3 / 4;
    else // eight accumulators cover the latency of two multiply-adds a cycle
      limit =
          plan.hasReduction()
              ? std::max<int64_t>(registers / 2 / plan.op.getNumDpsInits(), 1)
              : kElementwiseBlock;
    if (!plan.integerSum)
      countBody();
    for (unsigned axis = 0; axis < plan.kinds.size(); ++axis)
      hasChain |= plan.isReduced(axis) && plan.extents[axis] != plan.step(axis);
  }

  void run() {
    plan.block.assign(plan.kinds.size(), 1);
    sizes.assign(plan.kinds.size(), 1);
    effective.assign(plan.kinds.size(), 1.0);
    search(0, 1);
  }

private:
  double loadCost(OpOperand *operand) {
    auto type = cast<MemRefType>(operand->get().getType());
    unsigned bits = type.getElementTypeBitWidth();
    // Narrow elements are converted as they are loaded, but for factors that
    // are multiplied as they are.
    if (plan.integerSum) {
      bool isUniform = plan.laneAxis && !plan.axesOf(operand)[*plan.laneAxis];
      bool inQuads = plan.integerSum->neighbours == 4 && bits == 8;
      if (bits == 16 || (isUniform && inQuads))
        return 1.0;
    }
    return bits < 32 ? 3.0 : 1.0;
  }

  /// What a step does with elements: for each point, or once for points that
  /// share what it is done with.
  void countBody() {
    llvm::SmallDenseMap<Value, llvm::SmallBitVector> axesOf;
    auto noAxes = llvm::SmallBitVector(plan.kinds.size());
    for (OpOperand &operand : plan.op->getOpOperands())
      axesOf[plan.op.getMatchingBlockArgument(&operand)] =
          plan.op.isDpsInit(&operand) ? ~noAxes : plan.axesOf(&operand);
    double ofPoints = -2.0; // a multiply-add is one op
    for (Operation &op : plan.op.getBody()->without_terminator()) {
      llvm::SmallBitVector axes = noAxes;
      for (Value operand : op.getOperands())
        if (auto known = axesOf.find(operand); known != axesOf.end())
          axes |= known->second;
      if (auto index = dyn_cast<linalg::IndexOp>(op))
        axes.set(index.getDim());
      for (Value result : op.getResults())
        axesOf[result] = axes;
      bool isShared =
          llvm::any_of(llvm::seq<unsigned>(axes.size()), [&](auto axis) {
            return !axes[axis] && !plan.isReduced(axis);
          });
      // A conversion counts with its load.
      bool isConversion =
          isa<CastOpInterface>(op) && isa<BlockArgument>(op.getOperand(0));
      double cost = isa<math::Exp2Op, math::TanhOp>(op) ? kExp2Cost : 1.0;
      if (!isShared)
        ofPoints += cost;
      else if (!isConversion && !isa<arith::BitcastOp>(op))
        inputs.push_back({axes, cost});
    }
    bodyCost = std::max(ofPoints, 1.0);
  }

  void search(unsigned axis, int64_t points) {
    if (axis == plan.kinds.size())
      return consider(points);
    if (plan.isReduced(axis))
      return search(axis + 1, points);
    for (int64_t size = 1; size * points <= limit; ++size) {
      if (!setSize(axis, size))
        continue;
      search(axis + 1, points * size);
    }
    setSize(axis, 1);
  }

  /// Sets a block size of `axis` if it is one to consider.
  bool setSize(unsigned axis, int64_t size) {
    int64_t extent = plan.extents[axis];
    sizes[axis] = size;
    effective[axis] = size;
    if (ShapedType::isDynamic(extent))
      return llvm::isPowerOf2_64(size);
    int64_t steps = std::max<int64_t>(extent / plan.step(axis), 1);
    int64_t blocks = llvm::divideCeil(steps, size);
    effective[axis] = static_cast<double>(steps) / blocks;
    // Only the smallest size of those that need as many blocks.
    return size == 1 || (size <= steps && llvm::divideCeil(steps, blocks) ==
                                              static_cast<uint64_t>(size));
  }

  /// Registers that a block takes: its accumulators, the vectors that points
  /// share, and one for an element that all lanes read.
  int64_t countRegisters(int64_t points) {
    int64_t count = points + 1;
    for (auto &[axes, cost] : inputs) {
      if (!axes[*plan.laneAxis])
        continue;
      int64_t vectors = 1;
      for (unsigned axis = 0; axis < axes.size(); ++axis)
        if (axes[axis])
          vectors *= sizes[axis];
      count += vectors;
    }
    return count;
  }

  /// Cycles that a step of a dense block takes, with what is left of extents
  /// that are no multiples of its sizes: two multiply-adds and two loads a
  /// cycle, and one multiply-add of each accumulator in four, of which a few
  /// more keep both units busy. `actual` has the sizes before `axis`.
  double timeBlocks(unsigned axis, SmallVector<int64_t> &actual) {
    if (axis == sizes.size()) {
      auto product = [&](const llvm::SmallBitVector &axes) {
        int64_t count = 1;
        for (unsigned index : axes.set_bits())
          count *= actual[index];
        return static_cast<double>(count);
      };
      double loads = 0;
      for (auto &[axes, cost] : inputs)
        loads += product(axes);
      double points = product(llvm::SmallBitVector(sizes.size(), true));
      return std::max({points / 2, loads / 2, 4.5});
    }
    int64_t extent = plan.extents[axis], size = sizes[axis];
    actual[axis] = size;
    double time = timeBlocks(axis + 1, actual);
    if (size == 1 || ShapedType::isDynamic(extent))
      return time;
    int64_t steps = std::max<int64_t>(extent / plan.step(axis), 1);
    int64_t wholeBlocks = steps / size;
    time *= wholeBlocks;
    if (steps % size != 0) {
      actual[axis] = steps % size;
      time += timeBlocks(axis + 1, actual);
    }
    return time * size / steps;
  }

  void consider(int64_t points) {
    if (isDense && countRegisters(points) > registers)
      return;
    SmallVector<int64_t> actual(sizes.size(), 1);
    if (isDense)
      return take(timeBlocks(0, actual) / points);
    double throughput = bodyCost;
    for (auto &[axes, cost] : inputs) {
      double sharedBy = 1.0;
      for (unsigned axis = 0; axis < axes.size(); ++axis)
        if (!axes[axis])
          sharedBy *= effective[axis];
      throughput += cost / sharedBy;
    }
    if (!plan.hasReduction())
      throughput += kLoopCost / points;
    double cost = throughput / 2;
    if (hasChain) {
      double covered = 1.0;
      for (double size : effective)
        covered *= size;
      cost = std::max(cost, 4.0 / covered);
    }
    take(cost);
  }

  void take(double cost) {
    // Larger blocks are longer code: they have to pay.
    if (cost >= 0.97 * best)
      return;
    best = cost;
    plan.block = sizes;
  }

  NestPlan &plan;
  int64_t limit, registers;
  /// Whether points are multiply-adds of f32 alone, along parallel lanes.
  bool isDense;
  double bodyCost = 1.0;
  /// Whether an accumulator is updated more than once.
  bool hasChain = false;
  /// Work for points that agree in some axes: loads, and what follows of them.
  SmallVector<std::pair<llvm::SmallBitVector, double>> inputs;
  SmallVector<int64_t> sizes;
  SmallVector<double> effective;
  double best = 1e9;
};
} // namespace

/// Whether each output has one element per parallel iteration, so that it can
/// be held in a register through the reduction.
static bool outputsFollowParallelAxes(NestPlan &plan) {
  for (OpOperand &init : plan.op.getDpsInitsMutable()) {
    AffineMap map = plan.op.getMatchingIndexingMap(&init);
    llvm::SmallBitVector axes = plan.axesOf(&init);
    for (unsigned axis = 0; axis < plan.kinds.size(); ++axis)
      if (axes[axis] == plan.isReduced(axis))
        return false;
    if (!map.isProjectedPermutation())
      return false;
  }
  return true;
}

/// Results of reductions over lanes lie scattered in registers. Chooses the
/// axis along which some are brought together for one store, if it is not in
/// the block already.
static void chooseRunAxis(NestPlan &plan) {
  if (!plan.reducesLanes())
    return;
  int64_t extent = plan.extents[*plan.laneAxis];
  if (ShapedType::isDynamic(extent) || extent % plan.lanes != 0)
    return;
  for (unsigned axis = 0; axis < plan.kinds.size(); ++axis) {
    if (plan.isReduced(axis) || plan.block[axis] != 1 ||
        plan.extents[axis] == 1)
      continue;
    bool contiguous = true;
    for (OpOperand &init : plan.op.getDpsInitsMutable())
      contiguous &= isContiguousAlong(plan, &init, axis);
    if (!contiguous)
      continue;
    plan.runAxis = axis;
    plan.block[axis] = std::min<int64_t>(kMaxTransposed, plan.lanes);
    if (!ShapedType::isDynamic(plan.extents[axis]))
      plan.block[axis] = std::min<int64_t>(
          plan.block[axis],
          llvm::bit_floor(static_cast<uint64_t>(plan.extents[axis])));
    return;
  }
}

/// Without lanes and sums a step is short, and a loop of single steps is mostly
/// loop: some steps of the last axis come together.
static void blockScalars(NestPlan &plan) {
  if (plan.laneAxis || plan.hasReduction() || plan.kinds.empty())
    return;
  int64_t extent = plan.extents.back();
  if (!ShapedType::isDynamic(extent))
    plan.block.back() =
        std::max(plan.block.back(), std::min(extent, kElementwiseBlock));
}

/// Finds ops of the form yield(combiner(accumulator, new value)), where new
/// values do not depend on accumulators.
static void findCombiners(NestPlan &plan) {
  plan.combiners.assign(plan.op.getNumDpsInits(), nullptr);
  if (!plan.hasReduction())
    return;
  for (unsigned i = 0; i < plan.combiners.size(); ++i) {
    SmallVector<Operation *, 4> combiners;
    if (!matchReduction(plan.op.getRegionOutputArgs(), i, combiners) ||
        combiners.size() != 1)
      continue;
    Operation *combiner = combiners.front();
    if (plan.op.getRegionOutputArgs()[i].hasOneUse() && combiner->hasOneUse())
      plan.combiners[i] = combiner;
  }
}

FailureOr<NestPlan> kvq::planNest(linalg::GenericOp op, int64_t vectorWidth,
                                  ByteProducts byteProducts) {
  NestPlan plan;
  plan.op = op;
  plan.byteProducts = byteProducts;
  plan.kinds = op.getIteratorTypesArray();
  plan.extents = op.getStaticLoopRanges();
  if (!outputsFollowParallelAxes(plan))
    return failure();
  findCombiners(plan);
  plan.integerSum = matchIntegerSum(plan);
  chooseLaneAxis(plan, vectorWidth);
  choosePairAxis(plan);
  BlockSearch(plan, vectorWidth).run();
  if (plan.integerSum && plan.integerSum->pairAxis &&
      plan.integerSum->pairAxis != plan.laneAxis)
    plan.block[*plan.integerSum->pairAxis] = plan.integerSum->neighbours;
  blockScalars(plan);
  chooseRunAxis(plan);
  return plan;
}
