//===- CostModel.cpp - Schedules from bytes and operations ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model is docs/Pipeline.md's, section "The cost model".
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Schedules.h"

#include "kvq/IR/Footprint.h"
#include "kvq/Transforms/QueryTile.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// A tile's own work, maxima and the like, is about that of two tokens: below
/// 4 % with so many.
constexpr int64_t kTileTokens = 64;
/// With fewer rows of the query than so many most time goes to reading, of keys
/// and of values in turn: shorter turns overlap more.
constexpr int64_t kManyRows = 8;
constexpr int64_t kTileTokensOfFewRows = 32;
/// Of one row's sums of integers, over rows of codes: with longer vectors
/// summing their lanes takes more than the products gain.
constexpr int64_t kVectorWidthOfOneRow = 8;
/// With fewer it is what most time goes to.
constexpr int64_t kLeastTileTokens = 16;
/// A split of fewer tokens is not worth the merge.
constexpr int64_t kSplitTokens = 512;
/// More tokens of all heads in turn gain nothing.
constexpr int64_t kMostTokensInside = 256;
/// What part of the second cache these take. It is read in another order than
/// it came in, and the more of it there is, the more is gone by then.
constexpr int64_t kPartInside = 16;
/// Where the capacity is not known.
constexpr int64_t kTypicalTokens = 4096;
/// A thread may wait for the others for so little of the time.
constexpr double kBusy = 0.85;
/// Of a processor: two fused multiply-adds of a vector a cycle.
constexpr int64_t kVectorsPerNanosecond = 6;
/// Until a line comes from memory.
constexpr int64_t kLatencyNanoseconds = 100;

} // namespace

//===----------------------------------------------------------------------===//
// A token
//===----------------------------------------------------------------------===//

/// Bytes that one token of one head takes.
static int64_t getBytesPerToken(CacheType cache) {
  FailureOr<ByteSplit> bytes = getTokenGroupBytes(cache);
  if (failed(bytes)) // a cache of 2^63 bytes or more, reported elsewhere
    return 0;
  return bytes->total / (cache.getBatch() * cache.getHeads() *
                         std::max<int64_t>(cache.getTokenGroup(), 1));
}

/// Bytes of scratch for one token of one head: codes are unpacked to bytes, and
/// keys before RoPE turned in f32.
static int64_t getScratchPerToken(CacheType cache) {
  int64_t bytes = 0;
  for (CacheType segment : cache.getSegmentCaches()) {
    FormatInterface format = segment.getFormat();
    if (format.isBeforeRope())
      bytes += 2 * sizeof(float) * segment.getHeadDim();
    if (!format.isExact() && !segment.getRowLayout().isUnpacked())
      bytes += segment.getHeadDim();
  }
  return bytes;
}

TokenWork kvq::getTokenWork(AttentionOp op, int64_t rows) {
  auto key = cast<CacheType>(op.getKey().getType());
  auto value = cast<CacheType>(op.getValue().getType());
  int64_t channels = op.getQuery().getType().getDimSize(3) +
                     op.getInit().getType().getDimSize(3);
  TokenWork work;
  work.bytes = getBytesPerToken(key) + getBytesPerToken(value);
  work.operations = 2 * rows * channels;
  // Scores become probabilities in place.
  work.scratchBytes = getScratchPerToken(key) + getScratchPerToken(value) +
                      rows * int64_t(sizeof(float));
  return work;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Tokens that lie in a tile of the layout on either side, 1 where they lie in
/// rows.
static int64_t getLayoutTile(AttentionOp op) {
  int64_t tile = 1;
  for (Value side : {op.getKey(), op.getValue()})
    for (CacheType segment : cast<CacheType>(side.getType()).getSegmentCaches())
      tile = std::max(tile, segment.getTileOrder().tokens);
  return tile;
}

/// The scratch of a tile leaves a quarter of the first cache to what streams
/// through it.
static int64_t chooseTile(AttentionOp op, int64_t rows, const TokenWork &work,
                          const MachineModel &machine) {
  // A part of a layout's tile is read row by row.
  int64_t tile = rows < kManyRows && getLayoutTile(op) <= kTileTokensOfFewRows
                     ? kTileTokensOfFewRows
                     : kTileTokens;
  while (tile > kLeastTileTokens &&
         tile * work.scratchBytes > machine.l1Bytes / 4 * 3)
    tile /= 2;
  return tile;
}

int64_t kvq::chooseSplits(int64_t items, int64_t tokens, int64_t threads) {
  int64_t best = 1;
  double bestBusy = 0;
  for (int64_t splits = 1;
       splits == 1 ||
       (splits <= ScheduleAttr::kMostSplits && tokens / splits >= kSplitTokens);
       splits *= 2) {
    int64_t parts = std::max<int64_t>(items, 1) * splits;
    int64_t turns = llvm::divideCeil(parts, threads);
    double busy = double(parts) / double(turns * threads);
    if (busy > bestBusy) {
      best = splits;
      bestBusy = busy;
    }
    if (busy >= kBusy)
      break;
  }
  return best;
}

/// Far enough that lines are there when the tile of so many tokens is read, and
/// no farther than half of the second cache holds.
static int64_t choosePrefetch(const TokenWork &work, int64_t tile,
                              const MachineModel &machine) {
  int64_t operationsPerNanosecond =
      2 * machine.vectorWidth * kVectorsPerNanosecond;
  int64_t nanoseconds =
      std::max<int64_t>(tile * work.operations / operationsPerNanosecond, 1);
  int64_t distance = llvm::divideCeil(kLatencyNanoseconds, nanoseconds);
  int64_t held = std::max<int64_t>(
      machine.l2Bytes / 2 / std::max<int64_t>(tile * work.bytes, 1), 1);
  return std::min({distance, held, ScheduleAttr::kMostPrefetch});
}

/// Nothing where it is the processor's.
static std::optional<int64_t> chooseVectorWidth(AttentionOp op, int64_t rows,
                                                const MachineModel &machine) {
  if (!op.getQueryCodes() || rows != 1 || getLayoutTile(op) != 1 ||
      machine.vectorWidth <= kVectorWidthOfOneRow)
    return std::nullopt;
  return kVectorWidthOfOneRow;
}

/// Where the rows of a token's heads lie together, all heads of some tokens are
/// read in turn.
static int64_t chooseHeadsInside(AttentionOp op, const TokenWork &work,
                                 int64_t tile, const MachineModel &machine) {
  auto key = cast<CacheType>(op.getKey().getType());
  auto value = cast<CacheType>(op.getValue().getType());
  // Items of several query tokens have one head.
  auto query = op.getQuery().getType();
  if (!query.isDynamicDim(2) && query.getDimSize(2) != 1)
    return 0;
  if (key.getHeads() == 1 || !key.getTokenMajor() || !value.getTokenMajor())
    return 0;
  int64_t ofTile = std::max<int64_t>(tile * work.bytes * key.getHeads(), 1);
  int64_t tiles = std::max<int64_t>(machine.l2Bytes / kPartInside / ofTile, 1);
  return std::min(tiles * tile, kMostTokensInside);
}

/// Tokens of a sequence at most, as far as types say.
static int64_t getTokens(AttentionOp op) {
  int64_t tokens = std::numeric_limits<int64_t>::max();
  for (Value side : {op.getKey(), op.getValue()}) {
    auto cache = cast<CacheType>(side.getType());
    int64_t held = cache.getRing().value_or(cache.getCapacity());
    tokens =
        std::min(tokens, ShapedType::isDynamic(held) ? kTypicalTokens : held);
  }
  return tokens;
}

/// Query rows of a work item; `queryTile` as of `chooseSchedule`.
static int64_t getItemRows(AttentionOp op, int64_t queryTile) {
  auto query = op.getQuery().getType();
  if (queryTile == 0)
    queryTile =
        query.isDynamicDim(2)
            ? 1
            : chooseQueryTile(query.getDimSize(2), op.getGroupSize(),
                              std::max(query.getDimSize(3),
                                       op.getInit().getType().getDimSize(3)),
                              kCPURowChannels);
  return op.getGroupSize() * queryTile;
}

ScheduleAttr kvq::chooseSchedule(AttentionOp op, const MachineModel &machine,
                                 int64_t queryTile) {
  int64_t rows = getItemRows(op, queryTile);
  TokenWork work = getTokenWork(op, rows);
  auto query = op.getQuery().getType();
  auto key = cast<CacheType>(op.getKey().getType());
  int64_t tile = chooseTile(op, rows, work, machine);
  int64_t headsInside = chooseHeadsInside(op, work, tile, machine);
  int64_t items = key.getBatch() * (headsInside == 0 ? key.getHeads() : 1) *
                  (query.isDynamicDim(2) ? 1 : query.getDimSize(2));
  int64_t turn = headsInside ? headsInside * key.getHeads() : tile;
  return ScheduleAttr::get(op.getContext(), tile,
                           chooseSplits(items, getTokens(op), machine.threads),
                           headsInside, chooseVectorWidth(op, rows, machine),
                           choosePrefetch(work, turn, machine));
}
