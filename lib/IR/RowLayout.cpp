//===- RowLayout.cpp - How the rows of a format lie in bytes -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `#kvq.format` makes of its layout (rules R13, R14, R29 to R31, R40): the
// checks of the two together, and the places of all fields.
//
//===----------------------------------------------------------------------===//

#include "FormatLayout.h"

#include "Codec.h"

#include "kvq/IR/KVQ.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvq;

/// Planar codes lie in parts of a power of two of bits.
static bool areCut(unsigned bits, const CodeOrder &order) {
  return order.kind == OrderKind::Planar && !llvm::isPowerOf2_32(bits);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult
kvq::verifyExactLayout(function_ref<InFlightDiagnostic()> emitError,
                       LayoutAttr layout) {
  if (layout.getOpen())
    return success();
  bool isRow =
      layout.getScope() == RecordScope::Row &&
      layout.hasField(RowField::Values) &&
      llvm::all_of(layout.getFields(), [](const LayoutField &field) {
        return field.field == RowField::Values || field.field == RowField::Skip;
      });
  if (isRow && layout == LayoutAttr::getPlanar(layout.getContext())
                             .withRow(layout.getFields()))
    return success();
  return emitError() << "expected codes = none with a layout of a row of "
                        "'values' and 'skip<bytes>' alone, got "
                     << layout;
}

/// Checks the tokens of a row of codes; `tokens` are those of a group.
static LogicalResult verifyBlock(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t tokens, LayoutAttr layout) {
  int64_t block = layout.getBlock().tokens;
  if (layout.hasField(RowField::Codes) && block != tokens)
    return emitError() << "a record is that of a group: with codes in it "
                          "expected blocks of "
                       << tokens << " tokens, got " << block;
  if (tokens % block != 0)
    return emitError() << "block of " << block << " tokens does not divide the "
                       << tokens << " tokens of a group";
  return success();
}

LogicalResult
kvq::verifyFormatLayout(function_ref<InFlightDiagnostic()> emitError,
                        Attribute codes, int64_t tokens, int64_t heads,
                        Type scale, ZeroKind zeroKind, Type zero,
                        RangePolicy range, LayoutAttr layout) {
  std::unique_ptr<Codec> codec = getCodec(codes);
  unsigned bits = codec->getBits();
  if (layout.getBias() && !codec->isSigned())
    return emitError() << "layout with bias needs signed integer codes, got "
                       << codes;
  bool cut = areCut(bits, layout.getCodes());
  if (!cut && !(layout.getHigh() == layout.getCodes()))
    return emitError() << "layout with 'high' needs planar codes of 3, 5 or 6 "
                          "bits, got "
                       << stringifyOrderKind(layout.getCodes().kind)
                       << " codes " << codes << " of " << bits << " bits";
  if (layout.getCodes().kind == OrderKind::Reversed &&
      !llvm::isPowerOf2_32(bits))
    return emitError() << "layout with reversed codes needs codes of 1, 2, 4 "
                          "or 8 bits, got "
                       << codes << " of " << bits;
  if (layout.hasField(RowField::Values))
    return emitError() << "expected no field 'values' in the record, which is "
                          "for codes = none, got "
                       << codes;
  bool hasCodes = layout.hasField(RowField::Codes);
  bool hasHigh = layout.hasField(RowField::High);
  if (cut && hasCodes != hasHigh)
    return emitError() << "codes of " << bits << " bits are cut into the "
                       << "fields 'codes' and 'high': expected both in the "
                          "record or neither, got only '"
                       << (hasCodes ? "codes" : "high") << "'";
  if (!cut && hasHigh)
    return emitError() << "expected no field 'high' in the record: codes "
                       << codes << " are not cut";
  bool isStatic = range == RangePolicy::Static;
  for (RowField field : {RowField::Scale, RowField::Zero, RowField::ScaleZero})
    if (isStatic && layout.hasField(field))
      return emitError() << "expected no field '" << stringifyRowField(field)
                         << "' in a record with range static: no token has "
                            "metadata of its own";
  // With a static range tokens are quantized one by one.
  if (failed(verifyBlock(emitError, isStatic ? 1 : tokens, layout)))
    return failure();
  if (layout.getScope() != RecordScope::None && heads != 1)
    return emitError() << "expected groups of one KV head with a record, which "
                          "is one head's: expected no 'heads'";
  if (layout.getTile().exists() &&
      (tokens != 1 || heads != 1 || range == RangePolicy::Static))
    return emitError()
           << "expected groups of one token and one KV head, with a "
              "range of their own, in a tile";
  bool isInteger = codec->isSigned() || codec->isUnsigned();
  if (layout.getTile().hasFragments() &&
      !(isInteger && llvm::isPowerOf2_32(bits)))
    return emitError() << "expected integer codes of 2, 4 or 8 bits in "
                          "fragments, got "
                       << codes;
  if (layout.hasField(RowField::Zero) && zeroKind == ZeroKind::None)
    return emitError() << "expected no field 'zero' in the record: the format "
                          "has no zero";
  if (layout.hasField(RowField::ScaleZero) &&
      !(scale.isF32() && zeroKind == ZeroKind::Point && zero.isInteger()))
    return emitError() << "field 'scale_zero' of a record needs 'scale = f32' "
                          "and a zero point of integers, got scale "
                       << scale << " and "
                       << (zero ? "zero " + stringifyZeroKind(zeroKind).str()
                                : std::string("no zero"));
  return success();
}

/// Checks that rounds of `order` tile `elements` codes, and fill whole bytes.
static LogicalResult verifyOrder(function_ref<InFlightDiagnostic()> emitError,
                                 unsigned codeBits, unsigned bits,
                                 const CodeOrder &order, int64_t elements,
                                 StringRef what) {
  int64_t round = order.elements ? order.elements : elements;
  if (elements % round != 0)
    return emitError() << "order of " << round << " elements does not divide "
                       << what << " " << elements;
  int64_t perBytes = 8 / std::gcd(8u, bits);
  if (round % perBytes != 0)
    return emitError() << codeBits << "-bit codes fill whole bytes only if "
                       << perBytes << " divides "
                       << (order.elements ? "the elements of an order" : what)
                       << ", got " << round;
  return success();
}

/// Checks that rows of `headDim` codes are whole parts of fragments.
static LogicalResult
verifyFragments(function_ref<InFlightDiagnostic()> emitError, int64_t headDim,
                unsigned bits) {
  constexpr int64_t kPartBytes = 16;
  if (headDim * bits % (8 * kPartBytes) != 0)
    return emitError() << "expected rows of a multiple of " << kPartBytes
                       << " bytes in fragments, got " << headDim << " codes of "
                       << bits << " bits";
  return success();
}

LogicalResult kvq::verifyRowLayout(function_ref<InFlightDiagnostic()> emitError,
                                   FormatAttr format, int64_t headDim) {
  LayoutAttr layout = format.getLayoutOrDefault();
  bool inRecords = layout.getScope() == RecordScope::Group &&
                   layout.hasField(RowField::Codes);
  int64_t channels = inRecords ? format.getGroupChannels(headDim) : headDim;
  StringRef what = inRecords ? "the channels of a record" : "head_dim";
  auto [tokens, blockChannels] = layout.getBlock();
  if (blockChannels != CodeBlock::kAllChannels && channels % blockChannels != 0)
    return emitError() << "block of " << blockChannels
                       << " channels does not divide " << what << " "
                       << channels;
  int64_t groups = headDim / format.getGroupChannels(headDim);
  for (const LayoutField &field : layout.getFields())
    if (groups % field.stride != 0)
      return emitError() << "stride " << field.stride << " of field '"
                         << stringifyRowField(field.field)
                         << "' does not divide the " << groups
                         << " groups of a row";
  int64_t elements = tokens * channels;
  if (tokens != 1)
    what = "the elements of a block";
  unsigned bits = format.getCodeBits();
  bool cut = areCut(bits, layout.getCodes());
  unsigned low = cut ? llvm::bit_floor(bits) : bits;
  // The higher part first: it has fewer bits, and asks for more.
  if (cut && failed(verifyOrder(emitError, bits, bits - low, layout.getHigh(),
                                elements, what)))
    return failure();
  if (failed(
          verifyOrder(emitError, bits, low, layout.getCodes(), elements, what)))
    return failure();
  if (layout.getTile().hasFragments())
    return verifyFragments(emitError, headDim, bits);
  for (unsigned part : {low, bits - low})
    if (layout.getTile().exists() && headDim * part % 16 != 0)
      return emitError()
             << "expected pairs of bytes in the rows of a tile, got " << headDim
             << " codes of " << part << " bits";
  return success();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// `order` with its elements spelled out, for a field of `elements` codes.
static CodeOrder resolveOrder(CodeOrder order, unsigned bits,
                              int64_t elements) {
  if (order.elements == 0)
    order.elements =
        order.kind == OrderKind::Planar ? elements : 8 / std::gcd(8u, bits);
  return order;
}

static int64_t getBytes(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

/// The bytes of a field that holds `elements` codes, and metadata of `groups`.
static int64_t getFieldBytes(FormatAttr format, const LayoutField &listed,
                             int64_t elements, int64_t groups,
                             Type elementType) {
  unsigned bits = format.getCodeBits();
  bool cut = areCut(bits, format.getLayoutOrDefault().getCodes());
  unsigned low = cut ? llvm::bit_floor(bits) : bits;
  switch (listed.field) {
  case RowField::Codes:
    return elements * low / 8;
  case RowField::High:
    return elements * (bits - low) / 8;
  case RowField::Scale:
  case RowField::ScaleZero:
    return groups * getBytes(format.getScaleType());
  case RowField::Zero:
    return groups * getBytes(format.getZeroType());
  case RowField::Values:
    return elements * getBytes(elementType);
  case RowField::Skip:
    return listed.bytes;
  }
  llvm_unreachable("unknown field of a row");
}

bool FormatAttr::areCodesCut() const {
  return !isExact() && areCut(getCodeBits(), getLayoutOrDefault().getCodes());
}

int64_t FormatAttr::getFieldBytes(RowField field, int64_t headDim,
                                  Type elementType) const {
  int64_t groups = isExact() ? 1 : headDim / getGroupChannels(headDim);
  return ::getFieldBytes(*this, {field}, headDim, groups, elementType);
}

RowLayout FormatAttr::getRowLayout(int64_t headDim, Type elementType) const {
  LayoutAttr attr = getLayoutOrDefault();
  RowLayout layout;
  int64_t groups = isExact() ? 1 : headDim / getGroupChannels(headDim);
  bool codesInRecords = attr.hasField(RowField::Codes);
  int64_t records = attr.getScope() == RecordScope::Group ? groups : 1;
  int64_t channels = codesInRecords ? headDim / records : headDim;
  int64_t elements = channels * attr.getBlock().tokens;
  auto addField = [&](PackedRow &row, const LayoutField &field) {
    row.add(field, ::getFieldBytes(*this, field, elements, groups / records,
                                   elementType));
  };
  if (attr.getScope() != RecordScope::None) {
    layout.records.records = records;
    layout.records.tokens = getGroupTokens();
    for (const LayoutField &field : attr.getFields())
      addField(layout.records, field);
  }
  if (isExact())
    return layout;

  layout.bias = attr.getBias();
  layout.tile = attr.getTile();
  layout.block = attr.getBlock();
  if (layout.block.channels == CodeBlock::kAllChannels)
    layout.block.channels = channels;
  unsigned bits = getCodeBits();
  unsigned low = areCut(bits, attr.getCodes()) ? llvm::bit_floor(bits) : bits;
  layout.parts.push_back(
      {0, low, resolveOrder(attr.getCodes(), low, elements)});
  if (low != bits)
    layout.parts.push_back(
        {low, bits - low, resolveOrder(attr.getHigh(), bits - low, elements)});
  if (!codesInRecords) {
    layout.codes.records = 1;
    layout.codes.tokens = layout.block.tokens;
    addField(layout.codes, {RowField::Codes});
    if (low != bits)
      addField(layout.codes, {RowField::High});
  }
  return layout;
}
