//===- CodePacking.cpp - Codes of a field to and from its bytes -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules R13, R14 and R29. Planar codes: plane p of a part lies in bits
// `p * bits` and up of the part's bytes, so that ops read and write slices of
// rows and shifts are constant. Other orders: CodeStreams.cpp.
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

Value kvq::buildStored(OpBuilder &b, Location loc, const CodeKind &kind,
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

int64_t kvq::getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

int64_t kvq::getLastExtent(Value value) {
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

Value kvq::finishCode(OpBuilder &b, Location loc, const CodeKind &kind,
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
    Value run =
        isWhole ? codes : buildSlice(b, loc, codes, axis, offset, extent);
    run = buildMap(b, loc, inputs, {}, run, body);
    codes =
        isWhole ? run : buildInsert(b, loc, run, codes, axis, offset, extent);
  }
  return codes;
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
