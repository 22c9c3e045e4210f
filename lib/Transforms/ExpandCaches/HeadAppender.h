//===- HeadAppender.h - New tokens of one head ------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_EXPANDCACHES_HEADAPPENDER_H
#define KVQ_LIB_TRANSFORMS_EXPANDCACHES_HEADAPPENDER_H

#include "Rows.h"
#include "TurnRows.h"

namespace mlir::kvq {

/// The new tokens: padded, `batch x kv_heads x new_tokens x head_dim`, or
/// packed, `total x kv_heads x head_dim`.
struct NewTokens {
  Value tensor;
  bool isPacked;
  /// What turns keys before they are stored.
  std::optional<RowTurner> turner;

  /// Rows from `row` on of one head of a padded sequence, or of all tokens.
  Value extract(OpBuilder &builder, Location loc, Value sequence, Value head,
                Value row, OpFoldResult count) const;
};

/// One sequence of an append, in tokens.
struct Sequence {
  Value index;
  /// The row of its first new token.
  Value start;
  /// Tokens before and after the append. The first new token is at position
  /// `length`.
  Value length, newLength;
  /// Quantized tokens before and after the append.
  Value flushed, newFlushed;
  TokenRows rows;
};

/// Builds the append of the tokens of one head of one sequence, or of the heads
/// from `head` on that share metadata.
class HeadAppender {
public:
  HeadAppender(OpBuilder &builder, Location loc, CacheType cache,
               const NewTokens &tokens, const Sequence &sequence, Value head,
               ValueRange components)
      : builder(builder), loc(loc), math(builder, loc), cache(cache),
        tokens(tokens), sequence(sequence), head(head), components(components) {
  }

  /// The components after the append, and with them the counts of saturated
  /// elements where they are asked for.
  SmallVector<Value> append();
  /// The components after the first new token was stored at `place`.
  SmallVector<Value> store(const RowPlace &place);

private:
  using LoopBody = llvm::function_ref<void(HeadAppender &, Value)>;
  using HeadBody = llvm::function_ref<void(HeadAppender &)>;

  Value &getComponent(ComponentKind kind) {
    return components[*cache.findComponent(kind)];
  }
  RowPlace getWindowRow(Value row) { return {sequence.index, row}; }
  RowSlice getRows(ComponentKind kind, const RowPlace &place,
                   OpFoldResult count) {
    bool isWindow =
        kind == ComponentKind::First || kind == ComponentKind::Recent;
    return {place.block,
            head,
            place.row,
            count,
            /*heads=*/std::nullopt,
            /*tile=*/{},
            cache.getTokenMajor() && !isWindow};
  }
  /// Rows of the input with `count` new tokens from position `token` on.
  Value extractNew(OpBuilder &nested, Location loc, Value token,
                   OpFoldResult count);
  /// The elements that they become, in `target`.
  Value fillNew(OpBuilder &nested, Location loc, Value token,
                OpFoldResult count, Value target);

  /// A loop from `begin` to `end` that carries the components; `body` builds
  /// one step, on an appender of its own.
  void loop(Value begin, Value end, int64_t step, LoopBody body);
  /// `body` for each of the heads that share metadata.
  void forEachHead(HeadBody body);

  void storeExact(ComponentKind kind, const RowPlace &place, Value token,
                  OpFoldResult count);
  void storeRecord(const RowPlace &place, Value token);
  void storeValue(const RowPlace &place, Value token);
  void storeFirst();
  void storeValues();
  void storeRecent();
  void flushGroups();
  Value gatherHeads(Value token);
  Value gatherGroup(Value token);
  Value fillGroup(Value token, Value group);
  Value gatherWindow(Value token, Value group);
  void encodeGroup(Value group, const RowPlace &place);

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  CacheType cache;
  const NewTokens &tokens;
  const Sequence &sequence;
  Value head;
  SmallVector<Value> components;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_EXPANDCACHES_HEADAPPENDER_H
