//===- FormatSyntax.cpp - Syntax of #kvq.format ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "FieldList.h"
#include "FloatText.h"
#include "FormatLayout.h"

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"

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
  if (parseSymbol(parser,
                  "range absmax, minmax, clip<ratio>, search<steps>, rms, norm "
                  "or static",
                  symbolizeRangePolicy, fields.range.emplace()))
    return failure();
  if (fields.range == RangePolicy::Clip)
    return failure(parser.parseLess() ||
                   parser.parseFloat(fields.clip.getSemantics(), fields.clip) ||
                   parser.parseGreater());
  if (fields.range == RangePolicy::Search)
    return failure(parser.parseLess() || parser.parseInteger(fields.steps) ||
                   parser.parseGreater());
  return success();
}

/// Parses `hadamard<n>` or `hadamard<*>`.
static ParseResult parseRotation(AsmParser &parser, FormatFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  if (name != "hadamard")
    return parser.emitError(loc)
           << "expected rotation hadamard<channels>, got '" << name << "'";
  if (parser.parseLess())
    return failure();
  if (succeeded(parser.parseOptionalStar())) {
    fields.rotation = FormatAttr::kWholeAxis;
    return parser.parseGreater();
  }
  if (parser.parseInteger(fields.rotation) || parser.parseGreater())
    return failure();
  // 0 stands for none, -1 for all channels.
  if (fields.rotation < 2)
    return parser.emitError(loc)
           << "expected a rotation of 2 or more channels, got "
           << fields.rotation;
  return success();
}

static ParseResult parseRope(AsmParser &parser, FormatFields &fields) {
  return parseSymbol(parser, "rope post or pre", symbolizeRopeOrder,
                     fields.rope);
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
  // 'none' is written by leaving the field out.
  auto symbolize = [](StringRef name) {
    std::optional<ZeroKind> kind = symbolizeZeroKind(name);
    return kind == ZeroKind::None ? std::nullopt : kind;
  };
  if (parseSymbol<ZeroKind>(parser, "'min' or 'point' and a type as the zero",
                            symbolize, fields.zeroKind))
    return failure();
  return parser.parseType(fields.zero);
}

/// Parses a `#kvq.layout`, or `auto`.
static ParseResult parseLayout(AsmParser &parser, FormatFields &fields) {
  if (failed(parser.parseOptionalKeyword("auto")))
    return parser.parseAttribute(fields.layout);
  fields.layout = LayoutAttr::getOpen(parser.getContext());
  return success();
}

Attribute FormatAttr::parse(AsmParser &parser, Type) {
  FormatFields fields;
  llvm::StringSet<> seen;
  SMLoc loc = parser.getCurrentLocation();
  const ListedField listed[] = {
      {"codes", [&] { return parseCodes(parser, fields); }},
      {"group", [&] { return parseGroup(parser, fields); }},
      {"heads", [&] { return parseExtent(parser, fields.heads.emplace()); }},
      {"scale", [&] { return parseScale(parser, fields); }},
      {"zero", [&] { return parseZero(parser, fields); }},
      {"range", [&] { return parseRange(parser, fields); }},
      {"rotate", [&] { return parseRotation(parser, fields); }},
      {"center", [&] { return parser.parseType(fields.center); }},
      {"rope", [&] { return parseRope(parser, fields); }},
      {"rule", [&] { return parser.parseAttribute(fields.rule); }},
      {"layout", [&] { return parseLayout(parser, fields); }}};
  if (parseFieldList(parser, " of a format", listed, seen))
    return {};
  if (!fields.codes) {
    parser.emitError(loc) << "expected field 'codes'";
    return {};
  }
  bool exact = isExactCodes(fields.codes);
  if (exact && seen.size() > 1 + seen.count("layout") + seen.count("rope")) {
    parser.emitError(loc)
        << "expected no other field but rope and layout with codes = none: "
           "exact elements have no group, heads, scale, zero, range, rotate, "
           "center or rule";
    return {};
  }
  if (exact) {
    FormatAttr format = FormatAttr::getExact(parser.getContext(), fields.rope);
    if (!fields.layout)
      return format;
    if (failed(verifyExactLayout([&] { return parser.emitError(loc); },
                                 fields.layout)))
      return {};
    return format.withLayout(fields.layout);
  }
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
    if (getRotation() != 0) {
      printer << ", rotate = hadamard<";
      printExtent(printer, getRotation());
      printer << ">";
    }
    if (getCenter())
      printer << ", center = " << getCenter();
    printRope();
    if (!getRule().isDefault())
      printer << ", rule = " << getRule();
  } else {
    printRope();
  }
  if (hasOpenLayout())
    printer << ", layout = auto";
  else if (getLayout())
    printer << ", layout = " << getLayout();
  printer << ">";
}
