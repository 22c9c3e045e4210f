//===- ValueOpTiling.cpp - Tiling of the value-level ops -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TilingInterface of quantize, dequantize, pack and unpack. The domain is that
// of the metadata without its channels: the leading axes (groups of heads where
// these share metadata), then groups of tokens (of one token where the op has
// no metadata). Rows stay whole.
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// How the operands of a value-level op follow from a tile of its domain.
struct TilingShape {
  /// An operand `... x tokens x ...` that is no metadata.
  Value rows;
  /// Tokens in one step of the domain's last axis.
  int64_t tokens;
  /// Heads in one step of the axis before it.
  int64_t heads;
  /// Scales, zeros, records of them: their token axis counts steps.
  SmallVector<Value, 3> metadata;
  /// Codes that are packed apart from metadata, and the tokens of one of their
  /// rows.
  Value packed;
  int64_t packedTokens;
  /// Whether all tokens of the last step are there.
  bool wholeSteps;
  /// What is given: one row for all tokens.
  ValueRange given;

  int64_t getTokenAxis() const {
    return cast<RankedTensorType>(rows.getType()).getRank() - 2;
  }
};

/// A part of a tensor, with strides of 1.
struct TensorPart {
  SmallVector<OpFoldResult> offsets, sizes;
};

} // namespace

/// The heads that share metadata in `rows`.
static int64_t getGroupHeads(FormatInterface format, Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  if (type.getRank() == 2)
    return 1;
  return format.getGroupHeads(type.getDimSize(type.getRank() - 3));
}

static TilingShape getTilingShape(QuantizeOp op) {
  Value rows = op.getInputs().front();
  return {rows,
          op.getFormat().getGroupTokens(),
          getGroupHeads(op.getFormat(), rows),
          llvm::to_vector<3>(op.getInits().drop_front()),
          /*packed=*/Value(),
          /*packedTokens=*/1,
          /*wholeSteps=*/true,
          op.getInputs().drop_front()};
}

static TilingShape getTilingShape(DequantizeOp op) {
  Value rows = op.getInputs().front();
  ValueRange metadata = op.getInputs().drop_front();
  unsigned given = countGivenInputs(op.getFormat());
  return {rows,
          op.getFormat().getGroupTokens(),
          getGroupHeads(op.getFormat(), rows),
          llvm::to_vector<3>(metadata.drop_back(given)),
          /*packed=*/Value(),
          /*packedTokens=*/1,
          /*wholeSteps=*/false,
          metadata.take_back(given)};
}

/// Rows of packed codes alone are packed by themselves; with records beside
/// them or in their place, a record is for a group of tokens.
template <typename OpTy>
static TilingShape getPackingShape(OpTy op, ValueRange codesAndMetadata,
                                   ValueRange packed) {
  Value rows = codesAndMetadata.front();
  auto type = cast<RankedTensorType>(rows.getType());
  RowLayout layout = op.getFormat().getRowLayout(type.getShape().back(),
                                                 type.getElementType());
  bool hasRecords = layout.records.exists();
  // Of the packed components, records come last.
  SmallVector<Value, 3> steps(codesAndMetadata.drop_front());
  if (hasRecords)
    steps.push_back(packed.back());
  return {rows, hasRecords ? layout.records.tokens : layout.codes.tokens,
          /*heads=*/1, std::move(steps),
          layout.codes.exists() ? packed.front() : Value(), layout.codes.tokens,
          // Rows of codes of several tokens are there as a whole.
          /*wholeSteps=*/!hasRecords || layout.getCodeTokens() != 1,
          /*given=*/{}};
}

static TilingShape getTilingShape(PackOp op) {
  return getPackingShape(op, op.getInputs(), op.getInits());
}

static TilingShape getTilingShape(UnpackOp op) {
  return getPackingShape(op, op.getInits(), op.getInputs());
}

static SmallVector<utils::IteratorType> getIterators(const TilingShape &shape) {
  return SmallVector<utils::IteratorType>(shape.getTokenAxis() + 1,
                                          utils::IteratorType::parallel);
}

static SmallVector<Range> getDomain(OpBuilder &b, Location loc,
                                    const TilingShape &shape) {
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, shape.rows);
  extents.pop_back();
  extents.back() = affine::makeComposedFoldedAffineApply(
      b, loc, b.getAffineDimExpr(0).ceilDiv(shape.tokens), {extents.back()});
  if (shape.heads != 1)
    extents.end()[-2] = affine::makeComposedFoldedAffineApply(
        b, loc, b.getAffineDimExpr(0).floorDiv(shape.heads),
        {extents.end()[-2]});
  return llvm::map_to_vector(extents, [&](OpFoldResult extent) {
    return Range{b.getIndexAttr(0), extent, b.getIndexAttr(1)};
  });
}

/// The part of `operand` that the tile at `offsets` of `sizes` needs.
static TensorPart getPart(OpBuilder &b, Location loc, const TilingShape &shape,
                          Value operand, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) {
  TensorPart part{SmallVector<OpFoldResult>(offsets),
                  SmallVector<OpFoldResult>(sizes)};
  part.offsets.push_back(b.getIndexAttr(0));
  part.sizes.push_back(
      tensor::getMixedSize(b, loc, operand, shape.getTokenAxis() + 1));
  if (llvm::is_contained(shape.given, operand)) {
    ArrayRef<int64_t> extents =
        cast<RankedTensorType>(operand.getType()).getShape();
    for (int64_t axis = 0; axis <= shape.getTokenAxis(); ++axis)
      if (extents[axis] == 1) {
        part.offsets[axis] = b.getIndexAttr(0);
        part.sizes[axis] = b.getIndexAttr(1);
      }
    return part;
  }
  if (llvm::is_contained(shape.metadata, operand))
    return part;
  if (shape.heads != 1) {
    int64_t heads = shape.getTokenAxis() - 1;
    for (SmallVector<OpFoldResult> *steps : {&part.offsets, &part.sizes})
      (*steps)[heads] = affine::makeComposedFoldedAffineApply(
          b, loc, b.getAffineDimExpr(0) * shape.heads, {(*steps)[heads]});
  }
  if (shape.tokens == 1)
    return part;

  // Groups to tokens, or to the rows that hold their codes; of the last group
  // only some may be there.
  int64_t axis = shape.getTokenAxis();
  int64_t rows = shape.tokens;
  if (operand == shape.packed)
    rows /= shape.packedTokens;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1),
             d2 = b.getAffineDimExpr(2);
  OpFoldResult extent = tensor::getMixedSize(b, loc, operand, axis);
  part.offsets[axis] =
      affine::makeComposedFoldedAffineApply(b, loc, d0 * rows, {offsets[axis]});
  std::optional<int64_t> staticExtent = getConstantIntValue(extent);
  if (shape.wholeSteps || (staticExtent && *staticExtent % rows == 0)) {
    part.sizes[axis] =
        affine::makeComposedFoldedAffineApply(b, loc, d0 * rows, {sizes[axis]});
    return part;
  }
  AffineMap sizeMap =
      AffineMap::get(3, 0, {d0 * rows, d2 - d1 * rows}, b.getContext());
  part.sizes[axis] = affine::makeComposedFoldedAffineMin(
      b, loc, sizeMap, {sizes[axis], offsets[axis], extent});
  return part;
}

/// The op on the tile: itself, with each operand sliced.
static TilingResult tile(OpBuilder &b, DestinationStyleOpInterface op,
                         const TilingShape &shape,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) {
  Location loc = op.getLoc();
  TilingResult result;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    TensorPart part = getPart(b, loc, shape, operand, offsets, sizes);
    SmallVector<OpFoldResult> strides(part.sizes.size(), b.getIndexAttr(1));
    auto slice = tensor::ExtractSliceOp::create(b, loc, operand, part.offsets,
                                                part.sizes, strides);
    operands.push_back(slice);
    result.generatedSlices.push_back(slice);
  }
  ValueRange inits = ArrayRef(operands).take_back(op.getNumDpsInits());
  Operation *tiled =
      mlir::clone(b, op, llvm::to_vector(inits.getTypes()), operands);
  result.tiledOps.push_back(tiled);
  llvm::append_range(result.tiledValues, tiled->getResults());
  return result;
}

/// One op's methods of the interface: all follow from its TilingShape.
#define KVQ_DEFINE_TILING(Op)                                                  \
  SmallVector<utils::IteratorType> Op::getLoopIteratorTypes() {                \
    return getIterators(getTilingShape(*this));                                \
  }                                                                            \
  SmallVector<Range> Op::getIterationDomain(OpBuilder &b) {                    \
    return getDomain(b, getLoc(), getTilingShape(*this));                      \
  }                                                                            \
  FailureOr<TilingResult> Op::getTiledImplementation(                          \
      OpBuilder &b, ArrayRef<OpFoldResult> offsets,                            \
      ArrayRef<OpFoldResult> sizes) {                                          \
    return tile(b, *this, getTilingShape(*this), offsets, sizes);              \
  }                                                                            \
  LogicalResult Op::getResultTilePosition(                                     \
      OpBuilder &b, unsigned resultNumber, ArrayRef<OpFoldResult> offsets,     \
      ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,  \
      SmallVector<OpFoldResult> &resultSizes) {                                \
    TensorPart part = getPart(b, getLoc(), getTilingShape(*this),              \
                              getInits()[resultNumber], offsets, sizes);       \
    resultOffsets = std::move(part.offsets);                                   \
    resultSizes = std::move(part.sizes);                                       \
    return success();                                                          \
  }

KVQ_DEFINE_TILING(QuantizeOp)
KVQ_DEFINE_TILING(DequantizeOp)
KVQ_DEFINE_TILING(PackOp)
KVQ_DEFINE_TILING(UnpackOp)

#undef KVQ_DEFINE_TILING
