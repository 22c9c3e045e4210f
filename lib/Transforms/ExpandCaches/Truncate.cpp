//===- Truncate.cpp - kvq.truncate to arithmetic on counts ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct TruncatePattern : OpConversionPattern<TruncateOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TruncateOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

} // namespace

/// Work items rather than a structured op: the counts are a few integers, and
/// are overwritten where nothing reads the old ones.
LogicalResult
TruncatePattern::matchAndRewrite(TruncateOp op, OpAdaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  CacheType cache = op.getCache();
  Value to = adaptor.getTo();
  auto truncate = [&](OpBuilder &b, Location loc, ValueRange sequence,
                      ValueRange counts) {
    auto update = [&](Value all, Value bound) -> Value {
      Value old = tensor::ExtractOp::create(b, loc, all, sequence);
      Value least = arith::MinSIOp::create(b, loc, old, bound);
      return tensor::InsertOp::create(b, loc, least, all, sequence);
    };
    Value target = tensor::ExtractOp::create(b, loc, to, sequence);
    SmallVector<Value> updated = {update(counts[0], target)};
    if (counts.size() > 1) {
      // As `flushed` is at most length - E, the new length need not be known.
      Value exactFirst = arith::ConstantOp::create(
          b, loc, b.getI64IntegerAttr(cache.getExactFirst()));
      Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
      Value beyond = arith::SubIOp::create(b, loc, target, exactFirst);
      updated.push_back(
          update(counts[1], arith::MaxSIOp::create(b, loc, beyond, zero)));
    }
    return updated;
  };
  SmallVector<Value> counts = {adaptor.getLengths()};
  if (Value flushed = adaptor.getFlushed())
    counts.push_back(flushed);
  Value batch = IndexMath(rewriter, loc).constant(cache.getBatch());
  rewriter.replaceOp(
      op,
      ForallOp::create(rewriter, loc, batch, counts, truncate).getResults());
  return success();
}

void kvq::populateTruncatePatterns(const TypeConverter &converter,
                                   RewritePatternSet &patterns) {
  patterns.add<TruncatePattern>(converter, patterns.getContext());
}
