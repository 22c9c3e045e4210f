//===- Reorder.cpp - kvq.reorder to copies of rows -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each sequence that is copied and each head, row by row: codes, metadata,
// exact first tokens, and the ring's rows that hold a token. A row is where it
// was, as both caches have the same windows.
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
  Value length, flushed;
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
  void copyRows(ComponentKind kind, Value begin, Value end);

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

/// Copies rows `begin` to `end` of a component; tokens `begin` to `end` of the
/// ring.
void HeadCopier::copyRows(ComponentKind kind, Value begin, Value end) {
  unsigned index = *cache.findComponent(kind);
  auto copyRow = [&](OpBuilder &nested, Location loc, Value row,
                     ValueRange carried) {
    IndexMath math(nested, loc);
    if (kind == ComponentKind::Recent)
      row = getRingSlot(math, cache, row);
    OpFoldResult one = nested.getIndexAttr(1);
    RowSlice from{copy.source, head, row, one}, to{copy.target, head, row, one};
    Value source = from.extract(nested, loc, sources[index]);
    Value target = to.extract(nested, loc, carried[0]);
    Value copied =
        linalg::CopyOp::create(nested, loc, source, target).getResult(0);
    scf::YieldOp::create(nested, loc,
                         to.insert(nested, loc, copied, carried[0]));
  };
  targets[index] = scf::ForOp::create(builder, loc, begin, end,
                                      math.constant(1), targets[index], copyRow)
                       .getResult(0);
}

SmallVector<Value> HeadCopier::run() {
  Value zero = math.constant(0);
  if (cache.getFormat().isExact()) {
    copyRows(ComponentKind::Values, zero, copy.length);
    return targets;
  }
  Value groups = math.div(copy.flushed, cache.getTokenGroup());
  for (ComponentKind kind : {ComponentKind::Codes, ComponentKind::Records,
                             ComponentKind::Scales, ComponentKind::Zeros})
    if (cache.findComponent(kind))
      copyRows(kind, zero,
               kind == ComponentKind::Codes ? copy.flushed : groups);
  if (cache.getExactFirst() != 0)
    copyRows(ComponentKind::First, zero,
             math.min(copy.length, cache.getExactFirst()));
  if (cache.hasRecentWindow())
    copyRows(ComponentKind::Recent,
             math.add(copy.flushed, cache.getExactFirst()), copy.length);
  return targets;
}

/// What becomes of sequence `target`.
static Copy buildCopy(OpBuilder &builder, Location loc, CacheType cache,
                      Value target, Value sources, Value lengths,
                      Value flushed) {
  IndexMath math(builder, loc);
  auto extract = [&](Value counts, Value index) -> Value {
    Value count = tensor::ExtractOp::create(builder, loc, counts, index);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      count);
  };
  Value zero = math.constant(0);
  Value source = extract(sources, target);
  Value isCopied = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, source, zero);
  Copy copy;
  copy.target = target;
  copy.source = math.max(source, zero);
  auto countCopied = [&](Value counts) -> Value {
    return arith::SelectOp::create(builder, loc, isCopied,
                                   extract(counts, copy.source), zero);
  };
  copy.length = countCopied(lengths);
  copy.flushed =
      flushed ? countCopied(flushed) : buildFlushed(math, cache, copy.length);
  return copy;
}

LogicalResult
ReorderPattern::matchAndRewrite(ReorderOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  CacheType cache = op.getCache().getType();
  ValueRange components = adaptor.getCache();
  Value sources = adaptor.getSources().front();
  Value lengths = adaptor.getLengths().front();
  Value flushed =
      adaptor.getFlushed().empty() ? Value() : adaptor.getFlushed().front();

  IndexMath math(rewriter, loc);
  Value zero = math.constant(0), one = math.constant(1);
  Value heads = math.constant(cache.getHeads());
  auto copySequence = [&](OpBuilder &builder, Location loc, Value target,
                          ValueRange carried) {
    Copy copy =
        buildCopy(builder, loc, cache, target, sources, lengths, flushed);
    auto copyHead = [&](OpBuilder &builder, Location loc, Value head,
                        ValueRange carried) {
      HeadCopier copier(builder, loc, cache, components, copy, head, carried);
      SmallVector<Value> copied = copier.run();
      scf::YieldOp::create(builder, loc, copied);
    };
    auto loop =
        scf::ForOp::create(builder, loc, zero, heads, one, carried, copyHead);
    scf::YieldOp::create(builder, loc, loop.getResults());
  };
  Value batch = math.constant(op.getDestination().getType().getBatch());
  auto loop = scf::ForOp::create(rewriter, loc, zero, batch, one,
                                 adaptor.getDestination(), copySequence);
  rewriter.replaceOpWithMultiple(op, {loop.getResults()});
  return success();
}

void kvq::populateReorderPatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<ReorderPattern>(converter, patterns.getContext());
}
