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
  Value newLength = math.add(length, count);
  Value leaving = buildFlushed(math, cache, newLength);
  // Without a window, a sequence's flushed tokens follow from its length.
  Value flushed = op.getFlushed() ? extract(adaptor.getFlushed(), index)
                                  : buildFlushed(math, cache, length);
  Value newFlushed = math.max(flushed, leaving);
  return {index,
          start,
          length,
          newLength,
          flushed,
          newFlushed,
          TokenRows(cache, index, getOptional(adaptor.getPages()))};
}

/// A loop over `count` steps that carries the components, and what is counted.
static SmallVector<Value>
buildLoop(OpBuilder &builder, Location loc, Value count, ValueRange components,
          llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, Value,
                                                ValueRange)>
              body,
          int64_t stepSize = 1) {
  IndexMath math(builder, loc);
  auto step = [&](OpBuilder &nested, Location loc, Value index,
                  ValueRange carried) {
    scf::YieldOp::create(nested, loc, body(nested, loc, index, carried));
  };
  auto loop = scf::ForOp::create(builder, loc, math.constant(0), count,
                                 math.constant(stepSize), components, step);
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Appends to each sequence behind the tokens that it has.
static SmallVector<Value> appendToSequences(OpBuilder &builder, Location loc,
                                            AppendOp op, Adaptor adaptor,
                                            ValueRange carried) {
  CacheType cache = op.getCache().getType();
  NewTokens tokens{adaptor.getTokens().front(), op.isPacked()};
  IndexMath math(builder, loc);
  Value heads = math.constant(cache.getHeads());
  auto appendSequence = [&](OpBuilder &nested, Location loc, Value index,
                            ValueRange carried) {
    Sequence sequence = buildSequence(nested, loc, op, adaptor, index);
    auto appendHead = [&](OpBuilder &nested, Location loc, Value head,
                          ValueRange carried) {
      return HeadAppender(nested, loc, cache, tokens, sequence, head, carried)
          .append();
    };
    return buildLoop(nested, loc, heads, carried, appendHead,
                     cache.getGroupHeads());
  };
  return buildLoop(builder, loc, math.constant(cache.getBatch()), carried,
                   appendSequence);
}

/// Stores each packed token in its slot of the pool, none where that is
/// negative.
static SmallVector<Value> appendToSlots(OpBuilder &builder, Location loc,
                                        AppendOp op, Adaptor adaptor,
                                        ValueRange carried) {
  CacheType cache = op.getCache().getType();
  int64_t page = *cache.getPage();
  NewTokens tokens{adaptor.getTokens().front(), op.isPacked()};
  IndexMath math(builder, loc);
  Value heads = math.constant(cache.getHeads());
  auto storeToken = [&](OpBuilder &nested, Location loc, Value index,
                        ValueRange carried) {
    IndexMath math(nested, loc);
    Value slot = extractIndex(nested, loc, adaptor.getSlots().front(), index);
    Value zero = math.constant(0);
    Value isStored = arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::sge, slot, zero);
    slot = math.max(slot, zero);
    RowPlace place{math.div(slot, page), math.rem(slot, page)};
    Sequence token{place.block,
                   index,
                   zero,
                   zero,
                   zero,
                   zero,
                   TokenRows(cache, place.block, /*pages=*/{})};
    auto storeHead = [&](OpBuilder &nested, Location loc, Value head,
                         ValueRange carried) {
      return HeadAppender(nested, loc, cache, tokens, token, head, carried)
          .store(place);
    };
    // No head where the token is left out.
    Value storedHeads =
        arith::SelectOp::create(nested, loc, isStored, heads, zero);
    return buildLoop(nested, loc, storedHeads, carried, storeHead,
                     cache.getGroupHeads());
  };
  Value total = getValueOrCreateConstantIndexOp(
      builder, loc, tensor::getMixedSize(builder, loc, tokens.tensor, 0));
  return buildLoop(builder, loc, total, carried, storeToken);
}

LogicalResult
AppendPattern::matchAndRewrite(AppendOp op, OneToNOpAdaptor adaptor,
                               ConversionPatternRewriter &rewriter) const {
  SmallVector<Value> carried(adaptor.getCache());
  llvm::append_range(carried, adaptor.getSaturated());
  auto append = op.getSlots() ? appendToSlots : appendToSequences;
  SmallVector<Value> appended =
      append(rewriter, op.getLoc(), op, adaptor, carried);
  size_t components = adaptor.getCache().size();
  SmallVector<SmallVector<Value>> results = {
      SmallVector<Value>(ArrayRef(appended).take_front(components))};
  if (op.getNewSaturated())
    results.emplace_back(ArrayRef(appended).drop_front(components));
  rewriter.replaceOpWithMultiple(op, std::move(results));
  return success();
}

void kvq::populateAppendPatterns(const TypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<AppendPattern>(converter, patterns.getContext());
}
