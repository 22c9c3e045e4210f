//===- FormatSyntax.cpp - Syntax of #kvq.format ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "FloatText.h"

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// The fields of a format as they are written, before defaults.
struct FormatFields {
  Attribute codes;
  std::optional<std::pair<int64_t, int64_t>> group;
  Type scale, outer;
  ZeroKind zeroKind = ZeroKind::None;
  Type zero;
  std::optional<RangePolicy> range;
  APFloat clip = APFloat(1.0f);
  Type center;
  int64_t rotation = 0;
  RopeOrder rope = RopeOrder::Post;
  int64_t steps = 1;
  std::optional<int64_t> heads;
  RuleAttr rule;
  LayoutAttr layout;
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

static ParseResult parseCodes(AsmParser &parser, FormatFields &fields) {
  Type type;
  OptionalParseResult parsed = parser.parseOptionalType(type);
  if (!parsed.has_value())
    return parser.parseAttribute(fields.codes);
  if (succeeded(*parsed))
    fields.codes = TypeAttr::get(type);
  return *parsed;
}

static ParseResult parseRange(AsmParser &parser, FormatFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  fields.range = symbolizeRangePolicy(name);
  if (!fields.range)
    return parser.emitError(loc)
           << "expected range absmax, minmax, clip<ratio>, search<steps>, rms, "
              "norm or static, got '"
           << name << "'";
  if (fields.range == RangePolicy::Clip)
    return failure(parser.parseLess() ||
                   parser.parseFloat(fields.clip.getSemantics(), fields.clip) ||
                   parser.parseGreater());
  if (fields.range == RangePolicy::Search)
    return failure(parser.parseLess() || parser.parseInteger(fields.steps) ||
                   parser.parseGreater());
  return success();
}

/// Parses `hadamard<n>`.
static ParseResult parseRotation(AsmParser &parser, FormatFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  if (name != "hadamard")
    return parser.emitError(loc)
           << "expected rotation hadamard<channels>, got '" << name << "'";
  if (parser.parseLess() || parser.parseInteger(fields.rotation) ||
      parser.parseGreater())
    return failure();
  // 0 stands for none.
  if (fields.rotation < 2)
    return parser.emitError(loc)
           << "expected a rotation of 2 or more channels, got "
           << fields.rotation;
  return success();
}

static ParseResult parseRope(AsmParser &parser, FormatFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<RopeOrder> order = symbolizeRopeOrder(name);
  if (!order)
    return parser.emitError(loc)
           << "expected rope post or pre, got '" << name << "'";
  fields.rope = *order;
  return success();
}

/// Parses `S` or `S of O`.
static ParseResult parseScale(AsmParser &parser, FormatFields &fields) {
  if (parser.parseType(fields.scale))
    return failure();
  if (failed(parser.parseOptionalKeyword("of")))
    return success();
  return parser.parseType(fields.outer);
}

static ParseResult parseZero(AsmParser &parser, FormatFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<ZeroKind> kind = symbolizeZeroKind(name);
  if (!kind || kind == ZeroKind::None)
    return parser.emitError(loc)
           << "expected 'min' or 'point' and a type as the zero, got '" << name
           << "'";
  fields.zeroKind = *kind;
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
    return parseCodes(parser, fields);
  if (name == "group")
    return parseGroup(parser, fields);
  if (name == "heads")
    return parseExtent(parser, fields.heads.emplace());
  if (name == "scale")
    return parseScale(parser, fields);
  if (name == "zero")
    return parseZero(parser, fields);
  if (name == "range")
    return parseRange(parser, fields);
  if (name == "rotate")
    return parseRotation(parser, fields);
  if (name == "center")
    return parser.parseType(fields.center);
  if (name == "rope")
    return parseRope(parser, fields);
  if (name == "rule")
    return parser.parseAttribute(fields.rule);
  if (name == "layout")
    return parser.parseAttribute(fields.layout);
  return parser.emitError(loc)
         << "expected one of codes, group, heads, scale, zero, range, rotate, "
            "center, rope, rule, layout, got '"
         << name << "'";
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
  bool exact = isExactCodes(fields.codes);
  if (exact && seen.size() > 1 + seen.contains("rope")) {
    parser.emitError(loc)
        << "expected no other field but rope with codes = none: exact elements "
           "have no group, heads, scale, zero, range, rotate, center, rule or "
           "layout";
    return {};
  }
  if (exact)
    return FormatAttr::getExact(parser.getContext(), fields.rope);
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
      fields.group->second, fields.scale, fields.outer, fields.zeroKind,
      fields.zero, range, fields.clip, fields.steps, fields.heads.value_or(1),
      fields.rule ? fields.rule : RuleAttr::getDefault(parser.getContext()),
      fields.center, fields.rotation, fields.rope, fields.layout);
}

static void printExtent(AsmPrinter &printer, int64_t extent) {
  if (extent == FormatAttr::kWholeAxis)
    printer << "*";
  else
    printer << extent;
}

void FormatAttr::print(AsmPrinter &printer) const {
  auto printRope = [&] {
    if (isBeforeRope())
      printer << ", rope = " << stringifyRopeOrder(getRope());
  };
  printer << "<codes = " << getCodes();
  if (!isExact()) {
    printer << ", group = [";
    printExtent(printer, getTokens());
    printer << ", ";
    printExtent(printer, getChannels());
    printer << "]";
    if (getHeads() != 1) {
      printer << ", heads = ";
      printExtent(printer, getHeads());
    }
    printer << ", scale = " << getScale();
    if (getOuter())
      printer << " of " << getOuter();
    if (getZero())
      printer << ", zero = " << stringifyZeroKind(getZeroKind()) << " "
              << getZero();
    printer << ", range = " << stringifyRangePolicy(getRange());
    if (getRange() == RangePolicy::Clip)
      printer << "<" << toShortestText(getClip().convertToFloat()) << ">";
    if (getRange() == RangePolicy::Search)
      printer << "<" << getSteps() << ">";
    if (getRotation() != 0)
      printer << ", rotate = hadamard<" << getRotation() << ">";
    if (getCenter())
      printer << ", center = " << getCenter();
    printRope();
    if (!getRule().isDefault())
      printer << ", rule = " << getRule();
    if (getLayout())
      printer << ", layout = " << getLayout();
  } else {
    printRope();
  }
  printer << ">";
}
