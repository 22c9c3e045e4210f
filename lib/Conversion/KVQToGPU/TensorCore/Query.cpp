//===- Query.cpp - Rows of the query as columns of products ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvq;

/// The lane's four elements of its query row, f32; 0 of a row that the op does
/// not have.
std::array<Value, 4> BlockEmitter::loadQueryElements(Value firstRow,
                                                     const KeyStep &step) {
  Value row = w.add(firstRow, laneRow);
  Value isRow = w.compare(arith::CmpIPredicate::slt, row, w.i32(rows));
  row = w.min(row, w.i32(rows - 1));
  Value ofLane = w.mul(laneColumn, step.stride);
  auto type = cast<MemRefType>(op.getQuery().getType());
  std::optional<int64_t> first = step.getFirstOfFour();
  bool isInWorkgroup = gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type) &&
                       type.getLayout().isIdentity();
  std::array<Value, 4> elements;
  if (first && isInWorkgroup) {
    Value address = w.toI32(memref::ExtractAlignedPointerAsIndexOp::create(
        w.builder, w.loc, op.getQuery()));
    address = w.add(address, w.mul(row, 4 * plan.key.getChannels()));
    Words words =
        w.loadShared(w.add(address, w.mul(ofLane, 4)), 4 * *first, 16);
    for (auto [channel, element] : llvm::zip_equal(step.channels, elements))
      element = w.bitcast(words[channel - *first], w.builder.getF32Type());
  } else {
    for (auto [channel, element] : llvm::zip_equal(step.channels, elements))
      element = memref::LoadOp::create(
          w.builder, w.loc, op.getQuery(),
          ValueRange{w.toIndex(row), w.toIndex(w.add(ofLane, channel))});
  }
  for (Value &element : elements)
    element = w.select(isRow, element, w.f32(0));
  return elements;
}

/// The f32 scales or zeros, stored as `type`, of the same channels, of the
/// group whose row is at the i64 address `row`.
std::array<Value, 4> BlockEmitter::loadGroupElements(const KeyStep &step,
                                                     Value row, Type type) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  int64_t channels = plan.key.getChannels();
  int64_t groupChannels = plan.key.cache.getFormat().getGroupChannels(channels);
  std::optional<int64_t> first = step.getFirstOfFour();
  std::array<Value, 4> elements;
  auto getChannel = [&](int64_t channel) {
    return w.add(w.mul(laneColumn, step.stride), channel);
  };
  auto load = [&](int64_t channel) {
    return loadGroupElement(plan.key, row, type, getChannel(channel));
  };
  if (first && groupChannels == 1) {
    Value address = w.add(row, w.toI64(w.mul(getChannel(*first), bytes)));
    auto vectorType = VectorType::get({4}, WarpBuilder::getStoredType(type));
    Value vector = w.loadGlobal(address, 0, vectorType, 4 * bytes);
    for (auto [channel, element] : llvm::zip_equal(step.channels, elements))
      element = w.extend(w.extractElement(vector, channel - *first), type);
  } else if (first && groupChannels % 4 == 0) {
    elements.fill(load(*first));
  } else {
    for (auto [channel, element] : llvm::zip_equal(step.channels, elements))
      element = load(channel);
  }
  return elements;
}

/// What the lanes of a query row have, for a column of the lane's.
Value BlockEmitter::getOfColumn(Value ofRow, int64_t column) {
  Value row = w.add(w.mul(laneColumn, 2), column);
  return w.shuffleFrom(ofRow, w.mul(row, 4));
}

/// A product with a constant gives the same sum in every row: what scores begin
/// with, and what zeros are multiplied by, of the query as it is rounded.
void BlockEmitter::addConstantProducts(QueryColumns &columns) {
  FragmentC none = {w.f32(0), w.f32(0), w.f32(0), w.f32(0)};
  columns.scoreInits.assign(plan.key.groups, none);
  columns.sums.assign(plan.key.hasTokenZeros() ? plan.key.groups : 0, none);
  auto addProduct = [&](FragmentC &sum, double constant, size_t step) {
    if (plan.key.multipliesFP8) {
      sum = w.multiplyFP8(w.onesOfFP8(), /*isE5M2=*/false,
                          {columns.words[step], w.i32(0)}, sum);
      return;
    }
    Value pair = w.half2(constant);
    // Codes have one part.
    sum = w.multiply({pair, pair, pair, pair}, columns.fragments[step].front(),
                     sum);
  };
  // Plane by plane, so that a constant is in registers once.
  for (int64_t plane = 0; plane != plan.key.element.getPlanes(); ++plane)
    for (auto [i, step] : llvm::enumerate(plan.keySteps)) {
      double offset = getOffset(plan.key.element, plane);
      if (step.plane == plane && offset != 0)
        addProduct(columns.scoreInits[step.group], -offset, i);
    }
  for (auto [i, step] : llvm::enumerate(plan.keySteps))
    if (!columns.sums.empty())
      addProduct(columns.sums[step.group], 1, i);
  if (plan.multipliesKeyZeros())
    packQuerySums(columns);
}

/// What a query times scales is multiplied by, lest an f16 has only a part of
/// its digits: codes of f8E5M2 reach 57344, so that their scales are small, and
/// those of f8E4M3FN 448. With it the largest is as those of i8, or smaller.
double BlockEmitter::getQueryFactor() {
  if (!plan.key.foldsIntoQuery())
    return 1;
  switch (plan.key.element.kind) {
  case StoredElement::Kind::E5M2:
    return 512;
  case StoredElement::Kind::E4M3:
    return 4;
  default:
    return 1;
  }
}

/// The query, or its products with scales, as what codes are multiplied with.
void BlockEmitter::roundQuery(QueryColumns &columns,
                              ArrayRef<std::array<Value, 4>> elements) {
  if (plan.key.multipliesFP8)
    return roundQueryToFP8(columns, elements);
  double factor = getQueryFactor();
  double unit = plan.key.element.unit / factor;
  if (unit != 1)
    columns.unit.fill(w.f32(unit));
  SmallVector<std::array<Value, 4>> normalized;
  if (plan.key.hasGivenScales)
    elements = normalized = normalizeQuery(columns, elements);
  for (std::array<Value, 4> of : elements) {
    if (factor != 1)
      for (Value &element : of)
        element = w.fmul(element, w.f32(factor));
    columns.fragments.push_back(
        packColumns(plan.key.element, {{{of[0], of[1]}, {of[2], of[3]}}}));
  }
}

/// The rows from `firstRow` on; with a step, times the scales of its tokens, or
/// times given ones.
QueryColumns BlockEmitter::buildQuery(Value firstRow, const Step *step) {
  QueryColumns columns;
  Value scaleRow, zeroRow, zeroSum = w.f32(0);
  if (step || plan.key.hasGivenScales) {
    auto locate = [&](const ComponentRows &rows) {
      return step ? locateStep(key, *step, rows) : rows.base;
    };
    scaleRow = locate(key.scales);
    if (plan.key.zeroType)
      zeroRow = locate(key.zeros);
  }
  FormatInterface format =
      plan.key.cache.getFormat().resolve(plan.key.getChannels());
  SmallVector<std::array<Value, 4>> all;
  for (const KeyStep &keyStep : plan.keySteps) {
    std::array<Value, 4> elements = loadQueryElements(firstRow, keyStep);
    std::array<Value, 4> scales, zeros;
    if (scaleRow)
      scales = loadGroupElements(keyStep, scaleRow, plan.key.scaleType);
    if (scaleRow && key.outerScale)
      for (Value &scale : scales)
        scale = w.fmul(scale, key.outerScale);
    if (zeroRow) {
      zeros = loadGroupElements(keyStep, zeroRow, plan.key.zeroType);
      for (auto [element, scale, zero] :
           llvm::zip_equal(elements, scales, zeros))
        zeroSum =
            w.fma(element, format.buildOffset(w.builder, w.loc, scale, zero),
                  zeroSum);
    }
    if (scaleRow)
      for (auto [element, scale] : llvm::zip_equal(elements, scales))
        element = w.fmul(element, scale);
    all.push_back(elements);
  }
  roundQuery(columns, all);
  // The outer scale of tokens' own ones is that of all.
  if (key.outerScale && !scaleRow)
    for (Value &unit : columns.unit)
      unit = unit ? w.fmul(unit, key.outerScale) : key.outerScale;
  if (zeroRow) {
    zeroSum = w.reduceQuad(zeroSum, &WarpBuilder::fadd);
    for (auto [column, zeros] : llvm::enumerate(columns.zeros))
      zeros = getOfColumn(zeroSum, column);
  }
  addConstantProducts(columns);
  return columns;
}
