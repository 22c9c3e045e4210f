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

#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// The cache that takes the place of `operand`, which attention turns by RoPE
/// as it reads it, or not.
static CacheType getCacheType(const SideMatcher &side, Value operand,
                              bool isTurned) {
  SmallVector<int64_t> shape(getShape(operand));
  shape[kHeads] /= side.repeat;
  // All tokens of the codes, where they are known for codes and metadata.
  shape[kTokens] = ShapedType::kDynamic;
  auto getRows = [](Value component) {
    ArrayRef<int64_t> shape = getShape(component);
    return shape[shape.size() - 2];
  };
  DequantizeOp dequantize = side.dequantize;
  if (!ShapedType::isDynamic(getRows(side.components.front())) &&
      llvm::none_of(dequantize.getInputs(), [&](Value input) {
        return ShapedType::isDynamic(getRows(input));
      }))
    shape[kTokens] = getRows(side.components.front());
  FormatInterface format = dequantize.getFormat();
  if (isTurned)
    format = format.getBeforeRope();
  std::optional<int64_t> recent;
  if (format.getGroupTokens() > 1)
    recent = 0;
  Type elementType = cast<RankedTensorType>(dequantize.getResult(0).getType())
                         .getElementType();
  return CacheType::get(operand.getContext(), shape, elementType, format,
                        /*exactFirst=*/0, recent, /*residual=*/std::nullopt,
                        /*page=*/std::nullopt, /*ring=*/std::nullopt,
                        /*keepFirst=*/0, /*tokenMajor=*/false);
}

/// `component` with the four axes of a cache, of which `axes` are there; axes
/// of extent 1 go and come.
static Value buildCacheAxes(OpBuilder &b, Location loc, Value component,
                            ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(getShape(component));
  SmallVector<ReassociationIndices> dropped(1), added(1);
  for (int64_t axis = 0, rank = shape.size(); axis < rank; ++axis) {
    dropped.back().push_back(axis);
    if (llvm::is_contained(axes, axis) && axis + 1 < rank)
      dropped.emplace_back();
  }
  SmallVector<int64_t> expandedShape;
  for (auto [position, axis] : llvm::enumerate(axes)) {
    added.back().push_back(position);
    expandedShape.push_back(axis == kAbsent ? 1 : shape[axis]);
    if (axis != kAbsent && position + 1 < axes.size())
      added.emplace_back();
  }
  if (dropped.size() < shape.size())
    component = tensor::CollapseShapeOp::create(b, loc, component, dropped);
  if (added.size() == axes.size())
    return component;
  auto type = cast<RankedTensorType>(component.getType()).clone(expandedShape);
  return tensor::ExpandShapeOp::create(b, loc, type, component, added);
}

static Value buildCast(OpBuilder &b, Location loc, Type type, Value value) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(b, loc, type, value);
}

static Value buildCache(OpBuilder &b, Location loc, const SideMatcher &side,
                        CacheType type) {
  SmallVector<Value> components;
  for (Value component : side.components)
    components.push_back(buildCacheAxes(b, loc, component, side.axes));
  SmallVector<Value> operands;
  for (auto [index, component] : llvm::enumerate(type.getComponents())) {
    RankedTensorType expected = component.getTensorType();
    // The ring of the window, in which no token ever lies: all are flushed.
    if (component.kind == ComponentKind::Recent)
      operands.push_back(
          tensor::EmptyOp::create(b, loc, expected, ValueRange()));
    else
      operands.push_back(buildCast(b, loc, expected, components[index]));
  }
  return FromComponentsOp::create(b, loc, type, operands);
}

/// The flushed tokens of each sequence: all that there are.
static Value buildFlushed(OpBuilder &b, Location loc, const SideMatcher &side,
                          CacheType type) {
  auto resultType = RankedTensorType::get({type.getBatch()}, b.getI64Type());
  if (!ShapedType::isDynamic(type.getCapacity()))
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(resultType, {type.getCapacity()}));
  Value rows = side.components.front();
  int64_t rank = cast<RankedTensorType>(rows.getType()).getRank();
  Value tokens = tensor::DimOp::create(b, loc, rows, rank - 2);
  // Rows of codes come first, or records that have them.
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
  if (bothFuse && sides[0].matcher.repeat == sides[1].matcher.repeat)
    return;
  for (Side &side : sides) {
    if (!side.fuses || (side.matcher.repeat == 1 && !bothFuse))
      continue;
    side.fuses = false;
    side.matcher.reason =
        "its KV heads are repeated " + std::to_string(side.matcher.repeat) +
        " times, and the other side cannot be read with as many repeated";
  }
}

/// Token groups of both sides have to start at the same token.
static void matchGroupOrigins(AttentionOp op, MutableArrayRef<Side> sides) {
  for (Side &side : sides) {
    auto cache = dyn_cast<CacheType>(side.getOther(op).getType());
    if (!side.fuses || !cache || cache.getTokenGroup() == 1 ||
        cache.getExactFirst() == 0 ||
        side.matcher.dequantize.getFormat().getGroupTokens() == 1)
      continue;
    side.fuses = false;
    side.matcher.reason = "its token groups start at token 0, those of the "
                          "other side at token " +
                          std::to_string(cache.getExactFirst());
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
  SmallVector<Side> sides;
  for (bool isKey : {true, false}) {
    Value operand = isKey ? op.getKey() : op.getValue();
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    SideMatcher matcher(operand);
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
          << remark::reason("{0}", side.matcher.reason);
      continue;
    }
    Value operand = side.getOperand(op);
    bool isTurned = side.isKey && op.getCos();
    CacheType type = getCacheType(side.matcher, operand, isTurned);
    side.getMutable(op).set(buildCache(b, loc, side.matcher, type));
    if (type.hasRecentWindow())
      side.getFlushedMutable(op).assign(
          buildFlushed(b, loc, side.matcher, type));
    else
      side.getFlushedMutable(op).clear();
    eraseDeadProducers(operand);
    remark::passed(loc, getRemarkOpts(op))
        << remark::add("{0} are read as codes", side.getName().str());
  }
}
