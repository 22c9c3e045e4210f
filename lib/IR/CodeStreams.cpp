//===- CodeStreams.cpp - Streams of codes across bytes --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule R29: rounds of a few codes in whole bytes. A round is an axis of its own,
// whose index says where in the round a code is; which bytes hold it is in the
// indexing maps.
//
//===----------------------------------------------------------------------===//

#include "CodePacking.h"

#include "TensorSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::kvq;

static Value buildWide(OpBuilder &b, Location loc, Value byte) {
  return arith::ExtUIOp::create(b, loc, b.getI16Type(), byte);
}

static Value buildByte(OpBuilder &b, Location loc, Value wide) {
  return arith::TruncIOp::create(b, loc, b.getI8Type(), wide);
}

namespace {

/// Where the codes of a round lie, as expressions of one index below a bound.
/// The position of a code in the stream is its slot.
class StreamMath {
public:
  StreamMath(MLIRContext *context, const CodePart &part)
      : part(part), elements(part.order.elements),
        stride(part.order.stride), index(getAffineDimExpr(0, context)) {}

  AffineExpr getIndex() const { return index; }

  AffineExpr getSlot(AffineExpr element) const {
    if (part.order.kind == OrderKind::Reversed)
      return -element + (elements - 1);
    if (stride == 1)
      return element;
    return (element % stride) * (elements / stride) + element.floorDiv(stride);
  }
  AffineExpr getElement(AffineExpr slot) const {
    if (part.order.kind == OrderKind::Reversed)
      return -slot + (elements - 1);
    if (stride == 1)
      return slot;
    int64_t count = elements / stride;
    return (slot % count) * stride + slot.floorDiv(count);
  }
  /// The first bit of the slot that an element has.
  AffineExpr getBit(AffineExpr element) const {
    return getSlot(element) * part.bits;
  }

private:
  CodePart part;
  int64_t elements, stride;
  AffineExpr index;
};

} // namespace

/// Emits an expression of one index that is never negative, as an integer.
static Value buildExpr(OpBuilder &b, Location loc, AffineExpr expr, Value index,
                       Type type) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return buildInteger(b, loc, type, constant.getValue());
  if (isa<AffineDimExpr>(expr))
    return arith::IndexCastUIOp::create(b, loc, type, index);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = buildExpr(b, loc, binary.getLHS(), index, type);
  Value rhs = buildExpr(b, loc, binary.getRHS(), index, type);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, loc, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, loc, lhs, rhs);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(b, loc, lhs, rhs);
  case AffineExprKind::FloorDiv:
    return arith::DivUIOp::create(b, loc, lhs, rhs);
  default:
    llvm_unreachable("expressions of a stream have no other operation");
  }
}

namespace {

/// One side of a round, the tensor `written` or one of those read: the round is
/// an axis of its own unless it is one element.
class RoundAxis {
public:
  RoundAxis(OpBuilder &b, Location loc, Value field, int64_t perRound) {
    int64_t rounds = getLastExtent(field) / perRound;
    hasAxis = perRound != 1 || rounds == 1;
    value = perRound == 1 ? field : splitLastAxis(b, loc, field, rounds);
  }

  Value value;
  /// Whether the last axis of `value` is inside a round.
  bool hasAxis;
};

} // namespace

/// The map from the axes of `written` to `read`, at `position` in a round.
static AffineMap getReadMap(const RoundAxis &read, const RoundAxis &written,
                            AffineExpr position) {
  MLIRContext *context = position.getContext();
  int64_t axes = getRank(written.value);
  int64_t outer = getRank(read.value) - read.hasAxis;
  SmallVector<AffineExpr> results;
  for (int64_t axis = 0; axis < outer; ++axis)
    results.push_back(getAffineDimExpr(axis, context));
  if (read.hasAxis)
    results.push_back(
        written.hasAxis
            ? position.replace(getAffineDimExpr(0, context),
                               getAffineDimExpr(axes - 1, context))
            : position.replace(getAffineDimExpr(0, context),
                               getAffineConstantExpr(0, context)));
  return AffineMap::get(axes, /*symbolCount=*/0, results, context);
}

/// The index in a round of what a body writes.
static Value buildRoundIndex(OpBuilder &b, Location loc,
                             const RoundAxis &written) {
  if (!written.hasAxis)
    return arith::ConstantIndexOp::create(b, loc, 0);
  return linalg::IndexOp::create(b, loc, getRank(written.value) - 1);
}

Value kvq::packStream(OpBuilder &b, Location loc, const CodeKind &kind,
                        const CodePart &part, Value codes, Value bytes) {
  StreamMath math(b.getContext(), part);
  RoundAxis read(b, loc, codes, part.order.elements);
  RoundAxis written(b, loc, bytes, part.getBytes());
  int64_t bits = part.bits;
  // Bits of a byte that between them lie in each of its codes.
  SmallVector<int64_t> probes;
  for (int64_t bit = 0; bit < 8; bit += bits)
    probes.push_back(bit);
  bool areWhole = 8 % bits == 0;
  if (!areWhole)
    probes.push_back(7);
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (int64_t probe : probes) {
    AffineExpr slot = (math.getIndex() * 8 + probe).floorDiv(bits);
    AffineExpr element = math.getElement(slot);
    maps.push_back(getReadMap(read, written, element));
    inputs.push_back(read.value);
    // Extents of axes that a map leaves as they are have to agree.
    if (element == math.getIndex() && written.hasAxis)
      inputs.back() = buildSlice(b, loc, read.value, getRank(read.value) - 1,
                                 b.getIndexAttr(0),
                                 b.getIndexAttr(getLastExtent(written.value)));
  }

  auto getField = [&](OpBuilder &b, Location loc, Value code) {
    Value field = buildStored(b, loc, kind, code);
    field = buildShiftRight(b, loc, field, part.firstBit);
    return buildMask(b, loc, field, part.getMask());
  };
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value byte;
    for (auto [probe, code] : llvm::zip_equal(probes, args.drop_back())) {
      Value field = getField(b, loc, code);
      if (areWhole) {
        byte = buildOr(b, loc, byte, buildShiftLeft(b, loc, field, probe));
        continue;
      }
      // A code may begin before the byte: bits are moved up by 8, then down.
      AffineExpr begin =
          -((math.getIndex() * 8 + probe) % bits) + (probe + 8);
      Value index = buildRoundIndex(b, loc, written);
      Value amount = buildExpr(b, loc, begin, index, b.getI16Type());
      Value moved =
          arith::ShLIOp::create(b, loc, buildWide(b, loc, field), amount);
      byte = buildOr(b, loc, byte, moved);
    }
    if (areWhole)
      return byte;
    return buildByte(b, loc, buildShiftRight(b, loc, byte, 8));
  };
  Value packed = buildMap(b, loc, inputs, maps, written.value, body);
  return joinLastAxis(b, loc, packed, bytes.getType());
}

Value kvq::unpackStream(OpBuilder &b, Location loc, const CodeKind &kind,
                          const UnpackStep &step, Value codes) {
  const CodePart &part = step.parts.front();
  StreamMath math(b.getContext(), part);
  RoundAxis read(b, loc, step.fields.front(), part.getBytes());
  RoundAxis written(b, loc, codes, part.order.elements);
  AffineExpr bit = math.getBit(math.getIndex());
  bool areWhole = 8 % part.bits == 0;
  SmallVector<Value> inputs = {read.value};
  SmallVector<AffineMap> maps = {
      getReadMap(read, written, bit.floorDiv(8))};
  if (!areWhole) {
    inputs.push_back(read.value);
    maps.push_back(
        getReadMap(read, written, (bit + (part.bits - 1)).floorDiv(8)));
  }
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value index = buildRoundIndex(b, loc, written);
    Value bytes = args[0];
    // Where both bytes are one, what is taken twice is masked away.
    if (!areWhole)
      bytes = buildOr(b, loc, buildWide(b, loc, args[0]),
                      buildShiftLeft(b, loc, buildWide(b, loc, args[1]), 8));
    Value amount = buildExpr(b, loc, bit % 8, index, bytes.getType());
    Value code = arith::ShRUIOp::create(b, loc, bytes, amount);
    if (!areWhole)
      code = buildByte(b, loc, code);
    code = buildMask(b, loc, code, part.getMask());
    code = buildShiftLeft(b, loc, code, part.firstBit);
    return finishCode(b, loc, kind, step, code, args.back());
  };
  Value unpacked = buildMap(b, loc, inputs, maps, written.value, body);
  return joinLastAxis(b, loc, unpacked, codes.getType());
}
