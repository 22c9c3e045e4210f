//===- Policy.cpp - Syntax, checks and look-up of #kvq.policy ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/Policy.h"

#include "FieldList.h"

#include "mlir/IR/DialectImplementation.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

namespace {

/// One half-open range.
struct Interval {
  int64_t begin, end;
};

} // namespace

static SmallVector<Interval> getIntervals(ArrayRef<int64_t> ranges) {
  SmallVector<Interval> intervals;
  for (size_t i = 0; i + 1 < ranges.size(); i += 2)
    intervals.push_back({ranges[i], ranges[i + 1]});
  return intervals;
}

bool kvq::contains(ArrayRef<int64_t> ranges, int64_t number) {
  return llvm::any_of(getIntervals(ranges), [&](Interval interval) {
    return interval.begin <= number && number < interval.end;
  });
}

/// A number that both hold, if there is one.
static std::optional<int64_t> findCommon(Interval a, Interval b) {
  int64_t begin = std::max(a.begin, b.begin);
  return begin < std::min(a.end, b.end) ? std::optional(begin) : std::nullopt;
}

static std::optional<int64_t> findCommon(ArrayRef<int64_t> a,
                                         ArrayRef<int64_t> b) {
  for (Interval left : getIntervals(a))
    for (Interval right : getIntervals(b))
      if (std::optional<int64_t> number = findCommon(left, right))
        return number;
  return std::nullopt;
}

/// Parses `[0, 4:8]`.
static ParseResult parseRanges(AsmParser &parser,
                               SmallVectorImpl<int64_t> &ranges) {
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    int64_t begin;
    if (parser.parseInteger(begin))
      return failure();
    if (begin < 0)
      return parser.emitError(loc)
             << "expected a number of at least 0, got " << begin;
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (begin == kMost)
      return parser.emitError(loc) << "expected a number below " << kMost;
    int64_t end = begin + 1;
    if (succeeded(parser.parseOptionalColon()) && parser.parseInteger(end))
      return failure();
    if (end <= begin)
      return parser.emitError(loc) << "expected a range that ends beyond "
                                   << begin << ", got " << begin << ":" << end;
    ranges.append({begin, end});
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  if (ranges.empty())
    return parser.emitError(loc) << "expected at least one number or range";
  return success();
}

static void printRanges(AsmPrinter &printer, ArrayRef<int64_t> ranges) {
  printer << "[";
  llvm::interleaveComma(getIntervals(ranges), printer, [&](Interval interval) {
    printer << interval.begin;
    if (interval.end != interval.begin + 1)
      printer << ":" << interval.end;
  });
  printer << "]";
}

//===----------------------------------------------------------------------===//
// PolicyEntryAttr
//===----------------------------------------------------------------------===//

namespace {

/// The fields of an entry as they are written.
struct EntryFields {
  std::optional<CacheSide> side;
  SmallVector<int64_t> layers, heads;
  Attribute format;
  std::optional<int64_t> exactFirst, recent, residual;
};

} // namespace

static ParseResult parseSide(AsmParser &parser, EntryFields &fields) {
  return parseSymbol(parser, "side keys or values", symbolizeCacheSide,
                     fields.side.emplace());
}

Attribute PolicyEntryAttr::parse(AsmParser &parser, Type) {
  EntryFields fields;
  llvm::StringSet<> seen;
  SMLoc loc = parser.getCurrentLocation();
  auto parseWindow = [&](std::optional<int64_t> &window) {
    return parser.parseInteger(window.emplace());
  };
  const ListedField listed[] = {
      {"side", [&] { return parseSide(parser, fields); }},
      {"layers", [&] { return parseRanges(parser, fields.layers); }},
      {"heads", [&] { return parseRanges(parser, fields.heads); }},
      {"format", [&] { return parser.parseAttribute(fields.format); }},
      {"exact_first", [&] { return parseWindow(fields.exactFirst); }},
      {"recent", [&] { return parseWindow(fields.recent); }},
      {"residual", [&] { return parseWindow(fields.residual); }}};
  if (parseFieldList(parser, " of an entry of a policy", listed, seen))
    return {};
  if (!fields.format) {
    parser.emitError(loc) << "expected field 'format'";
    return {};
  }
  return parser.getChecked<PolicyEntryAttr>(
      loc, parser.getContext(), fields.side, ArrayRef<int64_t>(fields.layers),
      ArrayRef<int64_t>(fields.heads), fields.format,
      fields.exactFirst.value_or(0), fields.recent, fields.residual);
}

void PolicyEntryAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (getSide())
    printer << "side = " << stringifyCacheSide(*getSide()) << ", ";
  for (auto [name, ranges] :
       {std::pair("layers", getLayers()), std::pair("heads", getHeads())}) {
    if (ranges.empty())
      continue;
    printer << name << " = ";
    printRanges(printer, ranges);
    printer << ", ";
  }
  printer << "format = " << getRowFormat();
  if (getExactFirst() != 0)
    printer << ", exact_first = " << getExactFirst();
  if (getRecent())
    printer << ", recent = " << *getRecent();
  if (getResidual())
    printer << ", residual = " << *getResidual();
  printer << ">";
}

LogicalResult
PolicyEntryAttr::verify(EmitError emitError, std::optional<CacheSide>,
                        ArrayRef<int64_t> layers, ArrayRef<int64_t> heads,
                        Attribute rowFormat, int64_t, std::optional<int64_t>,
                        std::optional<int64_t>) {
  if (!isa<FormatInterface, SegmentsAttr>(rowFormat))
    return emitError() << "expected a format or #kvq.segments, got "
                       << rowFormat;
  for (auto [name, ranges] :
       {std::pair("layer", layers), std::pair("head", heads)}) {
    SmallVector<Interval> intervals = getIntervals(ranges);
    for (size_t i = 0; i < intervals.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (auto number = findCommon(intervals[j], intervals[i]))
          return emitError()
                 << name << " " << *number << " is named twice by one entry";
  }
  return success();
}

CacheType PolicyEntryAttr::getCacheType(EmitError emitError,
                                        CacheType cache) const {
  // An exempt cache stays as it is. Windows that it cannot have are an error.
  auto format = dyn_cast<FormatInterface>(getRowFormat());
  bool isExempt = format && format.isExact() && getExactFirst() == 0 &&
                  !getRecent() && !getResidual();
  if (isExempt)
    return cache;
  return CacheType::getChecked(emitError, getContext(), cache.getShape(),
                               cache.getElementType(), getRowFormat(),
                               getExactFirst(), getRecent(), getResidual(),
                               cache.getPage(), cache.getRing(),
                               cache.getKeepFirst(), cache.getTokenMajor());
}

//===----------------------------------------------------------------------===//
// PolicyAttr
//===----------------------------------------------------------------------===//

Attribute PolicyAttr::parse(AsmParser &parser, Type) {
  SmallVector<PolicyEntryAttr> entries;
  SMLoc loc = parser.getCurrentLocation();
  // Entries are written without their name.
  auto parseEntry = [&]() -> ParseResult {
    auto entry =
        cast_or_null<PolicyEntryAttr>(PolicyEntryAttr::parse(parser, Type()));
    entries.push_back(entry);
    return success(entry != nullptr);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseEntry, " of a policy"))
    return {};
  return parser.getChecked<PolicyAttr>(loc, parser.getContext(),
                                       ArrayRef<PolicyEntryAttr>(entries));
}

void PolicyAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getEntries(), printer,
                        [&](PolicyEntryAttr entry) { entry.print(printer); });
  printer << ">";
}

/// A side that both entries are for, if there is one.
static std::optional<CacheSide> findCommonSide(PolicyEntryAttr a,
                                               PolicyEntryAttr b) {
  for (CacheSide side : {CacheSide::Keys, CacheSide::Values})
    if (a.hasSide(side) && b.hasSide(side))
      return side;
  return std::nullopt;
}

LogicalResult PolicyAttr::verify(EmitError emitError,
                                 ArrayRef<PolicyEntryAttr> entries) {
  if (entries.empty())
    return emitError() << "expected at least one entry";
  for (auto [j, b] : llvm::enumerate(entries)) {
    for (auto [i, a] : llvm::enumerate(entries.take_front(j))) {
      std::optional<CacheSide> side = findCommonSide(a, b);
      bool forAllLayers = a.getLayers().empty();
      // An entry for all heads takes those that the other leaves.
      if (!side || forAllLayers != b.getLayers().empty() ||
          a.getHeads().empty() != b.getHeads().empty())
        continue;
      std::optional<int64_t> layer = findCommon(a.getLayers(), b.getLayers());
      std::optional<int64_t> head = findCommon(a.getHeads(), b.getHeads());
      if ((!forAllLayers && !layer) || (!a.getHeads().empty() && !head))
        continue;
      InFlightDiagnostic error = emitError();
      if (head)
        error << "head " << *head << " of the ";
      if (layer)
        error << stringifyCacheSide(*side) << " of layer " << *layer;
      else
        error << stringifyCacheSide(*side) << " of all other layers";
      return error << (head ? " is" : " are") << " named twice, by entries "
                   << i << " and " << j;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Look-up
//===----------------------------------------------------------------------===//

std::string kvq::describe(PolicyKey key) {
  std::string text = stringifyCacheSide(key.side).str();
  return key.layer ? text + " of layer " + std::to_string(*key.layer)
                   : text + " without a layer";
}

/// How much an entry says of a head; 0 if it is not for it. Names count more
/// than the absence of any, of layers more than of heads.
static unsigned getPrecision(PolicyEntryAttr entry, PolicyKey key,
                             int64_t head) {
  auto isNamed = [](ArrayRef<int64_t> ranges, std::optional<int64_t> number) {
    return number && contains(ranges, *number);
  };
  ArrayRef<int64_t> layers = entry.getLayers(), heads = entry.getHeads();
  if (!entry.hasSide(key.side) ||
      (!layers.empty() && !isNamed(layers, key.layer)) ||
      (!heads.empty() && !isNamed(heads, head)))
    return 0;
  return 1 + (heads.empty() ? 0 : 1) + (layers.empty() ? 0 : 2);
}

/// Heads at which the entry may change, 0 and `heads` among them.
static std::set<int64_t> getBorders(ArrayRef<PolicyEntryAttr> entries,
                                    int64_t heads) {
  std::set<int64_t> borders = {0, heads};
  for (PolicyEntryAttr entry : entries)
    for (int64_t border : entry.getHeads())
      if (border < heads)
        borders.insert(border);
  return borders;
}

FailureOr<SmallVector<PolicyPart>>
PolicyMatcher::match(EmitError emitError, PolicyKey key, int64_t heads) {
  ArrayRef<PolicyEntryAttr> entries = policy.getEntries();
  if (key.layer)
    layers.insert(*key.layer);
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (!entry.hasSide(key.side))
      continue;
    if (!key.layer && !entry.getLayers().empty())
      return emitError() << "entry " << index
                         << " of the policy names layers, but not all caches "
                            "have one: expected the attribute kvq.layer";
    if (!entry.getLayers().empty() && !contains(entry.getLayers(), *key.layer))
      continue;
    for (Interval interval : getIntervals(entry.getHeads()))
      if (interval.end > heads)
        return emitError() << "entry " << index << " of the policy names head "
                           << interval.end - 1 << ", but the " << describe(key)
                           << " have " << heads << " KV heads";
  }

  SmallVector<PolicyPart> parts;
  std::set<int64_t> borders = getBorders(entries, heads);
  for (auto begin = borders.begin(), end = std::next(begin);
       end != borders.end(); ++begin, ++end) {
    PolicyEntryAttr best;
    unsigned bestIndex = 0, bestPrecision = 0;
    for (auto [index, entry] : llvm::enumerate(entries)) {
      unsigned precision = getPrecision(entry, key, *begin);
      if (precision <= bestPrecision)
        continue;
      best = entry;
      bestIndex = index;
      bestPrecision = precision;
    }
    if (best)
      record(bestIndex, key);
    if (!parts.empty() && parts.back().entry == best)
      parts.back().end = *end;
    else
      parts.push_back({*begin, *end, best});
  }
  return parts;
}

SmallVector<PolicyPart> kvq::cutAlike(ArrayRef<PolicyPart> parts,
                                      ArrayRef<PolicyPart> others) {
  SmallVector<PolicyPart> result;
  for (PolicyPart part : parts) {
    for (const PolicyPart &other : others) {
      if (other.begin <= part.begin || other.begin >= part.end)
        continue;
      result.push_back({part.begin, other.begin, part.entry});
      part.begin = other.begin;
    }
    result.push_back(part);
  }
  return result;
}

void PolicyMatcher::record(unsigned entry, PolicyKey key) {
  std::set<int64_t> &found = matched[entry];
  if (key.layer)
    found.insert(*key.layer);
}

LogicalResult PolicyMatcher::verifyAllMatched(EmitError emitError) const {
  for (auto [index, entry] : llvm::enumerate(policy.getEntries())) {
    auto found = matched.find(index);
    for (Interval interval : getIntervals(entry.getLayers()))
      for (int64_t layer = interval.begin; layer < interval.end; ++layer) {
        if (found != matched.end() && found->second.count(layer))
          continue;
        InFlightDiagnostic error = emitError();
        error << "entry " << index << " of the policy names layer " << layer
              << ", but no cache that it could be for has it";
        if (!layers.empty())
          error << ": layers are " << *layers.begin() << " to "
                << *layers.rbegin();
        return error;
      }
    if (found == matched.end())
      return emitError() << "entry " << index
                         << " of the policy matches no cache: others name all, "
                            "or there is none";
  }
  return success();
}

FailureOr<PolicyAttr> kvq::getOnlyPolicy(ModuleOp module) {
  auto policy = module->getAttrOfType<PolicyAttr>(kPolicyAttrName);
  if (!policy)
    return module->emitError()
           << "expected a module with the attribute " << kPolicyAttrName;
  if (!module.getBody()->empty())
    return module.getBody()->front().emitError()
           << "expected a module with a policy and no ops";
  return policy;
}
