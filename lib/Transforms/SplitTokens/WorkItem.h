//===- WorkItem.h - One work item of attention ------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_SPLITTOKENS_WORKITEM_H
#define KVQ_LIB_TRANSFORMS_SPLITTOKENS_WORKITEM_H

#include "VisibleTokens.h"

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// The online-softmax state of some query rows.
struct AttentionState {
  Value acc, max, sum;

  SmallVector<Value> values() const { return {acc, max, sum}; }
};

/// What work items of one attention op have in common.
struct WorkItems {
  AttentionOp op;
  /// Most query tokens in an item.
  int64_t queryTokens;
  /// Token ranges that are attended to by items of their own.
  int64_t splits;

  /// Items of a sequence and as many query heads.
  OpFoldResult getCount(OpBuilder &b);
  /// Query heads in an item: those of a KV head, or an equal part of them.
  int64_t getHeads();
  /// Such parts of a KV head's.
  int64_t getParts() { return op.getGroupSize() / getHeads(); }
  /// Tokens of which an item takes all KV heads in turn; 0 where it has one, as
  /// items of several query tokens, and of parts, always do.
  int64_t getHeadsInside();
  /// Query heads in an item, of all of its KV heads.
  int64_t getAllHeads();
  /// Items of a sequence and as many query tokens.
  int64_t countParts();
  int64_t getRows() { return getAllHeads() * queryTokens; }
};

/// Emits one work item: some query tokens of a sequence that follow each other,
/// with the query heads of a KV head. Its rows are the tokens of the first
/// head, then those of the next. Where fewer tokens are left, those that are
/// missing are padding: rows of zeros, of which nothing is stored.
class WorkItem {
public:
  /// The item `index` of a sequence and part `part` of all query heads.
  WorkItem(OpBuilder &b, WorkItems items, Value sequence, Value part,
           Value index);

  /// The state that has seen no token.
  AttentionState getIdentity();
  /// The state before any token: sinks have no value.
  AttentionState getInitialState();
  /// `state` after one split of each range that the item's rows see:
  /// ceil(tokens / splits) tokens each, so that borders depend on nothing else.
  /// All of them where `split` is null.
  AttentionState attend(Value split, AttentionState state);
  /// Into the rows of the outputs, at the end of the loop over items.
  void storeResults(const AttentionState &state, ValueRange outputs);

private:
  bool hasPadding() { return !getConstantIntValue(tokenCount); }
  /// The extent of axes of query tokens.
  int64_t getStaticTokens() {
    return getConstantIntValue(tokenCount).value_or(ShapedType::kDynamic);
  }
  SmallVector<int64_t> getRowShape(int64_t channels, int64_t tokens);
  SmallVector<OpFoldResult> getRowSizes(RankedTensorType type);
  Value joinRows(Value value);
  Value splitRows(Value value);
  Value dropPadding(Value value);
  Value loadQuery();
  Value loadMask();
  Value loadPerHead(Value operand, double factor);
  Value countFlushed(CacheType cache, Value flushed);
  VisibleRange restrictToSplit(Value split, VisibleRange range);
  /// What rows of an item have beside caches and state.
  struct Inputs {
    Value query, slopes, mask;
  };

  void loadInputs();
  AttentionState attendToAll(ArrayRef<VisibleRange> ranges,
                             const AttentionState &state);
  AttentionState attendTo(const VisibleRange &range,
                          const AttentionState &state);
  AttentionState attendToHead(Value head, const Inputs &inputs,
                              const VisibleRange &range,
                              const AttentionState &state);
  AttentionState attendToHeads(const VisibleRange &range,
                               const AttentionState &state);
  Value extractHead(Value rows, Value firstRow);
  void storeOutput(const AttentionState &state, Value output);
  void storeLse(const AttentionState &state, Value output);
  Value getIndex(OpFoldResult value);
  VisibleTokens getVisible(OpFoldResult token) {
    return {b, op, sequence, token};
  }

  OpBuilder &b;
  AttentionOp op;
  Location loc;
  Value sequence, head;
  /// The first query token, and how many there are.
  OpFoldResult token, tokenCount;
  int64_t queryTokens, heads, rows, splits;
  /// Tokens of which all KV heads are taken in turn, or 0, and query heads of
  /// each then.
  int64_t headsInside, headRows;
  RankedTensorType queryType, outputType;
  /// The rows' place in query and output, batch x heads x tokens x channels.
  SmallVector<OpFoldResult> offsets;
  /// Loaded when first needed.
  Inputs inputs;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_SPLITTOKENS_WORKITEM_H
