//===- PackDecomposition.cpp - Packing to structured ops ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AggregatedOpInterface of pack and unpack (rules R13, R14 and R29 to R31,
// R40): field by field of the rows of packed components, codes by
// CodePacking.h, metadata byte by byte.
//
//===----------------------------------------------------------------------===//

#include "CodeBlocks.h"
#include "CodePacking.h"
#include "TensorSlices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Fields of rows
//===----------------------------------------------------------------------===//

static int64_t getLastAxis(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() - 1;
}

/// The bytes of a field in `records`, whose last axis is a record.
static Value extractField(OpBuilder &b, Location loc, const PackedRow &row,
                          const StoredField &field, Value records) {
  if (field.bytes == row.recordBytes)
    return records;
  return buildSlice(b, loc, records, getLastAxis(records),
                    b.getIndexAttr(field.firstByte),
                    b.getIndexAttr(field.bytes));
}

static Value insertField(OpBuilder &b, Location loc, const PackedRow &row,
                         const StoredField &field, Value bytes, Value records) {
  if (field.bytes == row.recordBytes)
    return bytes;
  return buildInsert(b, loc, bytes, records, getLastAxis(records),
                     b.getIndexAttr(field.firstByte),
                     b.getIndexAttr(field.bytes));
}

/// The layout of rows of `format` in an op, `rows` being what is not packed:
/// codes, or exact elements.
static RowLayout getLayout(FormatInterface format, Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  return format.getRowLayout(type.getShape().back(), type.getElementType());
}

static bool holdsCodes(RowField field) {
  return field == RowField::Codes || field == RowField::High;
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

namespace {

/// How metadata of one type lies in bytes.
struct MetadataType {
  Type type;
  unsigned bytes;

  explicit MetadataType(Value metadata)
      : type(getElementTypeOrSelf(metadata)),
        bytes(type.getIntOrFloatBitWidth() / 8) {}

  Type getBitsType() const {
    return IntegerType::get(type.getContext(), 8 * bytes);
  }
};

} // namespace

/// The lowest mantissa bits of a scale that hold a zero point.
static uint64_t getPointMask(const CodeKind &kind) {
  return (uint64_t(1) << kind.bits) - 1;
}

static Value buildBitcast(OpBuilder &b, Location loc, Type type, Value value) {
  if (value.getType() == type)
    return value;
  return arith::BitcastOp::create(b, loc, type, value);
}

/// `field` with an axis for the bytes of each group, unless these are one.
/// `metadata` counts groups by its last axis.
static Value splitMetadata(OpBuilder &b, Location loc, Value field,
                           Value metadata) {
  unsigned bytes = MetadataType(metadata).bytes;
  // Records of one group each have the axis already.
  if (getLastAxis(field) > getLastAxis(metadata) || bytes == 1)
    return field;
  int64_t extent = cast<RankedTensorType>(field.getType()).getShape().back();
  return splitLastAxis(b, loc, field, extent / bytes, /*always=*/true);
}

/// Which of `count` groups is at `position` where each s-th follows, from each
/// of the first s on; the inverse of it with s' = count / s.
static AffineExpr getStridden(AffineExpr position, int64_t count, int64_t s) {
  if (s == 1 || s == count)
    return position;
  return (position % (count / s)) * s + position.floorDiv(count / s);
}

/// The maps from groups and their bytes to `bytes`, one for each byte.
static SmallVector<AffineMap> getByteMaps(OpBuilder &b, Value bytes,
                                          unsigned count, int64_t groupAxes,
                                          AffineExpr position) {
  SmallVector<AffineMap> maps;
  bool hasAxis = getLastAxis(bytes) == groupAxes;
  for (unsigned byte = 0; byte < count; ++byte) {
    SmallVector<AffineExpr> results(
        b.getMultiDimIdentityMap(groupAxes).getResults());
    results.back() = position;
    AffineMap map = AffineMap::get(groupAxes, 0, results, b.getContext());
    if (hasAxis)
      map = map.insertResult(b.getAffineConstantExpr(byte), groupAxes);
    maps.push_back(map);
  }
  return maps;
}

/// The bytes of `metadata` (a scale and the zero point in it, or one kind),
/// written into `field`.
static Value packMetadata(OpBuilder &b, Location loc, const CodeKind &kind,
                          const StoredField &stored, ValueRange metadata,
                          Value field) {
  MetadataType type(metadata.front());
  int64_t groupAxes = getLastAxis(metadata.front()) + 1;
  Value bytes = splitMetadata(b, loc, field, metadata.front());
  bool hasAxis = getLastAxis(bytes) == groupAxes;
  int64_t axes = groupAxes + hasAxis;
  SmallVector<AffineExpr> groups;
  for (int64_t axis = 0; axis < groupAxes; ++axis)
    groups.push_back(b.getAffineDimExpr(axis));
  groups.back() = getStridden(groups.back(), getLastExtent(metadata.front()),
                              stored.stride);
  AffineMap map = AffineMap::get(axes, 0, groups, b.getContext());
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Type bitsType = type.getBitsType();
    Value bits = buildBitcast(b, loc, bitsType, args[0]);
    if (metadata.size() > 1) {
      uint64_t mask = getPointMask(kind);
      bits = buildMask(b, loc, bits, ~mask);
      Value point = arith::ExtUIOp::create(b, loc, bitsType, args[1]);
      bits = buildOr(b, loc, bits, buildMask(b, loc, point, mask));
    }
    if (type.bytes == 1)
      return bits;
    Value byte = linalg::IndexOp::create(b, loc, groupAxes);
    Value amount = arith::IndexCastUIOp::create(b, loc, bitsType, byte);
    amount = buildShiftLeft(b, loc, amount, 3);
    bits = arith::ShRUIOp::create(b, loc, bits, amount);
    return Value(arith::TruncIOp::create(b, loc, b.getI8Type(), bits));
  };
  Value packed =
      buildMap(b, loc, metadata, SmallVector<AffineMap>(metadata.size(), map),
               bytes, body);
  return joinLastAxis(b, loc, packed, field.getType());
}

/// What the bits of one group's bytes are, as metadata.
using BitsToMetadata =
    llvm::function_ref<Value(OpBuilder &, Location, Value bits)>;

/// `metadata` from the bytes of `field`, whose integers are of `bytes` bytes.
static Value unpackMetadata(OpBuilder &b, Location loc,
                            const StoredField &stored, Value field,
                            Value groups, unsigned count, Value metadata,
                            BitsToMetadata convert) {
  int64_t groupAxes = getLastAxis(metadata) + 1;
  int64_t extent = getLastExtent(metadata);
  Value bytes = splitMetadata(b, loc, field, groups);
  SmallVector<AffineMap> maps =
      getByteMaps(b, bytes, count, groupAxes,
                  getStridden(b.getAffineDimExpr(groupAxes - 1), extent,
                              extent / stored.stride));
  SmallVector<Value> inputs(count, bytes);
  Type bitsType = b.getIntegerType(8 * count);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value bits;
    for (unsigned byte = 0; byte < count; ++byte) {
      Value wide = args[byte];
      if (count > 1)
        wide = arith::ExtUIOp::create(b, loc, bitsType, wide);
      bits = buildOr(b, loc, bits, buildShiftLeft(b, loc, wide, 8 * byte));
    }
    return convert(b, loc, bits);
  };
  return buildMap(b, loc, inputs, maps, metadata, body);
}

//===----------------------------------------------------------------------===//
// PackOp
//===----------------------------------------------------------------------===//

namespace {

/// What is packed, or unpacked into, by what it is: codes (or exact elements),
/// and metadata, null where not in a record.
struct UnpackedTensors {
  Value rows, scales, zeros;

  UnpackedTensors(ValueRange values, const RowLayout &layout)
      : rows(values[0]) {
    unsigned next = 1;
    if (layout.storesScales())
      scales = values[next++];
    if (layout.storesZeros())
      zeros = values[next++];
  }

  SmallVector<Value> getAll() const {
    SmallVector<Value> all;
    for (Value value : {rows, scales, zeros})
      if (value)
        all.push_back(value);
    return all;
  }
};

/// A packed component of an op.
struct PackedTensor {
  const PackedRow *row;
  Value value;
};

} // namespace

static SmallVector<PackedTensor> getPackedTensors(const RowLayout &layout,
                                                  ValueRange values) {
  SmallVector<PackedTensor> packed;
  for (const PackedRow *row : {&layout.codes, &layout.records})
    if (row->exists())
      packed.push_back({row, values[packed.size()]});
  return packed;
}

static const CodePart &getPart(const RowLayout &layout, RowField field) {
  return layout.parts[field == RowField::High ? 1 : 0];
}

FailureOr<SmallVector<Value>> PackOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value rows = getInputs().front();
  RowLayout layout = getLayout(getFormat(), rows);
  CodeKind kind = CodeKind::get(getFormat(), layout);
  UnpackedTensors from(getInputs(), layout);
  Value elements;
  if (!layout.parts.empty())
    elements = CodeBlocks(layout, getLastExtent(rows)).toElements(b, loc, rows);

  auto packField = [&](const StoredField &field, Value bytes) {
    switch (field.field) {
    case RowField::Codes:
    case RowField::High:
      return buildPackedPart(b, loc, kind, getPart(layout, field.field),
                             elements, bytes);
    case RowField::Values:
      return packMetadata(b, loc, kind, field, from.rows, bytes);
    case RowField::Scale:
      return packMetadata(b, loc, kind, field, from.scales, bytes);
    case RowField::Zero:
      return packMetadata(b, loc, kind, field, from.zeros, bytes);
    case RowField::ScaleZero:
      return packMetadata(b, loc, kind, field, {from.scales, from.zeros},
                          bytes);
    case RowField::Skip:
      break;
    }
    llvm_unreachable("what is skipped is not packed");
  };
  SmallVector<Value> results;
  for (const PackedTensor &packed : getPackedTensors(layout, getInits())) {
    const PackedRow &row = *packed.row;
    Value records = splitLastAxis(b, loc, packed.value, row.records);
    for (const StoredField &field : row.fields) {
      if (field.field == RowField::Skip)
        continue;
      Value bytes = extractField(b, loc, row, field, records);
      bytes = packField(field, bytes);
      records = insertField(b, loc, row, field, bytes, records);
    }
    results.push_back(joinLastAxis(b, loc, records, packed.value.getType()));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// UnpackOp
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> UnpackOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  RowLayout layout = getLayout(getFormat(), getInits().front());
  CodeKind kind = CodeKind::get(getFormat(), layout);
  UnpackedTensors to(getInits(), layout);

  // What a field holds by itself.
  auto getMetadata = [&](RowField field) -> Value & {
    if (field == RowField::Values)
      return to.rows;
    return field == RowField::Scale ? to.scales : to.zeros;
  };
  auto unpackWhole = [&](const StoredField &field, Value bytes) {
    Value &metadata = getMetadata(field.field);
    MetadataType type(metadata);
    metadata =
        unpackMetadata(b, loc, field, bytes, metadata, type.bytes, metadata,
                       [&](OpBuilder &b, Location loc, Value bits) {
                         return buildBitcast(b, loc, type.type, bits);
                       });
  };
  auto unpackScaleZero = [&](const StoredField &field, Value bytes) {
    Value groups = to.scales;
    MetadataType type(groups);
    uint64_t mask = getPointMask(kind);
    to.scales =
        unpackMetadata(b, loc, field, bytes, groups, type.bytes, to.scales,
                       [&](OpBuilder &b, Location loc, Value bits) {
                         return buildBitcast(b, loc, type.type,
                                             buildMask(b, loc, bits, ~mask));
                       });
    to.zeros = unpackMetadata(
        b, loc, field, bytes, groups, type.bytes, to.zeros,
        [&](OpBuilder &b, Location loc, Value bits) -> Value {
          return arith::TruncIOp::create(b, loc, b.getI8Type(),
                                         buildMask(b, loc, bits, mask));
        });
  };

  for (const PackedTensor &packed : getPackedTensors(layout, getInputs())) {
    const PackedRow &row = *packed.row;
    Value records = splitLastAxis(b, loc, packed.value, row.records);
    SmallVector<Value, 2> codeFields(layout.parts.size());
    for (const StoredField &field : row.fields) {
      if (field.field == RowField::Skip)
        continue;
      Value bytes = extractField(b, loc, row, field, records);
      if (holdsCodes(field.field))
        codeFields[field.field == RowField::High] = bytes;
      else if (field.field == RowField::ScaleZero)
        unpackScaleZero(field, bytes);
      else
        unpackWhole(field, bytes);
    }
    if (codeFields.empty() || !codeFields.front())
      continue;
    CodeBlocks blocks(layout, getLastExtent(to.rows));
    Value elements = buildUnpackedCodes(b, loc, kind, layout.parts, codeFields,
                                        blocks.getDestination(b, loc, to.rows));
    to.rows = blocks.fromElements(b, loc, elements, to.rows);
  }
  return to.getAll();
}
