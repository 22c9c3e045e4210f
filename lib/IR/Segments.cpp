//===- Segments.cpp - Rows whose channels have several formats ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

Attribute SegmentsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> ends;
  SmallVector<Attribute> formats;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::LessGreater,
          [&] { return parseSegment(parser, ends, formats); }, " of segments"))
    return {};
  return parser.getChecked<SegmentsAttr>(loc, parser.getContext(),
                                         ArrayRef(ends), ArrayRef(formats));
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
  printer << ">";
}

LogicalResult SegmentsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> ends,
                                   ArrayRef<Attribute> formats) {
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
  return success();
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
  int64_t begin = 0;
  for (auto [end, format] :
       llvm::zip_equal(segments.getEnds(), segments.getFormats())) {
    SmallVector<int64_t> shape(getShape());
    shape.back() = end - begin;
    begin = end;
    // Exact segments need no windows: all tokens lie in the same rows.
    bool isExact = cast<FormatInterface>(format).isExact();
    caches.push_back(CacheType::get(getContext(), shape, getElementType(),
                                    format, isExact ? 0 : getExactFirst(),
                                    isExact ? std::nullopt : getRecent(),
                                    isExact ? std::nullopt : getResidual(),
                                    getPage(), getRing(), getKeepFirst()));
  }
  return caches;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Checks that `parts` are the segments' caches of `whole`.
static LogicalResult verifyParts(Operation *op, CacheType whole,
                                 TypeRange parts) {
  if (!whole.getSegments())
    return op->emitOpError("expected a cache with segments, got ") << whole;
  std::vector<CacheType> expected = whole.getSegmentCaches();
  if (expected.size() != parts.size())
    return op->emitOpError("expected ")
           << expected.size() << " caches of segments, got " << parts.size();
  for (auto [want, got] : llvm::zip_equal(expected, parts))
    if (want != got)
      return op->emitOpError("expected a segment's cache of type ")
             << want << ", got " << got;
  return success();
}

LogicalResult SplitSegmentsOp::verify() {
  return verifyParts(*this, getCache().getType(), getParts().getTypes());
}

LogicalResult JoinSegmentsOp::verify() {
  return verifyParts(*this, getCache().getType(), getParts().getTypes());
}
