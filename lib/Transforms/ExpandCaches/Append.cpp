//===- Append.cpp - kvq.append to loops over components ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each sequence and head, in this order:
//
//  1. tokens that belong to the exact first ones go to `first`;
//  2. token groups that leave the recent window (all new tokens, where there is
//     none) are gathered from the ring and from the input, quantized, packed
//     and stored;
//  3. the rest goes into the ring, over slots that step 2 has read.
//
// Everything between reading and writing rows of a component is on tensors of a
// static size, so that it needs no allocation.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
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

/// One sequence of an append, in tokens.
struct Sequence {
  Value index;
  /// Tokens before and after the append.
  Value length, newLength;
  /// Quantized tokens before and after the append.
  Value flushed, newFlushed;
};

/// Builds the append of the tokens of one head of one sequence.
class HeadAppender {
public:
  HeadAppender(OpBuilder &builder, Location loc, CacheType cache, Value tokens,
               const Sequence &sequence, Value head, ValueRange components)
      : builder(builder), loc(loc), math(builder, loc), cache(cache),
        tokens(tokens), sequence(sequence), head(head), components(components) {
  }

  /// The components after the append, and with them the counts of saturated
  /// elements where they are asked for.
  SmallVector<Value> append();

private:
  using LoopBody = llvm::function_ref<void(HeadAppender &, Value)>;

  Value &getComponent(ComponentKind kind) {
    return components[*cache.findComponent(kind)];
  }
  /// Whether counts of saturated elements are carried behind the components.
  bool countsSaturated() {
    return components.size() > cache.getComponents().size();
  }
  RowSlice getRows(Value row, OpFoldResult count) {
    return {sequence.index, head, row, count};
  }
  RowSlice getRow(Value row) { return getRows(row, builder.getIndexAttr(1)); }

  /// A loop from `begin` to `end` that carries the components; `body` builds
  /// one step, on an appender of its own.
  void loop(Value begin, Value end, int64_t step, LoopBody body);

  void storeExact(ComponentKind kind, Value row, Value token,
                  OpFoldResult count);
  void storeFirst();
  void storeValues();
  void storeRecent();
  void flushGroups();
  Value gatherGroup(Value token);
  Value gatherWindow(Value token, Value first, Value group);
  void encodeGroup(Value group, Value row);
  void countSaturated(Value group, ValueRange metadata);

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  CacheType cache;
  Value tokens;
  const Sequence &sequence;
  Value head;
  SmallVector<Value> components;
};

} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Rounds the rows `source` to the element type of `target`, into it:
/// infinities and what is beyond the type become its largest finite value, NaN
/// stays.
static Value roundRows(OpBuilder &builder, Location loc, Value source,
                       Value target) {
  auto type = cast<RankedTensorType>(target.getType());
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    linalg::YieldOp::create(nested, loc,
                            buildRound(nested, loc,
                                       buildExtend(nested, loc, args[0]),
                                       type.getElementType()));
  };
  return linalg::GenericOp::create(builder, loc, type, source, target, maps,
                                   iterators, body)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void HeadAppender::loop(Value begin, Value end, int64_t step, LoopBody body) {
  auto buildBody = [&](OpBuilder &nested, Location loc, Value iv,
                       ValueRange carried) {
    HeadAppender inner(nested, loc, cache, tokens, sequence, head, carried);
    body(inner, iv);
    scf::YieldOp::create(nested, loc, inner.components);
  };
  auto loop = scf::ForOp::create(builder, loc, begin, end, math.constant(step),
                                 components, buildBody);
  components = llvm::to_vector_of<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Exact tokens
//===----------------------------------------------------------------------===//

/// Stores `count` new tokens from position `token` as rows from `row`.
void HeadAppender::storeExact(ComponentKind kind, Value row, Value token,
                              OpFoldResult count) {
  Value &component = getComponent(kind);
  Value source = getRows(math.sub(token, sequence.length), count)
                     .extract(builder, loc, tokens);
  RowSlice slice = getRows(row, count);
  Value target = slice.extract(builder, loc, component);
  component = slice.insert(builder, loc,
                           roundRows(builder, loc, source, target), component);
}

void HeadAppender::storeFirst() {
  OpFoldResult one = builder.getIndexAttr(1);
  loop(sequence.length, math.min(sequence.newLength, cache.getExactFirst()),
       /*step=*/1, [&](HeadAppender &step, Value token) {
         step.storeExact(ComponentKind::First, token, token, one);
       });
}

/// Stores the tokens of an exact cache, whose rows are their positions.
void HeadAppender::storeValues() {
  storeExact(ComponentKind::Values, sequence.length, sequence.length,
             math.sub(sequence.newLength, sequence.length));
}

void HeadAppender::storeRecent() {
  OpFoldResult one = builder.getIndexAttr(1);
  Value quantizedEnd = math.add(sequence.newFlushed, cache.getExactFirst());
  loop(math.max(sequence.length, quantizedEnd), sequence.newLength, /*step=*/1,
       [&](HeadAppender &step, Value token) {
         Value slot = getRingSlot(step.math, cache, token);
         step.storeExact(ComponentKind::Recent, slot, token, one);
       });
}

//===----------------------------------------------------------------------===//
// Quantized tokens
//===----------------------------------------------------------------------===//

/// The group of tokens from position `token`, in the cache's element type.
Value HeadAppender::gatherGroup(Value token) {
  Value first = math.sub(token, sequence.length);
  Type elementType = cache.getElementType();
  bool isRounded = getElementTypeOrSelf(tokens) == elementType;
  // `kvq.quantize` reads an infinity as the largest value itself.
  if (!cache.hasRecentWindow() && isRounded)
    return getRow(first).extract(builder, loc, tokens);
  Value group = tensor::EmptyOp::create(
      builder, loc, {cache.getTokenGroup(), cache.getHeadDim()}, elementType);
  if (cache.hasRecentWindow())
    return gatherWindow(token, first, group);
  return roundRows(builder, loc, getRow(first).extract(builder, loc, tokens),
                   group);
}

/// Fills `group` with the tokens from position `token`, which is `first` in the
/// input (below 0 for a token that is there already): old ones from the ring,
/// new ones from the input.
Value HeadAppender::gatherWindow(Value token, Value first, Value group) {
  Value ring = getComponent(ComponentKind::Recent);
  auto copyOld = [&](OpBuilder &nested, Location loc, Value i, Value target) {
    IndexMath math(nested, loc);
    Value slot = getRingSlot(math, cache, math.add(token, i));
    Value source = getRow(slot).extract(nested, loc, ring);
    return linalg::CopyOp::create(nested, loc, source, target).getResult(0);
  };
  auto roundNew = [&](OpBuilder &nested, Location loc, Value i, Value target) {
    IndexMath math(nested, loc);
    Value source = getRow(math.add(first, i)).extract(nested, loc, tokens);
    return roundRows(nested, loc, source, target);
  };
  Value zero = math.constant(0), size = math.constant(cache.getTokenGroup());
  Value old = math.min(math.max(math.sub(zero, first), zero), size);
  group = fillRows(builder, loc, group, zero, old, copyOld);
  return fillRows(builder, loc, group, old, size, roundNew);
}

namespace {

/// A component as one group writes it: its rows, and what they become.
struct GroupTarget {
  ComponentKind kind;
  RowSlice slice;
  Value rows;
};

} // namespace

/// Quantizes `group` into the rows from `row`: straight into the components,
/// except for what is packed on the way.
void HeadAppender::encodeGroup(Value group, Value row) {
  FormatInterface format = cache.getFormat();
  int64_t size = cache.getTokenGroup(), headDim = cache.getHeadDim();
  RowLayout layout = format.getRowLayout(headDim);
  RowSlice codeRows = getRows(row, builder.getIndexAttr(size));
  RowSlice metadataRow = getRow(math.div(row, size));
  auto getTarget = [&](ComponentKind kind) -> GroupTarget {
    RowSlice slice = kind == ComponentKind::Codes ? codeRows : metadataRow;
    return {kind, slice, slice.extract(builder, loc, getComponent(kind))};
  };
  auto store = [&](const GroupTarget &target, Value rows) {
    Value &component = getComponent(target.kind);
    component = target.slice.insert(builder, loc, rows, component);
  };
  bool isPacked = !layout.isUnpacked();
  SmallVector<GroupTarget> packed, direct;
  if (isPacked && layout.codes.exists())
    packed.push_back(getTarget(ComponentKind::Codes));
  if (layout.records.exists())
    packed.push_back(getTarget(ComponentKind::Records));

  // What quantization writes: scratch where that is packed.
  SmallVector<Value> outputs;
  SmallVector<bool> arePacked;
  auto addOutput = [&](ComponentKind kind, bool isPacked, int64_t rows,
                       int64_t rowSize, Type type) {
    arePacked.push_back(isPacked);
    if (isPacked) {
      outputs.push_back(
          tensor::EmptyOp::create(builder, loc, {rows, rowSize}, type));
      return;
    }
    direct.push_back(getTarget(kind));
    outputs.push_back(direct.back().rows);
  };
  int64_t groups = headDim / format.getGroupChannels(headDim);
  addOutput(ComponentKind::Codes, isPacked, size, headDim,
            builder.getI8Type());
  addOutput(ComponentKind::Scales, layout.storesScales(), 1, groups,
            format.getScaleType());
  if (Type zero = format.getZeroType())
    addOutput(ComponentKind::Zeros, layout.storesZeros(), 1, groups, zero);
  auto quantize = QuantizeOp::create(
      builder, loc, TypeRange(ValueRange(outputs)), format, group, outputs);

  SmallVector<Value> packInputs, packOutputs, directRows;
  for (auto [result, isPacked] :
       llvm::zip_equal(quantize.getResults(), arePacked))
    (isPacked ? packInputs : directRows).push_back(result);
  if (isPacked) {
    for (const GroupTarget &target : packed)
      packOutputs.push_back(target.rows);
    auto pack =
        PackOp::create(builder, loc, TypeRange(ValueRange(packOutputs)), format,
                       packInputs, packOutputs);
    for (auto [target, rows] : llvm::zip_equal(packed, pack.getResults()))
      store(target, rows);
  }
  for (auto [target, rows] : llvm::zip_equal(direct, directRows))
    store(target, rows);
  if (countsSaturated())
    countSaturated(group, quantize.getResults().drop_front());
}

/// Adds the saturated elements of `group` to the count of its sequence and
/// head.
void HeadAppender::countSaturated(Value group, ValueRange metadata) {
  Value &counts = components.back();
  auto type = RankedTensorType::get({}, builder.getI64Type());
  SmallVector<OpFoldResult> place = {sequence.index, head};
  SmallVector<OpFoldResult> ones(2, builder.getIndexAttr(1));
  Value count = tensor::ExtractSliceOp::create(builder, loc, type, counts,
                                               place, ones, ones);
  SmallVector<Value> inputs = {group};
  llvm::append_range(inputs, metadata);
  count = CountSaturatedOp::create(builder, loc, type, cache.getFormat(),
                                   inputs, count)
              .getResult();
  counts = tensor::InsertSliceOp::create(builder, loc, count, counts, place,
                                         ones, ones);
}

void HeadAppender::flushGroups() {
  loop(sequence.flushed, sequence.newFlushed, cache.getTokenGroup(),
       [&](HeadAppender &step, Value row) {
         Value token = step.math.add(row, cache.getExactFirst());
         step.encodeGroup(step.gatherGroup(token), row);
       });
}

SmallVector<Value> HeadAppender::append() {
  if (cache.getFormat().isExact()) {
    storeValues();
    return components;
  }
  if (cache.getExactFirst() != 0)
    storeFirst();
  flushGroups();
  if (cache.hasRecentWindow())
    storeRecent();
  return components;
}

//===----------------------------------------------------------------------===//
// Pattern
//===----------------------------------------------------------------------===//

/// Element `index` of a vector of counts, as an index.
static Value extractCount(OpBuilder &builder, Location loc, Value counts,
                          Value index) {
  Value count = tensor::ExtractOp::create(builder, loc, counts, index);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    count);
}

/// Describes sequence `index` before and after the append. `flushed` is null
/// where the cache has no recent window, `counts` where all tokens count.
static Sequence buildSequence(OpBuilder &builder, Location loc, CacheType cache,
                              Value index, Value tokens, Value lengths,
                              Value flushed, Value counts) {
  IndexMath math(builder, loc);
  Sequence sequence;
  sequence.index = index;
  sequence.length = extractCount(builder, loc, lengths, index);
  Value count =
      counts ? extractCount(builder, loc, counts, index)
             : getValueOrCreateConstantIndexOp(
                   builder, loc, tensor::getMixedSize(builder, loc, tokens, 2));
  sequence.newLength = math.add(sequence.length, count);

  Value leaving = buildFlushed(math, cache, sequence.newLength);
  // Without a window, a sequence's flushed tokens follow from its length.
  sequence.flushed = flushed ? extractCount(builder, loc, flushed, index)
                             : buildFlushed(math, cache, sequence.length);
  sequence.newFlushed = math.max(sequence.flushed, leaving);
  return sequence;
}

LogicalResult
AppendPattern::matchAndRewrite(AppendOp op, OneToNOpAdaptor adaptor,
                               ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  CacheType cache = op.getCache().getType();
  Value tokens = adaptor.getTokens().front();
  Value lengths = adaptor.getLengths().front();
  auto getOptional = [](ValueRange values) {
    return values.empty() ? Value() : values.front();
  };
  Value flushed = getOptional(adaptor.getFlushed());
  Value counts = getOptional(adaptor.getCounts());

  IndexMath math(rewriter, loc);
  Value zero = math.constant(0), one = math.constant(1);
  Value heads = math.constant(cache.getHeads());
  auto appendSequence = [&](OpBuilder &builder, Location loc, Value index,
                            ValueRange carried) {
    Sequence sequence = buildSequence(builder, loc, cache, index, tokens,
                                      lengths, flushed, counts);
    auto appendHead = [&](OpBuilder &builder, Location loc, Value head,
                          ValueRange carried) {
      HeadAppender appender(builder, loc, cache, tokens, sequence, head,
                            carried);
      SmallVector<Value> appended = appender.append();
      scf::YieldOp::create(builder, loc, appended);
    };
    auto loop =
        scf::ForOp::create(builder, loc, zero, heads, one, carried, appendHead);
    scf::YieldOp::create(builder, loc, loop.getResults());
  };
  SmallVector<Value> carried(adaptor.getCache());
  llvm::append_range(carried, adaptor.getSaturated());
  auto loop =
      scf::ForOp::create(rewriter, loc, zero, math.constant(cache.getBatch()),
                         one, carried, appendSequence);
  size_t components = adaptor.getCache().size();
  SmallVector<ValueRange> results = {loop.getResults().take_front(components)};
  if (op.getNewSaturated())
    results.push_back(loop.getResults().drop_front(components));
  rewriter.replaceOpWithMultiple(op, results);
  return success();
}

void kvq::populateAppendPatterns(const TypeConverter &converter,
                                 RewritePatternSet &patterns) {
  patterns.add<AppendPattern>(converter, patterns.getContext());
}
