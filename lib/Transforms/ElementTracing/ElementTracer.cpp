//===- ElementTracer.cpp - Where an element comes from --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTracer.h"

#include "Extents.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::kvq;

std::optional<int64_t> kvq::getConstantIndex(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

ElementTracer::ElementTracer(Value operand)
    : ElementTracer(operand.getContext(), getShape(operand)) {
  this->operand = operand;
}

TracedElement ElementTracer::getElement(std::optional<int64_t> channel) {
  TracedElement element = {operand, {}};
  for (unsigned axis = 0; axis < kAxes; ++axis)
    element.indices.push_back(getAffineDimExpr(axis, context));
  if (channel)
    element.indices[kChannels] = getConstant(*channel);
  normalize(element);
  return element;
}

/// Axes of extent 1 have one index; all else is in its simplest form.
void ElementTracer::normalize(TracedElement &element) {
  auto type = dyn_cast<RankedTensorType>(element.value.getType());
  for (auto [axis, index] : llvm::enumerate(element.indices))
    index =
        type && type.getDimSize(axis) == 1 ? getConstant(0) : simplify(index);
}

AffineExpr ElementTracer::getExpr(OpFoldResult number) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return getConstant(*constant);
  auto value = cast<Value>(number);
  auto *found = llvm::find(symbols, value);
  unsigned position = std::distance(symbols.begin(), found);
  if (found == symbols.end())
    symbols.push_back(value);
  return getAffineSymbolExpr(position, context);
}

LogicalResult ElementTracer::verify(
    function_ref<LogicalResult(function_ref<InFlightDiagnostic()>)> verifier) {
  // Passes run on several functions at once: what others report goes on.
  uint64_t thread = llvm::get_threadid();
  Location here = NameLoc::get(StringAttr::get(context, "kvq-fuse-dequantize"));
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getLocation() != here || llvm::get_threadid() != thread)
      return failure();
    return success(failed(fail(diagnostic.str())));
  });
  return verifier([&] { return emitError(here); });
}

//===----------------------------------------------------------------------===//
// Slices and parts
//===----------------------------------------------------------------------===//

void ElementTracer::moveThroughSlice(TracedElement &element,
                                     tensor::ExtractSliceOp slice) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  SmallVector<AffineExpr> indices;
  const auto *index = element.indices.begin();
  for (auto [axis, offset, stride] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedStrides())) {
    indices.push_back(getExpr(offset));
    if (!dropped.test(axis))
      indices.back() = indices.back() + *index++ * getExpr(stride);
  }
  element = {slice.getSource(), indices};
}

/// Whether the element is in the part that is inserted has to be known.
FailureOr<bool> ElementTracer::moveThroughInsert(TracedElement &element,
                                                 tensor::InsertSliceOp insert) {
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  SmallVector<AffineExpr> indices;
  bool isInside = true;
  for (auto [axis, mixedOffset, mixedSize, mixedStride] :
       llvm::enumerate(insert.getMixedOffsets(), insert.getMixedSizes(),
                       insert.getMixedStrides())) {
    std::optional<int64_t> offset = getConstantIntValue(mixedOffset),
                           size = getConstantIntValue(mixedSize),
                           stride = getConstantIntValue(mixedStride),
                           index = getConstantIndex(element.indices[axis]);
    int64_t extent = insert.getDestType().getDimSize(axis);
    bool isWhole = offset == 0 && stride == 1 &&
                   (size == extent || (ShapedType::isDynamic(extent) && !size));
    if (!isWhole && !(offset && size && stride && index))
      return fail("a tensor.insert_slice sets a part of axis " + Twine(axis));
    AffineExpr inner = element.indices[axis];
    if (!isWhole) {
      int64_t distance = *index - *offset;
      isInside &= distance >= 0 && distance % *stride == 0 &&
                  distance / *stride < *size;
      inner = getConstant(distance / *stride);
    }
    if (!dropped.test(axis))
      indices.push_back(inner);
  }
  if (isInside)
    element = {insert.getSource(), indices};
  else
    element.value = insert.getDest();
  return true;
}

FailureOr<bool> ElementTracer::moveThroughConcat(TracedElement &element,
                                                 tensor::ConcatOp concat) {
  uint64_t axis = concat.getDim();
  std::optional<int64_t> index = getConstantIndex(element.indices[axis]);
  for (Value part : concat.getInputs()) {
    int64_t extent = getShape(part)[axis];
    if (!index || ShapedType::isDynamic(extent))
      return fail("a tensor.concat joins parts along axis " + Twine(axis));
    if (*index < extent) {
      element.value = part;
      element.indices[axis] = getConstant(*index);
      return true;
    }
    *index -= extent;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

LogicalResult
ElementTracer::moveThroughCollapse(TracedElement &element,
                                   tensor::CollapseShapeOp collapse) {
  ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
  SmallVector<AffineExpr> indices(shape.size());
  for (auto [axis, group] :
       llvm::enumerate(collapse.getReassociationIndices())) {
    AffineExpr rest = element.indices[axis];
    while (!group.empty()) {
      int64_t inner = group.pop_back_val();
      // All is in this axis if those outside it have one element.
      bool isLast =
          llvm::all_of(group, [&](int64_t outer) { return shape[outer] == 1; });
      if (shape[inner] == 1) {
        indices[inner] = getConstant(0);
      } else if (isLast) {
        indices[inner] = rest;
        rest = getConstant(0);
      } else if (ShapedType::isDynamic(shape[inner])) {
        return fail("a tensor.collapse_shape joins axes of dynamic extents to "
                    "axis " +
                    Twine(axis));
      } else {
        indices[inner] = rest % shape[inner];
        rest = rest.floorDiv(shape[inner]);
      }
    }
  }
  // A single element.
  for (AffineExpr &index : indices)
    if (!index)
      index = getConstant(0);
  element = {collapse.getSrc(), indices};
  return success();
}

LogicalResult ElementTracer::moveThroughExpand(TracedElement &element,
                                               tensor::ExpandShapeOp expand) {
  ArrayRef<int64_t> shape = expand.getResultType().getShape();
  SmallVector<AffineExpr> indices;
  for (auto [source, group] :
       llvm::enumerate(expand.getReassociationIndices())) {
    AffineExpr index = getConstant(0);
    for (int64_t axis : group) {
      if (shape[axis] == 1)
        continue;
      if (ShapedType::isDynamic(shape[axis]) && getConstantIndex(index) != 0)
        return fail("a tensor.expand_shape splits axis " + Twine(source) +
                    " into axes of dynamic extents");
      if (!ShapedType::isDynamic(shape[axis]))
        index = index * shape[axis];
      index = index + element.indices[axis];
    }
    indices.push_back(index);
  }
  element = {expand.getSrc(), indices};
  return success();
}

//===----------------------------------------------------------------------===//
// Structured ops
//===----------------------------------------------------------------------===//

/// Into the body of an op whose loops are the axes of what it makes.
bool ElementTracer::moveThroughStructured(TracedElement &element,
                                          OpResult result) {
  auto op = cast<linalg::LinalgOp>(result.getOwner());
  AffineMap map = op.getIndexingMapMatchingResult(result);
  if (op.getNumParallelLoops() != op.getNumLoops() || !map.isPermutation() ||
      op->getNumRegions() != 1)
    return false;
  SmallVector<AffineExpr> loops(map.getNumDims());
  for (auto [axis, index] : llvm::enumerate(element.indices))
    loops[map.getDimPosition(axis)] = index;
  Operation *yield = op.getBlock()->getTerminator();
  element = {yield->getOperand(result.getResultNumber()), loops};
  return true;
}

/// Out of a body, to the tensor or number that it reads.
bool ElementTracer::moveIntoArgument(TracedElement &element,
                                     BlockArgument argument) {
  auto op =
      dyn_cast_or_null<linalg::LinalgOp>(argument.getOwner()->getParentOp());
  if (!op || argument.getOwner() != op.getBlock())
    return false;
  OpOperand &operand = op->getOpOperand(argument.getArgNumber());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<AffineExpr> indices;
  for (AffineExpr index : map.getResults())
    indices.push_back(index.replaceDims(element.indices));
  element = {operand.get(), indices};
  return true;
}

/// The value that is compared for equality with one.
static Value getComparedWithOne(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      !matchPattern(compare.getRhs(), m_One()))
    return {};
  return compare.getLhs();
}

/// An index of `axis` of `tensor`, in the body of a structured op, or null.
/// Where it is 0 if the extent of the axis is 1 and a loop's index otherwise,
/// as front ends write what may broadcast an axis of a dynamic extent, it is
/// the loop's: both are the same where the axis is not broadcast, which is
/// taken for granted.
AffineExpr ElementTracer::getIndexExpr(Value index, ArrayRef<AffineExpr> loops,
                                       Value tensor, int64_t axis) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return getConstant(*constant);
  Operation *op = index.getDefiningOp();
  if (auto loop = dyn_cast_or_null<linalg::IndexOp>(op))
    return loop.getDim() < loops.size() ? loops[loop.getDim()] : AffineExpr();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op);
      select && matchPattern(select.getTrueValue(), m_Zero()))
    if (Value extent = getComparedWithOne(select.getCondition());
        extent && isExtent(extent, tensor, axis))
      return getIndexExpr(select.getFalseValue(), loops, tensor, axis);
  return {};
}

/// One element of a tensor as a number, if it is known which.
bool ElementTracer::moveIntoExtracted(TracedElement &element,
                                      tensor::ExtractOp extract) {
  SmallVector<AffineExpr> indices;
  for (Value index : extract.getIndices()) {
    indices.push_back(getIndexExpr(index, element.indices, extract.getTensor(),
                                   indices.size()));
    if (!indices.back())
      return false;
  }
  element = {extract.getTensor(), indices};
  return true;
}

//===----------------------------------------------------------------------===//
// All moves
//===----------------------------------------------------------------------===//

FailureOr<bool> ElementTracer::moveOnce(TracedElement &element) {
  if (auto argument = dyn_cast<BlockArgument>(element.value))
    return moveIntoArgument(element, argument);
  Operation *op = element.value.getDefiningOp();
  if (auto cast = dyn_cast<tensor::CastOp>(op);
      cast && isa<RankedTensorType>(cast.getSource().getType())) {
    element.value = cast.getSource();
    return true;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    moveThroughSlice(element, slice);
    return true;
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return moveThroughInsert(element, insert);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return moveThroughConcat(element, concat);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    if (failed(moveThroughCollapse(element, collapse)))
      return failure();
    return true;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    if (failed(moveThroughExpand(element, expand)))
      return failure();
    return true;
  }
  // One number for all elements, and one element as a number.
  if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
    element = {splat.getInput(), {}};
    return true;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return moveIntoExtracted(element, extract);
  if (isa<linalg::LinalgOp>(op))
    return moveThroughStructured(element, cast<OpResult>(element.value));
  return false;
}

FailureOr<bool> ElementTracer::move(TracedElement &element) {
  normalize(element);
  FailureOr<bool> moved = moveOnce(element);
  if (succeeded(moved))
    normalize(element);
  return moved;
}

LogicalResult ElementTracer::skipMoves(TracedElement &element) {
  while (true) {
    FailureOr<bool> moved = move(element);
    if (failed(moved))
      return failure();
    if (*moved)
      continue;
    // All elements are the same.
    DenseElementsAttr constant;
    if (matchPattern(element.value, m_Constant(&constant)) &&
        constant.isSplat())
      llvm::fill(element.indices, getConstant(0));
    return success();
  }
}

bool ElementTracer::moveThroughFloatCast(TracedElement &element) {
  auto *op = element.value.getDefiningOp();
  // What is rounded to fewer bits than a value of attention has is another
  // number.
  constexpr unsigned kValueBits = 16;
  bool isRounded =
      isa_and_nonnull<arith::TruncFOp>(op) &&
      getElementTypeOrSelf(element.value).getIntOrFloatBitWidth() >= kValueBits;
  if (!isRounded && !isa_and_nonnull<arith::ExtFOp>(op))
    return false;
  element = getOperand(element, 0);
  return true;
}

LogicalResult ElementTracer::skipFloatCasts(TracedElement &element) {
  do
    if (failed(skipMoves(element)))
      return failure();
  while (moveThroughFloatCast(element));
  return success();
}
