//===- Parts.cpp - What a cache becomes under a policy --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"

#include "../ExpandCaches/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static RankedTensorType getCountsType(CacheType cache) {
  return RankedTensorType::get({cache.getBatch()},
                               IntegerType::get(cache.getContext(), 64));
}

SmallVector<Type> kvq::getPartTypes(ArrayRef<CacheType> caches) {
  SmallVector<Type> types;
  for (CacheType cache : caches) {
    types.push_back(cache);
    if (cache.hasRecentWindow())
      types.push_back(getCountsType(cache));
  }
  return types;
}

Type kvq::bundle(ArrayRef<Type> parts) {
  if (parts.size() == 1)
    return parts.front();
  return TupleType::get(parts.front().getContext(), parts);
}

PartConverter::PartConverter() {
  addConversion([](Type type) { return type; });
  // No other tuples hold caches: kvq-apply-policy rejects them.
  addConversion(
      [](TupleType tuple,
         SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
        if (tuple.size() == 0 || !isa<CacheType>(tuple.getType(0)))
          return std::nullopt;
        llvm::append_range(types, tuple.getTypes());
        return success();
      });
}

namespace {

/// One cache of some heads, with its flushed counts if it has a window.
struct Part {
  Value cache, flushed;
  /// Its first head among those of all parts.
  int64_t firstHead;

  CacheType getType() const { return cast<CacheType>(cache.getType()); }
  int64_t getHeads() const { return getType().getHeads(); }
};

} // namespace

static SmallVector<Part> getParts(ValueRange values) {
  SmallVector<Part> parts;
  int64_t head = 0;
  for (Value value : values) {
    if (!isa<CacheType>(value.getType())) {
      parts.back().flushed = value;
      continue;
    }
    parts.push_back({value, Value(), head});
    head += parts.back().getHeads();
  }
  return parts;
}

/// The values that stand for a cache in place of `parts`.
static SmallVector<Value> getValues(ArrayRef<Part> parts) {
  SmallVector<Value> values;
  for (const Part &part : parts) {
    values.push_back(part.cache);
    if (part.flushed)
      values.push_back(part.flushed);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Heads of tensors
//===----------------------------------------------------------------------===//

namespace {

/// Heads `[first, first + count)` of a tensor: its axis 1, or its only one.
struct HeadSlice {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  HeadSlice(OpBuilder &b, Location loc, Value tensor, int64_t first,
            int64_t count)
      : sizes(tensor::getMixedSizes(b, loc, tensor)) {
    offsets.assign(sizes.size(), b.getIndexAttr(0));
    strides.assign(sizes.size(), b.getIndexAttr(1));
    unsigned axis = sizes.size() == 1 ? 0 : 1;
    offsets[axis] = b.getIndexAttr(first);
    sizes[axis] = b.getIndexAttr(count);
  }
};

} // namespace

static Value extractHeads(OpBuilder &b, Location loc, Value tensor,
                          int64_t first, int64_t count) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getDimSize(type.getRank() == 1 ? 0 : 1) == count)
    return tensor;
  HeadSlice slice(b, loc, tensor, first, count);
  return tensor::ExtractSliceOp::create(b, loc, tensor, slice.offsets,
                                        slice.sizes, slice.strides);
}

static Value insertHeads(OpBuilder &b, Location loc, Value heads, Value tensor,
                         int64_t first) {
  auto type = cast<RankedTensorType>(heads.getType());
  if (type == tensor.getType())
    return heads;
  HeadSlice slice(b, loc, tensor, first, type.getDimSize(1));
  return tensor::InsertSliceOp::create(b, loc, heads, tensor, slice.offsets,
                                       slice.sizes, slice.strides);
}

//===----------------------------------------------------------------------===//
// Flushed counts
//===----------------------------------------------------------------------===//

/// Computes the new count of a sequence from the old one, an i64.
using CountBuilder =
    llvm::function_ref<Value(OpBuilder &, Location, Value index, Value old)>;

/// `counts` with every element replaced. Work items, as for `kvq.truncate`: the
/// counts are a few integers, and are overwritten where nothing reads the old
/// ones.
static Value updateCounts(OpBuilder &builder, Location loc, Value counts,
                          CountBuilder build) {
  auto body = [&](OpBuilder &b, Location loc, ValueRange sequence,
                  ValueRange counts) {
    Value old = tensor::ExtractOp::create(b, loc, counts[0], sequence);
    Value updated = build(b, loc, sequence[0], old);
    return SmallVector<Value>{
        tensor::InsertOp::create(b, loc, updated, counts[0], sequence)};
  };
  int64_t batch = cast<RankedTensorType>(counts.getType()).getDimSize(0);
  Value extent = IndexMath(builder, loc).constant(batch);
  return ForallOp::create(builder, loc, extent, counts, body).getResult(0);
}

/// Element `index` of counts, as an index.
static Value extractCount(OpBuilder &b, Location loc, Value counts,
                          Value index) {
  Value count = tensor::ExtractOp::create(b, loc, counts, index);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), count);
}

/// The new tokens of sequence `index`: all of them without counts.
static Value buildNewTokens(OpBuilder &b, Location loc, AppendOp append,
                            Value index) {
  if (Value counts = append.getCounts())
    return extractCount(b, loc, counts, index);
  IndexMath math(b, loc);
  if (Value starts = append.getStarts())
    return math.sub(extractCount(b, loc, starts, math.add(index, 1)),
                    extractCount(b, loc, starts, index));
  return getValueOrCreateConstantIndexOp(
      b, loc, tensor::getMixedSize(b, loc, append.getTokens(), 2));
}

/// The flushed counts after `append`, of a cache of `type`: max(flushed,
/// f(length)).
static Value buildFlushedAfter(OpBuilder &builder, AppendOp append,
                               CacheType type) {
  auto build = [&](OpBuilder &b, Location loc, Value index, Value old) {
    IndexMath math(b, loc);
    Value length = math.add(extractCount(b, loc, append.getLengths(), index),
                            buildNewTokens(b, loc, append, index));
    Value flushed = arith::IndexCastOp::create(
        b, loc, b.getI64Type(), buildFlushed(math, type, length));
    return arith::MaxSIOp::create(b, loc, old, flushed).getResult();
  };
  return updateCounts(builder, append.getLoc(), append.getFlushed(), build);
}

/// Those after a reorder: of the sequence that is copied, if one is.
static Value buildFlushedCopied(OpBuilder &builder, Location loc,
                                Value destination, Value source,
                                Value sources) {
  auto build = [&](OpBuilder &b, Location loc, Value index, Value old) {
    Value from = tensor::ExtractOp::create(b, loc, sources, index);
    Value position = arith::IndexCastOp::create(b, loc, b.getIndexType(), from);
    IndexMath math(b, loc);
    Value zero = math.constant(0);
    Value isCopied = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                           position, zero);
    Value copied =
        tensor::ExtractOp::create(b, loc, source, math.max(position, zero));
    return arith::SelectOp::create(b, loc, isCopied, copied, old).getResult();
  };
  return updateCounts(builder, loc, destination, build);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// A copy of `op` on the operands in `mapping`, whose result has `type`.
template <typename OpTy>
static OpTy cloneWith(ConversionPatternRewriter &rewriter, OpTy op,
                      IRMapping &mapping, Type type) {
  auto copy = cast<OpTy>(rewriter.clone(*op, mapping));
  copy->getResult(0).setType(type);
  return copy;
}

/// Maps the operands that are no bundles.
template <typename Adaptor>
static IRMapping mapOperands(Operation *op, Adaptor adaptor) {
  IRMapping mapping;
  for (auto [operand, values] :
       llvm::zip_equal(op->getOperands(), adaptor.getOperands()))
    if (values.size() == 1)
      mapping.map(operand, values.front());
  return mapping;
}

static Value getSingle(ValueRange values) {
  return values.empty() ? Value() : values.front();
}

namespace {

struct EmptyPattern : OpConversionPattern<EmptyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(EmptyOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(
            getTypeConverter()->convertType(op->getResult(0).getType(), types)))
      return failure();
    IRMapping mapping = mapOperands(op, adaptor);
    SmallVector<Value> values;
    for (Type type : types) {
      if (isa<CacheType>(type))
        values.push_back(cloneWith(rewriter, op, mapping, type).getCache());
      else
        values.push_back(arith::ConstantOp::create(rewriter, op.getLoc(),
                                                   rewriter.getZeroAttr(type)));
    }
    rewriter.replaceOpWithMultiple(op, {values});
    return success();
  }
};

struct AppendPattern : OpConversionPattern<AppendOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AppendOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IRMapping mapping = mapOperands(op, adaptor);
    Value tokens = getSingle(adaptor.getTokens());
    SmallVector<Part> parts = getParts(adaptor.getCache());
    for (Part &part : parts) {
      mapping.map(
          op.getTokens(),
          extractHeads(rewriter, loc, tokens, part.firstHead, part.getHeads()));
      mapping.map(Value(op.getCache()), part.cache);
      AppendOp append = cloneWith(rewriter, op, mapping, part.getType());
      if (part.flushed) {
        append.getFlushedMutable().assign(part.flushed);
        part.flushed = buildFlushedAfter(rewriter, append, part.getType());
      }
      part.cache = append.getResult();
    }
    rewriter.replaceOpWithMultiple(op, {getValues(parts)});
    return success();
  }
};

struct ReorderPattern : OpConversionPattern<ReorderOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ReorderOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IRMapping mapping = mapOperands(op, adaptor);
    SmallVector<Part> parts = getParts(adaptor.getDestination());
    for (auto [source, part] :
         llvm::zip_equal(getParts(adaptor.getCache()), parts)) {
      mapping.map(Value(op.getCache()), source.cache);
      mapping.map(Value(op.getDestination()), part.cache);
      ReorderOp reorder = cloneWith(rewriter, op, mapping, part.getType());
      if (part.flushed) {
        reorder.getFlushedMutable().assign(source.flushed);
        part.flushed =
            buildFlushedCopied(rewriter, loc, part.flushed, source.flushed,
                               getSingle(adaptor.getSources()));
      }
      part.cache = reorder.getResult();
    }
    rewriter.replaceOpWithMultiple(op, {getValues(parts)});
    return success();
  }
};

/// Of caches without windows: see kvq-apply-policy's checks.
struct ShiftPattern : OpConversionPattern<ShiftOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ShiftOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    IRMapping mapping = mapOperands(op, adaptor);
    SmallVector<Part> parts = getParts(adaptor.getCache());
    for (Part &part : parts) {
      mapping.map(Value(op.getCache()), part.cache);
      part.cache = cloneWith(rewriter, op, mapping, part.getType()).getResult();
    }
    rewriter.replaceOpWithMultiple(op, {getValues(parts)});
    return success();
  }
};

struct AttentionPattern : OpConversionPattern<AttentionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AttentionOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

} // namespace

/// The parts of an operand of attention. One value is no bundle: an exact
/// tensor, or a cache whose flushed counts, if any, the op has already.
static SmallVector<Part> getOperandParts(ValueRange values, Value flushed) {
  if (values.size() == 1)
    return {{values.front(), flushed, /*firstHead=*/0}};
  return getParts(values);
}

/// Whether all of the query heads share the one that a mask has.
static bool isSharedByHeads(Value operand, int64_t queryHeads) {
  auto type = cast<RankedTensorType>(operand.getType());
  return type.getRank() > 1 && type.getDimSize(1) == 1 && queryHeads != 1;
}

/// Attention of the query heads of each part, into their place in the output.
LogicalResult
AttentionPattern::matchAndRewrite(AttentionOp op, OneToNOpAdaptor adaptor,
                                  ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  IRMapping mapping = mapOperands(op, adaptor);
  SmallVector<Part> keys =
      getOperandParts(adaptor.getKey(), getSingle(adaptor.getKeyFlushed()));
  SmallVector<Part> values =
      getOperandParts(adaptor.getValue(), getSingle(adaptor.getValueFlushed()));
  SmallVector<Value> outputs = {getSingle(adaptor.getInit())};
  if (op.getLse())
    outputs.push_back(getSingle(adaptor.getLse()));
  int64_t queryHeads = op.getQuery().getType().getDimSize(1);
  int64_t heads = 0;
  if (keys.size() > 1)
    heads = keys.back().firstHead + keys.back().getHeads();
  for (auto [key, value] : llvm::zip_equal(keys, values)) {
    int64_t first = 0, count = queryHeads;
    if (heads != 0) {
      int64_t groupSize = queryHeads / heads;
      first = key.firstHead * groupSize;
      count = key.getHeads() * groupSize;
    }
    // What has an axis of query heads, unless they share one.
    for (auto [operand, whole] :
         {std::pair(Value(op.getQuery()), adaptor.getQuery()),
          std::pair(Value(op.getMask()), adaptor.getMask()),
          std::pair(Value(op.getSlopes()), adaptor.getSlopes()),
          std::pair(Value(op.getSinks()), adaptor.getSinks())})
      if (operand && !isSharedByHeads(operand, queryHeads))
        mapping.map(operand, extractHeads(rewriter, loc, getSingle(whole),
                                          first, count));
    for (auto [operand, whole] : llvm::zip_equal(op.getDpsInits(), outputs))
      mapping.map(operand, extractHeads(rewriter, loc, whole, first, count));
    mapping.map(op.getKey(), key.cache);
    mapping.map(op.getValue(), value.cache);
    auto attention = cast<AttentionOp>(rewriter.clone(*op, mapping));
    if (key.flushed)
      attention.getKeyFlushedMutable().assign(key.flushed);
    if (value.flushed)
      attention.getValueFlushedMutable().assign(value.flushed);
    for (auto [index, output] : llvm::enumerate(outputs)) {
      OpResult result = attention->getResult(index);
      result.setType(attention.getDpsInits()[index].getType());
      output = insertHeads(rewriter, loc, result, output, first);
    }
  }
  rewriter.replaceOp(op, outputs);
  return success();
}

void kvq::populateApplyPolicyPatterns(const PartConverter &converter,
                                      RewritePatternSet &patterns) {
  patterns.add<EmptyPattern, AppendPattern, ReorderPattern, ShiftPattern,
               AttentionPattern>(converter, patterns.getContext());
}
