//===- SideMatcher.cpp - From an operand to its dequantize ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A side of an attention (keys or values) is followed from the operand back to
// the kvq.dequantize that made it. On the way, four numbers say which axes of
// the tensor at hand are the operand's batch, KV heads, tokens and channels, so
// that unit axes may come and go.
//
//===----------------------------------------------------------------------===//

#include "SideMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::kvq;

ArrayRef<int64_t> kvq::getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

//===----------------------------------------------------------------------===//
// Looking through what lies between
//===----------------------------------------------------------------------===//

/// The axes of `group` whose extent is not 1.
static SmallVector<int64_t> getNonUnitAxes(ArrayRef<int64_t> group,
                                           ArrayRef<int64_t> shape) {
  return llvm::filter_to_vector(group,
                                [&](int64_t axis) { return shape[axis] != 1; });
}

/// A slice of the first tokens: attention reads no more than its lengths say,
/// so it reads the same from the whole.
LogicalResult SideMatcher::lookThroughSlice(tensor::ExtractSliceOp slice) {
  ArrayRef<int64_t> source = slice.getSourceType().getShape();
  if (slice.getSourceType().getRank() != slice.getType().getRank())
    return fail("a tensor.extract_slice drops axes");
  for (auto [axis, offset, size, stride] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedSizes(),
                       slice.getMixedStrides())) {
    if (getConstantIntValue(offset) != 0 || getConstantIntValue(stride) != 1)
      return fail("a tensor.extract_slice takes other than the first elements "
                  "of axis " +
                  Twine(axis));
    bool isTokens = axes[kTokens] == int64_t(axis);
    if (!isTokens && (ShapedType::isDynamic(source[axis]) ||
                      getConstantIntValue(size) != source[axis]))
      return fail("a tensor.extract_slice cuts axis " + Twine(axis) +
                  ", which is not the tokens");
  }
  value = slice.getSource();
  return success();
}

/// The axis that `op`, a copy of its input, repeats that along, and its extent.
static std::optional<std::pair<int64_t, int64_t>>
getRepeatedAxis(linalg::LinalgOp op) {
  ArrayRef<int64_t> dimensions;
  SmallVector<int64_t> found;
  if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op.getOperation())) {
    dimensions = broadcast.getDimensions();
  } else if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation())) {
    std::optional<SmallVector<int64_t>> match =
        linalg::isaBroadcastOpInterface(generic);
    if (!match)
      return std::nullopt;
    found = std::move(*match);
    dimensions = found;
  }
  if (dimensions.size() != 1 || op->getNumResults() != 1)
    return std::nullopt;
  int64_t extent = getShape(op->getResult(0))[dimensions.front()];
  if (ShapedType::isDynamic(extent))
    return std::nullopt;
  return std::pair(dimensions.front(), extent);
}

/// Each KV head repeated for its query heads: a broadcast along a new axis
/// behind the heads, which joins them.
bool SideMatcher::lookThroughRepeat(tensor::CollapseShapeOp collapse) {
  auto producer = collapse.getSrc().getDefiningOp<linalg::LinalgOp>();
  if (!producer || axes[kHeads] == kAbsent)
    return false;
  auto repeated = getRepeatedAxis(producer);
  if (!repeated)
    return false;
  auto [repeatedAxis, extent] = *repeated;
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  ReassociationIndices heads = {repeatedAxis - 1, repeatedAxis};
  if (groups[axes[kHeads]] != heads)
    return false;
  for (auto [axis, group] : llvm::enumerate(groups))
    if (int64_t(axis) != axes[kHeads] && group.size() != 1)
      return false;
  // The other groups are single axes, so the collapsed tensor has the very axes
  // of the one that is repeated.
  value = producer.getDpsInputs().front();
  repeat *= extent;
  return true;
}

LogicalResult
SideMatcher::lookThroughCollapse(tensor::CollapseShapeOp collapse) {
  if (lookThroughRepeat(collapse))
    return success();
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  for (int64_t &axis : axes) {
    if (axis == kAbsent)
      continue;
    const ReassociationIndices &group = groups[axis];
    SmallVector<int64_t> joined =
        getNonUnitAxes(group, getShape(collapse.getSrc()));
    if (joined.size() > 1)
      return fail("a tensor.collapse_shape joins axes to axis " + Twine(axis));
    axis = joined.empty() ? group.back() : joined.front();
  }
  value = collapse.getSrc();
  return success();
}

LogicalResult SideMatcher::lookThroughExpand(tensor::ExpandShapeOp expand) {
  for (auto [source, group] :
       llvm::enumerate(expand.getReassociationIndices())) {
    SmallVector<int64_t> split =
        getNonUnitAxes(group, getShape(expand.getResult()));
    if (split.size() > 1)
      return fail("a tensor.expand_shape splits axis " + Twine(source));
  }
  SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
  for (int64_t &axis : axes) {
    if (axis == kAbsent)
      continue;
    auto *group = llvm::find_if(groups, [&](const ReassociationIndices &group) {
      return llvm::is_contained(group, axis);
    });
    // No group: the source has rank 0.
    if (group == groups.end())
      return fail("a tensor.expand_shape makes its axes from one element");
    SmallVector<int64_t> kept =
        getNonUnitAxes(*group, getShape(expand.getResult()));
    bool isSource = axis == (kept.empty() ? group->back() : kept.front());
    axis = isSource ? std::distance(groups.begin(), group) : kAbsent;
  }
  value = expand.getSrc();
  return success();
}

LogicalResult SideMatcher::lookThrough(Operation *producer) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(producer))
    return lookThroughSlice(slice);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(producer))
    return lookThroughCollapse(collapse);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(producer))
    return lookThroughExpand(expand);
  if (auto cast = dyn_cast<tensor::CastOp>(producer);
      cast && isa<RankedTensorType>(cast.getSource().getType())) {
    value = cast.getSource();
    return success();
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(producer)) {
    value = producer->getOperand(0);
    return success();
  }
  return fail("made by '" + producer->getName().getStringRef() +
              "', not by a kvq.dequantize");
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

static Value stripCasts(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return value;
}

/// Whether bytes of one format are those of the other, as far as packing goes.
static bool packAlike(FormatInterface a, FormatInterface b, int64_t headDim,
                      Type codes) {
  return a.getCodeBits() == b.getCodeBits() &&
         a.hasSignedCodes() == b.hasSignedCodes() &&
         a.getRowLayout(headDim, codes) == b.getRowLayout(headDim, codes);
}

/// The components from which the operands of the dequantize come: packed ones,
/// then the metadata that lies apart.
LogicalResult SideMatcher::findComponents() {
  FormatInterface format = dequantize.getFormat();
  Value codes = stripCasts(dequantize.getInputs().front());
  int64_t headDim = getShape(codes).back();
  Type type = getElementTypeOrSelf(codes);
  if (format.hasOpenLayout())
    return fail("its format leaves open how bytes lie (layout = auto)");
  RowLayout layout = format.getRowLayout(headDim, type);
  auto unpack = codes.getDefiningOp<UnpackOp>();
  if (unpack && !packAlike(unpack.getFormat(), format, headDim, type))
    return fail("its codes are unpacked in another format than they are "
                "dequantized in");
  if (!unpack && !layout.isUnpacked())
    return fail("its codes of " + Twine(format.getCodeBits()) +
                " bits do not come from a kvq.unpack: packing them would copy "
                "the cache");
  if (unpack)
    llvm::append_range(components, unpack.getInputs());
  else
    components.push_back(codes);
  unsigned unpacked = 1;
  bool areStored[] = {layout.storesScales(), layout.storesZeros()};
  for (auto [metadata, isStored] :
       llvm::zip(dequantize.getInputs().drop_front(), areStored)) {
    if (!isStored)
      components.push_back(metadata);
    else if (stripCasts(metadata) != unpack.getResult(unpacked++))
      return fail("its scales or zeros are not those of the records that its "
                  "codes are unpacked from");
  }
  return success();
}

/// What is given is the same for all sequences of a cache, and apart for each
/// head.
LogicalResult SideMatcher::checkGiven() {
  unsigned count = countGivenInputs(dequantize.getFormat());
  for (Value given : dequantize.getInputs().take_back(count)) {
    if (axes[kBatch] != kAbsent && getShape(given)[axes[kBatch]] != 1)
      return fail("metadata that is given is not the same for all sequences");
    if (axes[kHeads] == kAbsent)
      continue;
    int64_t heads = getShape(value)[axes[kHeads]];
    int64_t sharing = dequantize.getFormat().getGroupHeads(heads);
    if (getShape(given)[axes[kHeads]] != heads / sharing)
      return fail("metadata that is given is not given for each head");
  }
  return success();
}

LogicalResult SideMatcher::match() {
  while (!(dequantize = value.getDefiningOp<DequantizeOp>())) {
    Operation *producer = value.getDefiningOp();
    if (!producer)
      return fail("a block argument, not made by a kvq.dequantize");
    if (failed(lookThrough(producer)))
      return failure();
  }
  ArrayRef<int64_t> shape = getShape(value);
  int64_t rank = shape.size();
  if (axes[kTokens] != rank - 2 || axes[kChannels] != rank - 1)
    return fail("its tokens and channels are not the last two axes of the "
                "kvq.dequantize");
  if (dequantize.getFormat().getGroupHeads(/*kvHeads=*/0) != 1 &&
      axes[kHeads] != rank - 3)
    return fail("its heads, which share metadata, are not the axis before the "
                "tokens of the kvq.dequantize");
  int64_t group = dequantize.getFormat().getGroupTokens();
  int64_t tokens = shape[axes[kTokens]];
  if (!ShapedType::isDynamic(tokens) && tokens % group != 0)
    return fail(Twine(tokens) + " tokens are not whole groups of " +
                Twine(group));
  if (failed(checkGiven()))
    return failure();
  return findComponents();
}
