//===- CacheType.cpp - Syntax, checks and storage of !kvq.cache ----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::kvq;

StringRef mlir::kvq::stringifyComponentKind(ComponentKind kind) {
  switch (kind) {
  case ComponentKind::Codes:
    return "codes";
  case ComponentKind::Values:
    return "values";
  case ComponentKind::Scales:
    return "scales";
  case ComponentKind::Zeros:
    return "zeros";
  case ComponentKind::First:
    return "first";
  case ComponentKind::Recent:
    return "recent";
  }
  llvm_unreachable("unknown storage component");
}

std::string StorageComponent::getName() const {
  std::string name = stringifyComponentKind(kind).str();
  return segment ? name + "." + std::to_string(*segment) : name;
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {

/// The parameters after the format.
struct Windows {
  std::optional<int64_t> exactFirst, recent, residual;

  std::optional<int64_t> *find(StringRef name) {
    return llvm::StringSwitch<std::optional<int64_t> *>(name)
        .Case("exact_first", &exactFirst)
        .Case("recent", &recent)
        .Case("residual", &residual)
        .Default(nullptr);
  }
};

} // namespace

/// Parses `, exact_first = E`, `, recent = R` and `, residual = R`, in any
/// order, each once.
static ParseResult parseWindows(AsmParser &parser, Windows &windows) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    int64_t count;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<int64_t> *window = windows.find(name);
    if (!window)
      return parser.emitError(loc) << "expected 'exact_first', 'recent' or "
                                      "'residual', got '"
                                   << name << "'";
    if (*window)
      return parser.emitError(loc)
             << "parameter '" << name << "' is given twice";
    if (parser.parseEqual() || parser.parseInteger(count))
      return failure();
    *window = count;
  }
  return success();
}

Type CacheType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  Attribute format;
  Windows windows;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/true) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseAttribute(format) || parseWindows(parser, windows) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<CacheType>(
      loc, parser.getContext(), ArrayRef(shape), elementType, format,
      windows.exactFirst.value_or(0), windows.recent, windows.residual);
}

void CacheType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType() << ", " << getRowFormat();
  if (getExactFirst() != 0)
    printer << ", exact_first = " << getExactFirst();
  if (getRecent())
    printer << ", recent = " << *getRecent();
  if (getResidual())
    printer << ", residual = " << *getResidual();
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks each segment as the cache that it is by itself.
static LogicalResult
verifySegments(function_ref<InFlightDiagnostic()> emitError,
               ArrayRef<int64_t> shape, Type elementType, SegmentsAttr segments,
               int64_t exactFirst, std::optional<int64_t> recent,
               std::optional<int64_t> residual) {
  if (shape.size() == 4 && shape[3] != segments.getEnds().back())
    return emitError() << "expected segments up to head_dim " << shape[3]
                       << ", the last one ends at "
                       << segments.getEnds().back();
  int64_t begin = 0;
  for (auto [end, format] :
       llvm::zip_equal(segments.getEnds(), segments.getFormats())) {
    SmallVector<int64_t> part(shape);
    if (!part.empty())
      part.back() = end - begin;
    auto emitHere = [&, begin = begin, end = end] {
      InFlightDiagnostic diagnostic = emitError();
      diagnostic << "segment [" << begin << ":" << end << "]: ";
      return diagnostic;
    };
    bool isExact = cast<FormatInterface>(format).isExact();
    if (failed(CacheType::verify(emitHere, part, elementType, format,
                                 isExact ? 0 : exactFirst,
                                 isExact ? std::nullopt : recent,
                                 isExact ? std::nullopt : residual)))
      return failure();
    begin = end;
  }
  return success();
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> shape, Type elementType,
                                Attribute rowFormat, int64_t exactFirst,
                                std::optional<int64_t> recent,
                                std::optional<int64_t> residual) {
  auto format = dyn_cast<FormatInterface>(rowFormat);
  if (auto segments = dyn_cast<SegmentsAttr>(rowFormat))
    return verifySegments(emitError, shape, elementType, segments, exactFirst,
                          recent, residual);
  if (!format)
    return emitError() << "expected a format or #kvq.segments, got "
                       << rowFormat;
  if (shape.size() != 4)
    return emitError() << "expected a shape of 4 extents, batch x kv_heads x "
                          "capacity x head_dim, got "
                       << shape.size();
  // Far beyond any cache, and sums of these cannot overflow.
  constexpr int64_t kMaxExtent = int64_t(1) << 40;
  for (auto [axis, name] : {std::pair(0, "batch"), std::pair(1, "kv_heads"),
                            std::pair(3, "head_dim")}) {
    if (ShapedType::isDynamic(shape[axis]))
      return emitError() << "expected a static " << name << ", got '?'";
    if (shape[axis] < 1)
      return emitError() << "expected a " << name << " of at least 1, got "
                         << shape[axis];
    if (shape[axis] > kMaxExtent)
      return emitError() << "expected a " << name << " of at most "
                         << kMaxExtent << ", got " << shape[axis];
  }
  if (!elementType.isF16() && !elementType.isBF16() && !elementType.isF32())
    return emitError() << "expected element type f16, bf16 or f32, got "
                       << elementType;
  if (exactFirst < 0)
    return emitError() << "expected exact_first of at least 0, got "
                       << exactFirst;
  if (recent && *recent < 0)
    return emitError() << "expected recent of at least 0, got " << *recent;
  if (residual && *residual < 1)
    return emitError() << "expected residual of at least 1, got " << *residual;
  if (recent && residual)
    return emitError() << "expected one exact window, got recent = " << *recent
                       << " and residual = " << *residual;
  for (auto [name, tokens] :
       {std::pair("capacity", shape[2]), std::pair("exact_first", exactFirst),
        std::pair("recent", recent.value_or(0)),
        std::pair("residual", residual.value_or(0)),
        std::pair("token group", format.getGroupTokens())})
    if (tokens > kMaxExtent)
      return emitError() << "expected a " << name << " of at most "
                         << kMaxExtent << " tokens, got " << tokens;
  if (format.isExact() && (recent || residual || exactFirst != 0))
    return emitError() << "exact elements need no exact window: expected none "
                          "of exact_first, recent and residual with codes = "
                          "none";
  int64_t group = format.getGroupTokens();
  if (group > 1 && !recent && !residual)
    return emitError() << "a group of " << group
                       << " tokens has no range before all of them are there: "
                          "expected an exact window ('recent = R' or "
                          "'residual = R')";
  if (residual && *residual % group != 0)
    return emitError() << "expected residual to be whole groups of " << group
                       << " tokens, got " << *residual;
  if (failed(format.verifyHeads(emitError, shape[1])))
    return failure();
  return format.resolveHeads(shape[1]).verifyHeadDim(emitError, shape[3]);
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

int64_t CacheType::getTokenGroup() const {
  return getSegments() ? getSegments().getGroupTokens()
                       : getFormat().getGroupTokens();
}

int64_t CacheType::getRecentRows() const {
  return getRecent().value_or(0) + getFlushTokens() - 1;
}

/// Rows of quantized tokens that a cache of `capacity` tokens can come to hold.
static int64_t getQuantizedRows(CacheType type, int64_t capacity) {
  if (ShapedType::isDynamic(capacity))
    return ShapedType::kDynamic;
  int64_t beyond = std::max<int64_t>(capacity - type.getHeldTokens(), 0);
  return beyond / type.getFlushTokens() * type.getFlushTokens();
}

SmallVector<StorageComponent> CacheType::getComponents(int64_t capacity) const {
  if (getSegments()) {
    SmallVector<StorageComponent> components;
    for (auto [index, segment] : llvm::enumerate(getSegmentCaches()))
      for (StorageComponent &component : segment.getComponents(capacity)) {
        component.segment = index;
        components.push_back(std::move(component));
      }
    return components;
  }
  // A cache line, so that no row of the first token is split.
  constexpr int64_t kAlignment = 64;
  FormatInterface format = getFormat();
  int64_t headDim = getHeadDim();
  SmallVector<StorageComponent> components;
  auto add = [&](ComponentKind kind, int64_t rows, int64_t rowSize, Type type,
                 int64_t sharingHeads = 1) {
    components.push_back(
        {kind,
         {getBatch(), getHeads() / sharingHeads, rows, rowSize},
         type,
         kAlignment});
  };

  int64_t rows = getQuantizedRows(*this, capacity);
  if (format.isExact()) {
    add(ComponentKind::Values, rows, headDim, getElementType());
  } else {
    int64_t group = getTokenGroup();
    int64_t groupRows = ShapedType::isDynamic(rows) ? rows : rows / group;
    int64_t groupsPerRow = headDim / format.getGroupChannels(headDim);
    add(ComponentKind::Codes, rows, format.getPackedBytes(headDim),
        IntegerType::get(getContext(), 8));
    add(ComponentKind::Scales, groupRows, groupsPerRow, format.getScaleType(),
        getGroupHeads());
    if (Type zero = format.getZeroType())
      add(ComponentKind::Zeros, groupRows, groupsPerRow, zero, getGroupHeads());
  }
  if (getExactFirst() != 0)
    add(ComponentKind::First, getExactFirst(), headDim, getElementType());
  if (hasRecentWindow())
    add(ComponentKind::Recent, getRecentRows(), headDim, getElementType());
  return components;
}

std::optional<unsigned> CacheType::findComponent(ComponentKind kind) const {
  for (auto [index, component] : llvm::enumerate(getComponents()))
    if (component.kind == kind)
      return index;
  return std::nullopt;
}
