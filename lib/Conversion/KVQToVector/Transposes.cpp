//===- Transposes.cpp - Rows that become columns --------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As many rows as a vector has f32 elements are read, a register of units of
// each. Units are interleaved within lanes of 128 bits, for which processors
// have instructions, until a lane holds one column of some rows; lanes of the
// same column are then put together.
//
//===----------------------------------------------------------------------===//

#include "Transposes.h"

#include "Rounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::kvq;

static constexpr int64_t kLaneBits = 128;

//===----------------------------------------------------------------------===//
// Match
//===----------------------------------------------------------------------===//

/// The strides of `buffer` if the elements of its last axis lie side by side.
static std::optional<SmallVector<int64_t>> getStrides(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || type.getRank() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return std::nullopt;
  return strides;
}

/// Whether the body passes its one input on.
static bool isCopy(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumDpsInits() == 1 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         llvm::hasSingleElement(*op.getBody()) &&
         op.getBody()->getTerminator()->getOperand(0) ==
             op.getRegionInputArgs().front();
}

std::optional<Transpose> kvq::matchTranspose(linalg::GenericOp op) {
  if (!isCopy(op))
    return std::nullopt;
  Value input = op.getDpsInputs().front(), output = op.getDpsInits().front();
  auto inputStrides = getStrides(input), outputStrides = getStrides(output);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  if (!inputStrides || !outputStrides || !map.isPermutation() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  auto type = cast<MemRefType>(output.getType());
  unsigned rank = type.getRank(), row = map.getDimPosition(0);
  bool hasGroups = row == 2, hasUnits = row + 1 != rank;
  SmallVector<unsigned> axes = {row};
  for (unsigned axis = 0; axis < rank; ++axis)
    if (axis != row)
      axes.push_back(axis);
  if (row == 0 || row > 2 || rank - row > 2 ||
      map != AffineMap::getPermutationMap(axes, op.getContext()))
    return std::nullopt;
  for (unsigned axis : ArrayRef(axes).drop_front())
    if (type.isDynamicDim(axis))
      return std::nullopt;
  int64_t elements = hasUnits ? type.getShape().back() : 1;
  Type element = type.getElementType();
  int64_t bits =
      element.isIntOrFloat() ? elements * element.getIntOrFloatBitWidth() : 0;
  bool isWord = bits >= 8 && bits <= 64 && llvm::isPowerOf2_64(bits);
  // Units of a row of the input, and of the output.
  bool areSideBySide = !hasUnits || ((*inputStrides)[rank - 2] == elements &&
                                     (*outputStrides)[rank - 2] == elements);
  if (!isWord || !areSideBySide)
    return std::nullopt;
  return Transpose{input,
                   output,
                   hasGroups ? type.getDimSize(0) : 1,
                   type.getDimSize(row - 1),
                   elements,
                   hasGroups,
                   hasUnits};
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Of a row: `columns` columns of each of `groups` groups, powers of two.
struct UnitBlock {
  Value group, column;
  int64_t groups, columns;
};

class TransposeEmitter {
public:
  TransposeEmitter(OpBuilder &builder, Location loc, const Transpose &transpose,
                   int64_t vectorWidth);

  void run();

private:
  /// Both for `rows` rows from `row` on.
  void emitRows(Value row);
  void emitBlock(Value row, const UnitBlock &block);
  void emitRow(Value row);

  Value loadRow(Value row, const UnitBlock &block);
  SmallVector<Value> interleaveLanes(ArrayRef<Value> vectors, int64_t lane);
  Value joinParts(SmallVector<Value> parts, int64_t size);
  Value load(Value row, Value group, Value column, int64_t units);
  void store(Value units, Value group, Value column, Value row);
  /// `indices` of units, as those of elements that lie side by side.
  Value joinUnits(Value buffer, SmallVector<Value> &indices);

  Value shuffle(Value first, Value second, ArrayRef<int64_t> mask) {
    return vector::ShuffleOp::create(builder, loc, first, second, mask);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value base, int64_t offset) {
    return builder.createOrFold<arith::AddIOp>(loc, base, constant(offset));
  }
  void forEach(Value begin, Value end, int64_t step,
               function_ref<void(Value)> body);
  /// `body` for parts of [0, count): of `most`, and of less in the end.
  void forEachPart(int64_t count, int64_t most,
                   function_ref<void(Value, int64_t)> body);

  OpBuilder &builder;
  Location loc;
  Transpose transpose;
  Type element, unit;
  int64_t unitBits, rows, perVector;
};

} // namespace

static int64_t countUnits(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

/// Groups that follow each other as columns do are columns.
static void joinGroups(OpBuilder &builder, Location loc, Transpose &transpose) {
  if (!transpose.hasGroups)
    return;
  SmallVector<ReassociationIndices> input = {{0}, {1, 2}};
  SmallVector<ReassociationIndices> output = {{0, 1}, {2}};
  if (transpose.hasUnits)
    for (auto *axes : {&input, &output})
      axes->push_back({3});
  auto canJoin = [](Value buffer, ArrayRef<ReassociationIndices> axes) {
    return memref::CollapseShapeOp::isGuaranteedCollapsible(
        cast<MemRefType>(buffer.getType()), axes);
  };
  if (!canJoin(transpose.input, input) || !canJoin(transpose.output, output))
    return;
  transpose.input =
      memref::CollapseShapeOp::create(builder, loc, transpose.input, input);
  transpose.output =
      memref::CollapseShapeOp::create(builder, loc, transpose.output, output);
  transpose.columns *= transpose.groups;
  transpose.groups = 1;
  transpose.hasGroups = false;
}

TransposeEmitter::TransposeEmitter(OpBuilder &builder, Location loc,
                                   const Transpose &matched,
                                   int64_t vectorWidth)
    : builder(builder), loc(loc), transpose(matched), rows(vectorWidth) {
  joinGroups(builder, loc, transpose);
  element = cast<MemRefType>(transpose.output.getType()).getElementType();
  unitBits = transpose.elements * element.getIntOrFloatBitWidth();
  unit = transpose.hasUnits ? builder.getIntegerType(unitBits) : element;
  perVector = std::max<int64_t>(32 * vectorWidth / unitBits, 1);
}

void TransposeEmitter::forEach(Value begin, Value end, int64_t step,
                               function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void TransposeEmitter::forEachPart(int64_t count, int64_t most,
                                   function_ref<void(Value, int64_t)> body) {
  int64_t full = count / most * most;
  if (full == most)
    body(constant(0), most);
  else if (full != 0)
    forEach(constant(0), constant(full), most,
            [&](Value first) { body(first, most); });
  while (full < count) {
    int64_t size = llvm::bit_floor(static_cast<uint64_t>(count - full));
    body(constant(full), size);
    full += size;
  }
}

Value TransposeEmitter::joinUnits(Value buffer, SmallVector<Value> &indices) {
  if (!transpose.hasUnits)
    return buffer;
  indices.back() = builder.createOrFold<arith::MulIOp>(
      loc, indices.back(), constant(transpose.elements));
  return joinLastAxes(builder, loc, buffer);
}

Value TransposeEmitter::load(Value row, Value group, Value column,
                             int64_t units) {
  SmallVector<Value> at = {row};
  if (transpose.hasGroups)
    at.push_back(group);
  at.push_back(column);
  Value buffer = joinUnits(transpose.input, at);
  auto type = VectorType::get({units * transpose.elements}, element);
  return vector::BitCastOp::create(
      builder, loc, VectorType::get({units}, unit),
      vector::LoadOp::create(builder, loc, type, buffer, at));
}

void TransposeEmitter::store(Value units, Value group, Value column,
                             Value row) {
  SmallVector<Value> at;
  if (transpose.hasGroups)
    at.push_back(group);
  at.append({column, row});
  Value buffer = joinUnits(transpose.output, at);
  auto type =
      VectorType::get({countUnits(units) * transpose.elements}, element);
  vector::StoreOp::create(builder, loc,
                          vector::BitCastOp::create(builder, loc, type, units),
                          buffer, at);
}

/// Pairs of parts, their first `size` units, the second ones, and so on side by
/// side, until all are one vector.
Value TransposeEmitter::joinParts(SmallVector<Value> parts, int64_t size) {
  for (; parts.size() > 1; size *= 2) {
    int64_t count = countUnits(parts.front());
    SmallVector<int64_t> mask;
    for (int64_t first = 0; first < count; first += size)
      for (int64_t from : {int64_t(0), count})
        for (int64_t i = 0; i < size; ++i)
          mask.push_back(from + first + i);
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] = shuffle(parts[2 * i], parts[2 * i + 1], mask);
    parts.resize(parts.size() / 2);
  }
  return parts.front();
}

/// The units of a row that are in the block, in one vector.
Value TransposeEmitter::loadRow(Value row, const UnitBlock &block) {
  SmallVector<Value> parts;
  for (int64_t i = 0; i < block.groups; ++i)
    parts.push_back(
        load(row, add(block.group, i), block.column, block.columns));
  return joinParts(parts, block.columns);
}

/// Of `lane` rows, as many vectors: the j-th has, in each lane of so many
/// units, the lane's column j of all rows.
SmallVector<Value> TransposeEmitter::interleaveLanes(ArrayRef<Value> vectors,
                                                     int64_t lane) {
  int64_t count = countUnits(vectors.front());
  SmallVector<int64_t> halves[2];
  for (int64_t first = 0; first < count; first += lane)
    for (int64_t i = 0; i < lane / 2; ++i)
      for (int64_t half : {0, 1})
        for (int64_t from : {int64_t(0), count})
          halves[half].push_back(from + first + half * lane / 2 + i);
  // What starts as a row becomes a list, of vectors with units of more rows.
  SmallVector<SmallVector<Value>> lists;
  for (Value vector : vectors)
    lists.push_back({vector});
  while (lists.size() > 1) {
    size_t half = lists.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      SmallVector<Value> joined;
      for (auto [first, second] : llvm::zip_equal(lists[i], lists[i + half]))
        for (ArrayRef<int64_t> mask : halves)
          joined.push_back(shuffle(first, second, mask));
      lists[i] = joined;
    }
    lists.resize(half);
  }
  return lists.front();
}

void TransposeEmitter::emitBlock(Value row, const UnitBlock &block) {
  int64_t count = block.groups * block.columns;
  int64_t lane = std::min({kLaneBits / unitBits, count, rows});
  SmallVector<SmallVector<Value>> sets;
  for (int64_t first = 0; first < rows; first += lane) {
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < lane; ++i)
      vectors.push_back(loadRow(add(row, first + i), block));
    sets.push_back(interleaveLanes(vectors, lane));
  }
  for (int64_t j = 0; j < lane; ++j) {
    SmallVector<Value> parts;
    for (ArrayRef<Value> set : sets)
      parts.push_back(set[j]);
    Value all = joinParts(parts, lane);
    for (int64_t i = 0; i < count / lane; ++i) {
      int64_t column = i * lane + j;
      Value units = vector::ExtractStridedSliceOp::create(
          builder, loc, all, /*offsets=*/i * rows, /*sizes=*/rows,
          /*strides=*/1);
      store(units, add(block.group, column / block.columns),
            add(block.column, column % block.columns), row);
    }
  }
}

void TransposeEmitter::emitRows(Value row) {
  int64_t columns = transpose.columns;
  // Short groups fill vectors together.
  int64_t groups = llvm::isPowerOf2_64(columns) && columns < perVector
                       ? perVector / columns
                       : 1;
  forEachPart(transpose.groups, groups, [&](Value group, int64_t groups) {
    forEachPart(columns, perVector, [&](Value column, int64_t columns) {
      emitBlock(row, {group, column, groups, columns});
    });
  });
}

void TransposeEmitter::emitRow(Value row) {
  forEach(constant(0), constant(transpose.groups), 1, [&](Value group) {
    forEach(constant(0), constant(transpose.columns), 1, [&](Value column) {
      store(load(row, group, column, /*units=*/1), group, column, row);
    });
  });
}

void TransposeEmitter::run() {
  Value count = builder.createOrFold<memref::DimOp>(loc, transpose.input, 0);
  Value left = builder.createOrFold<arith::RemUIOp>(loc, count, constant(rows));
  Value full = builder.createOrFold<arith::SubIOp>(loc, count, left);
  forEach(constant(0), full, rows, [&](Value row) { emitRows(row); });
  forEach(full, count, 1, [&](Value row) { emitRow(row); });
}

void kvq::emitTranspose(OpBuilder &builder, Location loc,
                        const Transpose &transpose, int64_t vectorWidth) {
  TransposeEmitter(builder, loc, transpose, vectorWidth).run();
}
