//===- Segments.cpp - Rows whose channels have several formats ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormatLayout.h"

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Attribute
//===----------------------------------------------------------------------===//

/// Parses `[begin:end] = format`, where `begin` is where the segment before
/// ended.
static ParseResult parseSegment(AsmParser &parser, SmallVector<int64_t> &ends,
                                SmallVector<Attribute> &formats) {
  int64_t expected = ends.empty() ? 0 : ends.back(), begin, end;
  if (parser.parseLSquare())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(begin) || parser.parseColon() ||
      parser.parseInteger(end) || parser.parseRSquare() || parser.parseEqual())
    return failure();
  if (begin != expected)
    return parser.emitError(loc)
           << "segments " << (begin < expected ? "overlap" : "leave a gap")
           << ": expected the next one to begin at channel " << expected
           << ", got " << begin;
  ends.push_back(end);
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    formats.push_back(FormatAttr::getExact(parser.getContext()));
    return success();
  }
  FormatInterface format;
  if (parser.parseAttribute(format))
    return failure();
  formats.push_back(format);
  return success();
}

/// Parses a field of a row of all segments, such as `codes.0`.
static ParseResult parseRowField(AsmParser &parser,
                                 SmallVector<SegmentField> &row) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  auto [name, number] = text.split('.');
  std::optional<RowField> field = symbolizeRowField(name);
  int64_t segment;
  if (!field || *field == RowField::Skip || number.getAsInteger(10, segment))
    return parser.emitError(loc)
           << "expected a field and its segment, codes.0, high.0, scale.0, "
              "zero.0, scale_zero.0 or values.0, got '"
           << text << "'";
  row.push_back({*field, segment});
  return parseFieldStride(parser, row.back().stride);
}

Attribute SegmentsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> ends;
  SmallVector<Attribute> formats;
  SmallVector<SegmentField> row;
  SMLoc loc = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    if (failed(parser.parseOptionalKeyword("row")))
      return parseSegment(parser, ends, formats);
    if (!row.empty())
      return parser.emitError(loc, "field 'row' is given twice");
    if (parser.parseEqual())
      return failure();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parseRowField(parser, row);
    });
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne, " of segments"))
    return {};
  return parser.getChecked<SegmentsAttr>(loc, parser.getContext(),
                                         ArrayRef(ends), ArrayRef(formats),
                                         ArrayRef<SegmentField>(row));
}

void SegmentsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  int64_t begin = 0;
  llvm::interleaveComma(llvm::zip_equal(getEnds(), getFormats()), printer,
                        [&](auto segment) {
                          auto [end, format] = segment;
                          printer << "[" << begin << ":" << end << "] = ";
                          if (format == FormatAttr::getExact(getContext()))
                            printer << "none";
                          else
                            printer << format;
                          begin = end;
                        });
  if (hasRow()) {
    printer << ", row = [";
    llvm::interleaveComma(getRow(), printer, [&](const SegmentField &field) {
      printer << stringifyRowField(field.field) << "." << field.segment;
      if (field.stride != 1)
        printer << "<" << field.stride << ">";
    });
    printer << "]";
  }
  printer << ">";
}

/// How often a row has a field of a segment.
static int64_t countField(ArrayRef<SegmentField> row, RowField field,
                          int64_t segment) {
  return llvm::count_if(row, [&](const SegmentField &listed) {
    return listed.field == field && listed.segment == segment;
  });
}

/// The fields that a row has to hold of a segment with the format `format`.
static SmallVector<RowField>
getRowFields(FormatAttr format, ArrayRef<SegmentField> row, int64_t segment) {
  if (format.isExact())
    return {RowField::Values};
  SmallVector<RowField> fields = {RowField::Codes};
  if (format.areCodesCut())
    fields.push_back(RowField::High);
  if (format.hasStaticRange())
    return fields;
  if (countField(row, RowField::ScaleZero, segment) != 0) {
    fields.push_back(RowField::ScaleZero);
    return fields;
  }
  fields.push_back(RowField::Scale);
  if (format.getZeroType())
    fields.push_back(RowField::Zero);
  return fields;
}

/// Checks that a row holds what a segment has, as fields of a record.
static LogicalResult
verifyRowOfSegment(function_ref<InFlightDiagnostic()> emitError,
                   FormatAttr format, ArrayRef<SegmentField> row,
                   int64_t segment, ArrayRef<RowField> fields) {
  if (format.getGroupTokens() != 1)
    return emitError() << "a row of all segments is one token's: expected "
                          "groups of one token, got "
                       << format.getGroupTokens();
  if (format.getLayoutOrDefault().getScope() != RecordScope::None)
    return emitError() << "segments of a row have no record of their own, got "
                       << format.getLayout();
  for (RowField field : fields)
    if (int64_t count = countField(row, field, segment); count != 1)
      return emitError() << "expected field '" << stringifyRowField(field)
                         << "." << segment
                         << "' once in the row of all segments, got it "
                         << count << " times";
  return success();
}

static LogicalResult verifyRow(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<Attribute> formats,
                               ArrayRef<SegmentField> row) {
  size_t expected = 0;
  for (auto [segment, attribute] : llvm::enumerate(formats)) {
    auto format = dyn_cast<FormatAttr>(attribute);
    if (!format)
      return emitError()
             << "expected #kvq.format as the formats of segments in "
                "a row, got "
             << attribute;
    SmallVector<RowField> fields = getRowFields(format, row, segment);
    expected += fields.size();
    if (failed(verifyRowOfSegment(emitError, format, row, segment, fields)))
      return failure();
  }
  if (expected != row.size())
    return emitError() << "expected the " << expected
                       << " fields of the segments in their row, got "
                       << row.size();
  return success();
}

LogicalResult SegmentsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> ends,
                                   ArrayRef<Attribute> formats,
                                   ArrayRef<SegmentField> row) {
  if (ends.size() < 2)
    return emitError() << "expected at least 2 segments, got " << ends.size();
  if (ends.size() != formats.size())
    return emitError() << "expected a format for each of " << ends.size()
                       << " segments, got " << formats.size();
  int64_t begin = 0, tokens = 0;
  for (auto [end, attribute] : llvm::zip_equal(ends, formats)) {
    if (end <= begin)
      return emitError() << "expected a segment from channel " << begin
                         << " to end after it, got " << end;
    begin = end;
    auto format = dyn_cast_or_null<FormatInterface>(attribute);
    if (!format)
      return emitError() << "expected a format of a segment, got " << attribute;
    if (format.isExact())
      continue;
    // They leave the exact window together.
    int64_t group = format.getGroupTokens();
    if (tokens != 0 && group != tokens)
      return emitError() << "expected quantized segments with as many tokens "
                            "in a group, got "
                         << tokens << " and " << group;
    tokens = group;
  }
  if (tokens == 0)
    return emitError() << "expected a segment with codes: exact rows need no "
                          "segments";
  return row.empty() ? success() : verifyRow(emitError, formats, row);
}

FormatInterface SegmentsAttr::getCacheFormat(unsigned segment,
                                             Type elementType) const {
  auto format = cast<FormatInterface>(getFormats()[segment]);
  if (!hasRow())
    return format;
  SmallVector<LayoutField> fields;
  for (auto [field, of, stride] : getRow()) {
    if (of == segment) {
      fields.push_back({field, /*bytes=*/0, stride});
      continue;
    }
    int64_t bytes = cast<FormatAttr>(getFormats()[of])
                        .getFieldBytes(field, getChannels(of), elementType);
    if (!fields.empty() && fields.back().field == RowField::Skip)
      fields.back().bytes += bytes;
    else
      fields.push_back({RowField::Skip, bytes});
  }
  auto attr = cast<FormatAttr>(format);
  return attr.withLayout(attr.getLayoutOrDefault().withRow(fields));
}

int64_t SegmentsAttr::getGroupTokens() const {
  for (Attribute format : getFormats())
    if (!cast<FormatInterface>(format).isExact())
      return cast<FormatInterface>(format).getGroupTokens();
  llvm_unreachable("the verifier asks for a segment with codes");
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

LogicalResult SegmentsAttr::verifyCache(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
    Type elementType, int64_t exactFirst, std::optional<int64_t> recent,
    std::optional<int64_t> residual, std::optional<int64_t> page,
    std::optional<int64_t> ring, int64_t keepFirst, bool tokenMajor) const {
  if (shape.size() == 4 && shape[3] != getEnds().back())
    return emitError() << "expected segments up to head_dim " << shape[3]
                       << ", the last one ends at " << getEnds().back();
  // A row holds a token of all segments at once.
  if (hasRow() && (exactFirst != 0 || recent || residual))
    return emitError() << "tokens that are exact have no row of all segments: "
                          "expected none of exact_first, recent and residual";
  int64_t begin = 0;
  for (auto [end, format] : llvm::zip_equal(getEnds(), getFormats())) {
    SmallVector<int64_t> part(shape);
    if (!part.empty())
      part.back() = end - begin;
    auto emitHere = [&, begin = begin, end = end] {
      InFlightDiagnostic diagnostic = emitError();
      diagnostic << "segment [" << begin << ":" << end << "]: ";
      return diagnostic;
    };
    auto segment = cast<FormatInterface>(format);
    bool isExact = segment.isExact();
    auto codes = dyn_cast<FormatAttr>(format);
    if (codes && !isExact && codes.getLayoutOrDefault().getTile().exists())
      return emitHere() << "expected no tiles in a segment, got " << format;
    // One page table says where the rows of all segments are.
    if (isExact && page && (exactFirst != 0 || recent || residual))
      return emitHere()
             << "exact elements in pages hold other tokens than codes "
                "beside an exact window: expected none of "
                "exact_first, recent and residual";
    if (failed(CacheType::verify(
            emitHere, part, elementType, format, isExact ? 0 : exactFirst,
            isExact ? std::nullopt : recent, isExact ? std::nullopt : residual,
            page, ring, keepFirst, tokenMajor)))
      return failure();
    begin = end;
  }
  return success();
}

bool CacheType::isExact() const {
  // Segments have codes.
  return getFormat() && getFormat().isExact();
}

bool CacheType::isBeforeRope() const {
  return llvm::any_of(getSegmentCaches(), [](CacheType segment) {
    return segment.getFormat().isBeforeRope();
  });
}

std::vector<CacheType> CacheType::getSegmentCaches() const {
  SegmentsAttr segments = getSegments();
  if (!segments)
    return {*this};
  std::vector<CacheType> caches;
  for (unsigned index = 0; index < segments.getEnds().size(); ++index) {
    FormatInterface format = segments.getCacheFormat(index, getElementType());
    SmallVector<int64_t> shape(getShape());
    shape.back() = segments.getChannels(index);
    // Exact segments need no windows: all tokens lie in the same rows.
    bool isExact = format.isExact();
    caches.push_back(CacheType::get(
        getContext(), shape, getElementType(), format,
        isExact ? 0 : getExactFirst(), isExact ? std::nullopt : getRecent(),
        isExact ? std::nullopt : getResidual(), getPage(), getRing(),
        getKeepFirst(), getTokenMajor()));
  }
  return caches;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Checks that `part` is the cache of a segment of `whole`.
static LogicalResult verifyPart(Operation *op, CacheType whole,
                                uint64_t segment, CacheType part) {
  if (!whole.getSegments())
    return op->emitOpError("expected a cache with segments, got ") << whole;
  std::vector<CacheType> parts = whole.getSegmentCaches();
  if (segment >= parts.size())
    return op->emitOpError("expected a segment below ")
           << parts.size() << ", got " << segment;
  if (parts[segment] != part)
    return op->emitOpError("expected a segment's cache of type ")
           << parts[segment] << ", got " << part;
  return success();
}

LogicalResult ExtractSegmentOp::verify() {
  return verifyPart(*this, getCache().getType(), getSegment(),
                    getPart().getType());
}

LogicalResult InsertSegmentOp::verify() {
  return verifyPart(*this, getCache().getType(), getSegment(),
                    getPart().getType());
}
