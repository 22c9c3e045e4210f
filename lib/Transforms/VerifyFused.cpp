//===- VerifyFused.cpp - Nothing of a cache's size is rebuilt or copied ---===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works on tensors and on buffers alike: both are followed through views to the
// value that they are a part of, their root. A root of codes has its rows (the
// channels of a token) as last axis; which axes of a view are tokens follows
// from there. The checks are those of the pass description, by its numbers.
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_VERIFYFUSEDPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Views and their roots
//===----------------------------------------------------------------------===//

/// What `value` shares its elements with, one step back: the source of a view,
/// the destination of an op that writes to it, what a loop starts from. Null
/// for a root.
static Value getSource(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
    return init ? init->get() : Value();
  }
  Operation *op = value.getDefiningOp();
  if (isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
          memref::CastOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp>(op))
    return op->getOperand(0);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return insert.getDest();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return destination.getTiedOpOperand(cast<OpResult>(value))->get();
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    if (OpOperand *init = loop.getTiedLoopInit(cast<OpResult>(value)))
      return init->get();
  return {};
}

static Value getRoot(Value value) {
  while (Value source = getSource(value)) {
    if (!isa<ShapedType>(source.getType()))
      break;
    value = source;
  }
  return value;
}

/// For each axis of `slice`, the axis of its source.
template <typename SliceOp>
static SmallVector<int64_t> getSourceAxes(SliceOp slice) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<int64_t> axes;
  for (int64_t axis = 0, rank = slice.getSourceType().getRank(); axis < rank;
       ++axis)
    if (!dropped.test(axis))
      axes.push_back(axis);
  return axes;
}

/// The axes of the source, for a view that takes a part of it.
static std::optional<SmallVector<int64_t>> getSliceAxes(Operation *op) {
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op))
    return getSourceAxes(slice);
  if (auto subview = dyn_cast_or_null<memref::SubViewOp>(op))
    return getSourceAxes(subview);
  return std::nullopt;
}

/// The groups of axes that a reshape splits or joins.
static SmallVector<ReassociationIndices> getReassociation(Operation *op) {
  if (auto reshape = dyn_cast<tensor::ExpandShapeOp>(op))
    return reshape.getReassociationIndices();
  if (auto reshape = dyn_cast<memref::ExpandShapeOp>(op))
    return reshape.getReassociationIndices();
  if (auto reshape = dyn_cast<tensor::CollapseShapeOp>(op))
    return reshape.getReassociationIndices();
  return cast<memref::CollapseShapeOp>(op).getReassociationIndices();
}

/// For each axis of codes, whether it counts tokens (or heads or sequences)
/// rather than channels. One axis of tokens alone stands for a row of unknown
/// origin, and counts.
static SmallVector<bool> getTokenAxes(Value codes) {
  int64_t rank = cast<ShapedType>(codes.getType()).getRank();
  Value source = getSource(codes);
  if (!source || !isa<ShapedType>(source.getType())) {
    SmallVector<bool> axes(rank, true);
    if (rank > 1)
      axes.back() = false;
    return axes;
  }
  SmallVector<bool> sourceAxes = getTokenAxes(source);
  Operation *op = codes.getDefiningOp();
  if (std::optional<SmallVector<int64_t>> kept = getSliceAxes(op))
    return llvm::map_to_vector(
        *kept, [&](int64_t axis) { return bool(sourceAxes[axis]); });
  if (isa_and_nonnull<memref::ExpandShapeOp, tensor::ExpandShapeOp>(op)) {
    SmallVector<bool> axes(rank);
    for (auto [isToken, group] : llvm::zip(sourceAxes, getReassociation(op)))
      for (int64_t axis : group)
        axes[axis] = isToken;
    return axes;
  }
  if (isa_and_nonnull<memref::CollapseShapeOp, tensor::CollapseShapeOp>(op)) {
    auto sourceType = cast<ShapedType>(source.getType());
    return llvm::map_to_vector(
        getReassociation(op), [&](const ReassociationIndices &group) {
          return llvm::any_of(group, [&](int64_t axis) {
            return sourceAxes[axis] && sourceType.getDimSize(axis) != 1;
          });
        });
  }
  return sourceAxes;
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

using Bound = std::optional<int64_t>;

/// Product of bounds; nothing where a factor has none or it overflows.
static Bound multiply(Bound left, Bound right) {
  int64_t product;
  if (!left || !right || llvm::MulOverflow(*left, *right, product))
    return std::nullopt;
  return product;
}

/// The axis of a reshape's source that `axis` of its result is, if it is one.
static std::optional<int64_t> getUnreshapedAxis(Operation *reshape,
                                                int64_t axis) {
  bool isExpand = isa<memref::ExpandShapeOp, tensor::ExpandShapeOp>(reshape);
  for (auto [index, group] : llvm::enumerate(getReassociation(reshape))) {
    if (group.size() != 1)
      continue;
    if (isExpand && group.front() == axis)
      return index;
    if (!isExpand && static_cast<int64_t>(index) == axis)
      return group.front();
  }
  return std::nullopt;
}

/// A constant that the extent of an axis does not pass: the extent, that of the
/// storage which it is cut from, or what the arithmetic of its size tells.
static Bound getExtentBound(Value value, int64_t axis) {
  Value part = value;
  int64_t partAxis = axis;
  while (true) {
    auto type = cast<ShapedType>(part.getType());
    if (!type.isDynamicDim(partAxis))
      return type.getDimSize(partAxis);
    Operation *op = part.getDefiningOp();
    if (std::optional<SmallVector<int64_t>> kept = getSliceAxes(op))
      partAxis = (*kept)[partAxis];
    else if (isa_and_nonnull<memref::ExpandShapeOp, memref::CollapseShapeOp,
                             tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                 op)) {
      std::optional<int64_t> kept = getUnreshapedAxis(op, partAxis);
      if (!kept)
        break;
      partAxis = *kept;
    }
    Value source = getSource(part);
    if (!source || !isa<ShapedType>(source.getType()))
      break;
    part = source;
  }
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {value, axis}, /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  return succeeded(bound) ? Bound(std::max<int64_t>(*bound, 0)) : std::nullopt;
}

/// A constant that the bytes of `value` do not pass.
static Bound getByteBound(Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (!type.getElementType().isIntOrFloat())
    return std::nullopt;
  Bound bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t axis = 0, rank = type.getRank(); axis < rank; ++axis)
    bytes = multiply(bytes, getExtentBound(value, axis));
  return bytes;
}

/// The lesser of two bounds.
static Bound tighten(Bound left, Bound right) {
  return left && right ? std::min(*left, *right) : left ? left : right;
}

static std::string describe(Bound bound, StringRef unit) {
  if (!bound)
    return ("an unbounded number of " + unit).str();
  return (Twine(*bound) + " " + unit).str();
}

/// True if `value` is computed by index arithmetic from nothing but constants
/// and values that `isAllowed` accepts.
static bool derivesFrom(Value value,
                        llvm::function_ref<bool(Value)> isAllowed) {
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    if (!seen.insert(current).second || isAllowed(current))
      continue;
    Operation *op = current.getDefiningOp();
    if (!op)
      return false;
    if (!isa<arith::ArithDialect, affine::AffineDialect>(op->getDialect()))
      return false;
    llvm::append_range(worklist, op->getOperands());
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct VerifyFusedPass : kvq::impl::VerifyFusedPassBase<VerifyFusedPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void collectCodes(ArrayRef<linalg::LinalgOp> ops);
  bool holdsCodes(Value value);
  bool isWithin(Bound bytes) { return bytes && *bytes <= maxBytes; }

  LogicalResult verify(Operation *op);
  LogicalResult verifyDequantize(DequantizeOp op);
  LogicalResult verifyComputation(linalg::LinalgOp op);
  LogicalResult verifyTokens(Operation *op, Bound tokens, Value output);
  LogicalResult verifyAllocation(Operation *op);
  bool isWorkspace(Operation *op);
  LogicalResult verifyCopy(Operation *op, Value source, Value target);

  /// Roots of integers wider than codes that derive from codes.
  DenseSet<Value> wideCodes;
};

} // namespace

//===----------------------------------------------------------------------===//
// (1) Float values that derive from codes
//===----------------------------------------------------------------------===//

/// True for an element type that codes may be stored in or widened to.
static bool isCodeElement(Type type) {
  return type.isInteger() && !type.isInteger(1) &&
         type.getIntOrFloatBitWidth() <= 32;
}

static Type getElement(Value value) {
  return getElementTypeOrSelf(value.getType());
}

bool VerifyFusedPass::holdsCodes(Value value) {
  if (!isa<ShapedType>(value.getType()) || !isCodeElement(getElement(value)))
    return false;
  return getElement(value).getIntOrFloatBitWidth() <= 8 ||
         wideCodes.contains(getRoot(value));
}

/// Finds the integers that are made from codes, through any number of ops.
void VerifyFusedPass::collectCodes(ArrayRef<linalg::LinalgOp> ops) {
  wideCodes.clear();
  bool changed = true;
  while (std::exchange(changed, false))
    for (linalg::LinalgOp op : ops) {
      if (llvm::none_of(op.getDpsInputs(),
                        [&](Value input) { return holdsCodes(input); }))
        continue;
      for (Value output : op.getDpsInits())
        if (isCodeElement(getElement(output)))
          changed |= wideCodes.insert(getRoot(output)).second;
    }
}

LogicalResult VerifyFusedPass::verifyTokens(Operation *op, Bound tokens,
                                            Value output) {
  if (!tokens || *tokens > maxTokens)
    return op->emitOpError("makes float values from the codes of ")
           << describe(tokens, "tokens")
           << " at once, expected at most a tile of " << int64_t(maxTokens);
  Value root = getRoot(output);
  Bound bytes = getByteBound(root);
  if (!isWithin(bytes))
    return op->emitOpError(
               "gathers float values from codes, token by token, in ")
           << root.getType() << " of " << describe(bytes, "bytes")
           << ", expected at most " << int64_t(maxBytes) << " for a tile";
  return success();
}

LogicalResult VerifyFusedPass::verifyDequantize(DequantizeOp op) {
  Value codes = op.getInputs().front(), output = op.getInits().front();
  Bound tokens = 1;
  for (int64_t axis = 0, end = cast<ShapedType>(codes.getType()).getRank() - 1;
       axis < end; ++axis)
    tokens = multiply(tokens, tighten(getExtentBound(codes, axis),
                                      getExtentBound(output, axis)));
  return verifyTokens(op, tokens, output);
}

/// A constant that the extent of a loop does not pass, from any operand that it
/// indexes alone.
static Bound getLoopBound(linalg::LinalgOp op, unsigned loop) {
  Bound least;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      if (expr != getAffineDimExpr(loop, op.getContext()))
        continue;
      least = tighten(least, getExtentBound(operand.get(), axis));
    }
  }
  return least;
}

LogicalResult VerifyFusedPass::verifyComputation(linalg::LinalgOp op) {
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!holdsCodes(input->get()))
      continue;
    // The loops that run over tokens of these codes.
    llvm::SmallBitVector tokenLoops(op.getNumLoops());
    AffineMap map = op.getMatchingIndexingMap(input);
    for (auto [isToken, expr] :
         llvm::zip_equal(getTokenAxes(input->get()), map.getResults()))
      if (isToken)
        expr.walk([&](AffineExpr part) {
          if (auto loop = dyn_cast<AffineDimExpr>(part))
            tokenLoops.set(loop.getPosition());
        });
    for (OpOperand &output : op.getDpsInitsMutable()) {
      if (!isa<FloatType>(getElement(output.get())))
        continue;
      // What is summed over tokens spans none.
      AffineMap outputMap = op.getMatchingIndexingMap(&output);
      Bound tokens = 1;
      bool spansTokens = false;
      for (unsigned loop : tokenLoops.set_bits()) {
        if (!outputMap.isFunctionOfDim(loop))
          continue;
        spansTokens = true;
        tokens = multiply(tokens, getLoopBound(op, loop));
      }
      if (spansTokens && failed(verifyTokens(op, tokens, output.get())))
        return failure();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// (2) Allocations
//===----------------------------------------------------------------------===//

/// True for the number of a work item: an induction variable of `scf.forall`.
static bool isWorkItem(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto forall =
      argument ? dyn_cast<scf::ForallOp>(argument.getOwner()->getParentOp())
               : nullptr;
  return forall && llvm::is_contained(forall.getInductionVars(), value);
}

/// True for the extent of a tensor or buffer of floats, as the query tokens
/// are known by; never that of codes.
static bool isFloatExtent(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<memref::DimOp, tensor::DimOp>(op) &&
         isa<FloatType>(getElement(op->getOperand(0)));
}

/// True unless nothing is ever written to `buffer` or to a view of it.
static bool isWritten(Value buffer) {
  return llvm::any_of(buffer.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
            memref::CastOp>(user))
      return isWritten(user->getResult(0));
    if (auto copy = dyn_cast<memref::CopyOp>(user))
      return use.get() == copy.getTarget();
    if (auto structured = dyn_cast<linalg::LinalgOp>(user))
      return structured.isDpsInit(&use);
    return !isa<memref::LoadOp, memref::DimOp, memref::DeallocOp>(user);
  });
}

bool VerifyFusedPass::isWorkspace(Operation *op) {
  Value buffer = op->getResult(0);
  if (!isa<FloatType>(getElement(buffer)))
    return false;
  for (Value operand : op->getOperands())
    if (isa<IndexType>(operand.getType()) &&
        !derivesFrom(operand, isFloatExtent))
      return false;
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<memref::DeallocOp, memref::DimOp>(user) ||
        user->hasTrait<OpTrait::ReturnLike>())
      return true;
    auto part = dyn_cast<memref::SubViewOp>(user);
    return part && isWithin(getByteBound(part)) &&
           llvm::all_of(part.getOffsets(), [](Value offset) {
             return derivesFrom(offset, isWorkItem);
           });
  });
}

LogicalResult VerifyFusedPass::verifyAllocation(Operation *op) {
  Value buffer = op->getResult(0);
  Bound bytes = getByteBound(buffer);
  if (isWithin(bytes) || isWorkspace(op))
    return success();
  // Nothing is in it: the ring of a cache whose tokens are all quantized.
  if (bytes && isa<MemRefType>(buffer.getType()) && !isWritten(buffer))
    return success();
  return op->emitOpError("allocates ")
         << buffer.getType() << " of " << describe(bytes, "bytes")
         << ", expected at most " << int64_t(maxBytes)
         << ", or a workspace of floats in which each work item has a part "
            "of that size";
}

//===----------------------------------------------------------------------===//
// (3) Copies
//===----------------------------------------------------------------------===//

LogicalResult VerifyFusedPass::verifyCopy(Operation *op, Value source,
                                          Value target) {
  if (source == target)
    return success();
  Bound bytes = tighten(getByteBound(source), getByteBound(target));
  if (isWithin(bytes))
    return success();
  return op->emitOpError("copies ")
         << describe(bytes, "bytes") << ", expected at most "
         << int64_t(maxBytes)
         << ": is an old value of a cache read after an append?";
}

//===----------------------------------------------------------------------===//
// Walk
//===----------------------------------------------------------------------===//

LogicalResult VerifyFusedPass::verify(Operation *op) {
  if (auto dequantize = dyn_cast<DequantizeOp>(op))
    return verifyDequantize(dequantize);
  if (isa<memref::AllocOp, memref::AllocaOp, bufferization::AllocTensorOp>(op))
    return verifyAllocation(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return verifyCopy(op, copy.getSource(), copy.getTarget());
  if (auto clone = dyn_cast<bufferization::CloneOp>(op))
    return verifyCopy(op, clone.getInput(), clone.getOutput());
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured)
    return success();
  if (isa<linalg::CopyOp>(op) || linalg::isaCopyOpInterface(structured))
    return verifyCopy(op, structured.getDpsInputs().front(),
                      structured.getDpsInits().front());
  return verifyComputation(structured);
}

void VerifyFusedPass::runOnOperation() {
  SmallVector<Operation *> ops;
  SmallVector<linalg::LinalgOp> structured;
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<FunctionOpInterface>(op) && op->hasAttr(kUnfusedAttrName))
      return WalkResult::skip();
    ops.push_back(op);
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      structured.push_back(linalgOp);
    return WalkResult::advance();
  });
  collectCodes(structured);
  bool fused = true;
  for (Operation *op : ops)
    fused &= succeeded(verify(op));
  if (!fused)
    signalPassFailure();
}
