//===- FuseDequantize.cpp - Attention over codes, not over their values ---===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A side of an attention (keys or values) is read from a cache whose components
// are the operands of the kvq.dequantize that made it, brought to the four axes
// of a cache.
//
//===----------------------------------------------------------------------===//

#include "SideMatcher.h"

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_FUSEDEQUANTIZEPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Building the cache
//===----------------------------------------------------------------------===//

/// The flushed tokens of each sequence: all that `rows` hold, those of codes.
static Value buildFlushed(OpBuilder &b, Location loc, CacheType type,
                          Value rows) {
  auto resultType = RankedTensorType::get({type.getBatch()}, b.getI64Type());
  if (!ShapedType::isDynamic(type.getCapacity()))
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(resultType, {type.getCapacity()}));
  Value tokens = tensor::DimOp::create(b, loc, rows, kTokens);
  if (int64_t ofRow = type.getRowLayout().getCodeTokens(); ofRow != 1)
    tokens = arith::MulIOp::create(
        b, loc, tokens, arith::ConstantIndexOp::create(b, loc, ofRow));
  Value count = arith::IndexCastOp::create(b, loc, b.getI64Type(), tokens);
  return tensor::FromElementsOp::create(
      b, loc, resultType, SmallVector<Value>(type.getBatch(), count));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// One side of an attention that is a tensor, and what it was matched to.
struct Side {
  bool isKey;
  SideMatcher matcher;
  bool fuses;

  StringRef getName() const { return isKey ? "keys" : "values"; }
  Value getOperand(AttentionOp op) const {
    return isKey ? op.getKey() : op.getValue();
  }
  Value getOther(AttentionOp op) const {
    return isKey ? op.getValue() : op.getKey();
  }
  // Asked for at each use: operands of an op move when their number changes.
  OpOperand &getMutable(AttentionOp op) const {
    return isKey ? op.getKeyMutable() : op.getValueMutable();
  }
  MutableOperandRange getFlushedMutable(AttentionOp op) const {
    return isKey ? op.getKeyFlushedMutable() : op.getValueFlushedMutable();
  }
};

struct FuseDequantizePass
    : kvq::impl::FuseDequantizePassBase<FuseDequantizePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      fuse(op);
  }

  void fuse(AttentionOp op);
};

} // namespace

static remark::RemarkOpts getRemarkOpts(AttentionOp op) {
  auto opts = remark::RemarkOpts::name("FuseDequantize")
                  .category("kvq-fuse-dequantize");
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    return opts.function(function.getName());
  return opts;
}

/// Where heads are repeated, both sides have to be read unrepeated: keys and
/// values have the same KV heads.
static void matchRepeats(MutableArrayRef<Side> sides) {
  bool bothFuse = sides.size() == 2 && sides[0].fuses && sides[1].fuses;
  if (bothFuse && sides[0].matcher.getRepeat() == sides[1].matcher.getRepeat())
    return;
  for (Side &side : sides) {
    if (!side.fuses || (side.matcher.getRepeat() == 1 && !bothFuse))
      continue;
    side.fuses = false;
    side.matcher.fail(
        "its KV heads are repeated " + Twine(side.matcher.getRepeat()) +
        " times, and the other side cannot be read with as many repeated");
  }
}

/// Token groups of both sides have to start at the same token.
static void matchGroupOrigins(AttentionOp op, MutableArrayRef<Side> sides) {
  for (Side &side : sides) {
    auto cache = dyn_cast<CacheType>(side.getOther(op).getType());
    if (!side.fuses || !cache || cache.getTokenGroup() == 1 ||
        cache.getExactFirst() == 0 ||
        side.matcher.getCacheType().getTokenGroup() == 1)
      continue;
    side.fuses = false;
    side.matcher.fail("its token groups start at token 0, those of the "
                      "other side at token " +
                      Twine(cache.getExactFirst()));
  }
}

/// Erases what made `value` as far as nothing else uses it.
static void eraseDeadProducers(Value value) {
  llvm::SetVector<Operation *> worklist;
  worklist.insert(value.getDefiningOp());
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!op || !isOpTriviallyDead(op))
      continue;
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      worklist.insert(operand.getDefiningOp());
  }
}

void FuseDequantizePass::fuse(AttentionOp op) {
  SmallVector<Side, 2> sides;
  for (bool isKey : {true, false}) {
    Value operand = isKey ? op.getKey() : op.getValue();
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    SideMatcher matcher(operand, /*isTurned=*/isKey && op.getCos());
    bool fuses = succeeded(matcher.match());
    sides.push_back({isKey, std::move(matcher), fuses});
  }
  matchRepeats(sides);
  matchGroupOrigins(op, sides);

  OpBuilder b(op);
  Location loc = op.getLoc();
  for (Side &side : sides) {
    if (!side.fuses) {
      remark::missed(loc, getRemarkOpts(op))
          << remark::add("{0} are not read as codes", side.getName().str())
          << remark::reason("{0}", side.matcher.getReason().str());
      continue;
    }
    Value operand = side.getOperand(op);
    CacheType type = side.matcher.getCacheType();
    SmallVector<Value> components = side.matcher.buildComponents(b, loc);
    side.getMutable(op).set(FromComponentsOp::create(b, loc, type, components));
    if (type.hasRecentWindow())
      side.getFlushedMutable(op).assign(
          buildFlushed(b, loc, type, components.front()));
    else
      side.getFlushedMutable(op).clear();
    eraseDeadProducers(operand);
    remark::passed(loc, getRemarkOpts(op))
        << remark::add("{0} are read as codes", side.getName().str());
  }
}
