//===- HeadAppender.cpp - New tokens of one head --------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For one head (or heads that share metadata together) of a sequence, in this
// order:
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

#include "HeadAppender.h"

#include "GroupEncoder.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value NewTokens::extract(OpBuilder &builder, Location loc, Value sequence,
                         Value head, Value row, OpFoldResult count) const {
  RowSlice rows{sequence, head, row, count};
  return isPacked ? rows.extractPacked(builder, loc, tensor)
                  : rows.extract(builder, loc, tensor);
}

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

Value HeadAppender::extractNew(OpBuilder &nested, Location loc, Value token,
                               OpFoldResult count) {
  IndexMath math(nested, loc);
  Value row = math.add(math.sub(token, sequence.length), sequence.start);
  return tokens.extract(nested, loc, sequence.index, head, row, count);
}

Value HeadAppender::fillNew(OpBuilder &nested, Location loc, Value token,
                            OpFoldResult count, Value target) {
  Value rows = extractNew(nested, loc, token, count);
  if (tokens.turner)
    return tokens.turner->turn(nested, loc, rows, token, count, target);
  return roundRows(nested, loc, rows, target);
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

void HeadAppender::forEachHead(HeadBody body) {
  int64_t heads = cache.getGroupHeads();
  if (heads == 1)
    return body(*this);
  loop(head, math.add(head, heads), /*step=*/1,
       [&](HeadAppender &step, Value head) {
         step.head = head;
         body(step);
       });
}

//===----------------------------------------------------------------------===//
// Exact tokens
//===----------------------------------------------------------------------===//

/// Stores the new token at position `token`, in an exact cache whose rows are
/// records, as the row at `place`.
void HeadAppender::storeRecord(const RowPlace &place, Value token) {
  OpFoldResult one = builder.getIndexAttr(1);
  Value row = tensor::EmptyOp::create(builder, loc, {1, cache.getHeadDim()},
                                      cache.getElementType());
  row = fillNew(builder, loc, token, one, row);
  Value &component = getComponent(ComponentKind::Records);
  RowSlice slice = getRows(ComponentKind::Records, place, one);
  Value target = slice.extract(builder, loc, component);
  auto pack = PackOp::create(builder, loc, target.getType(), cache.getFormat(),
                             row, target);
  component = slice.insert(builder, loc, pack.getResult(0), component);
}

/// Stores the new token at position `token` as the row at `place` of an exact
/// cache.
void HeadAppender::storeValue(const RowPlace &place, Value token) {
  if (cache.findComponent(ComponentKind::Records))
    storeRecord(place, token);
  else
    storeExact(ComponentKind::Values, place, token, builder.getIndexAttr(1));
}

/// Stores `count` new tokens from position `token` on as the rows from `place`
/// on.
void HeadAppender::storeExact(ComponentKind kind, const RowPlace &place,
                              Value token, OpFoldResult count) {
  Value &component = getComponent(kind);
  RowSlice slice = getRows(kind, place, count);
  Value target = slice.extract(builder, loc, component);
  Value stored = fillNew(builder, loc, token, count, target);
  component = slice.insert(builder, loc, stored, component);
}

void HeadAppender::storeFirst() {
  OpFoldResult one = builder.getIndexAttr(1);
  loop(sequence.length, math.min(sequence.newLength, cache.getExactFirst()),
       /*step=*/1, [&](HeadAppender &step, Value token) {
         step.storeExact(ComponentKind::First, step.getWindowRow(token), token,
                         one);
       });
}

/// Stores the tokens of an exact cache, whose rows are their positions.
void HeadAppender::storeValues() {
  if (cache.findComponent(ComponentKind::Records))
    return loop(sequence.length, sequence.newLength, /*step=*/1,
                [&](HeadAppender &step, Value token) {
                  RowPlace place =
                      sequence.rows.locate(step.builder, step.loc, token);
                  step.storeRecord(place, token);
                });
  auto storeRun = [&](OpBuilder &nested, Location loc, Value token, Value count,
                      ValueRange carried) {
    HeadAppender run(nested, loc, cache, tokens, sequence, head, carried);
    run.storeExact(ComponentKind::Values,
                   sequence.rows.locate(nested, loc, token), token, count);
    return run.components;
  };
  components = sequence.rows.forEachRun(
      builder, loc, sequence.length, sequence.newLength, components, storeRun);
}

void HeadAppender::storeRecent() {
  OpFoldResult one = builder.getIndexAttr(1);
  Value quantizedEnd = math.add(sequence.newFlushed, cache.getExactFirst());
  loop(math.max(sequence.length, quantizedEnd), sequence.newLength, /*step=*/1,
       [&](HeadAppender &step, Value token) {
         Value slot = getRingSlot(step.math, cache, token);
         step.storeExact(ComponentKind::Recent, step.getWindowRow(slot), token,
                         one);
       });
}

//===----------------------------------------------------------------------===//
// Quantized tokens
//===----------------------------------------------------------------------===//

/// The group of tokens from position `token`, in the cache's element type: of
/// one head, or with an axis of the heads that share metadata.
Value HeadAppender::gatherHeads(Value token) {
  int64_t heads = cache.getGroupHeads();
  if (heads == 1)
    return gatherGroup(token);
  int64_t size = cache.getTokenGroup(), headDim = cache.getHeadDim();
  Value all = tensor::EmptyOp::create(builder, loc, {heads, size, headDim},
                                      cache.getElementType());
  auto type = RankedTensorType::get({size, headDim}, cache.getElementType());
  auto gather = [&](OpBuilder &nested, Location loc, Value i,
                    ValueRange carried) {
    HeadAppender one(nested, loc, cache, tokens, sequence,
                     IndexMath(nested, loc).add(head, i), components);
    OpFoldResult zero = nested.getIndexAttr(0), unit = nested.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets = {i, zero, zero}, strides(3, unit);
    SmallVector<OpFoldResult> sizes = {unit, nested.getIndexAttr(size),
                                       nested.getIndexAttr(headDim)};
    Value group = tensor::ExtractSliceOp::create(nested, loc, type, carried[0],
                                                 offsets, sizes, strides);
    group = one.fillGroup(token, group);
    scf::YieldOp::create(nested, loc,
                         tensor::InsertSliceOp::create(nested, loc, group,
                                                       carried[0], offsets,
                                                       sizes, strides)
                             .getResult());
  };
  return scf::ForOp::create(builder, loc, math.constant(0),
                            math.constant(heads), math.constant(1), all, gather)
      .getResult(0);
}

/// The group of tokens of one head.
Value HeadAppender::gatherGroup(Value token) {
  Type elementType = cache.getElementType();
  bool isRounded = getElementTypeOrSelf(tokens.tensor) == elementType;
  bool isPrepared = cache.getFormat().isPrepared();
  // `kvq.quantize` reads an infinity as the largest value itself.
  if (!cache.hasRecentWindow() && isRounded && !isPrepared && !tokens.turner)
    return extractNew(builder, loc, token, builder.getIndexAttr(1));
  Value group = tensor::EmptyOp::create(
      builder, loc, {cache.getTokenGroup(), cache.getHeadDim()}, elementType);
  return fillGroup(token, group);
}

/// Fills `group` with the tokens of one head from position `token` on.
Value HeadAppender::fillGroup(Value token, Value group) {
  if (cache.hasRecentWindow())
    return gatherWindow(token, group);
  return fillNew(builder, loc, token, builder.getIndexAttr(1), group);
}

/// Fills `group` with the tokens from position `token`: old ones from the ring,
/// new ones from the input.
Value HeadAppender::gatherWindow(Value token, Value group) {
  Value ring = getComponent(ComponentKind::Recent);
  OpFoldResult one = builder.getIndexAttr(1);
  auto copyOld = [&](OpBuilder &nested, Location loc, Value i, Value target) {
    IndexMath math(nested, loc);
    Value slot = getRingSlot(math, cache, math.add(token, i));
    Value source = getRows(ComponentKind::Recent, getWindowRow(slot), one)
                       .extract(nested, loc, ring);
    return linalg::CopyOp::create(nested, loc, source, target).getResult(0);
  };
  auto addNew = [&](OpBuilder &nested, Location loc, Value i, Value target) {
    IndexMath math(nested, loc);
    return fillNew(nested, loc, math.add(token, i), one, target);
  };
  Value zero = math.constant(0), size = math.constant(cache.getTokenGroup());
  Value old = math.min(math.max(math.sub(sequence.length, token), zero), size);
  group = fillRows(builder, loc, group, zero, old, copyOld);
  return fillRows(builder, loc, group, old, size, addNew);
}

void HeadAppender::encodeGroup(Value group, const RowPlace &place) {
  GroupEncoder(builder, loc, cache, sequence.index, head, components)
      .encode(group, place);
}

void HeadAppender::flushGroups() {
  loop(sequence.flushed, sequence.newFlushed, cache.getTokenGroup(),
       [&](HeadAppender &step, Value row) {
         Value token = step.math.add(row, cache.getExactFirst());
         step.encodeGroup(step.gatherHeads(token),
                          sequence.rows.locate(step.builder, step.loc, row));
       });
}

SmallVector<Value> HeadAppender::store(const RowPlace &place) {
  if (cache.getFormat().isExact())
    storeValue(place, sequence.length);
  else
    encodeGroup(gatherHeads(sequence.length), place);
  return components;
}

SmallVector<Value> HeadAppender::append() {
  if (cache.getFormat().isExact()) {
    storeValues();
    return components;
  }
  if (cache.getExactFirst() != 0)
    forEachHead([](HeadAppender &head) { head.storeFirst(); });
  flushGroups();
  if (cache.hasRecentWindow())
    forEachHead([](HeadAppender &head) { head.storeRecent(); });
  return components;
}
