//===- VerifyFused.cpp - Nothing of a cache's size is rebuilt or copied ---===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works on tensors and on buffers alike. The checks are those of the pass
// description, by its numbers.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Views.h"

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

namespace mlir::kvq {
#define GEN_PASS_DEF_VERIFYFUSEDPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct VerifyFusedPass : kvq::impl::VerifyFusedPassBase<VerifyFusedPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void collectRounded(ArrayRef<Operation *> ops);
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

  /// Roots of integers that are no cache's: all that writes them rounds floats,
  /// as those of a query are.
  DenseSet<Value> rounded;
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
  Value root = getRoot(value);
  return !rounded.contains(root) &&
         (getElement(value).getIntOrFloatBitWidth() <= 8 ||
          wideCodes.contains(root));
}

/// True for a structured op whose operands are floats, apart from its outputs.
static bool takesFloats(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && llvm::all_of(linalgOp.getDpsInputs(), [](Value input) {
           return isa<FloatType>(getElement(input));
         });
}

/// The tensors and buffers that an op writes to.
static SmallVector<Value> getWritten(Operation *op) {
  SmallVector<Value> written;
  SmallVector<MemoryEffects::EffectInstance> effects;
  if (auto interface = dyn_cast<MemoryEffectOpInterface>(op))
    interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects)
    if (isa<MemoryEffects::Write>(effect.getEffect()) && effect.getValue())
      written.push_back(effect.getValue());
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    written.push_back(insert.getDest());
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    llvm::append_range(written, destination.getDpsInits());
  return written;
}

void VerifyFusedPass::collectRounded(ArrayRef<Operation *> ops) {
  rounded.clear();
  DenseSet<Value> others;
  for (Operation *op : ops)
    for (Value written : getWritten(op)) {
      Value root = getRoot(written);
      if (!isCodeElement(getElement(root)))
        continue;
      bool isOwn =
          isa_and_nonnull<memref::AllocOp, memref::AllocaOp, tensor::EmptyOp>(
              root.getDefiningOp());
      (isOwn && takesFloats(op) ? rounded : others).insert(root);
    }
  for (Value root : others)
    rounded.erase(root);
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
  // The first axis is for splits, of which who merges them takes a part each.
  auto type = cast<ShapedType>(buffer.getType());
  int64_t splits =
      type.getRank() == 0 || type.isDynamicDim(0) ? 1 : type.getDimSize(0);
  auto isPart = [&](memref::SubViewOp part) {
    Bound bytes = getByteBound(part);
    return bytes && *bytes <= splits * maxBytes;
  };
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<memref::DeallocOp, memref::DimOp>(user) ||
        user->hasTrait<OpTrait::ReturnLike>())
      return true;
    auto part = dyn_cast<memref::SubViewOp>(user);
    return part && isPart(part) &&
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
            "of that size of each split";
}

//===----------------------------------------------------------------------===//
// (3) Copies
//===----------------------------------------------------------------------===//

LogicalResult VerifyFusedPass::verifyCopy(Operation *op, Value source,
                                          Value target) {
  // A number that fills a tensor of one element counts as copied, too.
  if (source == target || !isa<ShapedType>(source.getType()))
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
  collectRounded(ops);
  collectCodes(structured);
  bool fused = true;
  for (Operation *op : ops)
    fused &= succeeded(verify(op));
  if (!fused)
    signalPassFailure();
}
