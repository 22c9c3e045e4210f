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

#include "../DeadProducers.h"
#include "SideMatcher.h"

#include "kvq/Transforms/Transforms.h"

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
// Sides
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

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

/// Each side of `op` that is a tensor, matched.
static SmallVector<Side, 2> matchSides(AttentionOp op) {
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
  return sides;
}

/// Has `op` read a side from a cache over its codes.
static void readCodes(RewriterBase &rewriter, AttentionOp op,
                      const Side &side) {
  Location loc = op.getLoc();
  Value operand = side.getOperand(op);
  CacheType type = side.matcher.getCacheType();
  SmallVector<Value> components = side.matcher.buildComponents(rewriter, loc);
  Value cache = FromComponentsOp::create(rewriter, loc, type, components);
  SmallVector<Value> flushed;
  if (type.hasRecentWindow())
    flushed.push_back(buildFlushed(rewriter, loc, type, components.front()));
  rewriter.modifyOpInPlace(op, [&] {
    side.getMutable(op).set(cache);
    side.getFlushedMutable(op).assign(flushed);
  });
  eraseDeadProducers(rewriter, operand);
}

SmallVector<std::string> kvq::fuseDequantize(RewriterBase &rewriter,
                                             AttentionOp op) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<std::string> left;
  for (Side &side : matchSides(op)) {
    std::string name = side.getName().str();
    if (!side.fuses) {
      std::string reason = side.matcher.getReason().str();
      remark::missed(loc, getRemarkOpts(op))
          << remark::add("{0} are not read as codes", name)
          << remark::reason("{0}", reason);
      left.push_back(name + " are not read as codes: " + reason);
      continue;
    }
    readCodes(rewriter, op, side);
    remark::passed(loc, getRemarkOpts(op))
        << remark::add("{0} are read as codes", name);
  }
  return left;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct FuseDequantizePass
    : kvq::impl::FuseDequantizePassBase<FuseDequantizePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : ops)
      (void)fuseDequantize(rewriter, op);
  }
};

} // namespace
