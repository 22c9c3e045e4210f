//===- MapToTensorCores.cpp - Attention for whole blocks ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "TensorCore/BlockPlan.h"

#include "kvq/Conversion/Capabilities.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_MAPTOTENSORCORESPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Whether the query is to be floats of 8 bits, and not integers.
static bool asksForFP8(PartialAttentionOp op) {
  std::optional<Type> type = op.getQueryCodes();
  return type && !type->isInteger();
}

/// Why the op's variant is not for tensor cores; empty if it is.
static std::string whyNotVariant(PartialAttentionOp op) {
  if (op.getCos())
    return "it turns keys by RoPE";
  if (op.getValueChannels())
    return "its values are among the channels of keys";
  if (op.getQueryCodes() && !asksForFP8(op))
    return "it asks for an integer query";
  return "";
}

/// The state that attention before `state` began with.
static Value getFirstState(Value state) {
  while (isa_and_present<PartialAttentionOp, BlockAttentionOp>(
      state.getDefiningOp())) {
    auto op = cast<DestinationStyleOpInterface>(state.getDefiningOp());
    state = op.getTiedOpOperand(cast<OpResult>(state))->get();
  }
  return state;
}

/// What the kernel of `op` holds from one region to the next: rows of queries,
/// states, biases and slopes. Scratch of other regions lies where rings are at
/// other times.
static int64_t getHeldBytes(PartialAttentionOp op) {
  Operation *kernel = op->getParentOfType<scf::ForallOp>();
  if (!kernel)
    kernel = op->getParentOp();
  llvm::SmallSetVector<Value, 8> held;
  kernel->walk([&](DestinationStyleOpInterface other) {
    if (!isa<PartialAttentionOp, BlockAttentionOp, MergePartialsOp>(other))
      return;
    for (Value state : other.getDpsInits())
      held.insert(getFirstState(state));
  });
  auto addInputs = [&](auto attention) {
    held.insert(attention.getQuery());
    for (Value perRow : {attention.getBias(), attention.getSlopes()})
      if (perRow)
        held.insert(perRow);
  };
  kernel->walk([&](PartialAttentionOp other) { addInputs(other); });
  kernel->walk([&](BlockAttentionOp other) { addInputs(other); });
  // As the memory is laid out, with gaps.
  constexpr int64_t kGap = 128;
  auto getBytesOf = [](Value value) {
    return 4 * cast<RankedTensorType>(value.getType()).getNumElements();
  };
  int64_t bytes = 0;
  for (Value value : held)
    bytes += getBytesOf(value) + kGap;
  // Rows that are not f32 as they come lie there before and after.
  auto made = op.getQuery().getDefiningOp<linalg::GenericOp>();
  auto isNotF32 = [](Value input) {
    return !getElementTypeOrSelf(input.getType()).isF32();
  };
  if (made && llvm::any_of(made.getDpsInputs(), isNotF32))
    bytes += getBytesOf(op.getQuery()) + kGap;
  return bytes;
}

/// `query_codes` say nothing of tokens that have no codes.
static void dropQueryCodes(PartialAttentionOp op) {
  auto hasFP8Codes = [](CacheType cache, TokenRegion region) {
    return region == TokenRegion::Codes && cache.getFormat().hasFP8Codes();
  };
  if (asksForFP8(op) && !op.getKey().getType().getSegments() &&
      !op.getValue().getType().getSegments() &&
      !hasFP8Codes(op.getKey().getType(), *op.getKeyRegion()) &&
      !hasFP8Codes(op.getValue().getType(), *op.getValueRegion()))
    op.removeQueryCodesAttr();
}

static bool isZero(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs().front(), m_PosZeroFloat());
}

static void replace(RewriterBase &rewriter, PartialAttentionOp op,
                    int64_t sharedBytes, bool movesFP8) {
  rewriter.setInsertionPoint(op);
  Value acc = op.getAcc();
  bool overwrites = isZero(acc);
  if (overwrites)
    acc = tensor::EmptyOp::create(rewriter, op.getLoc(),
                                  op.getAcc().getType().getShape(),
                                  rewriter.getF32Type());
  auto block = BlockAttentionOp::create(
      rewriter, op.getLoc(), op.getResultTypes(), op.getQuery(), op.getKey(),
      op.getValue(), op.getBatch(), op.getHead(), op.getBegin(), op.getEnd(),
      op.getKeyPages(), op.getValuePages(), acc, op.getMax(), op.getSum(),
      op.getBias(), op.getSlopes(), op.getPosition(), op.getMask(),
      op.getKey().getType(), op.getValue().getType(), *op.getKeyRegion(),
      *op.getValueRegion(), sharedBytes, op.getSoftcapAttr(),
      op.getQueryTokens(), op.getCausal(), op.getWindowAttr(),
      op.getWindowFirstAttr(), op.getQueryCodesAttr(), movesFP8, overwrites);
  rewriter.replaceOp(op, block);
}

namespace {

struct MapToTensorCoresPass
    : kvq::impl::MapToTensorCoresPassBase<MapToTensorCoresPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<GPUTarget> target = GPUTarget::get(
        [&] { return emitError(getOperation()->getLoc()); }, chip, ptx);
    if (failed(target))
      return signalPassFailure();
    SmallVector<PartialAttentionOp> ops;
    getOperation()->walk([&](PartialAttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (PartialAttentionOp op : ops)
      if (failed(map(rewriter, op, *target)))
        return signalPassFailure();
  }

private:
  LogicalResult map(RewriterBase &rewriter, PartialAttentionOp op,
                    const GPUTarget &target) {
    if (!op.getKeyRegion())
      return op.emitOpError("expected key_region and value_region, as "
                            "kvq-split-regions sets them, got neither");
    dropQueryCodes(op);
    std::string whyNot = whyNotVariant(op);
    if (whyNot.empty() && !target.has(GPUFeature::MatrixTranspose))
      whyNot = "PTX " + std::to_string(target.ptx) + " transposes no matrices";
    std::optional<BlockPlan> plan;
    if (whyNot.empty()) {
      plan = BlockPlan::get(
          {op.getKey().getType(), op.getValue().getType(), *op.getKeyRegion(),
           *op.getValueRegion(), op.getQuery().getType().getDimSize(0),
           asksForFP8(op), target.chip->maxSharedBytes, getHeldBytes(op),
           target.has(GPUFeature::FP8Conversion)},
          whyNot);
      if (plan && plan->multipliesFP8() && !target.has(GPUFeature::FP8MMA))
        whyNot = target.chip->name.str() + " with PTX " +
                 std::to_string(target.ptx) + " multiplies no f8E4M3FN";
    }
    auto opts = remark::RemarkOpts::name("MapToTensorCores")
                    .category("kvq-map-to-tensor-cores");
    if (asksForFP8(op) && !whyNot.empty())
      return op.emitOpError("expected attention for tensor cores, for "
                            "query_codes = ")
             << *op.getQueryCodes() << ", got that " << whyNot;
    if (whyNot.empty())
      replace(rewriter, op, target.chip->maxSharedBytes, plan->movesFP8());
    else
      remark::missed(op.getLoc(), opts)
          << remark::add("attention is not for tensor cores")
          << remark::reason("{0}", whyNot);
    return success();
  }
};

} // namespace
