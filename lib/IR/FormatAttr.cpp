//===- FormatAttr.cpp - Syntax and checks of #kvq.format -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "FloatText.h"
#include "FormatLayout.h"

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
  Attribute codes;
  std::optional<std::pair<int64_t, int64_t>> group;
  Type scale, outer;
  ZeroKind zeroKind = ZeroKind::None;
  Type zero;
  std::optional<RangePolicy> range;
  APFloat clip = APFloat(1.0f);
  Type center;
  int64_t rotation = 0;
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

/// Whether a field `codes` keeps elements as they are.
static bool isExactCodes(Attribute codes) {
  auto type = dyn_cast<TypeAttr>(codes);
  return type && isa<NoneType>(type.getValue());
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
  if (name == "rule")
    return parser.parseAttribute(fields.rule);
  if (name == "layout")
    return parser.parseAttribute(fields.layout);
  return parser.emitError(loc)
         << "expected one of codes, group, heads, scale, zero, range, rotate, "
            "center, rule, layout, got '"
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
  if (exact && seen.size() > 1) {
    parser.emitError(loc)
        << "expected no other field with codes = none: exact elements have no "
           "group, heads, scale, zero, range, rotate, center, rule or "
           "layout";
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
      fields.group->second, fields.scale, fields.outer, fields.zeroKind,
      fields.zero, range, fields.clip, fields.steps, fields.heads.value_or(1),
      fields.rule ? fields.rule : RuleAttr::getDefault(parser.getContext()),
      fields.center, fields.rotation, fields.layout);
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
    if (!getRule().isDefault())
      printer << ", rule = " << getRule();
    if (getLayout())
      printer << ", layout = " << getLayout();
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// The types of real numbers that go with codes.
static bool isRealType(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

static bool isScaleType(Type type) {
  return isRealType(type) || isa<Float8E8M0FNUType, Float8E4M3FNType>(type);
}

/// Whether `type` holds zero points: i8, ui8 or a float.
static bool isPointType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return isRealType(type) ||
         (integer && integer.getWidth() == 8 && !integer.isSigned());
}

static LogicalResult verifyZero(function_ref<InFlightDiagnostic()> emitError,
                                Attribute codes, const Codec &codec,
                                ZeroKind kind, Type zero) {
  if (kind == ZeroKind::None) {
    if (codec.isUnsigned())
      return emitError() << "unsigned codes " << codes
                         << " need a zero: expected 'zero = min T' or 'zero = "
                            "point T'";
    return success();
  }
  if (kind == ZeroKind::Min && !isRealType(zero))
    return emitError() << "expected zero 'min T' of f16, bf16 or f32, got 'min "
                       << zero << "'";
  if (kind == ZeroKind::Point && !isPointType(zero))
    return emitError()
           << "expected zero 'point T' of i8, ui8, f16, bf16 or f32, got "
              "'point "
           << zero << "'";
  if (!codec.isUnsigned())
    return emitError()
           << "a zero needs unsigned codes: expected ui2, ui3, ui4, ui5, ui6 "
              "or ui8, got "
           << codes;
  constexpr double kLargestI8 = 127;
  if (zero.isSignlessInteger() && codec.getLargest() > kLargestI8)
    return emitError() << "zero points in i8 go to " << int64_t(kLargestI8)
                       << ", codes " << codes << " to "
                       << int64_t(codec.getLargest())
                       << ": expected 'zero = point ui8'";
  return success();
}

/// Whether the scale is a norm of the group rather than an end of its range.
static bool isNorm(RangePolicy range) {
  return range == RangePolicy::Rms || range == RangePolicy::Norm;
}

static LogicalResult verifyRange(function_ref<InFlightDiagnostic()> emitError,
                                 Attribute codes, ZeroKind zeroKind, Type zero,
                                 RangePolicy range, APFloat clip,
                                 int64_t steps) {
  bool hasZero = zeroKind != ZeroKind::None;
  if (!hasZero && range == RangePolicy::MinMax)
    return emitError() << "range minmax needs a zero; without one expected "
                          "range absmax, clip, search or static";
  if (hasZero && range == RangePolicy::AbsMax)
    return emitError() << "range absmax takes no zero; with '"
                       << stringifyZeroKind(zeroKind) << " " << zero
                       << "' expected range minmax, clip, search or static";
  if (isNorm(range) && !isa<CodebookAttr>(codes))
    return emitError() << "range " << stringifyRangePolicy(range)
                       << " needs a #kvq.codebook as codes, got " << codes;
  // Twice as many are exact in f32.
  constexpr int64_t kMaxSteps = int64_t(1) << 23;
  if (steps < 1 || steps > kMaxSteps)
    return emitError() << "expected 1 to " << kMaxSteps
                       << " steps of search, got " << steps;
  float ratio = clip.convertToFloat();
  if (range == RangePolicy::Clip && !(ratio > 0.0f && ratio <= 1.0f))
    return emitError() << "expected a clip ratio above 0 and at most 1, got "
                       << ratio;
  return success();
}

LogicalResult FormatAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Attribute codes, int64_t tokens,
                                 int64_t channels, Type scale, Type outer,
                                 ZeroKind zeroKind, Type zero,
                                 RangePolicy range, APFloat clip, int64_t steps,
                                 int64_t heads, RuleAttr rule, Type center,
                                 int64_t rotation, LayoutAttr layout) {
  if (isExactCodes(codes))
    return success();
  std::unique_ptr<Codec> codec = getCodec(codes);
  if (!codec)
    return emitError()
           << "expected codes of i2, i3, i4, i5, i6, i8, ui2, ui3, ui4, ui5, "
              "ui6, ui8, f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN, a "
              "#kvq.codebook or none, got "
           << codes;
  if (!scale || !isScaleType(scale))
    return emitError()
           << "expected scale f16, bf16, f32, f8E8M0FNU or f8E4M3FN, got "
           << scale;
  if (outer && (!isa<Float8E4M3FNType>(scale) || !outer.isF32()))
    return emitError() << "expected two levels of scales as f8E4M3FN of f32, got "
                       << scale << " of " << outer;
  if (auto codebook = dyn_cast<CodebookAttr>(codes);
      codebook && isa<Float8E8M0FNUType>(scale) && !codebook.hasZero())
    return emitError() << "scale f8E8M0FNU is never 0, and neither is a value "
                          "of "
                       << codebook
                       << ": expected another scale, or a value 0.0, for "
                          "groups of zeros";
  if (failed(verifyZero(emitError, codes, *codec, zeroKind, zero)) ||
      failed(
          verifyRange(emitError, codes, zeroKind, zero, range, clip, steps)) ||
      failed(rule.verifyFormat(emitError, codes, *codec, scale, zeroKind, zero,
                               range)))
    return failure();
  if (center && !isRealType(center))
    return emitError() << "expected a center of f16, bf16 or f32, got "
                       << center;
  if (rotation != 0 && (rotation < 2 || !llvm::isPowerOf2_64(rotation)))
    return emitError() << "expected a rotation of a power of two of channels, "
                          "such as "
                       << llvm::NextPowerOf2(std::max<int64_t>(rotation, 1))
                       << ", got " << rotation;
  bool allTokens = tokens == kWholeAxis;
  if (allTokens && range != RangePolicy::Static)
    return emitError() << "a group over all tokens needs a static range, since "
                          "its range is never known at append: expected "
                          "'range = static' or a number of tokens, got range "
                       << stringifyRangePolicy(range) << " and '*'";
  if (!allTokens && range == RangePolicy::Static)
    return emitError() << "a static range is that of a group over all tokens: "
                          "expected '*' for tokens, got "
                       << tokens;
  if ((tokens < 1 && !allTokens) || (channels < 1 && channels != kWholeAxis))
    return emitError() << "expected positive group extents, got [" << tokens
                       << ", " << channels << "]";
  if (heads < 1 && heads != kWholeAxis)
    return emitError() << "expected a positive number of heads, got " << heads;
  if (!layout)
    return success();
  return verifyFormatLayout(emitError, codes, tokens, heads, scale, zeroKind,
                            zero, range, layout);
}

/// Checks that codes of a codebook still stand for different numbers once the
/// size of a group has divided them.
static LogicalResult
verifyCodeValues(function_ref<InFlightDiagnostic()> emitError,
                 FormatAttr format) {
  // Without the number of heads the size is not known.
  if (format.getRange() != RangePolicy::Norm ||
      format.getHeads() == FormatAttr::kWholeAxis)
    return success();
  auto codebook = cast<CodebookAttr>(format.getCodes());
  SmallVector<float> values = format.getCodebookValues();
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i - 1] == values[i])
      return emitError() << "range norm over " << format.getGroupSize()
                         << " elements makes " << toShortestText(values[i])
                         << " of both "
                         << toShortestText(codebook.getValues()[i - 1])
                         << " and " << toShortestText(codebook.getValues()[i])
                         << ": expected values farther apart";
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
  if (int64_t size = getRotation(); size != 0 && headDim % size != 0)
    return emitError() << "rotation of " << size
                       << " channels does not divide head_dim " << headDim;
  if (failed(verifyRowLayout(emitError, *this, headDim)))
    return failure();
  return verifyCodeValues(emitError, cast<FormatAttr>(resolve(headDim)));
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

FormatAttr FormatAttr::getExact(MLIRContext *context) {
  return FormatAttr::get(context, TypeAttr::get(NoneType::get(context)),
                         /*tokens=*/1, /*channels=*/1, /*scale=*/Type(),
                         /*outer=*/Type(), ZeroKind::None, /*zero=*/Type(),
                         RangePolicy::AbsMax, APFloat(1.0f), /*steps=*/1,
                         /*heads=*/1, RuleAttr::getDefault(context),
                         /*center=*/Type(), /*rotation=*/0,
                         /*layout=*/LayoutAttr());
}

LayoutAttr FormatAttr::getLayoutOrDefault() const {
  return getLayout() ? getLayout() : LayoutAttr::getPlanar(getContext());
}

FormatAttr FormatAttr::withLayout(LayoutAttr layout) const {
  return FormatAttr::get(getContext(), getCodes(), getTokens(), getChannels(),
                         getScale(), getOuter(), getZeroKind(), getZero(),
                         getRange(), getClip(), getSteps(), getHeads(),
                         getRule(), getCenter(), getRotation(), layout);
}

FormatInterface FormatAttr::resolve(int64_t headDim) const {
  if (isExact() || getChannels() != kWholeAxis)
    return *this;
  return FormatAttr::get(getContext(), getCodes(), getTokens(), headDim,
                         getScale(), getOuter(), getZeroKind(), getZero(),
                         getRange(), getClip(), getSteps(), getHeads(),
                         getRule(), getCenter(), getRotation(), getLayout());
}

FormatInterface FormatAttr::resolveHeads(int64_t kvHeads) const {
  if (getHeads() != kWholeAxis)
    return *this;
  return FormatAttr::get(getContext(), getCodes(), getTokens(), getChannels(),
                         getScale(), getOuter(), getZeroKind(), getZero(),
                         getRange(), getClip(), getSteps(), kvHeads, getRule(),
                         getCenter(), getRotation(), getLayout());
}

LogicalResult
FormatAttr::verifyHeads(function_ref<InFlightDiagnostic()> emitError,
                        int64_t kvHeads) const {
  if (int64_t group = getGroupHeads(kvHeads); kvHeads % group != 0)
    return emitError() << "group of " << group << " heads does not divide "
                       << kvHeads << " KV heads";
  return success();
}

bool FormatAttr::isExact() const { return isExactCodes(getCodes()); }

unsigned FormatAttr::getCodeBits() const {
  return isExact() ? 0 : getCodec(getCodes())->getBits();
}

bool FormatAttr::hasSignedCodes() const {
  return !isExact() && getCodec(getCodes())->isSigned();
}

Type FormatAttr::getCenterType() const { return getCenter(); }

FormatInterface FormatAttr::getCore() const {
  if (!getCenter() && getRotation() == 0)
    return *this;
  return FormatAttr::get(getContext(), getCodes(), getTokens(), getChannels(),
                         getScale(), getOuter(), getZeroKind(), getZero(),
                         getRange(), getClip(), getSteps(), getHeads(),
                         getRule(), /*center=*/Type(), /*rotation=*/0,
                         getLayout());
}

int64_t FormatAttr::getGroupTokens() const {
  return hasStaticRange() ? 1 : getTokens();
}

bool FormatAttr::hasStaticRange() const {
  return getRange() == RangePolicy::Static;
}

int64_t FormatAttr::getGroupChannels(int64_t headDim) const {
  return getChannels() == kWholeAxis ? headDim : getChannels();
}

int64_t FormatAttr::getGroupHeads(int64_t kvHeads) const {
  return getHeads() == kWholeAxis ? kvHeads : getHeads();
}

Type FormatAttr::getScaleType() const { return getScale(); }

Type FormatAttr::getOuterScaleType() const { return getOuter(); }

Type FormatAttr::getZeroType() const {
  Type zero = getZero();
  if (zero && zero.isUnsignedInteger())
    return IntegerType::get(getContext(), zero.getIntOrFloatBitWidth());
  return zero;
}
