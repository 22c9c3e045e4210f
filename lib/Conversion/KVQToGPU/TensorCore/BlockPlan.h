//===- BlockPlan.h - How a block attends to tokens --------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What follows from the types of a `kvq.block_attention` alone: which bytes a
// lane loads, which channels and tokens they are of, and how much memory a
// block needs.
//
// Tokens are the rows of the products of matrices (16), query rows the columns
// (8). A warp takes steps of `stepTokens`, in fragments of 16. Row g + 8 h of
// fragment f, g < 8, h < 2, is token g * 2F + 2f + h of the step, F being the
// number of fragments: the tokens of a lane follow each other, so that their
// scales are loaded at once. Where a step is of several groups of tokens, which
// share scales of keys, that is the order within each of these spans, and a
// fragment lies in one. The same order serves the values, whose fragments have
// channels as rows.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKPLAN_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKPLAN_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// Warps of a block.
inline constexpr int64_t kBlockWarps = 4;
/// Columns of a fragment: query rows that are attended to at once.
inline constexpr int64_t kFragmentRows = 8;
/// Tokens of a fragment.
inline constexpr int64_t kFragmentTokens = 16;
/// Bytes of a quad: of a lane, of the lanes of a row, and of all.
inline constexpr int64_t kLaneQuadBytes = 16;
inline constexpr int64_t kQuadRowBytes = 4 * kLaneQuadBytes;
inline constexpr int64_t kQuadBytes = 8 * kQuadRowBytes;

/// How the stored elements of a 32-bit word become pairs of f16, or are pairs
/// of bf16.
struct StoredElement {
  enum class Kind {
    /// Integer codes of 2, 4 or 8 bits.
    Integer,
    /// Floats of 8 bits, as pairs of neighbours.
    E4M3,
    E5M2,
    /// Floats whose sign and magnitude are moved to where f16s have them.
    MovedFloat,
    /// Codes of 4 bits, each of which stands for a number of a table, as pairs
    /// of neighbours.
    Table,
    /// f16 and bf16 themselves.
    Half,
    BFloat
  };
  Kind kind = Kind::Integer;
  unsigned bits = 0;
  /// Where the first plane's codes are moved to in each half of a word: the
  /// further up, the less they are off by.
  unsigned firstBit = 0;
  /// Whether codes are two's complement, so that their sign is flipped first.
  bool flipsSign = false;
  /// How much what is then there is above the code, or above what is summed in
  /// its place.
  double bias = 0;
  /// Of moved floats, bits of a mantissa; what the f16s are multiplied by, such
  /// that NaN, which would be a number, becomes infinite; and what the codes'
  /// values are of what is summed then.
  unsigned mantissaBits = 0;
  double multiplier = 1, unit = 1;
  /// The f16s that codes stand for, as bits.
  std::array<uint16_t, 16> table = {};

  bool isExact() const { return kind == Kind::Half || kind == Kind::BFloat; }
  bool isBFloat() const { return kind == Kind::BFloat; }
  bool isFP8() const { return kind == Kind::E4M3 || kind == Kind::E5M2; }
  int64_t getPlanes() const { return isExact() ? 1 : 8 / bits; }
  /// The bytes of a word whose elements become pair `pair`, of two words of
  /// exact elements that of the `pair`th.
  std::array<int64_t, 2> getPairBytes(int64_t pair) const {
    switch (kind) {
    case Kind::Integer:
    case Kind::MovedFloat:
      return {pair, pair + 2};
    case Kind::E4M3:
    case Kind::E5M2:
    case Kind::Table:
      return {2 * pair, 2 * pair + 1};
    case Kind::Half:
    case Kind::BFloat:
      return {4 * pair, 4 * pair + 2};
    }
    llvm_unreachable("unknown kind of element");
  }
};

/// What a block is to attend to.
struct BlockWork {
  CacheType key, value;
  TokenRegion keyRegion, valueRegion;
  /// Query rows.
  int64_t rows = 0;
  /// Whether floats of 8 bits are multiplied as such.
  bool multipliesFP8 = false;
  /// What the block may have of memory, and what else of it is in use.
  int64_t sharedBytes = 0, heldBytes = 0;
  /// Whether the chip converts f8E4M3FN to f16.
  bool convertsFP8 = true;
};

/// Keys or values of a block's step.
struct SidePlan {
  bool isKey = false;
  CacheType cache;
  TokenRegion region;
  StoredElement element;
  /// Whether codes are operands of products as they are, and not as f16.
  bool multipliesFP8 = false;
  /// Bytes of a token's row in memory.
  int64_t rowBytes = 0;
  /// Bytes of a row that a lane loads at once.
  int64_t loadBytes = 0;
  /// Groups of channels with a scale each that products are apart for; 1
  /// without scales, and where the query or sums are multiplied by them.
  int64_t groups = 1;
  Type scaleType, zeroType;
  /// Whether scales and zeros are given, the same for all tokens: the query is
  /// multiplied by them, or the sums of values are.
  bool hasGivenScales = false;
  /// Of values with zeros, where codes are counted from: their middle.
  double center = 0;
  /// Of keys, tokens that share scales: the query is multiplied by these, for
  /// each span of a step.
  int64_t groupTokens = 1;
  /// Whether scales and zeros of whole steps come by the ring, with the rows:
  /// where a lane has many.
  bool copiesScales = false;

  /// Whether tokens are in a ring of rows, which steps are not to cross an end
  /// of; pages of one are found one by one.
  bool isRing() const {
    return region == TokenRegion::Codes && cache.isRing() && !cache.isPaged();
  }
  /// The first token of a ring that is not among those that stay.
  int64_t getRingBegin() const {
    return cache.getExactFirst() + cache.getKeptRows();
  }
  int64_t getChannels() const { return cache.getHeadDim(); }
  /// Of values that lie in fragments, the tokens of a tile; else 0.
  int64_t getTileTokens() const {
    return region == TokenRegion::Codes ? cache.getTileOrder().tokens : 0;
  }
  bool hasFragments() const { return getTileTokens() != 0; }
  bool hasE4M3Scales() const {
    return scaleType && isa<Float8E4M3FNType>(scaleType);
  }
  /// Whether each token has scales of its own.
  bool hasTokenScales() const {
    return scaleType && groupTokens == 1 && !hasGivenScales;
  }
  bool hasTokenZeros() const {
    return zeroType && groupTokens == 1 && !hasGivenScales;
  }
  bool foldsIntoQuery() const { return groupTokens != 1; }
  /// Bytes of a row of scales or zeros, of `type`: one for each group.
  int64_t getScaleRowBytes(Type type) const;
  /// The channel whose code is the `plane`th of byte `byte` of a row; of an
  /// exact row the element whose first byte it is.
  int64_t getChannel(int64_t byte, int64_t plane) const;
  /// Chunks of 16 bytes of a row.
  int64_t getChunks() const { return rowBytes / 16; }
  /// Loads of a row by the lanes that it is for: a quad of keys, one lane of
  /// each quad of values.
  int64_t getRowLanes() const { return isKey ? 4 : 8; }
  /// From a fragment of a span to the next one in a slot.
  int64_t getFragmentBytes() const {
    return (hasFragments() ? kFragmentTokens : 2) * rowBytes;
  }
  int64_t getRowLoads() const { return rowBytes / (getRowLanes() * loadBytes); }
  /// Whether lanes load chunks of eight rows as matrices: of keys a word of a
  /// row each, of values half a word of two rows, which are a pair of tokens.
  bool loadsMatrices() const { return !hasFragments() && loadBytes <= 4; }
  int64_t getGroup(int64_t channel) const {
    return channel * groups / getChannels();
  }
};

/// Products along channels: 16 of them, 4 of each lane of a quad.
struct KeyStep {
  /// Of lane 0 of a quad; channel e of lane t is `channels[e] + t * stride`.
  std::array<int64_t, 4> channels;
  int64_t stride;
  int64_t group;
  /// The word of a lane that holds them, in the order of its loads, the plane
  /// of it, and of an exact row the next word, too.
  int64_t word, plane;

  /// The least of lane 0's channels if they follow each other, in any order, so
  /// that lanes' are multiples of four; nothing for others.
  std::optional<int64_t> getFirstOfFour() const;
};

/// 16 channels of an accumulator.
struct ValueStep {
  /// Of lanes 0 to 3; of lane 4 g + t they are `channels[r] + g * stride`.
  std::array<int64_t, 2> channels;
  int64_t stride;
  int64_t group;
  /// The word of a lane for each half of the tokens, and the plane; of exact
  /// rows the next word, too.
  int64_t word, plane;
};

/// Where the rows of a side are in a slot of the ring. Rows that lie together
/// in memory are a run: the tokens of row g of all fragments of a span. Lanes
/// that load at once do so from as many runs as there are kinds of them, all
/// from the same row and bytes of a run; kinds are moved so that these are in
/// different banks.
struct SlotLayout {
  int64_t runRows = 0, runBytes = 0, kinds = 1, kindRuns = 1;
  /// From the first run of a kind to that of the next.
  int64_t kindPitch = 0;

  int64_t getRuns() const { return kinds * kindRuns; }
  int64_t getBytes() const {
    return (kinds - 1) * kindPitch + kindRuns * runBytes;
  }
  /// Bytes from the slot to a run.
  int64_t getPlace(int64_t run) const {
    return run % kinds * kindPitch + run / kinds * runBytes;
  }
};

struct BlockPlan {
  SidePlan key, value;
  SmallVector<KeyStep> keySteps;
  SmallVector<ValueStep> valueSteps;
  int64_t stepTokens = 0;
  /// Steps whose keys and values are there or on their way at once.
  int64_t depth = 1;
  /// Tiles of `kFragmentRows` query rows that codes are unpacked once for.
  int64_t columnTiles = 1;
  /// Steps are counted from this token on.
  int64_t firstToken = 0;
  /// Whether the chip converts f8E4M3FN to f16.
  bool convertsFP8 = true;

  int64_t getFragments() const { return stepTokens / kFragmentTokens; }
  /// Tokens from a step of a warp to its next one.
  int64_t getStride() const { return kBlockWarps * stepTokens; }
  /// Tokens of a step that have the same scales of keys, or all of them.
  int64_t getSpanTokens() const {
    return key.foldsIntoQuery() ? std::min(stepTokens, key.groupTokens)
                                : stepTokens;
  }
  int64_t getSpans() const { return stepTokens / getSpanTokens(); }
  int64_t getSpanFragments() const { return getSpanTokens() / kFragmentTokens; }
  /// Tokens of a lane in a span, which follow each other.
  int64_t getLaneTokens() const { return 2 * getSpanFragments(); }
  /// From the first token of a lane in a step to its `laneToken`th.
  int64_t getTokenOffset(int64_t laneToken) const {
    return laneToken / getLaneTokens() * getSpanTokens() +
           laneToken % getLaneTokens();
  }
  /// Bytes from a span to the next one in a slot.
  int64_t getSpanBytes(const SidePlan &side) const;
  /// Bytes from the first fragment in a slot to another one.
  int64_t getFragmentPlace(const SidePlan &side, int64_t fragment) const {
    return fragment / getSpanFragments() * getSpanBytes(side) +
           fragment % getSpanFragments() * side.getFragmentBytes();
  }
  SlotLayout getSlotLayout(const SidePlan &side) const;
  /// Rows of scales of a step.
  int64_t getScaleRows(const SidePlan &side) const {
    return llvm::divideCeil(stepTokens, side.groupTokens);
  }
  /// Where scales and zeros are in a slot that they are copied to, as they lie
  /// in memory, and where they end.
  int64_t getScalePlace(const SidePlan &side) const {
    return getSlotLayout(side).getBytes();
  }
  int64_t getZeroPlace(const SidePlan &side) const {
    return getScalePlace(side) + getScaleBytes(side, side.scaleType);
  }
  int64_t getSideBytes(const SidePlan &side) const {
    return getZeroPlace(side) + getScaleBytes(side, side.zeroType);
  }
  /// From a slot to the mbarrier that counts its bytes, where copies are bulk
  /// copies.
  int64_t getBarrierOffset() const {
    return std::max(getSideBytes(key), getSideBytes(value));
  }
  int64_t getSlotBytes() const { return getBarrierOffset() + 16; }
  /// Slots of a warp: keys and values of `depth` steps, and a free one.
  int64_t getWarpSlots() const { return 2 * depth + 1; }
  int64_t getRingBytes() const {
    return kBlockWarps * getWarpSlots() * getSlotBytes();
  }
  /// Whether f8E4M3FN becomes f16 without the instruction that converts it.
  bool movesFP8() const;
  /// Whether probabilities are multiplied by scales of values as pairs of f16:
  /// of two columns, which a scale is for.
  bool scalesValuesInPairs() const;
  /// Whether the query and scales that are folded into it are multiplied as
  /// pairs of f16, as they are stored.
  bool scalesQueryInPairs() const;
  bool multipliesFP8() const {
    return key.multipliesFP8 || value.multipliesFP8;
  }
  /// Whether sums of rounded probabilities of all groups of values are rows of
  /// the same accumulator: the rows of other groups are products with zeros, so
  /// that what is no number is kept out of them (see `isolateGroups`).
  bool sumsGroupsInRows() const {
    return value.element.kind == StoredElement::Kind::Integer &&
           value.copiesScales && value.scaleType.isF16() &&
           scalesValuesInPairs() && columnTiles == 1 &&
           kFragmentRows % value.groups == 0 && stepTokens >= 32;
  }
  /// Whether zeros of keys' tokens are multiplied by sums of the query as
  /// matrices: minima, as they are stored, of an even number of groups.
  bool multipliesKeyZeros() const;
  /// Whether zeros of values' tokens are, too, by probabilities: four groups,
  /// where their sums are rows.
  static constexpr int64_t kZeroGroups = 4;
  bool multipliesValueZeros() const;
  /// Of operands of products, 16 bytes of each lane, that lanes load where they
  /// need them: the query, where each step multiplies it by scales.
  int64_t getQueryQuads() const {
    return scalesQueryInPairs() ? llvm::divideCeil(keySteps.size(), 2) : 0;
  }
  /// What takes off what codes are off by for two planes of keys each.
  int64_t getKeyOffsetQuads() const {
    return scalesQueryInPairs() && !key.element.isFP8()
               ? llvm::divideCeil(key.element.getPlanes(), 2)
               : 0;
  }
  /// Rows of the same for groups of values whose sums are rows: a group's quad
  /// begins with the row after that of the next group.
  int64_t getValueOffsetRows() const {
    return sumsGroupsInRows() ? kFragmentRows + value.groups - 1 : 0;
  }
  /// Where keys have several groups: what their scores begin with, and the
  /// query of two `KeyStep`s each, of each tile.
  bool loadsQuery() const {
    return key.groups > 1 && key.element.kind == StoredElement::Kind::Integer;
  }
  /// Whether each fragment of a partial step loads it again: scales and zeros
  /// that come one by one take more registers there than a whole step does.
  bool loadsQueryAgain() const {
    auto takesMore = [](const SidePlan &side) {
      return side.groups > 1 && (side.hasTokenZeros() || side.hasE4M3Scales());
    };
    return loadsQuery() && (takesMore(key) || takesMore(value));
  }
  int64_t getTileQuads() const {
    return loadsQuery() ? key.groups + llvm::divideCeil(keySteps.size(), 2) : 0;
  }
  /// Of each row in the memory that warps leave their states in: the
  /// accumulator, the maximum, the sum, and two numbers that keep rows in
  /// different banks.
  int64_t getMergeRowBytes() const { return (value.getChannels() + 4) * 4; }
  int64_t getMergeBytes() const {
    return kBlockWarps * kFragmentRows * getMergeRowBytes();
  }
  /// The places of quads, behind the rings of all warps, or what merges them.
  int64_t getQueryQuadPlace(int64_t quad) const {
    return std::max(getRingBytes(), getMergeBytes()) + quad * kQuadBytes;
  }
  int64_t getKeyOffsetPlace(int64_t quad) const {
    return getQueryQuadPlace(getQueryQuads() + quad);
  }
  int64_t getTileQuadPlace(int64_t tile, int64_t quad) const {
    return getKeyOffsetPlace(getKeyOffsetQuads() + tile * getTileQuads() +
                             quad);
  }
  int64_t getValueOffsetPlace(int64_t row) const {
    return getTileQuadPlace(columnTiles, 0) + row * kQuadRowBytes;
  }
  /// The op's operands that are numbers, and the addresses of its rows of page
  /// tables, three quads of one lane.
  int64_t getTaskPlace() const {
    return getValueOffsetPlace(getValueOffsetRows());
  }
  int64_t getSharedBytes() const { return getTablesPlace() + kLaneQuadBytes; }
  int64_t getPositionPlace() const { return getTaskPlace() + kLaneQuadBytes; }
  int64_t getLastTokenPlace() const { return getPositionPlace() + 4; }
  int64_t getTablesPlace() const { return getTaskPlace() + 2 * kLaneQuadBytes; }
  bool hasQuads() const { return getTaskPlace() != getQueryQuadPlace(0); }

  /// Whether `rows` of the query are read before the first copy, and sums of
  /// theirs written after the last one.
  bool readsRowsAhead(int64_t rows) const {
    return rows <= columnTiles * kFragmentRows &&
           (!key.foldsIntoQuery() || scalesQueryInPairs());
  }

  /// The plan for a block. Without one `whyNot` says why not.
  static std::optional<BlockPlan> get(const BlockWork &work,
                                      std::string &whyNot);

private:
  /// Bytes of scales or zeros in a slot.
  int64_t getScaleBytes(const SidePlan &side, Type type) const;
  bool copiesScales(const SidePlan &side) const;
  bool chooseScaleCopies(const BlockWork &work);
  bool fitsPages(int64_t tokens) const;
  bool fitsRings(int64_t tokens) const;
  int64_t getTileRegisters() const;
  int64_t countColumnTiles(int64_t rows) const;
  std::array<int64_t, 3> getStepLengths() const;
  void chooseDepth(int64_t mostBytes);
};

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_BLOCKPLAN_H
