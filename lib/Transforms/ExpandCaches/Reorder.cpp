//===- Reorder.cpp - kvq.reorder to copies of rows -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each sequence that is copied and each head: codes and metadata, a token
// group at a time; exact first tokens and the ring's rows that hold a token,
// row by row. A row of a window is where it was, as both caches have the same
// ones.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct ReorderPattern : OpConversionPattern<ReorderOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ReorderOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

/// What is copied from one sequence to another: no token at all where `length`
/// is 0.
struct Copy {
  Value source, target;
  Value length;
  /// Quantized tokens (tokens of an exact cache): all, and those that are there
  /// already.
  Value stored, shared;
  TokenRows from, to;
};

/// Builds the copy of one head of a sequence.
class HeadCopier {
public:
  HeadCopier(OpBuilder &builder, Location loc, CacheType cache,
             ValueRange sources, const Copy &copy, Value head,
             ValueRange targets)
      : builder(builder), loc(loc), math(builder, loc), cache(cache),
        sources(sources), copy(copy), head(head), targets(targets) {}

  /// The destination's components after the copy.
  SmallVector<Value> run();

private:
  Value copySlice(OpBuilder &nested, Location loc, unsigned index,
                  const RowSlice &from, const RowSlice &to, Value target);
  void copyTokens();
  void copyGroups(Value begin, Value end);
  void copyWindow(ComponentKind kind, Value begin, Value end);

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  CacheType cache;
  ValueRange sources;
  const Copy &copy;
  Value head;
  SmallVector<Value> targets;
};

} // namespace

/// `target`, the component `index` of the destination, with rows of the source.
Value HeadCopier::copySlice(OpBuilder &nested, Location loc, unsigned index,
                            const RowSlice &from, const RowSlice &to,
                            Value target) {
  Value source = from.extract(nested, loc, sources[index]);
  Value rows = to.extractTarget(nested, loc, target);
  Value copied = linalg::CopyOp::create(nested, loc, source, rows).getResult(0);
  return to.insert(nested, loc, copied, target);
}

/// Copies the quantized tokens that the cache still holds.
void HeadCopier::copyTokens() {
  if (!cache.isRing())
    return copyGroups(copy.shared, copy.stored);
  int64_t kept = cache.getKeptRows();
  if (kept != 0)
    copyGroups(copy.shared, math.min(copy.stored, kept));
  Value oldest = math.max(math.sub(copy.stored, cache.getRingRows()), kept);
  copyGroups(cache.isPaged() ? math.max(oldest, copy.shared) : oldest,
             copy.stored);
}

/// Copies what the groups of rows `begin` to `end` are stored as.
void HeadCopier::copyGroups(Value begin, Value end) {
  int64_t group = cache.getTokenGroup();
  auto copyGroup = [&](OpBuilder &nested, Location loc, Value row,
                       ValueRange carried) {
    IndexMath math(nested, loc);
    RowPlace from = copy.from.locate(nested, loc, row);
    RowPlace to = copy.to.locate(nested, loc, row);
    SmallVector<Value> copied(carried);
    for (ComponentKind kind : getTokenComponents(cache)) {
      unsigned index = *cache.findComponent(kind);
      copied[index] = copySlice(
          nested, loc, index, getGroupSlice(math, cache, from, head, kind),
          getGroupSlice(math, cache, to, head, kind), copied[index]);
    }
    scf::YieldOp::create(nested, loc, copied);
  };
  auto loop = scf::ForOp::create(builder, loc, begin, end, math.constant(group),
                                 targets, copyGroup);
  targets.assign(loop.result_begin(), loop.result_end());
}

/// Copies the rows of tokens `begin` to `end` of a window.
void HeadCopier::copyWindow(ComponentKind kind, Value begin, Value end) {
  unsigned index = *cache.findComponent(kind);
  auto copyRow = [&](OpBuilder &nested, Location loc, Value row,
                     ValueRange carried) {
    IndexMath math(nested, loc);
    if (kind == ComponentKind::Recent)
      row = getRingSlot(math, cache, row);
    OpFoldResult one = nested.getIndexAttr(1);
    scf::YieldOp::create(nested, loc,
                         copySlice(nested, loc, index,
                                   {copy.source, head, row, one},
                                   {copy.target, head, row, one}, carried[0]));
  };
  targets[index] = scf::ForOp::create(builder, loc, begin, end,
                                      math.constant(1), targets[index], copyRow)
                       .getResult(0);
}

SmallVector<Value> HeadCopier::run() {
  copyTokens();
  if (cache.getExactFirst() != 0)
    copyWindow(ComponentKind::First, math.constant(0),
               math.min(copy.length, cache.getExactFirst()));
  if (cache.hasRecentWindow())
    copyWindow(ComponentKind::Recent,
               math.add(copy.stored, cache.getExactFirst()), copy.length);
  return targets;
}

/// What becomes of sequence `target`.
static Copy buildCopy(OpBuilder &builder, Location loc, ReorderOp op,
                      ReorderPattern::OneToNOpAdaptor adaptor, Value target) {
  CacheType cache = op.getCache().getType();
  IndexMath math(builder, loc);
  Value zero = math.constant(0);
  Value named =
      extractIndex(builder, loc, adaptor.getSources().front(), target);
  Value isCopied = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, named, zero);
  Value source = math.max(named, zero);
  auto countCopied = [&](Value counts, Value index) -> Value {
    return arith::SelectOp::create(builder, loc, isCopied,
                                   extractIndex(builder, loc, counts, index),
                                   zero);
  };
  Value length = countCopied(adaptor.getLengths().front(), source);
  Value flushed = getOptional(adaptor.getFlushed());
  Value stored = flushed ? countCopied(flushed, source)
                         : buildFlushed(math, cache, length);
  Value shared = getOptional(adaptor.getShared());
  return {source,
          target,
          length,
          stored,
          shared ? countCopied(shared, target) : zero,
          TokenRows(cache, source, getOptional(adaptor.getPages())),
          TokenRows(cache, target, getOptional(adaptor.getToPages()))};
}

LogicalResult
ReorderPattern::matchAndRewrite(ReorderOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  CacheType cache = op.getCache().getType();
  ValueRange components = adaptor.getCache();
  IndexMath math(rewriter, loc);
  Value batch = math.constant(op.getDestination().getType().getBatch());
  Value heads = math.constant(cache.getHeads());
  auto copyHead = [&](OpBuilder &builder, Location loc, ValueRange item,
                      ValueRange targets) {
    Copy copy = buildCopy(builder, loc, op, adaptor, item[0]);
    return HeadCopier(builder, loc, cache, components, copy, item[1], targets)
        .run();
  };
  auto items = ForallOp::create(rewriter, loc, ValueRange{batch, heads},
                                adaptor.getDestination(), copyHead);
  rewriter.replaceOpWithMultiple(op, {items.getResults()});
  return success();
}

void kvq::populateReorderPatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<ReorderPattern>(converter, patterns.getContext());
}
