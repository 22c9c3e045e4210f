//===- FormatAttr.cpp - Syntax and checks of #kvq.format -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {

/// The fields of a format as they are written, before defaults.
struct FormatFields {
  Type codes;
  std::optional<std::pair<int64_t, int64_t>> group;
  Type scale;
  Type zero;
  std::optional<RangePolicy> range;
};

} // namespace

/// Parses one extent of a group: a positive integer or `*`.
static ParseResult parseExtent(AsmParser &parser, int64_t &extent) {
  if (succeeded(parser.parseOptionalStar())) {
    extent = FormatAttr::kWholeAxis;
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(extent))
    return failure();
  if (extent < 1)
    return parser.emitError(loc)
           << "expected a group extent of at least 1 or '*', got " << extent;
  return success();
}

static ParseResult parseGroup(AsmParser &parser, FormatFields &fields) {
  int64_t tokens, channels;
  if (parser.parseLSquare() || parseExtent(parser, tokens) ||
      parser.parseComma() || parseExtent(parser, channels) ||
      parser.parseRSquare())
    return failure();
  fields.group = {tokens, channels};
  return success();
}

static ParseResult parseRange(AsmParser &parser, FormatFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  fields.range = symbolizeRangePolicy(name);
  if (!fields.range)
    return parser.emitError(loc)
           << "expected range absmax or minmax, got '" << name << "'";
  return success();
}

static ParseResult parseZero(AsmParser &parser, FormatFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef kind;
  if (parser.parseKeyword(&kind))
    return failure();
  if (kind != "min")
    return parser.emitError(loc)
           << "expected 'min' and a type as the zero, got '" << kind << "'";
  return parser.parseType(fields.zero);
}

static ParseResult parseField(AsmParser &parser, FormatFields &fields,
                              llvm::StringSet<> &seen) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  if (!seen.insert(name).second)
    return parser.emitError(loc) << "field '" << name << "' is given twice";
  if (parser.parseEqual())
    return failure();
  if (name == "codes")
    return parser.parseType(fields.codes);
  if (name == "group")
    return parseGroup(parser, fields);
  if (name == "scale")
    return parser.parseType(fields.scale);
  if (name == "zero")
    return parseZero(parser, fields);
  if (name == "range")
    return parseRange(parser, fields);
  return parser.emitError(loc)
         << "expected one of codes, group, scale, zero, range, got '" << name
         << "'";
}

Attribute FormatAttr::parse(AsmParser &parser, Type) {
  FormatFields fields;
  llvm::StringSet<> seen;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::LessGreater,
          [&] { return parseField(parser, fields, seen); }, " of a format"))
    return {};
  if (!fields.codes) {
    parser.emitError(loc) << "expected field 'codes'";
    return {};
  }
  bool exact = isa<NoneType>(fields.codes);
  if (exact && (fields.group || fields.scale || fields.zero || fields.range)) {
    parser.emitError(loc)
        << "expected no other field with codes = none: exact elements have no "
           "group, scale, zero or range";
    return {};
  }
  if (exact)
    return FormatAttr::getExact(parser.getContext());
  if (!fields.group || !fields.scale) {
    parser.emitError(loc) << "expected field '"
                          << (fields.group ? "scale" : "group")
                          << "' with quantized codes";
    return {};
  }
  RangePolicy range = fields.range.value_or(fields.zero ? RangePolicy::MinMax
                                                        : RangePolicy::AbsMax);
  return parser.getChecked<FormatAttr>(
      loc, parser.getContext(), fields.codes, fields.group->first,
      fields.group->second, fields.scale, fields.zero, range);
}

static void printExtent(AsmPrinter &printer, int64_t extent) {
  if (extent == FormatAttr::kWholeAxis)
    printer << "*";
  else
    printer << extent;
}

void FormatAttr::print(AsmPrinter &printer) const {
  printer << "<codes = " << getCodes();
  if (!isExact()) {
    printer << ", group = [";
    printExtent(printer, getTokens());
    printer << ", ";
    printExtent(printer, getChannels());
    printer << "], scale = " << getScale();
    if (getZero())
      printer << ", zero = min " << getZero();
    printer << ", range = " << stringifyRangePolicy(getRange());
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool isMetadataType(Type type) { return type.isF16() || type.isF32(); }

LogicalResult FormatAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type codes, int64_t tokens, int64_t channels,
                                 Type scale, Type zero, RangePolicy range) {
  if (isa<NoneType>(codes))
    return success();
  auto integer = dyn_cast<IntegerType>(codes);
  if (!integer || !llvm::is_contained({2u, 4u, 8u}, integer.getWidth()) ||
      integer.isSigned())
    return emitError()
           << "expected codes i2, i4, i8, ui2, ui4, ui8 or none, got " << codes;
  if (!scale || !isMetadataType(scale))
    return emitError() << "expected scale f16 or f32, got " << scale;
  if (zero && !isMetadataType(zero))
    return emitError() << "expected zero 'min f16' or 'min f32', got 'min "
                       << zero << "'";
  if (integer.isUnsigned() && !zero)
    return emitError() << "unsigned codes " << codes
                       << " need a zero: expected 'zero = min f16' or 'zero = "
                          "min f32'";
  if (!integer.isUnsigned() && zero)
    return emitError() << "a zero needs unsigned codes: expected ui"
                       << integer.getWidth() << ", got " << codes;
  if (!zero && range == RangePolicy::MinMax)
    return emitError() << "range minmax needs a zero; without one expected "
                          "range absmax";
  if (zero && range == RangePolicy::AbsMax)
    return emitError() << "range absmax takes no zero; with 'min " << zero
                       << "' expected range minmax";
  if (tokens == kWholeAxis)
    return emitError() << "a group over all tokens needs a static range, since "
                          "its range is never known at append: expected a "
                          "number of tokens, got '*'";
  if (tokens < 1 || (channels < 1 && channels != kWholeAxis))
    return emitError() << "expected positive group extents, got [" << tokens
                       << ", " << channels << "]";
  if (tokens > 1 && channels != 1)
    return emitError() << "a group of " << tokens
                       << " tokens must have 1 channel, got "
                       << (channels == kWholeAxis ? std::string("*")
                                                  : std::to_string(channels));
  return success();
}

LogicalResult
FormatAttr::verifyHeadDim(function_ref<InFlightDiagnostic()> emitError,
                          int64_t headDim) const {
  if (headDim < 1)
    return emitError() << "expected a head_dim of at least 1, got " << headDim;
  if (isExact())
    return success();
  if (int64_t group = getGroupChannels(headDim); headDim % group != 0)
    return emitError() << "group of " << group
                       << " channels does not divide head_dim " << headDim;
  if (int64_t perByte = 8 / getCodeBits(); headDim % perByte != 0)
    return emitError() << getCodeBits() << "-bit codes fill whole bytes only "
                       << "if " << perByte << " divides head_dim, got "
                       << headDim;
  return success();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

FormatAttr FormatAttr::getExact(MLIRContext *context) {
  return FormatAttr::get(context, NoneType::get(context), /*tokens=*/1,
                         /*channels=*/1, /*scale=*/Type(), /*zero=*/Type(),
                         RangePolicy::AbsMax);
}

bool FormatAttr::isExact() const { return isa<NoneType>(getCodes()); }

unsigned FormatAttr::getCodeBits() const {
  return isExact() ? 0 : cast<IntegerType>(getCodes()).getWidth();
}

bool FormatAttr::hasSignedCodes() const {
  return !isExact() && !cast<IntegerType>(getCodes()).isUnsigned();
}

int64_t FormatAttr::getGroupTokens() const { return getTokens(); }

int64_t FormatAttr::getGroupChannels(int64_t headDim) const {
  return getChannels() == kWholeAxis ? headDim : getChannels();
}

Type FormatAttr::getScaleType() const { return getScale(); }

Type FormatAttr::getZeroType() const { return getZero(); }

int64_t FormatAttr::getPackedBytes(int64_t headDim) const {
  return llvm::divideCeil(headDim * getCodeBits(), 8);
}

double FormatAttr::getMaxCode() const {
  unsigned bits = getCodeBits();
  return hasSignedCodes() ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}
