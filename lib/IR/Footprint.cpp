//===- Footprint.cpp - Bytes of a cache -----------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/Footprint.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

/// The axis of a component's shape that grows with the tokens, and the one that
/// is a row.
enum Axis : unsigned { kRows = 2, kRow = 3 };

using Bytes = std::optional<int64_t>;

static Bytes multiply(Bytes a, Bytes b) {
  return a && b ? llvm::checkedMul(*a, *b) : std::nullopt;
}

static Bytes add(Bytes a, Bytes b) {
  return a && b ? llvm::checkedAdd(*a, *b) : std::nullopt;
}

/// Whole bytes that hold so many bits.
static Bytes toBytes(Bytes bits) {
  return bits ? Bytes(llvm::divideCeil(*bits, 8)) : std::nullopt;
}

/// Bytes at the end of each row that hold no code.
static Bytes getRowPadding(CacheType type, const StorageComponent &component) {
  if (component.kind == ComponentKind::Records) {
    PackedRow row = type.getRowLayout().records;
    int64_t skipped = 0;
    for (const StoredField &field : row.fields)
      if (field.field == RowField::Skip)
        skipped += field.bytes;
    return row.records * skipped;
  }
  if (component.kind != ComponentKind::Codes)
    return 0;
  Bytes elements =
      multiply(type.getHeadDim(), type.getRowTokens(component.kind));
  Bytes filled = toBytes(multiply(elements, type.getFormat().getCodeBits()));
  return add(component.shape[kRow], multiply(filled, -1));
}

/// The component that a field of a record would be by itself.
static ComponentKind getKind(RowField field) {
  switch (field) {
  case RowField::Codes:
  case RowField::High:
    return ComponentKind::Codes;
  case RowField::Scale:
  case RowField::ScaleZero:
    return ComponentKind::Scales;
  case RowField::Zero:
    return ComponentKind::Zeros;
  case RowField::Values:
    return ComponentKind::Values;
  case RowField::Skip:
    break;
  }
  llvm_unreachable("what is skipped is padding");
}

/// Adds a component of `rows` rows to `split`, `bytes` without their padding;
/// records by what they hold.
static void addByKind(ByteSplit &split, CacheType type,
                      const StorageComponent &component, int64_t rows,
                      int64_t bytes) {
  if (component.kind != ComponentKind::Records) {
    split.components.emplace_back(component.kind, bytes);
    return;
  }
  PackedRow row = type.getRowLayout().records;
  for (ComponentKind kind : {ComponentKind::Codes, ComponentKind::Values,
                             ComponentKind::Scales, ComponentKind::Zeros}) {
    int64_t perRecord = 0;
    for (const StoredField &field : row.fields)
      if (field.field != RowField::Skip && getKind(field.field) == kind)
        perRecord += field.bytes;
    if (perRecord != 0)
      split.components.emplace_back(kind, rows * row.records * perRecord);
  }
}

/// Adds a component to `split`; false where the numbers grow too large.
static bool addComponent(ByteSplit &split, CacheType type,
                         const StorageComponent &component) {
  Bytes rows = 1;
  for (int64_t extent : ArrayRef(component.shape).drop_back())
    rows = multiply(rows, extent);
  Bytes elements = multiply(rows, component.shape[kRow]);
  Bytes bytes = multiply(
      elements, toBytes(component.elementType.getIntOrFloatBitWidth()));
  Bytes padding = multiply(rows, getRowPadding(type, component));
  Bytes sum = add(split.total, bytes);
  // Rounding up to the alignment has to be possible too.
  if (!padding || !sum || !add(bytes, component.alignment))
    return false;
  addByKind(split, type, component, *rows, *bytes - *padding);
  split.padding += *padding;
  split.total = *sum;
  split.alignment += llvm::alignTo(*bytes, component.alignment) - *bytes;
  return true;
}

/// Bytes between `components` of sizes that are known to be numbers.
static int64_t countAlignment(ArrayRef<StorageComponent> components) {
  int64_t alignment = 0;
  for (const StorageComponent &component : components) {
    int64_t bytes = component.elementType.getIntOrFloatBitWidth() / 8 *
                    ShapedType::getNumElements(component.shape);
    alignment += llvm::alignTo(bytes, component.alignment) - bytes;
  }
  return alignment;
}

static FailureOr<ByteSplit> sumUp(CacheType type,
                                  ArrayRef<StorageComponent> components) {
  ByteSplit split;
  for (const StorageComponent &component : components)
    if (!addComponent(split, type, component))
      return failure();
  return split;
}

SmallVector<std::pair<StringRef, int64_t>, 7> ByteSplit::getParts() const {
  SmallVector<std::pair<StringRef, int64_t>, 7> parts;
  for (auto [kind, bytes] : components)
    parts.emplace_back(stringifyComponentKind(kind), bytes);
  parts.emplace_back("padding", padding);
  if (pageTails)
    parts.emplace_back("page_tails", *pageTails);
  return parts;
}

/// Adds `times` what another cache takes to `sum`; false where the numbers grow
/// too large.
static bool addSplit(ByteSplit &sum, const ByteSplit &split, int64_t times) {
  auto addTo = [&](int64_t &total, int64_t bytes) {
    Bytes result = add(total, multiply(bytes, times));
    total = result.value_or(0);
    return result.has_value();
  };
  for (auto [kind, bytes] : split.components) {
    auto *found = llvm::find_if(sum.components, [&, kind = kind](auto &part) {
      return part.first == kind;
    });
    if (found == sum.components.end()) {
      sum.components.emplace_back(kind, 0);
      found = &sum.components.back();
    }
    if (!addTo(found->second, bytes))
      return false;
  }
  if (split.pageTails &&
      !addTo(sum.pageTails ? *sum.pageTails : sum.pageTails.emplace(0),
             *split.pageTails))
    return false;
  return addTo(sum.padding, split.padding) && addTo(sum.total, split.total) &&
         addTo(sum.alignment, split.alignment);
}

/// Takes what belongs to others out of `split`, that of a segment in a row of
/// all; what the row takes as a whole stays with the first one.
static void removeShared(ByteSplit &split, bool isFirst) {
  split.total -= split.padding;
  split.padding = 0;
  if (isFirst || !split.pageTails)
    return;
  split.total -= *split.pageTails;
  split.pageTails = 0;
}

/// What the segments of a cache take together, each measured by `measure`,
/// which also says how often it counts.
static FailureOr<ByteSplit> sumUpSegments(
    CacheType type,
    function_ref<std::pair<FailureOr<ByteSplit>, int64_t>(CacheType)> measure) {
  ByteSplit sum;
  bool hasRow = type.getSegments().hasRow();
  for (auto [index, segment] : llvm::enumerate(type.getSegmentCaches())) {
    auto [split, times] = measure(segment);
    if (failed(split))
      return failure();
    // What a segment skips of a row of all is what the others have in it.
    if (hasRow)
      removeShared(*split, /*isFirst=*/index == 0);
    if (!addSplit(sum, *split, times))
      return failure();
  }
  return sum;
}

/// Bytes of components with rows of quantized tokens.
static Bytes sumUpTokens(CacheType type,
                         ArrayRef<StorageComponent> components) {
  SmallVector<StorageComponent> rows;
  llvm::copy_if(components, std::back_inserter(rows),
                [](const StorageComponent &component) {
                  return !component.given &&
                         component.kind != ComponentKind::First &&
                         component.kind != ComponentKind::Recent;
                });
  FailureOr<ByteSplit> split = sumUp(type, rows);
  return succeeded(split) ? Bytes(split->total) : std::nullopt;
}

/// Turns `split`, of `components` that have the rows of a sequence one after
/// the other, into that of the same rows in pages, as many as hold `rows`.
static FailureOr<ByteSplit> addPageTails(CacheType type,
                                         ArrayRef<StorageComponent> components,
                                         int64_t rows,
                                         FailureOr<ByteSplit> split) {
  if (!type.isPaged() || failed(split))
    return split;
  Bytes pages =
      multiply(type.getBatch(), llvm::divideCeil(rows, *type.getPage()));
  if (!pages)
    return failure();
  Bytes inPages = sumUpTokens(type, type.getPoolComponents(*pages));
  Bytes inRows = sumUpTokens(type.withoutPages(), components);
  if (!inPages || !inRows)
    return failure();
  split->pageTails = *inPages - *inRows;
  split->total += *split->pageTails;
  return split;
}

/// Adds rows of the last tile that hold no token to `split`, of a cache like
/// `type` with rows one after the other, as padding. Pages hold whole tiles.
static FailureOr<ByteSplit> addTileTails(CacheType type, int64_t length,
                                         FailureOr<ByteSplit> split) {
  TileOrder tile = type.getTileOrder();
  if (type.isPaged())
    return split;
  int64_t rows = type.getQuantizedRows(length);
  FailureOr<ByteSplit> group = getTokenGroupBytes(type.withoutTiles());
  if (failed(split) || failed(group))
    return failure();
  int64_t bytes = group->total;
  if (!tile.hasMetadata())
    bytes = llvm::find_if(group->components, [](const auto &component) {
              return component.first == ComponentKind::Codes;
            })->second;
  Bytes tails =
      multiply(llvm::divideCeil(rows, tile.tokens) * tile.tokens - rows, bytes);
  Bytes total = add(split->total, tails);
  if (!total)
    return failure();
  split->padding += *tails;
  split->total = *total;
  return split;
}

FailureOr<ByteSplit> kvq::getAllocatedBytes(CacheType type, int64_t capacity) {
  if (type.getTileOrder().exists())
    return addTileTails(type, capacity,
                        getAllocatedBytes(type.withoutTiles(), capacity));
  if (type.getSegments()) {
    FailureOr<ByteSplit> sum = sumUpSegments(type, [&](CacheType segment) {
      return std::pair(getAllocatedBytes(segment, capacity), int64_t(1));
    });
    // A row of all segments is aligned once.
    if (succeeded(sum) && type.getSegments().hasRow())
      sum->alignment = countAlignment(type.getComponents(capacity));
    return sum;
  }
  CacheType unpaged = type.withoutPages();
  SmallVector<StorageComponent> components = unpaged.getComponents(capacity);
  FailureOr<ByteSplit> split =
      addPageTails(type, components, type.getQuantizedRows(capacity),
                   sumUp(unpaged, components));
  FailureOr<ByteSplit> pages = sumUp(type, type.getComponents(capacity));
  if (failed(split) || failed(pages))
    return failure();
  split->alignment = pages->alignment;
  return split;
}

FailureOr<ByteSplit> kvq::getRetainedBytes(CacheType type, int64_t length) {
  if (type.getTileOrder().exists())
    return addTileTails(type, length,
                        getRetainedBytes(type.withoutTiles(), length));
  if (type.getSegments())
    return sumUpSegments(type, [&](CacheType segment) {
      return std::pair(getRetainedBytes(segment, length), int64_t(1));
    });
  SmallVector<StorageComponent> components =
      type.withoutPages().getComponents(length);
  // Of whole groups that have left the window a ring has but the newest. The
  // other tokens are exact, the first ones first.
  int64_t flushed = type.getFlushedTokens(length);
  int64_t exact = length - flushed;
  for (StorageComponent &component : components) {
    // What is given is there whatever the length.
    if (component.given)
      continue;
    int64_t &rows = component.shape[kRows];
    switch (component.kind) {
    case ComponentKind::Codes:
    case ComponentKind::Values:
    case ComponentKind::Records:
    case ComponentKind::Scales:
    case ComponentKind::Zeros:
      rows = std::min(rows, flushed / type.getRowTokens(component.kind));
      break;
    case ComponentKind::First:
    case ComponentKind::Recent:
      rows = std::min(rows, exact);
      exact -= rows;
      break;
    case ComponentKind::OuterScales:
    case ComponentKind::Means:
    case ComponentKind::Signs:
      llvm_unreachable("always given");
    }
  }
  int64_t rows = std::min(flushed, type.getQuantizedRows(length));
  FailureOr<ByteSplit> split =
      addPageTails(type, components, rows, sumUp(type, components));
  if (succeeded(split))
    split->alignment = 0;
  return split;
}

FailureOr<ByteSplit> kvq::getTokenGroupBytes(CacheType type) {
  if (type.getTileOrder().exists())
    return getTokenGroupBytes(type.withoutTiles());
  // Exact segments count for each token of a group.
  if (type.getSegments())
    return sumUpSegments(type, [&](CacheType segment) {
      return std::pair(getTokenGroupBytes(segment),
                       type.getTokenGroup() / segment.getTokenGroup());
    });
  if (type.isPaged()) {
    FailureOr<ByteSplit> bytes = getTokenGroupBytes(type.withoutPages());
    if (succeeded(bytes))
      bytes->pageTails = 0;
    return bytes;
  }
  int64_t windows = type.getExactFirst() + type.getRecentRows();
  FailureOr<ByteSplit> before = getAllocatedBytes(type, windows);
  // Rows come for as many tokens as are flushed at once, whole groups.
  FailureOr<ByteSplit> after =
      getAllocatedBytes(type, windows + type.getFlushTokens());
  if (failed(before) || failed(after))
    return failure();
  int64_t groups = type.getFlushTokens() / type.getTokenGroup();
  for (auto [more, less] : llvm::zip(after->components, before->components))
    more.second = (more.second - less.second) / groups;
  after->padding = (after->padding - before->padding) / groups;
  after->total = (after->total - before->total) / groups;
  after->alignment = 0;
  return after;
}
