//===- TileDecomposer.h - One tile of attention -----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_DECOMPOSEATTENTION_TILEDECOMPOSER_H
#define KVQ_LIB_TRANSFORMS_DECOMPOSEATTENTION_TILEDECOMPOSER_H

#include "../Segments.h"

#include "kvq/IR/KVQ.h"
#include "kvq/IR/StructuredOps.h"
#include "kvq/Transforms/Transforms.h"

namespace mlir::kvq {

struct RopePairs;

/// Channels of a row, each `stride` behind the one before.
struct ChannelRange {
  int64_t begin, count, stride = 1;
};

/// Emits one tile of attention. Axes: r query rows, t tokens, c channels.
///
/// Scores are rows x tokens. With `rowsInLanes` they are tokens x rows, as is
/// the query channels x rows, and tiles become f32 first.
class TileDecomposer {
public:
  TileDecomposer(OpBuilder &b, PartialAttentionOp op, bool rowsInLanes,
                 TransposedQueries &transposedQueries);

  SmallVector<Value> run();

private:
  /// The values of a segment, and which channels of the side they are.
  struct SegmentTile {
    Value values;
    ChannelRange channels;
    bool isBeforeRope;
  };
  /// Some channels of keys, tokens x channels, and those of the query that they
  /// are multiplied with.
  struct KeyPart {
    Value query, values;
  };
  SmallVector<SegmentTile> loadSegments(Value cache, Value pages,
                                        TokenRegion region,
                                        ChannelRange channels);
  SmallVector<KeyPart> getKeyParts(const SegmentTile &key);
  /// A tile of all channels in f32.
  struct WideTile {
    Value cache;
    TokenRegion region;
    Value values;
  };
  Value loadValues(Value cache, Value pages, TokenRegion region,
                   ChannelRange channels);
  Value loadStored(Value cache, Value pages, TokenRegion region,
                   ChannelRange channels);
  LoadTileOp load(Value cache, Value pages, TokenRegion region,
                  ChannelRange channels);
  ArrayRef<CacheSegment> getSegments(Value cache);
  Value getTransposedQuery();
  Value extractQuery(ChannelRange channels);
  Value extractQueryPairs(const SegmentTile &key, const RopePairs &pairs,
                          bool second);
  Value widen(Value values);
  Value getInitialScores();
  Value computeScores();
  Value buildNumbers(Value first);
  Value buildQueryNumbers();
  StructuredOperand loadMask();
  Value splitRows(Value scores);
  Value addMask(Value scores);
  Value adjustScores(Value scores);
  Value accumulate(Value probabilities, Value acc);
  Value accumulateTiles(ArrayRef<SegmentTile> tiles, Value probabilities,
                        Value acc, bool hides);
  Value buildMustHide(ArrayRef<SegmentTile> tiles);
  Value buildMayHide();
  Value buildIsFinite(ArrayRef<SegmentTile> tiles);
  Value computeTileMaximum(Value scores);
  SmallVector<Value> updateState(Value tileMaximum);
  Value computeProbabilities(Value scores, Value maximum);

  /// Scratch for each row and token.
  Value buildScoreScratch();
  /// The axes of scores and probabilities.
  StringRef getScoreAxes() const { return rowsInLanes ? "tr" : "rt"; }

  OpBuilder &b;
  PartialAttentionOp op;
  Location loc;
  bool rowsInLanes;
  TransposedQueries &transposedQueries;
  /// What was loaded so far.
  SmallVector<LoadTileOp> loads;
  SmallVector<WideTile> wideTiles;
  std::vector<std::pair<Value, SmallVector<CacheSegment>>> segmentsOf;
  /// Most tokens in the tile.
  int64_t tile;
  int64_t rows, queryTokens;
  /// Tokens in the tile.
  OpFoldResult tokens;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_DECOMPOSEATTENTION_TILEDECOMPOSER_H
