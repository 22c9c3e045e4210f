//===- Append.cpp - kvq.append to loops over components -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tokens of each sequence and head (heads that share metadata together) are
// appended behind those that it has; HeadAppender.cpp says how. Packed tokens
// with slots are quantized or stored one by one where the slots say.
//
//===----------------------------------------------------------------------===//

#include "HeadAppender.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct AppendPattern : OpConversionPattern<AppendOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AppendOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

} // namespace

using Adaptor = AppendPattern::OneToNOpAdaptor;

static NewTokens getNewTokens(AppendOp op, Adaptor adaptor) {
  NewTokens tokens{adaptor.getTokens().front(), op.isPacked(),
                   /*turner=*/std::nullopt};
  if (op.getCos())
    tokens.turner =
        RowTurner{adaptor.getCos().front(), adaptor.getSin().front(),
                  op.getRopeStyle().value_or(RopeStyle::Half)};
  return tokens;
}

/// Describes sequence `index` before and after the append.
static Sequence buildSequence(OpBuilder &builder, Location loc, AppendOp op,
                              Adaptor adaptor, Value index) {
  CacheType cache = op.getCache().getType();
  IndexMath math(builder, loc);
  auto extract = [&](ValueRange counts, Value index) {
    return extractIndex(builder, loc, counts.front(), index);
  };
  Value length = extract(adaptor.getLengths(), index);
  Value start = math.constant(0), count;
  if (op.getStarts()) {
    start = extract(adaptor.getStarts(), index);
    count = math.sub(extract(adaptor.getStarts(), math.add(index, 1)), start);
  } else if (op.getCounts()) {
    count = extract(adaptor.getCounts(), index);
  } else {
    Value tokens = adaptor.getTokens().front();
    count = getValueOrCreateConstantIndexOp(
        builder, loc, tensor::getMixedSize(builder, loc, tokens, 2));
  }
  Sequence sequence{index,
                    start,
                    length,
                    math.add(length, count),
                    /*flushed=*/{},
                    {},
                    TokenRows(cache, index, getOptional(adaptor.getPages()))};
  // Without a window, a sequence's flushed tokens follow from its length.
  sequence.flushed = op.getFlushed() ? extract(adaptor.getFlushed(), index)
                                     : buildFlushed(math, cache, length);
  sequence.newFlushed =
      math.max(sequence.flushed, buildFlushed(math, cache, sequence.newLength));
  return sequence;
}

namespace {

/// The work items of an append: for each sequence and each of its heads (heads
/// that share metadata together), and where tokens have nothing to do with each
/// other for so many of them.
struct AppendItems {
  SmallVector<Value> extents;
  /// Tokens of an item; 0 for all of a sequence.
  int64_t chunk = 0;

  AppendItems(OpBuilder &builder, Location loc, AppendOp op, Adaptor adaptor);
};

} // namespace

/// Whether what becomes of a new token depends on the ones before it, or it
/// may come to lie where one of them does.
static bool areTokensOrdered(AppendOp op) {
  CacheType cache = op.getCache().getType();
  return cache.hasRecentWindow() || cache.isRing() || op.getSaturated();
}

AppendItems::AppendItems(OpBuilder &builder, Location loc, AppendOp op,
                         Adaptor adaptor) {
  // So few that a block of a GPU, whose threads share a token, is done soon;
  // what is exact is one copy.
  constexpr int64_t kQuantizedChunk = 16, kExactChunk = 64;
  CacheType cache = op.getCache().getType();
  IndexMath math(builder, loc);
  extents = {math.constant(cache.getBatch()),
             math.constant(cache.getHeads() / cache.getGroupHeads())};
  if (areTokensOrdered(op))
    return;
  Value tokens = adaptor.getTokens().front();
  Value most = getValueOrCreateConstantIndexOp(
      builder, loc,
      tensor::getMixedSize(builder, loc, tokens, op.isPacked() ? 0 : 2));
  chunk = cache.isExact() ? kExactChunk : kQuantizedChunk;
  extents.push_back(math.div(math.add(most, chunk - 1), chunk));
}

/// The part of an append to `sequence` that is `chunk` number `index` of its
/// new tokens: an append like any other.
static Sequence takeChunk(OpBuilder &builder, Location loc, CacheType cache,
                          const Sequence &sequence, Value index,
                          int64_t chunk) {
  IndexMath math(builder, loc);
  Sequence part = sequence;
  part.length = math.min(math.add(sequence.length, math.mul(index, chunk)),
                         sequence.newLength);
  part.newLength = math.min(math.add(part.length, chunk), sequence.newLength);
  part.start = math.add(sequence.start, math.sub(part.length, sequence.length));
  part.flushed = buildFlushed(math, cache, part.length);
  part.newFlushed = buildFlushed(math, cache, part.newLength);
  return part;
}

/// Appends to each sequence behind the tokens that it has.
static ValueRange appendToSequences(OpBuilder &builder, Location loc,
                                    AppendOp op, Adaptor adaptor,
                                    ValueRange components) {
  CacheType cache = op.getCache().getType();
  NewTokens tokens = getNewTokens(op, adaptor);
  AppendItems items(builder, loc, op, adaptor);
  auto appendItem = [&](OpBuilder &nested, Location loc, ValueRange item,
                        ValueRange components) {
    Sequence sequence = buildSequence(nested, loc, op, adaptor, item[0]);
    if (items.chunk != 0)
      sequence = takeChunk(nested, loc, cache, sequence, item[2], items.chunk);
    Value head = IndexMath(nested, loc).mul(item[1], cache.getGroupHeads());
    return HeadAppender(nested, loc, cache, tokens, sequence, head, components)
        .append();
  };
  return ForallOp::create(builder, loc, items.extents, components, appendItem)
      .getResults();
}

/// Stores each packed token in its slot of the pool, none where that is
/// negative.
static ValueRange appendToSlots(OpBuilder &builder, Location loc, AppendOp op,
                                Adaptor adaptor, ValueRange components) {
  CacheType cache = op.getCache().getType();
  int64_t page = *cache.getPage();
  NewTokens tokens = getNewTokens(op, adaptor);
  IndexMath math(builder, loc);
  auto storeToken = [&](OpBuilder &nested, Location loc, ValueRange item,
                        ValueRange components) {
    IndexMath math(nested, loc);
    Value zero = math.constant(0), one = math.constant(1);
    Value slot = extractIndex(nested, loc, adaptor.getSlots().front(), item[0]);
    Value isStored = arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::sge, slot, zero);
    Value times = arith::SelectOp::create(nested, loc, isStored, one, zero);
    auto store = [&](OpBuilder &nested, Location loc, Value,
                     ValueRange components) {
      IndexMath math(nested, loc);
      RowPlace place{math.div(slot, page), math.rem(slot, page)};
      // Only RoPE asks where in its sequence a token is.
      Value position = zero;
      if (op.getPositions())
        position =
            extractIndex(nested, loc, adaptor.getPositions().front(), item[0]);
      Sequence token{place.block,
                     item[0],
                     position,
                     zero,
                     zero,
                     zero,
                     TokenRows(cache, place.block, /*pages=*/{})};
      Value head = math.mul(item[1], cache.getGroupHeads());
      scf::YieldOp::create(
          nested, loc,
          HeadAppender(nested, loc, cache, tokens, token, head, components)
              .store(place));
    };
    // A loop that runs once or not at all.
    auto loop =
        scf::ForOp::create(nested, loc, zero, times, one, components, store);
    return llvm::to_vector_of<Value>(loop.getResults());
  };
  Value total = getValueOrCreateConstantIndexOp(
      builder, loc, tensor::getMixedSize(builder, loc, tokens.tensor, 0));
  Value heads = math.constant(cache.getHeads() / cache.getGroupHeads());
  return ForallOp::create(builder, loc, ValueRange{total, heads}, components,
                          storeToken)
      .getResults();
}

LogicalResult
AppendPattern::matchAndRewrite(AppendOp op, OneToNOpAdaptor adaptor,
                               ConversionPatternRewriter &rewriter) const {
  SmallVector<Value> carried(adaptor.getCache());
  llvm::append_range(carried, adaptor.getSaturated());
  auto append = op.getSlots() ? appendToSlots : appendToSequences;
  ValueRange appended = append(rewriter, op.getLoc(), op, adaptor, carried);
  size_t components = adaptor.getCache().size();
  SmallVector<ValueRange> results = {appended.take_front(components)};
  if (op.getNewSaturated())
    results.push_back(appended.drop_front(components));
  rewriter.replaceOpWithMultiple(op, std::move(results));
  return success();
}

void kvq::populateAppendPatterns(const TypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<AppendPattern>(converter, patterns.getContext());
}
