//===- GroupEncoder.cpp - A group of tokens to storage --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything between reading and writing rows of a component is on tensors of a
// static size, so that it needs no allocation.
//
//===----------------------------------------------------------------------===//

#include "GroupEncoder.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// A component as one group writes it: its rows, and what they become.
struct GroupTarget {
  ComponentKind kind;
  RowSlice slice;
  Value rows;
};

} // namespace

/// The row of a given component that serves the head; where heads share
/// metadata, with an axis of `heads`.
Value GroupEncoder::extractGiven(ComponentKind kind, int64_t heads) {
  std::optional<int64_t> axis;
  if (cache.getGroupHeads() != 1)
    axis = heads;
  return extractGivenRow(builder, loc, cache, getComponent(kind), head, axis);
}

/// What is quantized in place of the elements `group`: centred and rotated, in
/// f32 (rules R26 and R27).
Value GroupEncoder::prepare(Value group) {
  FormatInterface format = cache.getFormat();
  if (!format.isPrepared())
    return group;
  Type f32 = builder.getF32Type();
  auto type = cast<RankedTensorType>(group.getType());
  int64_t rank = type.getRank();
  Value scratch = tensor::EmptyOp::create(builder, loc, type.getShape(), f32);
  AffineMap rows = builder.getMultiDimIdentityMap(rank);
  SmallVector<Value> inputs = {group};
  SmallVector<AffineMap> maps = {rows};
  if (format.getCenterType()) {
    inputs.push_back(extractGiven(ComponentKind::Means, cache.getGroupHeads()));
    // One row for all tokens.
    SmallVector<AffineExpr> means(rows.getResults());
    means[rank - 2] = builder.getAffineConstantExpr(0);
    maps.push_back(AffineMap::get(rank, 0, means, builder.getContext()));
  }
  maps.push_back(rows);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value element = buildExtend(nested, loc, args[0]);
    if (format.getCenterType()) {
      element = arith::SubFOp::create(nested, loc, element,
                                      buildExtend(nested, loc, args[1]));
      element = buildClampToFinite(nested, loc, element, f32);
    }
    linalg::YieldOp::create(nested, loc, element);
  };
  Value prepared =
      linalg::GenericOp::create(builder, loc, scratch.getType(), inputs,
                                scratch, maps, iterators, body)
          .getResult(0);
  if (cache.getRotation() == 0)
    return prepared;
  Value signs = extractGivenRow(builder, loc, cache,
                                getComponent(ComponentKind::Signs), head);
  return RotateOp::create(builder, loc, prepared.getType(), prepared, signs,
                          prepared, cache.getRotation(), /*inverse=*/false);
}

void GroupEncoder::encode(Value group, const RowPlace &place) {
  FormatInterface format =
      cache.getFormat().resolveHeads(cache.getHeads()).getCore();
  int64_t size = cache.getTokenGroup();
  RowSlice codeRows =
      getGroupSlice(math, cache, place, head, ComponentKind::Codes);
  RowSlice metadataRow =
      getGroupSlice(math, cache, place, head, ComponentKind::Scales);
  SmallVector<int64_t> codesShape = {size, cache.getHeadDim()};
  if (int64_t heads = cache.getGroupHeads(); heads != 1) {
    codeRows.heads = heads;
    metadataRow.heads = 1;
    codesShape.insert(codesShape.begin(), heads);
  }
  int64_t headDim = cache.getHeadDim();
  RowLayout layout = cache.getRowLayout();
  auto getTarget = [&](ComponentKind kind) -> GroupTarget {
    // Records are one head's, and one group of tokens'.
    RowSlice slice = kind == ComponentKind::Codes ? codeRows : metadataRow;
    return {kind, slice, slice.extractTarget(builder, loc, getComponent(kind))};
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
  auto addOutput = [&](ComponentKind kind, bool isPacked,
                       ArrayRef<int64_t> shape, Type type) {
    arePacked.push_back(isPacked);
    if (isPacked) {
      outputs.push_back(tensor::EmptyOp::create(builder, loc, shape, type));
      return;
    }
    direct.push_back(getTarget(kind));
    outputs.push_back(direct.back().rows);
  };
  int64_t groups = headDim / format.getGroupChannels(headDim);
  addOutput(ComponentKind::Codes, isPacked, codesShape, builder.getI8Type());
  if (!format.hasStaticRange())
    addOutput(ComponentKind::Scales, layout.storesScales(), {1, groups},
              format.getScaleType());
  if (Type zero = format.getZeroType(); zero && !format.hasStaticRange())
    addOutput(ComponentKind::Zeros, layout.storesZeros(), {1, groups}, zero);
  SmallVector<Value> given;
  for (const StorageComponent &component : cache.getComponents())
    if (goesWithCodes(component.kind) && component.given)
      given.push_back(extractGiven(component.kind, /*heads=*/1));
  SmallVector<Value> inputs = {prepare(group)};
  llvm::append_range(inputs, given);
  auto quantize = QuantizeOp::create(
      builder, loc, TypeRange(ValueRange(outputs)), format, inputs, outputs);

  SmallVector<Value> packInputs, packOutputs, directRows;
  for (auto [result, isPacked] :
       llvm::zip_equal(quantize.getResults(), arePacked))
    (isPacked ? packInputs : directRows).push_back(result);
  if (isPacked) {
    for (const GroupTarget &target : packed)
      packOutputs.push_back(target.rows);
    auto pack = PackOp::create(builder, loc, TypeRange(ValueRange(packOutputs)),
                               format, packInputs, packOutputs);
    for (auto [target, rows] : llvm::zip_equal(packed, pack.getResults()))
      store(target, rows);
  }
  for (auto [target, rows] : llvm::zip_equal(direct, directRows))
    store(target, rows);
  if (countsSaturated()) {
    SmallVector<Value> stored(quantize.getResults().drop_front());
    llvm::append_range(stored, given);
    countSaturated(inputs.front(), stored);
  }
}

/// Adds the saturated elements of `group` to the count of its sequence and
/// head.
void GroupEncoder::countSaturated(Value group, ValueRange metadata) {
  Value &counts = components.back();
  int64_t heads = cache.getGroupHeads();
  SmallVector<int64_t> shape;
  if (heads != 1)
    shape.push_back(heads);
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  SmallVector<OpFoldResult> place = {sequence, head};
  SmallVector<OpFoldResult> ones(2, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = {ones[0], builder.getIndexAttr(heads)};
  Value count = tensor::ExtractSliceOp::create(builder, loc, type, counts,
                                               place, sizes, ones);
  SmallVector<Value> inputs = {group};
  llvm::append_range(inputs, metadata);
  count = CountSaturatedOp::create(
              builder, loc, type,
              cache.getFormat().resolveHeads(cache.getHeads()).getCore(),
              inputs, count)
              .getResult();
  counts = tensor::InsertSliceOp::create(builder, loc, count, counts, place,
                                         sizes, ones);
}
