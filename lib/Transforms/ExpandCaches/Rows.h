//===- Rows.h - Index arithmetic and rows of components ---------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the patterns of kvq-expand-caches share: where a token lies, and reading
// and writing rows of a storage component.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_EXPANDCACHES_ROWS_H
#define KVQ_LIB_TRANSFORMS_EXPANDCACHES_ROWS_H

#include "kvq/IR/KVQ.h"

namespace mlir {
class RewritePatternSet;
class TypeConverter;
} // namespace mlir

namespace mlir::kvq {

/// Builds arithmetic on index values, folding constants as it goes. Division
/// and remainder are unsigned: use them on values that are not negative.
class IndexMath {
public:
  IndexMath(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  OpBuilder &getBuilder() { return builder; }

  Value constant(int64_t value);
  Value add(Value lhs, Value rhs);
  Value add(Value lhs, int64_t rhs) { return add(lhs, constant(rhs)); }
  Value sub(Value lhs, Value rhs);
  Value sub(Value lhs, int64_t rhs) { return sub(lhs, constant(rhs)); }
  Value max(Value lhs, Value rhs);
  Value max(Value lhs, int64_t rhs) { return max(lhs, constant(rhs)); }
  Value min(Value lhs, Value rhs);
  Value min(Value lhs, int64_t rhs) { return min(lhs, constant(rhs)); }
  Value mul(Value lhs, int64_t rhs);
  Value div(Value lhs, int64_t rhs);
  Value rem(Value lhs, int64_t rhs);
  /// The largest multiple of `factor` that is not above `value`.
  Value alignDown(Value value, int64_t factor);

private:
  OpBuilder &builder;
  Location loc;
};

/// Quantized tokens that a sequence of `length` tokens has by itself: f(length)
/// of the type's description, and the rows for codes in a cache of that
/// capacity.
Value buildFlushed(IndexMath &math, CacheType cache, Value length);

/// The ring slot of the recent token at position `token`.
Value getRingSlot(IndexMath &math, CacheType cache, Value token);

/// Rows `row` to `row + count` of one sequence and head of a rank-4 component:
/// where a slice starts, and how it is read and written back. Reading and
/// writing name the same slice, so that what is computed between them
/// bufferizes in place.
struct RowSlice {
  Value batch;
  Value head;
  Value row;
  OpFoldResult count;
  /// Heads from `head` on, as an axis of their own; without it the one head.
  std::optional<int64_t> heads = std::nullopt;
  /// How rows of the component lie together: of tiles a slice is one row.
  TileOrder tile = {};
  /// Whether rows of all heads of a token lie together.
  bool tokenMajor = false;

  /// The rows as a `[heads x] count x row size` tensor.
  Value extract(OpBuilder &builder, Location loc, Value component) const;
  /// The rows as what is going to be overwritten: a slice of the component, or
  /// scratch where they do not lie together.
  Value extractTarget(OpBuilder &builder, Location loc, Value component) const;
  /// The rows of packed tokens, `total x kv_heads x head_dim`, whatever their
  /// sequence.
  Value extractPacked(OpBuilder &builder, Location loc, Value tokens) const;
  /// `component` with the rows replaced by `rows`.
  Value insert(OpBuilder &builder, Location loc, Value rows,
               Value component) const;
};

/// The row of a given component that serves KV head `head`, as a `1 x row size`
/// tensor; with `heads` those of so many heads from it on, `heads x 1 x row
/// size`.
Value extractGivenRow(OpBuilder &builder, Location loc, CacheType cache,
                      Value component, Value head,
                      std::optional<int64_t> heads = std::nullopt);

/// True for what heads that share metadata have one row of.
bool isOfHeadGroup(ComponentKind kind);

/// The components that hold quantized tokens (an exact cache's tokens), in
/// their order.
SmallVector<ComponentKind> getTokenComponents(CacheType cache);

/// Where a row of a component with quantized tokens is.
struct RowPlace {
  /// The sequence, or in pools the page.
  Value block;
  Value row;
};

/// The rows of one sequence's quantized tokens (of an exact cache's tokens),
/// counted from the first one: where they lie in storage. What components have
/// one row of for several tokens lies in the same block, in the row of the
/// first of them divided by their number.
class TokenRows {
public:
  /// `pages` is the page table of a paged cache.
  TokenRows(CacheType cache, Value sequence, Value pages)
      : cache(cache), sequence(sequence), pages(pages) {}

  /// True if rows that follow each other may lie apart. Those of a token group
  /// do not.
  bool areScattered() const { return cache.isPaged() || cache.isRing(); }

  /// The place of `row`, which has to hold a token or be about to: nothing is
  /// known about the pages of others.
  RowPlace locate(OpBuilder &builder, Location loc, Value row) const;

  using RunBuilder = llvm::function_ref<SmallVector<Value>(
      OpBuilder &builder, Location loc, Value begin, Value count,
      ValueRange carried)>;
  /// Runs `body` for each run of rows within `begin` to `end` that lie one
  /// after the other: once, or in a loop that carries `inits`.
  SmallVector<Value> forEachRun(OpBuilder &builder, Location loc, Value begin,
                                Value end, ValueRange inits,
                                RunBuilder body) const;

private:
  CacheType cache;
  Value sequence, pages;
};

/// Element `index` of a vector of counts or of a page table, as an index.
Value extractIndex(OpBuilder &builder, Location loc, Value tensor,
                   ValueRange index);

/// The only value of an optional operand, or null.
Value getOptional(ValueRange values);

/// Builds what row `index` of a tile holds, into `target`.
using RowBuilder = llvm::function_ref<Value(OpBuilder &builder, Location loc,
                                            Value index, Value target)>;

/// A loop that fills rows `begin` to `end` of the rank-2 tensor `tile`, one by
/// one.
Value fillRows(OpBuilder &builder, Location loc, Value tile, Value begin,
               Value end, RowBuilder buildRow);

/// Rows `row` to `row + count` of the rank-2 tensor `tile`.
Value extractRows(OpBuilder &builder, Location loc, Value tile,
                  OpFoldResult row, OpFoldResult count);
/// `tile` with these rows replaced by `rows`.
Value insertRows(OpBuilder &builder, Location loc, Value rows, Value tile,
                 OpFoldResult row, OpFoldResult count);

/// Whether the rows of a component of tokens lie in tiles.
bool liesInTiles(CacheType cache, ComponentKind kind);

/// The rows of a component that hold a group of tokens of `head`, of which
/// `place` is the first; of metadata for all heads that share it.
RowSlice getGroupSlice(IndexMath &math, CacheType cache, const RowPlace &place,
                       Value head, ComponentKind kind);

/// The group of tokens of `head` that lies at `place`, as `kvq.load_tile`
/// yields it: codes and metadata, or an exact cache's values.
SmallVector<Value> loadGroup(OpBuilder &builder, Location loc, CacheType cache,
                             ValueRange components, const RowPlace &place,
                             Value head);

void populateAppendPatterns(const TypeConverter &converter,
                            RewritePatternSet &patterns);
void populateLoadTilePatterns(const TypeConverter &converter,
                              RewritePatternSet &patterns);
void populateReorderPatterns(const TypeConverter &converter,
                             RewritePatternSet &patterns);
void populateShiftPatterns(const TypeConverter &converter,
                           RewritePatternSet &patterns);
void populateTruncatePatterns(const TypeConverter &converter,
                              RewritePatternSet &patterns);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_EXPANDCACHES_ROWS_H
