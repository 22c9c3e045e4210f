//===- Attributes.cpp - Formats in C --------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq-c/Attributes.h"

#include "kvq/IR/KVQ.h"
#include "kvq/IR/Presets.h"
#include "kvq/Target/Diagnostics.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;

static_assert(int64_t(KvqWholeAxis) == FormatAttr::kWholeAxis);
static_assert(int(KvqZeroNone) == int(ZeroKind::None) &&
              int(KvqZeroMin) == int(ZeroKind::Min) &&
              int(KvqZeroPoint) == int(ZeroKind::Point) &&
              getMaxEnumValForZeroKind() == int(KvqZeroPoint));
static_assert(int(KvqRopePost) == int(RopeOrder::Post) &&
              int(KvqRopePre) == int(RopeOrder::Pre) &&
              getMaxEnumValForRopeOrder() == int(KvqRopePre));

/// Range policies in C begin with the default.
static constexpr int toC(RangePolicy range) { return int(range) + 1; }
static_assert(KvqRangeAbsMax == toC(RangePolicy::AbsMax) &&
              KvqRangeMinMax == toC(RangePolicy::MinMax) &&
              KvqRangeClip == toC(RangePolicy::Clip) &&
              KvqRangeSearch == toC(RangePolicy::Search) &&
              KvqRangeRms == toC(RangePolicy::Rms) &&
              KvqRangeNorm == toC(RangePolicy::Norm) &&
              KvqRangeStatic == toC(RangePolicy::Static) &&
              getMaxEnumValForRangePolicy() + 1 == int(KvqRangeStatic));

template <typename T> static T unwrapAs(MlirAttribute attribute) {
  return cast<T>(unwrap(attribute));
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

namespace {

/// Writes the fields of a format as text, so that the parser, which knows what
/// goes together, is all that builds one.
class FormatWriter {
public:
  explicit FormatWriter(const KvqFormatFields &fields) : fields(fields) {}

  /// Fails, saying why, for fields that have no text.
  LogicalResult write(llvm::raw_ostream &os, std::string &error);

private:
  void writeExtent(llvm::raw_ostream &os, int64_t extent) const {
    if (extent == KvqWholeAxis)
      os << "*";
    else
      os << extent;
  }
  void writeGroup(llvm::raw_ostream &os) const;
  void writeScale(llvm::raw_ostream &os) const;
  void writeRange(llvm::raw_ostream &os) const;
  std::string getError() const;

  const KvqFormatFields &fields;
};

} // namespace

/// What text could not say, or would leave out.
std::string FormatWriter::getError() const {
  auto isOf = [](int value, int last) { return value >= 0 && value <= last; };
  if (!isOf(fields.zeroKind, KvqZeroPoint))
    return "expected a KvqZeroKind as zeroKind, got " +
           std::to_string(fields.zeroKind);
  if (!isOf(fields.range, KvqRangeStatic))
    return "expected a KvqRangePolicy as range, got " +
           std::to_string(fields.range);
  if (!isOf(fields.rope, KvqRopePre))
    return "expected a KvqRopeOrder as rope, got " +
           std::to_string(fields.rope);
  if (mlirTypeIsNull(fields.scale) && !mlirTypeIsNull(fields.outerScale))
    return "expected a scale beside outerScale";
  if (fields.zeroKind != KvqZeroNone && mlirTypeIsNull(fields.zero))
    return "expected a type as zero beside zeroKind";
  if (fields.clip != 0 && fields.range != KvqRangeClip)
    return "expected range KvqRangeClip beside a ratio in clip";
  if (fields.steps != 0 && fields.range != KvqRangeSearch)
    return "expected range KvqRangeSearch beside a number in steps";
  return "";
}

void FormatWriter::writeGroup(llvm::raw_ostream &os) const {
  if (fields.groupTokens == 0 && fields.groupChannels == 0)
    return;
  os << ", group = [";
  writeExtent(os, fields.groupTokens);
  os << ", ";
  writeExtent(os, fields.groupChannels);
  os << "]";
}

void FormatWriter::writeScale(llvm::raw_ostream &os) const {
  if (mlirTypeIsNull(fields.scale))
    return;
  os << ", scale = " << unwrap(fields.scale);
  if (!mlirTypeIsNull(fields.outerScale))
    os << " of " << unwrap(fields.outerScale);
}

void FormatWriter::writeRange(llvm::raw_ostream &os) const {
  if (fields.range == KvqRangeDefault)
    return;
  os << ", range = " << stringifyRangePolicy(RangePolicy(fields.range - 1));
  if (fields.range == KvqRangeClip)
    os << "<" << llvm::format("%.9e", fields.clip) << ">";
  if (fields.range == KvqRangeSearch)
    os << "<" << fields.steps << ">";
}

LogicalResult FormatWriter::write(llvm::raw_ostream &os, std::string &error) {
  error = getError();
  if (!error.empty())
    return failure();
  os << "#kvq.format<codes = " << unwrap(fields.codes);
  writeGroup(os);
  if (fields.heads != 0)
    writeExtent(os << ", heads = ", fields.heads);
  writeScale(os);
  if (!mlirTypeIsNull(fields.zero))
    os << ", zero = " << stringifyZeroKind(ZeroKind(fields.zeroKind)) << " "
       << unwrap(fields.zero);
  writeRange(os);
  if (fields.rotation != 0) {
    writeExtent(os << ", rotate = hadamard<", fields.rotation);
    os << ">";
  }
  if (!mlirTypeIsNull(fields.center))
    os << ", center = " << unwrap(fields.center);
  if (fields.rope != KvqRopePost)
    os << ", rope = " << stringifyRopeOrder(RopeOrder(fields.rope));
  if (!mlirAttributeIsNull(fields.rule))
    os << ", rule = " << unwrap(fields.rule);
  auto layout = dyn_cast_or_null<LayoutAttr>(unwrap(fields.layout));
  if (layout && layout.getOpen())
    os << ", layout = auto";
  else if (!mlirAttributeIsNull(fields.layout))
    os << ", layout = " << unwrap(fields.layout);
  os << ">";
  return success();
}

/// Parses text that was made here; what the parser says is said at `location`.
static Attribute parseAt(Location location, StringRef text) {
  std::string error;
  {
    DiagnosticCollector diagnostics(location.getContext(), /*places=*/false);
    if (Attribute attribute = parseAttribute(text, location.getContext()))
      return attribute;
    error = llvm::toString(diagnostics.takeError("cannot parse " + text));
  }
  emitError(location) << error;
  return {};
}

bool kvqAttributeIsAFormat(MlirAttribute attribute) {
  return isa_and_nonnull<FormatAttr>(unwrap(attribute));
}

MlirAttribute kvqFormatAttrGetChecked(MlirLocation location,
                                      const KvqFormatFields *fields) {
  std::string text, error;
  llvm::raw_string_ostream os(text);
  if (mlirAttributeIsNull(fields->codes))
    error = "expected an attribute as codes";
  else
    (void)FormatWriter(*fields).write(os, error);
  if (error.empty())
    return wrap(parseAt(unwrap(location), text));
  emitError(unwrap(location)) << error;
  return MlirAttribute{nullptr};
}

KvqFormatFields kvqFormatAttrGetFields(MlirAttribute attribute) {
  auto format = unwrapAs<FormatAttr>(attribute);
  KvqFormatFields fields = {};
  fields.codes = wrap(format.getCodes());
  fields.rope = KvqRopeOrder(format.getRope());
  fields.layout = wrap(Attribute(format.getLayout()));
  if (format.isExact())
    return fields;
  fields.groupTokens = format.getTokens();
  fields.groupChannels = format.getChannels();
  fields.heads = format.getHeads();
  fields.scale = wrap(format.getScale());
  fields.outerScale = wrap(format.getOuter());
  fields.zeroKind = KvqZeroKind(format.getZeroKind());
  fields.zero = wrap(format.getZero());
  fields.range = KvqRangePolicy(toC(format.getRange()));
  if (format.getRange() == RangePolicy::Clip)
    fields.clip = format.getClip().convertToFloat();
  if (format.getRange() == RangePolicy::Search)
    fields.steps = format.getSteps();
  fields.rotation = format.getRotation();
  fields.center = wrap(format.getCenter());
  fields.rule = wrap(Attribute(format.getRule()));
  return fields;
}

bool kvqFormatAttrIsExact(MlirAttribute format) {
  return unwrapAs<FormatAttr>(format).isExact();
}

unsigned kvqFormatAttrGetCodeBits(MlirAttribute format) {
  return unwrapAs<FormatAttr>(format).getCodeBits();
}

//===----------------------------------------------------------------------===//
// Codebooks
//===----------------------------------------------------------------------===//

bool kvqAttributeIsACodebook(MlirAttribute attribute) {
  return isa_and_nonnull<CodebookAttr>(unwrap(attribute));
}

MlirAttribute kvqCodebookAttrGetChecked(MlirLocation location,
                                        intptr_t numValues,
                                        const float *values) {
  Location where = unwrap(location);
  MLIRContext *context = where.getContext();
  return wrap(Attribute(CodebookAttr::getChecked(
      [&] { return emitError(where); }, context,
      DenseF32ArrayAttr::get(context, ArrayRef(values, numValues)))));
}

intptr_t kvqCodebookAttrGetNumValues(MlirAttribute codebook) {
  return unwrapAs<CodebookAttr>(codebook).getValues().size();
}

float kvqCodebookAttrGetValue(MlirAttribute codebook, intptr_t index) {
  return unwrapAs<CodebookAttr>(codebook).getValues()[index];
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

bool kvqAttributeIsASegments(MlirAttribute attribute) {
  return isa_and_nonnull<SegmentsAttr>(unwrap(attribute));
}

MlirAttribute kvqSegmentsAttrGetChecked(MlirLocation location,
                                        intptr_t numSegments,
                                        const int64_t *ends,
                                        const MlirAttribute *formats) {
  Location where = unwrap(location);
  SmallVector<Attribute> attributes;
  for (MlirAttribute format : ArrayRef(formats, numSegments)) {
    if (!kvqAttributeIsAFormat(format)) {
      emitError(where) << "expected a #kvq.format as the format of segment "
                       << attributes.size();
      return MlirAttribute{nullptr};
    }
    attributes.push_back(unwrap(format));
  }
  return wrap(Attribute(SegmentsAttr::getChecked(
      [&] { return emitError(where); }, where.getContext(),
      ArrayRef(ends, numSegments), ArrayRef(attributes),
      ArrayRef<SegmentField>())));
}

intptr_t kvqSegmentsAttrGetNumSegments(MlirAttribute segments) {
  return unwrapAs<SegmentsAttr>(segments).getEnds().size();
}

int64_t kvqSegmentsAttrGetEnd(MlirAttribute segments, intptr_t index) {
  return unwrapAs<SegmentsAttr>(segments).getEnds()[index];
}

MlirAttribute kvqSegmentsAttrGetFormat(MlirAttribute segments, intptr_t index) {
  return wrap(unwrapAs<SegmentsAttr>(segments).getFormats()[index]);
}

//===----------------------------------------------------------------------===//
// Presets
//===----------------------------------------------------------------------===//

intptr_t kvqGetNumPresets() { return getPresets().size(); }

MlirStringRef kvqPresetGetName(intptr_t index) {
  return wrap(StringRef(getPresets()[index].name));
}

MlirAttribute kvqPresetAttrGetChecked(MlirLocation location,
                                      MlirStringRef name) {
  if (const Preset *preset = findPreset(unwrap(name)))
    return wrap(parseAt(unwrap(location), preset->getAttribute()));
  emitError(unwrap(location)) << describeUnknownPreset(unwrap(name));
  return MlirAttribute{nullptr};
}
