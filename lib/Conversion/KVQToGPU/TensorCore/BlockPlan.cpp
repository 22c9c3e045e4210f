//===- BlockPlan.cpp - How a block attends to tokens ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockPlan.h"

#include "kvq/Conversion/Capabilities.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Where channels lie
//===----------------------------------------------------------------------===//

int64_t SidePlan::getChannel(int64_t byte, int64_t plane) const {
  if (element.isExact())
    return byte / 2;
  CodeOrder order = cache.getRowLayout().parts.front().order;
  int64_t roundBytes = order.elements * element.bits / 8;
  int64_t round = byte / roundBytes, inRound = byte % roundBytes;
  int64_t first = round * order.elements;
  if (order.kind == OrderKind::Planar)
    return first + inRound + plane * roundBytes;
  // A stream of codes, each `stride`th of the round first.
  int64_t position = inRound * element.getPlanes() + plane;
  int64_t perStride = order.elements / order.stride;
  return first + position % perStride * order.stride + position / perStride;
}

/// The channels of one element of each of `count` lanes, `bytes` apart, if they
/// are as far apart from each other: the first one and the distance.
static std::optional<std::pair<int64_t, int64_t>>
getChannelsOfLanes(const SidePlan &side, int64_t byte, int64_t plane,
                   int64_t bytes, int64_t count) {
  int64_t first = side.getChannel(byte, plane);
  int64_t stride = side.getChannel(byte + bytes, plane) - first;
  for (int64_t lane = 1; lane != count; ++lane)
    if (side.getChannel(byte + lane * bytes, plane) != first + lane * stride)
      return std::nullopt;
  return std::pair(first, stride);
}

/// The group that channels of `lanes` lanes are all of, if there is one:
/// `channels` are lane 0's.
static std::optional<int64_t> getGroupOfLanes(const SidePlan &side,
                                              ArrayRef<int64_t> channels,
                                              int64_t stride, int64_t lanes) {
  int64_t group = side.getGroup(channels.front());
  for (int64_t channel : channels)
    for (int64_t lane = 0; lane != lanes; ++lane)
      if (side.getGroup(channel + lane * stride) != group)
        return std::nullopt;
  return group;
}

/// The products along channels for lanes that load `loadBytes` at once; fails
/// where they mix groups.
static std::optional<SmallVector<KeyStep>> planKeys(const SidePlan &key) {
  const StoredElement &element = key.element;
  int64_t loads = key.rowBytes / (4 * key.loadBytes);
  int64_t wordsPerLoad = key.loadBytes / 4;
  int64_t wordsPerStep = element.isExact() ? 2 : 1;
  if (key.rowBytes % (4 * key.loadBytes) != 0 ||
      wordsPerLoad % wordsPerStep != 0)
    return std::nullopt;
  SmallVector<KeyStep> steps;
  for (int64_t word = 0; word != loads * wordsPerLoad; word += wordsPerStep)
    for (int64_t plane = 0; plane != element.getPlanes(); ++plane) {
      KeyStep step = {{}, 0, 0, word, plane};
      for (int64_t e = 0; e != 4; ++e) {
        int64_t inWord = element.getPairBytes(e / 2)[e % 2];
        int64_t byte = word / wordsPerLoad * 4 * key.loadBytes +
                       word % wordsPerLoad * 4 + inWord;
        auto channels = getChannelsOfLanes(key, byte, plane, key.loadBytes, 4);
        if (!channels || (e != 0 && channels->second != step.stride))
          return std::nullopt;
        std::tie(step.channels[e], step.stride) = *channels;
      }
      auto group = getGroupOfLanes(key, step.channels, step.stride, 4);
      if (!group)
        return std::nullopt;
      step.group = *group;
      steps.push_back(step);
    }
  return steps;
}

/// The part of the accumulator of a lane's bytes `bytes`, of rows that are
/// `bytesApart` from lane to lane; fails where it mixes groups.
static std::optional<ValueStep> planValueStep(const SidePlan &value,
                                              std::array<int64_t, 2> bytes,
                                              int64_t bytesApart,
                                              ValueStep step) {
  for (auto [byte, channel] : llvm::zip_equal(bytes, step.channels)) {
    auto channels = getChannelsOfLanes(value, byte, step.plane, bytesApart, 8);
    if (!channels ||
        (&channel != step.channels.begin() && channels->second != step.stride))
      return std::nullopt;
    std::tie(channel, step.stride) = *channels;
  }
  auto group = getGroupOfLanes(value, step.channels, step.stride, 8);
  if (!group)
    return std::nullopt;
  step.group = *group;
  return step;
}

/// The accumulator's parts where values lie in fragments: bytes 16 x + g and
/// 16 x + 8 + g of rows are in lane 4 g + t's words x.
static std::optional<SmallVector<ValueStep>>
planFragments(const SidePlan &value) {
  SmallVector<ValueStep> steps;
  for (int64_t x = 0; x != value.rowBytes / 16; ++x)
    for (int64_t plane = 0; plane != value.element.getPlanes(); ++plane) {
      auto step = planValueStep(value, {16 * x, 16 * x + 8}, /*bytesApart=*/1,
                                {{}, 0, 0, /*word=*/x, plane});
      if (!step)
        return std::nullopt;
      steps.push_back(*step);
    }
  return steps;
}

/// The accumulator's parts where chunks of rows are matrices: half a word of
/// each row is a lane's, two codes or an exact element. Fails where it mixes
/// groups.
static std::optional<SmallVector<ValueStep>> planValues(const SidePlan &value) {
  if (value.hasFragments())
    return planFragments(value);
  int64_t chunksOfStep = value.element.isExact() ? 2 : 1;
  if (value.getChunks() % chunksOfStep != 0)
    return std::nullopt;
  SmallVector<ValueStep> steps;
  for (int64_t chunk = 0; chunk != value.getChunks(); chunk += chunksOfStep)
    for (int64_t plane = 0; plane != value.element.getPlanes(); ++plane) {
      int64_t first = 16 * chunk;
      int64_t second = first + (value.element.isExact() ? 16 : 1);
      auto step = planValueStep(value, {first, second}, value.loadBytes,
                                {{}, 0, 0, /*word=*/chunk, plane});
      if (!step)
        return std::nullopt;
      steps.push_back(*step);
    }
  return steps;
}

std::optional<int64_t> KeyStep::getFirstOfFour() const {
  int64_t first = *llvm::min_element(channels);
  std::array<bool, 4> seen = {};
  for (int64_t channel : channels) {
    if (channel - first >= 4)
      return std::nullopt;
    seen[channel - first] = true;
  }
  if (!llvm::all_of(seen, [](bool of) { return of; }) || first % 4 != 0 ||
      stride % 4 != 0)
    return std::nullopt;
  return first;
}

//===----------------------------------------------------------------------===//
// What is supported
//===----------------------------------------------------------------------===//

/// Why tokens of a region cannot be copied step by step; empty if they can.
static std::string whyNotRows(CacheType cache, TokenRegion region) {
  if (cache.getSegments())
    return "segments";
  if (cache.isBeforeRope())
    return "keys before RoPE";
  if (region != TokenRegion::Codes)
    return "";
  if (cache.isRing() && !cache.isPaged() &&
      cache.getRingRows() % kFragmentTokens != 0)
    return "a ring of " + std::to_string(cache.getRingRows()) + " tokens";
  if (cache.getTileOrder().hasMetadata())
    return "tiles";
  if (std::optional<int64_t> page = cache.getPage();
      page && *page % kFragmentTokens != 0)
    return "pages of " + std::to_string(*page) + " tokens";
  return "";
}

/// Codes of f8E4M3FN for chips that do not convert them. Moved, they are 2^-8
/// of their value, and NaN is 480. 36864 times that is exact for all numbers,
/// but beyond f16 for 480.
static void planMovedE4M3(StoredElement &element) {
  element.kind = StoredElement::Kind::MovedFloat;
  element.mantissaBits = 3;
  element.multiplier = 36864;
  element.unit = 256 / element.multiplier;
}

/// Codes of f4E2M1FN. Moved, they are 2^-14 of their value.
static void planE2M1(StoredElement &element) {
  element.kind = StoredElement::Kind::MovedFloat;
  element.mantissaBits = 1;
  element.unit = 0x1p14;
}

/// `value` as f16.
static APFloat roundToHalf(double value) {
  APFloat half(value);
  bool losesInfo;
  half.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &losesInfo);
  return half;
}

/// What f16s of values in a unit are off by, relative to it: the mean, which
/// adds up over a long context, and a part of the root mean square.
static double getRoundingCost(ArrayRef<float> values, double unit) {
  constexpr double kPart = 0.1;
  double sum = 0, squares = 0;
  for (float value : values) {
    double number = value / unit;
    double error = roundToHalf(number).convertToDouble() - number;
    sum += error;
    squares += error * error;
  }
  return std::abs(sum) / values.size() +
         kPart * std::sqrt(squares / values.size());
}

/// Codes of a codebook of so many numbers, of any size, which together fit an
/// f16.
static void planTable(StoredElement &element, ArrayRef<float> values) {
  element.kind = StoredElement::Kind::Table;
  double largest = 0, leastCost = HUGE_VAL;
  for (float value : values)
    largest = std::max<double>(largest, std::abs(value));
  double power = largest == 0 ? 1 : std::exp2(std::ilogb(largest));
  // The unit is the one in which they lose least.
  constexpr int64_t kUnits = 256;
  for (int64_t i = 0; i != kUnits; ++i) {
    double unit = power * (1 + double(i) / kUnits);
    double cost = getRoundingCost(values, unit);
    if (cost < leastCost)
      std::tie(leastCost, element.unit) = std::pair(cost, unit);
  }
  for (auto [code, bits] : llvm::enumerate(element.table)) {
    double value = values[std::min(code, values.size() - 1)];
    bits = roundToHalf(value / element.unit).bitcastToAPInt().getZExtValue();
  }
}

/// Why codes do not become pairs of f16 by a few instructions; empty if they
/// do, with `side` filled.
static std::string planElement(SidePlan &side, const BlockWork &work) {
  CacheType cache = side.cache;
  FormatInterface format = cache.getFormat();
  StoredElement &element = side.element;
  if (side.region != TokenRegion::Codes || format.isExact()) {
    Type type = cache.getElementType();
    if (!type.isF16() && !type.isBF16())
      return "exact tokens other than f16 and bf16";
    element.kind =
        type.isF16() ? StoredElement::Kind::Half : StoredElement::Kind::BFloat;
    if (format.isExact() && cache.getRowLayout().records.exists())
      return "exact tokens in records";
    element.bits = 16;
    side.rowBytes = 2 * side.getChannels();
    return "";
  }
  RowLayout layout = cache.getRowLayout();
  auto attr = dyn_cast<FormatAttr>(cache.getFormat());
  auto codes = attr ? dyn_cast<TypeAttr>(attr.getCodes()) : TypeAttr();
  if (format.hasIntegerCodes())
    element.kind = StoredElement::Kind::Integer;
  else if (codes && isa<Float8E4M3FNType>(codes.getValue()) &&
           (work.convertsFP8 || work.multipliesFP8))
    element.kind = StoredElement::Kind::E4M3;
  else if (codes && isa<Float8E4M3FNType>(codes.getValue()))
    planMovedE4M3(element);
  else if (codes && isa<Float8E5M2Type>(codes.getValue()))
    element.kind = StoredElement::Kind::E5M2;
  else if (codes && isa<Float4E2M1FNType>(codes.getValue()))
    planE2M1(element);
  else if (attr && isa<CodebookAttr>(attr.getCodes()) &&
           format.getCodeBits() == 4)
    planTable(element, cast<FormatAttr>(format.resolve(side.getChannels()))
                           .getCodebookValues());
  else
    return "codes other than integers, floats of 4 and 8 bits, and numbers of "
           "a codebook of 4 bits";
  if (layout.parts.size() != 1 || layout.parts.front().bits > 8 ||
      !llvm::isPowerOf2_32(layout.parts.front().bits) ||
      layout.parts.front().bits == 1)
    return "codes of other than 2, 4 or 8 bits";
  if (layout.parts.front().order.kind != OrderKind::Planar &&
      layout.parts.front().order.kind != OrderKind::Stream)
    return "codes in reversed order";
  if (layout.records.exists() || layout.block.tokens != 1)
    return "codes and metadata in records";
  side.hasGivenScales = format.hasStaticRange();
  side.groupTokens = format.getGroupTokens();
  if (side.groupTokens != 1 && !side.isKey)
    return "scales of several tokens";
  if (side.groupTokens % kFragmentTokens != 0 && side.groupTokens != 1)
    return "scales of " + std::to_string(side.groupTokens) + " tokens";
  if (format.getOuterScaleType() && format.getZeroType() &&
      !side.hasGivenScales)
    return "zeros beside scales of two levels";
  if (cache.getGroupHeads() != 1 && !side.hasGivenScales)
    return "scales of several heads";
  element.bits = layout.parts.front().bits;
  element.flipsSign = format.hasSignedCodes() && !layout.bias;
  // From the middle sums stay small over a long context, and lose few digits.
  if (element.kind == StoredElement::Kind::Integer &&
      !format.hasSignedCodes() && !side.isKey && format.getZeroType())
    side.center = ((1 << element.bits) - 1) / 2.0;
  element.bias =
      format.hasSignedCodes() ? 1 << (element.bits - 1) : side.center;
  // What 2-bit codes are off by would be a thousand times what they say, too
  // much for sums over a long context. The scores of keys are short sums.
  if (!side.isKey && element.bits == 2)
    element.firstBit = 2;
  side.rowBytes = side.getChannels() * element.bits / 8;
  if (!side.foldsIntoQuery() && !side.hasGivenScales)
    side.groups =
        side.getChannels() / format.getGroupChannels(side.getChannels());
  side.scaleType = format.getScaleType();
  side.zeroType = format.getZeroType();
  return "";
}

template <typename Step>
static std::string
planSteps(SidePlan &side, SmallVector<Step> &steps,
          std::optional<SmallVector<Step>> (*plan)(const SidePlan &)) {
  if (side.hasFragments()) {
    side.loadBytes = side.rowBytes % 32 == 0 ? 16 : 8;
    std::optional<SmallVector<Step>> planned = plan(side);
    if (planned)
      steps = *planned;
    return planned ? "" : "groups of channels that fragments mix";
  }
  // Longer loads are fewer, shorter ones keep groups of channels apart. Words
  // come four at once, too, as matrices; scales of channels that the query is
  // multiplied by are loaded with those of the next word.
  static constexpr int64_t ofKeys[] = {16, 4, 8}, ofScaledQuery[] = {16, 8, 4},
                           ofValues[] = {2};
  for (int64_t bytes : !side.isKey             ? ArrayRef(ofValues)
                       : side.foldsIntoQuery() ? ArrayRef(ofScaledQuery)
                                               : ArrayRef(ofKeys)) {
    side.loadBytes = bytes;
    if (std::optional<SmallVector<Step>> planned = plan(side)) {
      steps = *planned;
      return "";
    }
  }
  return "groups of " + std::to_string(side.getChannels() / side.groups) +
         " of " + std::to_string(side.getChannels()) + " channels, of " +
         std::to_string(side.element.bits) + " bits each";
}

SlotLayout BlockPlan::getSlotLayout(const SidePlan &side) const {
  // Fragments lie as all lanes load them, one after the other.
  if (side.hasFragments())
    return {stepTokens, stepTokens * side.rowBytes};
  // Of all banks, and what is loaded of a row at once.
  constexpr int64_t kBankBytes = 128;
  SlotLayout layout;
  layout.runRows = getLaneTokens();
  layout.runBytes = layout.runRows * side.rowBytes;
  layout.kinds = kBankBytes / (side.getRowLanes() * side.loadBytes);
  layout.kindRuns = stepTokens / layout.runRows / layout.kinds;
  // A kind's bytes are next to the last one's, as banks are counted.
  int64_t together = kBankBytes / layout.kinds;
  layout.kindPitch =
      llvm::alignTo(layout.kindRuns * layout.runBytes, kBankBytes, together);
  return layout;
}

int64_t SidePlan::getScaleRowBytes(Type type) const {
  int64_t channels = getChannels();
  int64_t perRow =
      channels / cache.getFormat().resolve(channels).getGroupChannels(channels);
  return perRow * type.getIntOrFloatBitWidth() / 8;
}

/// Whether scales of whole steps come by the ring: those of a lane that has
/// many, for several groups or by channel, or that has few registers, and of
/// which copies take whole rows.
bool BlockPlan::copiesScales(const SidePlan &side) const {
  bool isOne = side.foldsIntoQuery() || side.groups == 1;
  if (!side.scaleType || side.hasGivenScales ||
      (isOne && !scalesQueryInPairs()))
    return false;
  // What copies and loads take at least. Rows of a page follow each other, as
  // many as a copy takes; a load takes two.
  constexpr int64_t kLeastBytes = 4, kLeastBits = 16;
  bool isTogether = side.cache.isPaged() && !side.cache.getTokenMajor();
  auto isCopied = [&](Type type) {
    return !type ||
           (type.getIntOrFloatBitWidth() >= kLeastBits &&
            side.getScaleRowBytes(type) * (isTogether ? 2 : 1) % kLeastBytes ==
                0);
  };
  return isCopied(side.scaleType) && isCopied(side.zeroType);
}

int64_t BlockPlan::getScaleBytes(const SidePlan &side, Type type) const {
  constexpr int64_t kAlignment = 16;
  if (!side.copiesScales || !type)
    return 0;
  return llvm::alignTo(getScaleRows(side) * side.getScaleRowBytes(type),
                       kAlignment);
}

int64_t BlockPlan::getSpanBytes(const SidePlan &side) const {
  SlotLayout layout = getSlotLayout(side);
  // Eight runs are a whole number of each kind.
  return layout.getPlace(layout.getRuns() / getSpans() % layout.getRuns());
}

/// Whether the instructions for a step of 64 tokens do not fit their cache.
static bool takesManyInstructions(const SidePlan &side) {
  return side.element.kind == StoredElement::Kind::MovedFloat ||
         side.element.kind == StoredElement::Kind::Table;
}

bool BlockPlan::movesFP8() const {
  return !convertsFP8 &&
         llvm::any_of(ArrayRef({&key, &value}), [](const SidePlan *side) {
           bool movesCodes =
               side->element.kind == StoredElement::Kind::MovedFloat &&
               side->element.bits == 8;
           return movesCodes || side->hasE4M3Scales();
         });
}

bool BlockPlan::scalesValuesInPairs() const {
  // A single scale is not worth rounding twice.
  return value.groups > 1 && value.scaleType &&
         (value.scaleType.isF16() || value.hasE4M3Scales()) &&
         !value.multipliesFP8;
}

bool BlockPlan::scalesQueryInPairs() const {
  auto format = dyn_cast<FormatAttr>(key.cache.getFormat());
  bool isFloat = key.element.kind == StoredElement::Kind::E4M3 &&
                 !key.multipliesFP8 && !key.zeroType;
  if (!format || !key.foldsIntoQuery() ||
      (key.element.kind != StoredElement::Kind::Integer && !isFloat) ||
      format.getGroupChannels(key.getChannels()) != 1 || !key.scaleType.isF16())
    return false;
  bool hasPlainZeros =
      !key.zeroType ||
      (format.getZeroKind() == ZeroKind::Min && key.zeroType.isF16());
  return hasPlainZeros && llvm::all_of(keySteps, [](const KeyStep &step) {
           return step.getFirstOfFour().has_value();
         });
}

/// Whether zeros of a side's tokens come by the ring as what they add to codes.
static bool copiesPlainZeros(const SidePlan &side) {
  auto format = dyn_cast<FormatAttr>(side.cache.getFormat());
  return format && side.copiesScales && side.hasTokenZeros() &&
         format.getZeroKind() == ZeroKind::Min && side.zeroType.isF16();
}

bool BlockPlan::multipliesKeyZeros() const {
  return copiesPlainZeros(key) &&
         (key.groups == kZeroGroups / 2 || key.groups % kZeroGroups == 0);
}

bool BlockPlan::multipliesValueZeros() const {
  return copiesPlainZeros(value) && sumsGroupsInRows() &&
         value.groups == kZeroGroups;
}

/// Registers of a lane for a tile: the accumulator; the query, of bf16 as a sum
/// of two; products of further groups; sums of what is rounded.
int64_t BlockPlan::getTileRegisters() const {
  int64_t parts = key.element.isBFloat() ? 2 : 1;
  int64_t sums = value.element.isExact() ? 0 : 4 * value.groups;
  return 4 * valueSteps.size() + 2 * parts * keySteps.size() +
         4 * (key.groups - 1) + 4 * (value.groups - 1) + sums;
}

/// As many tiles as a lane has registers for, of the query rows that there are;
/// fewer where that takes as many rounds.
int64_t BlockPlan::countColumnTiles(int64_t rows) const {
  // A query times scales is made anew for each step.
  if (key.foldsIntoQuery())
    return 1;
  constexpr int64_t kMostRegisters = 104;
  int64_t most = std::max<int64_t>(kMostRegisters / getTileRegisters(), 1);
  int64_t tiles = llvm::divideCeil(rows, kFragmentRows);
  return llvm::divideCeil(tiles, llvm::divideCeil(tiles, most));
}

static bool isWindow(const SidePlan &side) {
  return side.region != TokenRegion::Codes;
}

/// Steps in the order of preference.
std::array<int64_t, 3> BlockPlan::getStepLengths() const {
  // Exact windows are short, and their rings are not to keep other blocks away.
  if (isWindow(key) || isWindow(value))
    return {16, 32, 64};
  if (takesManyInstructions(key) || takesManyInstructions(value))
    return {32, 16, 64};
  // The scores of a step are in registers, of all tiles.
  constexpr int64_t kMostRegisters = 56;
  if (columnTiles > 1 && columnTiles * getTileRegisters() > kMostRegisters)
    return {32, 16, 64};
  return {64, 32, 16};
}

/// Scales come by the ring where they may, unless their bytes keep a second
/// block away: then false.
bool BlockPlan::chooseScaleCopies(const BlockWork &work) {
  constexpr int64_t kMostBlocks = 2;
  auto count = [&] {
    return std::min(
        countBlocks(work.sharedBytes, getSharedBytes() + work.heldBytes),
        kMostBlocks);
  };
  int64_t blocks = count();
  for (SidePlan *side : {&key, &value})
    side->copiesScales = copiesScales(*side);
  if (count() >= blocks)
    return true;
  key.copiesScales = value.copiesScales = false;
  return false;
}

/// Steps of few bytes are copied further ahead, so that as many are on their
/// way, unless that keeps a third block away.
void BlockPlan::chooseDepth(int64_t mostBytes) {
  // With two blocks 64 KiB of a multiprocessor.
  constexpr int64_t kWarpBytesAhead = 8 << 10, kMostDepth = 2;
  int64_t stepBytes = stepTokens * (key.rowBytes + value.rowBytes);
  if (isWindow(key) || isWindow(value) || stepBytes >= kWarpBytesAhead)
    return;
  depth = kMostDepth;
  if (3 * getRingBytes() > mostBytes)
    depth = 1;
}

/// Whether tokens lie in pages, tiles or groups, which steps are to begin with.
static bool liesTogether(const SidePlan &side) {
  return side.region == TokenRegion::Codes &&
         (side.cache.isPaged() || side.hasFragments() || side.foldsIntoQuery());
}

/// Whether pages and groups of tokens end where steps of so many tokens do; or
/// a step is of several groups, for each of which a query is made in few
/// instructions.
bool BlockPlan::fitsPages(int64_t tokens) const {
  for (const SidePlan *side : {&key, &value})
    if (side->region == TokenRegion::Codes && side->cache.isPaged() &&
        *side->cache.getPage() % tokens != 0)
      return false;
  if (value.hasFragments() && value.getTileTokens() != tokens)
    return false;
  if (key.groupTokens == 1 || key.groupTokens % tokens == 0)
    return true;
  return tokens % key.groupTokens == 0 && scalesQueryInPairs() &&
         !value.hasFragments();
}

/// Whether a ring's rows that go round begin and end where steps do.
bool BlockPlan::fitsRings(int64_t tokens) const {
  return llvm::all_of(ArrayRef({&key, &value}), [&](const SidePlan *side) {
    return !side->isRing() ||
           ((side->getRingBegin() - firstToken) % tokens == 0 &&
            side->cache.getRingRows() % tokens == 0);
  });
}

std::optional<BlockPlan> BlockPlan::get(const BlockWork &work,
                                        std::string &whyNot) {
  BlockPlan plan;
  plan.key.isKey = true;
  plan.key.cache = work.key;
  plan.key.region = work.keyRegion;
  plan.value.cache = work.value;
  plan.value.region = work.valueRegion;
  plan.convertsFP8 = work.convertsFP8;
  for (auto [side, name] :
       {std::pair(&plan.key, "keys"), std::pair(&plan.value, "values")}) {
    whyNot = whyNotRows(side->cache, side->region);
    if (whyNot.empty())
      whyNot = planElement(*side, work);
    if (whyNot.empty() && side->isKey && side->hasFragments())
      whyNot = "fragments, which are for values";
    if (whyNot.empty() && side->rowBytes % 16 != 0)
      whyNot = "rows of " + std::to_string(side->rowBytes) +
               " bytes, not a multiple of 16";
    if (!whyNot.empty()) {
      whyNot = std::string(name) + " have " + whyNot;
      return std::nullopt;
    }
    side->multipliesFP8 = work.multipliesFP8 && side->element.isFP8();
  }
  if (liesTogether(plan.key) && liesTogether(plan.value) &&
      work.key.getExactFirst() != work.value.getExactFirst()) {
    whyNot = "pages or groups of keys and values begin at other tokens";
    return std::nullopt;
  }
  whyNot = planSteps(plan.key, plan.keySteps, planKeys);
  if (whyNot.empty())
    whyNot = planSteps(plan.value, plan.valueSteps, planValues);
  // The accumulator's registers.
  constexpr int64_t kMaxValueChannels = 256;
  if (whyNot.empty() && work.value.getHeadDim() > kMaxValueChannels)
    whyNot = "values of more than " + std::to_string(kMaxValueChannels) +
             " channels";
  if (!whyNot.empty())
    return std::nullopt;
  // All lanes copy equal parts of a step's rows.
  auto fitsLanes = [&](int64_t tokens) {
    constexpr int64_t kWarpCopyBytes = 32 * 16;
    return tokens * plan.key.rowBytes % kWarpCopyBytes == 0 &&
           tokens * plan.value.rowBytes % kWarpCopyBytes == 0;
  };
  bool followsValues = liesTogether(plan.value) && !plan.key.foldsIntoQuery();
  const SidePlan &first = followsValues ? plan.value : plan.key;
  plan.firstToken =
      first.region == TokenRegion::Codes ? first.cache.getExactFirst() : 0;
  // Where nothing else has steps begin there, they do with the ring.
  if (!liesTogether(plan.key) && !liesTogether(plan.value))
    for (const SidePlan *side : {&plan.key, &plan.value})
      if (side->isRing())
        plan.firstToken = side->getRingBegin();
  plan.columnTiles = plan.countColumnTiles(work.rows);
  int64_t mostBytes = work.sharedBytes - work.heldBytes;
  std::optional<BlockPlan> longest;
  for (int64_t tokens : plan.getStepLengths()) {
    BlockPlan next = plan;
    next.stepTokens = tokens;
    if (next.getSharedBytes() > mostBytes || !next.fitsPages(tokens) ||
        !next.fitsRings(tokens) || !fitsLanes(tokens))
      continue;
    bool copiesScales = next.chooseScaleCopies(work);
    next.chooseDepth(mostBytes);
    // Rather shorter ones than scales and zeros in registers.
    if (copiesScales ||
        !(plan.key.hasTokenZeros() || plan.value.hasTokenZeros()))
      return next;
    if (!longest)
      longest = next;
  }
  if (longest)
    return longest;
  whyNot = "no step of 16 to 64 tokens fits the block's memory, the pages, the "
           "tiles and the rings";
  return std::nullopt;
}
