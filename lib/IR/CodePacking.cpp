//===- CodePacking.cpp - Codes of a field to and from its bytes -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules R13, R14 and R29. Planar codes: plane p of a part lies in bits
// `p * bits` and up of the part's bytes, so that ops read and write slices of
// rows and shifts are constant. Other orders are rounds of a few codes in whole
// bytes, an axis of its own, whose index says where in the round a code is.
//
//===----------------------------------------------------------------------===//

#include "CodePacking.h"

#include "TensorSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Value kvq::buildInteger(OpBuilder &b, Location loc, Type type, uint64_t value) {
  APInt bits(type.getIntOrFloatBitWidth(), value, /*isSigned=*/false,
             /*implicitTrunc=*/true);
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, bits));
}

Value kvq::buildShiftLeft(OpBuilder &b, Location loc, Value value,
                          unsigned amount) {
  if (amount == 0)
    return value;
  return arith::ShLIOp::create(b, loc, value,
                               buildInteger(b, loc, value.getType(), amount));
}

Value kvq::buildShiftRight(OpBuilder &b, Location loc, Value value,
                           unsigned amount) {
  if (amount == 0)
    return value;
  return arith::ShRUIOp::create(b, loc, value,
                                buildInteger(b, loc, value.getType(), amount));
}

Value kvq::buildMask(OpBuilder &b, Location loc, Value value, uint64_t mask) {
  return arith::AndIOp::create(b, loc, value,
                               buildInteger(b, loc, value.getType(), mask));
}

Value kvq::buildOr(OpBuilder &b, Location loc, Value sum, Value value) {
  if (!sum)
    return value;
  return arith::OrIOp::create(b, loc, sum, value);
}

static Value buildWide(OpBuilder &b, Location loc, Value byte) {
  return arith::ExtUIOp::create(b, loc, b.getI16Type(), byte);
}

static Value buildByte(OpBuilder &b, Location loc, Value wide) {
  return arith::TruncIOp::create(b, loc, b.getI8Type(), wide);
}

/// The bits that are stored of a code.
static Value buildStored(OpBuilder &b, Location loc, const CodeKind &kind,
                         Value code) {
  if (!kind.bias)
    return code;
  // Adding 2^(bits-1) turns the highest bit over.
  return arith::XOrIOp::create(
      b, loc, code, buildInteger(b, loc, code.getType(), 1 << (kind.bits - 1)));
}

/// The i8 code of the stored bits, above which all are 0.
static Value buildCode(OpBuilder &b, Location loc, const CodeKind &kind,
                       Value stored) {
  if (!kind.isSigned || (kind.bits == 8 && !kind.bias))
    return stored;
  // Sign extension without an arithmetic shift of bytes, which x86 lacks.
  Value top =
      buildInteger(b, loc, stored.getType(), uint64_t(1) << (kind.bits - 1));
  if (!kind.bias)
    stored = arith::XOrIOp::create(b, loc, stored, top);
  return arith::SubIOp::create(b, loc, stored, top);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

static int64_t getLastExtent(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

/// Every axis by itself, the last two together.
static SmallVector<ReassociationIndices> getLastAxesJoined(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t axis = 0; axis + 1 < rank; ++axis)
    groups.push_back({axis});
  groups.back().push_back(rank - 1);
  return groups;
}

Value kvq::splitLastAxis(OpBuilder &b, Location loc, Value value,
                         int64_t count, bool always) {
  if (count == 1 && !always)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, value);
  int64_t inner = shape.back() / count;
  shape.back() = count;
  shape.push_back(inner);
  extents.back() = b.getIndexAttr(count);
  extents.push_back(b.getIndexAttr(inner));
  return tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), value,
      getLastAxesJoined(shape.size()), extents);
}

Value kvq::joinLastAxis(OpBuilder &b, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return tensor::CollapseShapeOp::create(b, loc, type, value,
                                         getLastAxesJoined(getRank(value)));
}

Value kvq::buildMap(
    OpBuilder &b, Location loc, ValueRange inputs, ArrayRef<AffineMap> maps,
    Value init,
    function_ref<Value(OpBuilder &, Location, ValueRange)> buildBody) {
  int64_t rank = getRank(init);
  SmallVector<AffineMap> all(maps);
  all.resize(inputs.size() + 1);
  for (AffineMap &map : all)
    if (!map)
      map = b.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, init.getType(), inputs, init, all, iterators,
             [&](OpBuilder &b, Location loc, ValueRange args) {
               linalg::YieldOp::create(b, loc, buildBody(b, loc, args));
             })
      .getResult(0);
}

/// With 8 bits the bytes are the codes: a copy, as the destination is written
/// even where the caller never looks at the result.
static Value buildCopy(OpBuilder &b, Location loc, Value source,
                       Value destination) {
  return linalg::CopyOp::create(b, loc, source, destination).getResult(0);
}

static bool isCopy(const CodeKind &kind, const CodePart &part) {
  return part.bits == 8 && !kind.bias && part.order.stride == 1;
}

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

static Value packPlanes(OpBuilder &b, Location loc, const CodeKind &kind,
                        const CodePart &part, Value codes, Value bytes) {
  int64_t axis = getRank(codes) - 1, extent = part.getBytes();
  unsigned count = 8 / part.bits;
  // One input a plane, so that a byte is written once.
  SmallVector<Value> planes;
  for (unsigned plane = 0; plane < count; ++plane)
    planes.push_back(buildSlice(b, loc, codes, axis,
                                b.getIndexAttr(plane * extent),
                                b.getIndexAttr(extent)));
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value byte;
    for (unsigned plane = 0; plane < count; ++plane) {
      Value field = buildStored(b, loc, kind, args[plane]);
      field = buildShiftRight(b, loc, field, part.firstBit);
      field = buildMask(b, loc, field, part.getMask());
      field = buildShiftLeft(b, loc, field, plane * part.bits);
      byte = buildOr(b, loc, byte, field);
    }
    return byte;
  };
  return buildMap(b, loc, planes, {}, bytes, body);
}

namespace {

/// One step of unpacking: parts whose bits go into codes together.
struct UnpackStep {
  ArrayRef<CodePart> parts;
  ValueRange fields;
  /// Whether codes hold bits already, and whether these are the last.
  bool isFirst, isLast;
};

} // namespace

/// `code`, bits of codes, as what a step writes; `previous` is what is there.
static Value finishCode(OpBuilder &b, Location loc, const CodeKind &kind,
                        const UnpackStep &step, Value code, Value previous) {
  if (!step.isFirst)
    code = buildOr(b, loc, previous, code);
  return step.isLast ? buildCode(b, loc, kind, code) : code;
}

/// Unpacks planar parts with equal rounds, of all elements of the last axis. A
/// run of codes lies in one plane of each part.
static Value unpackPlanes(OpBuilder &b, Location loc, const CodeKind &kind,
                          const UnpackStep &step, Value codes) {
  int64_t elements = getLastExtent(codes), axis = getRank(codes) - 1;
  // The last part has the fewest bits, and so the shortest planes.
  int64_t size = step.parts.back().getBytes();
  for (int64_t first = 0; first < elements; first += size) {
    SmallVector<Value> inputs;
    for (auto [part, field] : llvm::zip_equal(step.parts, step.fields)) {
      int64_t bytes = part.getBytes();
      inputs.push_back(bytes == size
                           ? field
                           : buildSlice(b, loc, field, axis,
                                        b.getIndexAttr(first % bytes),
                                        b.getIndexAttr(size)));
    }
    auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
      Value code;
      for (auto [part, byte] :
           llvm::zip_equal(step.parts, args.drop_back())) {
        unsigned plane = first / part.getBytes();
        Value field = buildShiftRight(b, loc, byte, plane * part.bits);
        field = buildMask(b, loc, field, part.getMask());
        code =
            buildOr(b, loc, code, buildShiftLeft(b, loc, field, part.firstBit));
      }
      return finishCode(b, loc, kind, step, code, args.back());
    };
    OpFoldResult offset = b.getIndexAttr(first), extent = b.getIndexAttr(size);
    bool isWhole = size == elements;
    Value run = isWhole ? codes : buildSlice(b, loc, codes, axis, offset, extent);
    run = buildMap(b, loc, inputs, {}, run, body);
    codes = isWhole ? run : buildInsert(b, loc, run, codes, axis, offset, extent);
  }
  return codes;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

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

static Value packStream(OpBuilder &b, Location loc, const CodeKind &kind,
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
    return areWhole ? byte : buildByte(b, loc, buildShiftRight(b, loc, byte, 8));
  };
  Value packed = buildMap(b, loc, inputs, maps, written.value, body);
  return joinLastAxis(b, loc, packed, bytes.getType());
}

static Value unpackStream(OpBuilder &b, Location loc, const CodeKind &kind,
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

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value kvq::buildPackedPart(OpBuilder &b, Location loc, const CodeKind &kind,
                           const CodePart &part, Value codes, Value bytes) {
  if (isCopy(kind, part))
    return buildCopy(b, loc, codes, bytes);
  if (part.order.kind != OrderKind::Planar)
    return packStream(b, loc, kind, part, codes, bytes);
  int64_t rounds = getLastExtent(codes) / part.order.elements;
  Value packed = packPlanes(b, loc, kind, part,
                            splitLastAxis(b, loc, codes, rounds),
                            splitLastAxis(b, loc, bytes, rounds));
  return joinLastAxis(b, loc, packed, bytes.getType());
}

static Value buildStep(OpBuilder &b, Location loc, const CodeKind &kind,
                       const UnpackStep &step, Value codes) {
  const CodeOrder &order = step.parts.front().order;
  if (order.kind != OrderKind::Planar)
    return unpackStream(b, loc, kind, step, codes);
  int64_t rounds = getLastExtent(codes) / order.elements;
  SmallVector<Value> fields;
  for (Value field : step.fields)
    fields.push_back(splitLastAxis(b, loc, field, rounds));
  UnpackStep split = step;
  split.fields = fields;
  Value unpacked = unpackPlanes(b, loc, kind, split,
                                splitLastAxis(b, loc, codes, rounds));
  return joinLastAxis(b, loc, unpacked, codes.getType());
}

Value kvq::buildUnpackedCodes(OpBuilder &b, Location loc, const CodeKind &kind,
                              ArrayRef<CodePart> parts, ValueRange fields,
                              Value codes) {
  if (isCopy(kind, parts.front()))
    return buildCopy(b, loc, fields.front(), codes);
  bool together = llvm::all_of(parts, [&](const CodePart &part) {
    return part.order == parts.front().order;
  });
  if (together)
    return buildStep(b, loc, kind,
                     {parts, fields, /*isFirst=*/true, /*isLast=*/true}, codes);
  for (size_t i = 0; i < parts.size(); ++i)
    codes = buildStep(b, loc, kind,
                      {parts.slice(i, 1), fields.slice(i, 1), i == 0,
                       i + 1 == parts.size()},
                      codes);
  return codes;
}
