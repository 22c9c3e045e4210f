//===- CacheType.cpp - Syntax, checks and storage of !kvq.cache ----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

std::string StorageComponent::getName() const {
  std::string name = stringifyComponentKind(kind).str();
  return segment ? name + "." + std::to_string(*segment) : name;
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {

/// The parameters after the format.
struct Parameters {
  std::optional<int64_t> exactFirst, recent, residual, page, ring, keepFirst;
  bool tokenMajor = false;

  std::optional<int64_t> *find(StringRef name) {
    return llvm::StringSwitch<std::optional<int64_t> *>(name)
        .Case("exact_first", &exactFirst)
        .Case("recent", &recent)
        .Case("residual", &residual)
        .Case("page", &page)
        .Case("ring", &ring)
        .Case("keep_first", &keepFirst)
        .Default(nullptr);
  }
};

} // namespace

/// Parses `, exact_first = E`, `, recent = R`, `, residual = R`, `, page = P`,
/// `, ring = W`, `, keep_first = F` and `, token_major`, in any order, each
/// once.
static ParseResult parseParameters(AsmParser &parser, Parameters &parameters) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    int64_t count;
    if (parser.parseKeyword(&name))
      return failure();
    bool isFlag = name == "token_major";
    std::optional<int64_t> *parameter = parameters.find(name);
    if (!parameter && !isFlag)
      return parser.emitError(loc) << "expected 'exact_first', 'recent', "
                                      "'residual', 'page', 'ring', "
                                      "'keep_first' or 'token_major', got '"
                                   << name << "'";
    if (isFlag ? parameters.tokenMajor : parameter->has_value())
      return parser.emitError(loc)
             << "parameter '" << name << "' is given twice";
    if (isFlag) {
      parameters.tokenMajor = true;
      continue;
    }
    if (parser.parseEqual() || parser.parseInteger(count))
      return failure();
    *parameter = count;
  }
  return success();
}

Type CacheType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  Attribute format;
  Parameters parameters;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/true) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseAttribute(format) || parseParameters(parser, parameters) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<CacheType>(
      loc, parser.getContext(), ArrayRef(shape), elementType, format,
      parameters.exactFirst.value_or(0), parameters.recent, parameters.residual,
      parameters.page, parameters.ring, parameters.keepFirst.value_or(0),
      parameters.tokenMajor);
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
  if (getPage())
    printer << ", page = " << *getPage();
  if (getRing())
    printer << ", ring = " << *getRing();
  if (getKeepFirst() != 0)
    printer << ", keep_first = " << getKeepFirst();
  if (getTokenMajor())
    printer << ", token_major";
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Checks the tokens that a ring keeps; `window` is the length of the exact
/// one.
static LogicalResult verifyRing(function_ref<InFlightDiagnostic()> emitError,
                                int64_t exactFirst, int64_t window,
                                std::optional<int64_t> ring,
                                int64_t keepFirst) {
  if (keepFirst < 0)
    return emitError() << "expected keep_first of at least 0, got "
                       << keepFirst;
  if (!ring && keepFirst != 0)
    return emitError() << "expected a ring beside keep_first = " << keepFirst
                       << ": without one all tokens are kept";
  if (!ring)
    return success();
  if (*ring < 1)
    return emitError() << "expected a ring of at least 1 token, got " << *ring;
  if (keepFirst >= *ring)
    return emitError() << "expected a ring of more tokens than keep_first = "
                       << keepFirst << ", got " << *ring;
  if (exactFirst > keepFirst)
    return emitError() << "expected keep_first of at least exact_first = "
                       << exactFirst << ", got " << keepFirst;
  if (window > *ring - keepFirst)
    return emitError() << "expected an exact window of at most the "
                       << *ring - keepFirst
                       << " newest tokens that the ring keeps, got " << window;
  return success();
}

/// Checks what rows in tiles are to lie in beside them.
static LogicalResult verifyTiles(function_ref<InFlightDiagnostic()> emitError,
                                 const TileOrder &tile,
                                 std::optional<int64_t> page,
                                 std::optional<int64_t> ring) {
  if (tile.exists() && ring)
    return emitError() << "expected no ring with rows in tiles";
  if (tile.exists() && page && *page % tile.tokens != 0)
    return emitError() << "expected a page of whole tiles of " << tile.tokens
                       << " tokens, got " << *page;
  return success();
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> shape, Type elementType,
                                Attribute rowFormat, int64_t exactFirst,
                                std::optional<int64_t> recent,
                                std::optional<int64_t> residual,
                                std::optional<int64_t> page,
                                std::optional<int64_t> ring, int64_t keepFirst,
                                bool tokenMajor) {
  auto format = dyn_cast<FormatInterface>(rowFormat);
  if (auto segments = dyn_cast<SegmentsAttr>(rowFormat))
    return segments.verifyCache(emitError, shape, elementType, exactFirst,
                                recent, residual, page, ring, keepFirst,
                                tokenMajor);
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
  // Text has none below.
  if (!ShapedType::isDynamic(shape[2]) && shape[2] < 0)
    return emitError() << "expected a capacity of at least 0, got " << shape[2];
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
        std::pair("page", page.value_or(1)),
        std::pair("ring", ring.value_or(1)),
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
  if (page && *page < 1)
    return emitError() << "expected a page of at least 1 token, got " << *page;
  if (page && *page % group != 0)
    return emitError() << "expected a page of whole groups of " << group
                       << " tokens, got " << *page;
  if (failed(verifyRing(emitError, exactFirst,
                        residual.value_or(recent.value_or(0)), ring,
                        keepFirst)))
    return failure();
  if (failed(format.verifyHeads(emitError, shape[1])))
    return failure();
  auto codes = dyn_cast<FormatAttr>(rowFormat);
  if (codes && !codes.isExact() &&
      failed(verifyTiles(emitError, codes.getLayoutOrDefault().getTile(), page,
                         ring)))
    return failure();
  if (codes && !codes.isExact() && tokenMajor &&
      codes.getLayoutOrDefault().getTile().exists())
    return emitError() << "expected rows of a head together in tiles, got "
                          "token_major";
  if (int64_t heads = format.getGroupHeads(shape[1]); tokenMajor && heads != 1)
    return emitError() << "expected groups of one head with token_major, got "
                       << heads;
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

int64_t CacheType::getKeptRows() const {
  return llvm::alignTo(getKeepFirst() - getExactFirst(),
                       getPage().value_or(getTokenGroup()));
}

int64_t CacheType::getRingRows() const {
  return llvm::alignTo(getNewestTokens(), getPage().value_or(getTokenGroup()));
}

int64_t CacheType::getFlushedTokens(int64_t length) const {
  int64_t beyond = std::max<int64_t>(length - getHeldTokens(), 0);
  return beyond / getFlushTokens() * getFlushTokens();
}

int64_t CacheType::getQuantizedRows(int64_t capacity) const {
  if (isRing())
    return getKeptRows() + getRingRows();
  if (ShapedType::isDynamic(capacity))
    return ShapedType::kDynamic;
  return getFlushedTokens(capacity);
}

/// The components with rows of quantized tokens in `blocks`, sequences or
/// pages, of `rows` each.
static SmallVector<StorageComponent>
listComponents(CacheType type, int64_t blocks, int64_t rows) {
  // A cache line, so that no row of the first token is split.
  constexpr int64_t kAlignment = 64;
  FormatInterface format = type.getFormat();
  int64_t heads = type.getHeads(), headDim = type.getHeadDim();
  Type elementType = type.getElementType();
  SmallVector<StorageComponent> components;
  auto addRows = [&](ComponentKind kind, int64_t heads, int64_t rows,
                     int64_t rowSize, Type element) {
    SmallVector<int64_t> shape = {blocks, heads, rows, rowSize};
    if (type.getTokenMajor())
      std::swap(shape[1], shape[2]);
    components.push_back({kind, shape, element, kAlignment});
  };
  // One row, the same for all sequences.
  auto addGiven = [&](ComponentKind kind, int64_t heads, int64_t rowSize,
                      Type element) {
    components.push_back({kind,
                          {1, heads, 1, rowSize},
                          element,
                          kAlignment,
                          /*given=*/true});
  };
  auto addWindow = [&](ComponentKind kind, int64_t rows) {
    if (rows != 0)
      components.push_back({kind,
                            {type.getBatch(), heads, rows, headDim},
                            elementType,
                            kAlignment});
  };

  RowLayout layout = type.getRowLayout();
  Type byte = IntegerType::get(type.getContext(), 8);
  auto addPacked = [&](ComponentKind kind, const PackedRow &row) {
    if (row.exists())
      addRows(kind, heads,
              ShapedType::isDynamic(rows) ? rows : rows / row.tokens,
              row.getBytes(), byte);
  };
  TileOrder tile = layout.tile;
  auto addTiles = [&](ComponentKind kind, ArrayRef<int64_t> shape,
                      Type element) {
    int64_t tiles = ShapedType::isDynamic(rows)
                        ? rows
                        : llvm::divideCeil(rows, tile.tokens);
    SmallVector<int64_t> all = {blocks, heads, tiles};
    all.append(shape.begin(), shape.end());
    components.push_back({kind, all, element, kAlignment});
  };
  if (tile.exists())
    addTiles(ComponentKind::Codes, tile.getShape(layout.codes.getBytes()),
             byte);
  else
    addPacked(ComponentKind::Codes, layout.codes);
  addPacked(ComponentKind::Records, layout.records);
  if (format.isExact()) {
    if (!layout.records.exists())
      addRows(ComponentKind::Values, heads, rows, headDim, elementType);
  } else {
    int64_t group = type.getTokenGroup();
    int64_t groupRows = ShapedType::isDynamic(rows) ? rows : rows / group;
    int64_t groupsPerRow = headDim / format.getGroupChannels(headDim);
    int64_t groupHeads = heads / type.getGroupHeads();
    auto addMetadata = [&](ComponentKind kind, Type element) {
      if (format.hasStaticRange())
        addGiven(kind, groupHeads, groupsPerRow, element);
      else if (tile.hasMetadata())
        addTiles(kind, {groupsPerRow, tile.tokens}, element);
      else
        addRows(kind, groupHeads, groupRows, groupsPerRow, element);
    };
    if (!layout.storesScales())
      addMetadata(ComponentKind::Scales, format.getScaleType());
    if (Type zero = format.getZeroType(); zero && !layout.storesZeros())
      addMetadata(ComponentKind::Zeros, zero);
    if (Type outer = format.getOuterScaleType())
      addGiven(ComponentKind::OuterScales, groupHeads, /*rowSize=*/1, outer);
    if (Type center = format.getCenterType())
      addGiven(ComponentKind::Means, heads, headDim, center);
    if (type.getRotation() != 0)
      addGiven(ComponentKind::Signs, /*heads=*/1, headDim,
               IntegerType::get(type.getContext(), 8));
  }
  addWindow(ComponentKind::First, type.getExactFirst());
  addWindow(ComponentKind::Recent, type.getRecentRows());
  return components;
}

/// The components of each segment, one after the other; the row of all of them,
/// if there is one, is the first.
static SmallVector<StorageComponent>
collectSegments(CacheType type,
                function_ref<SmallVector<StorageComponent>(CacheType)> list) {
  SmallVector<StorageComponent> components;
  bool hasRow = type.getSegments().hasRow();
  for (auto [index, segment] : llvm::enumerate(type.getSegmentCaches()))
    for (StorageComponent &component : list(segment)) {
      bool isRow = hasRow && component.kind == ComponentKind::Records;
      if (isRow && index != 0)
        continue;
      if (!isRow)
        component.segment = index;
      components.push_back(std::move(component));
    }
  return components;
}

SmallVector<unsigned> CacheType::getSegmentComponents(unsigned segment) const {
  SmallVector<unsigned> indices;
  for (auto [index, component] : llvm::enumerate(getComponents()))
    if (component.segment.value_or(segment) == segment)
      indices.push_back(index);
  return indices;
}

SmallVector<StorageComponent> CacheType::getComponents(int64_t capacity) const {
  if (getSegments())
    return collectSegments(*this, [&](CacheType segment) {
      return segment.getComponents(capacity);
    });
  int64_t rows = getQuantizedRows(capacity);
  if (!isPaged())
    return listComponents(*this, getBatch(), rows);
  if (ShapedType::isDynamic(capacity))
    return getPoolComponents(ShapedType::kDynamic);
  // Where the product overflows, so do the bytes.
  int64_t ofSequence = llvm::divideCeil(rows, *getPage());
  std::optional<int64_t> pages = llvm::checkedMul(getBatch(), ofSequence);
  return getPoolComponents(pages.value_or(std::numeric_limits<int64_t>::max()));
}

SmallVector<StorageComponent>
CacheType::getPoolComponents(int64_t pages) const {
  if (getSegments())
    return collectSegments(*this, [&](CacheType segment) {
      return segment.getPoolComponents(pages);
    });
  return listComponents(*this, pages, *getPage());
}

CacheType CacheType::withShape(ArrayRef<int64_t> shape) const {
  return get(getContext(), shape, getElementType(), getRowFormat(),
             getExactFirst(), getRecent(), getResidual(), getPage(), getRing(),
             getKeepFirst(), getTokenMajor());
}

bool CacheType::hasOpenLayout() const {
  if (getSegments())
    return llvm::any_of(getSegments().getFormats(), [](Attribute format) {
      return cast<FormatInterface>(format).hasOpenLayout();
    });
  return getFormat().hasOpenLayout();
}

TileOrder CacheType::getTileOrder() const {
  if (!getFormat() || getFormat().isExact())
    return {};
  return getRowLayout().tile;
}

CacheType CacheType::withoutTiles() const {
  auto format = dyn_cast<FormatAttr>(getRowFormat());
  if (!format || format.isExact() || !format.getLayout())
    return *this;
  return get(getContext(), getShape(), getElementType(),
             format.withLayout(format.getLayout().withoutTile()),
             getExactFirst(), getRecent(), getResidual(), getPage(), getRing(),
             getKeepFirst(), getTokenMajor());
}

CacheType CacheType::withoutPages() const {
  return get(getContext(), getShape(), getElementType(), getRowFormat(),
             getExactFirst(), getRecent(), getResidual(),
             /*page=*/std::nullopt, getRing(), getKeepFirst(), getTokenMajor());
}

int64_t CacheType::getRowTokens(ComponentKind kind) const {
  switch (kind) {
  case ComponentKind::Codes:
    return getRowLayout().codes.tokens;
  case ComponentKind::Records:
    return getRowLayout().records.tokens;
  case ComponentKind::Scales:
  case ComponentKind::Zeros:
    return getTokenGroup();
  default:
    return 1;
  }
}

std::optional<unsigned> CacheType::findComponent(ComponentKind kind) const {
  for (auto [index, component] : llvm::enumerate(getComponents()))
    if (component.kind == kind)
      return index;
  return std::nullopt;
}

std::string CacheType::whyNotChannels(int64_t begin, int64_t end) const {
  std::string reason;
  llvm::raw_string_ostream os(reason);
  int64_t first = 0;
  for (CacheType segment : getSegmentCaches()) {
    int64_t last = first + segment.getHeadDim();
    FormatInterface format = segment.getFormat();
    bool isCut = (begin > first && begin < last) || (end > first && end < last);
    if (isCut && (format.getRotation() != 0 || format.getCenterType())) {
      os << "cut rows that are "
         << (format.getRotation() != 0 ? "rotated" : "centred");
      return reason;
    }
    bool isRead = begin < last && end > first;
    if (isRead && format.isBeforeRope()) {
      os << "choose from channels that RoPE turns as they are read";
      return reason;
    }
    if (isCut && !format.isExact()) {
      int64_t group = format.getGroupChannels(segment.getHeadDim());
      for (int64_t border : {begin, end})
        if (border > first && border < last && (border - first) % group != 0) {
          os << "cut a group of " << group << " channels at channel " << border;
          return reason;
        }
    }
    first = last;
  }
  return reason;
}
