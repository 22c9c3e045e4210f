//===- CacheUpdate.cpp - Ops that put tokens into a tensor ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheUpdate.h"

#include "../ElementTracing/ElementTracer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvq;

static LogicalResult fail(std::string &reason, const Twine &why) {
  reason = why.str();
  return failure();
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

static FailureOr<CacheUpdate> getConcat(tensor::ConcatOp concat, unsigned axis,
                                        std::string &reason) {
  if (concat.getDim() != axis)
    return fail(reason, "'tensor.concat' joins tensors along axis " +
                            Twine(concat.getDim()) +
                            ", tokens lie along axis " + Twine(axis));
  if (concat.getInputs().size() != 2)
    return fail(reason, "'tensor.concat' joins " +
                            Twine(concat.getInputs().size()) +
                            " tensors: expected a cache and new tokens");
  CacheUpdate update;
  update.old = concat.getInputs()[0];
  update.updated = concat.getResult();
  update.tokens = concat.getInputs()[1];
  update.grows = true;
  return update;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Whether the slice is all that `insert` writes to along every axis but
/// `axis`, one token after the other along that.
static bool isWholeBut(tensor::InsertSliceOp insert, unsigned axis) {
  for (auto [i, offset, size, stride] :
       llvm::enumerate(insert.getMixedOffsets(), insert.getMixedSizes(),
                       insert.getMixedStrides())) {
    if (!isOneInteger(stride))
      return false;
    if (i == axis)
      continue;
    if (!isZeroInteger(offset) ||
        getConstantIntValue(size) != insert.getDestType().getDimSize(i))
      return false;
  }
  return true;
}

/// Whether `index` is the extent of `tensor` along `axis`.
static bool isExtent(OpFoldResult index, Value tensor, unsigned axis) {
  auto value = dyn_cast<Value>(index);
  auto dim = value ? value.getDefiningOp<tensor::DimOp>() : nullptr;
  return dim && dim.getSource() == tensor && dim.getConstantIndex() == axis;
}

/// The tensor that `insert` writes behind: of a concatenation as two slices of
/// a tensor that is empty before.
static Value getTensorBefore(tensor::InsertSliceOp insert, unsigned axis) {
  auto first = insert.getDest().getDefiningOp<tensor::InsertSliceOp>();
  if (!first || !first.getDest().getDefiningOp<tensor::EmptyOp>() ||
      !isWholeBut(first, axis) || !isZeroInteger(first.getMixedOffsets()[axis]))
    return {};
  Value before = first.getSource();
  return isExtent(insert.getMixedOffsets()[axis], before, axis) ? before
                                                                : Value();
}

static FailureOr<CacheUpdate> getSlice(tensor::InsertSliceOp insert,
                                       unsigned axis, std::string &reason) {
  if (insert.getSourceType().getRank() != insert.getDestType().getRank())
    return fail(reason, "'tensor.insert_slice' inserts a tensor of fewer axes");
  if (!isWholeBut(insert, axis))
    return fail(reason, "'tensor.insert_slice' sets a part of an axis other "
                        "than that of tokens, " +
                            Twine(axis));
  CacheUpdate update;
  update.updated = insert.getResult();
  update.tokens = insert.getSource();
  if (Value before = getTensorBefore(insert, axis)) {
    update.old = before;
    update.grows = true;
    return update;
  }
  update.old = insert.getDest();
  update.position = insert.getMixedOffsets()[axis];
  return update;
}

//===----------------------------------------------------------------------===//
// Scattered elements
//===----------------------------------------------------------------------===//

/// The tensor that `value` is a reshape of, to the one axis of its elements and
/// others of extent 1.
static Value skipReshapes(Value value) {
  while (true) {
    if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
      value = expand.getSrc();
    else if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>())
      value = collapse.getSrc();
    else
      return value;
  }
}

/// Goes back to the number that a cast of integers leaves as it is.
static LogicalResult skipIntegerCasts(ElementTracer &tracer,
                                      TracedElement &element) {
  while (true) {
    if (failed(tracer.skipMoves(element)))
      return failure();
    Operation *op = element.value.getDefiningOp();
    if (!isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op))
      return success();
    element = ElementTracer::getOperand(element, 0);
  }
}

/// Whether the element is the index of axis `axis`.
static bool isIndexOf(const TracedElement &element, unsigned axis,
                      int64_t extent) {
  if (auto index = element.value.getDefiningOp<linalg::IndexOp>()) {
    AffineExpr expr = element.indices[index.getDim()];
    return extent == 1 ? getConstantIndex(expr) == 0
                       : expr == getAffineDimExpr(axis, expr.getContext());
  }
  Attribute constant;
  if (!matchPattern(element.value, m_Constant(&constant)))
    return false;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant))
    constant = splat.getSplatValue<Attribute>();
  auto integer = dyn_cast<IntegerAttr>(constant);
  return extent == 1 && integer && integer.getValue().isZero();
}

/// Whether the element is one of a tensor that is the same for all but the
/// sequences, or a number outside of any body.
static bool isPosition(TracedElement element, Operation *user) {
  if (!isa<RankedTensorType>(element.value.getType()))
    return element.value.getType().isIntOrIndex() &&
           element.value.getParentRegion() == user->getParentRegion();
  AffineExpr sequence = getAffineDimExpr(kBatch, user->getContext());
  return getElementTypeOrSelf(element.value.getType()).isIntOrIndex() &&
         llvm::all_of(element.indices, [&](AffineExpr index) {
           return index == sequence || getConstantIndex(index);
         });
}

/// Elements one by one, at indices that are written out: those of a token at a
/// position.
static FailureOr<CacheUpdate> getScatter(tensor::ScatterOp scatter,
                                         unsigned axis, std::string &reason) {
  auto why = [&](const Twine &text) {
    return fail(reason, "'tensor.scatter' " + text);
  };
  SmallVector<int64_t> shape(scatter.getDestType().getShape());
  auto columns = scatter.getIndices().getDefiningOp<tensor::ConcatOp>();
  bool isByElements =
      llvm::equal(scatter.getScatterDims(),
                  llvm::seq<int64_t>(0, static_cast<int64_t>(kAxes)));
  if (shape.size() != kAxes || !isByElements || !columns ||
      columns.getInputs().size() != kAxes)
    return why("does not write single elements of four axes, by indices of "
               "each that are concatenated");
  shape[axis] = 1;
  CacheUpdate update;
  update.old = scatter.getDest();
  update.updated = scatter.getResult();
  update.tokens = scatter.getSource();
  update.tokenShape = shape;
  if (scatter.getSourceType().getNumElements() !=
      ShapedType::getNumElements(shape))
    return why("writes more than one token of each sequence");
  for (auto [i, column] : llvm::enumerate(columns.getInputs())) {
    Value indices = skipReshapes(column);
    if (getShape(indices) != ArrayRef<int64_t>(shape))
      return why("has indices of axis " + Twine(i) +
                 " that are not those of a token");
    ElementTracer tracer(indices);
    TracedElement element = tracer.getElement();
    if (failed(skipIntegerCasts(tracer, element)))
      return why("has indices of axis " + Twine(i) +
                 " that are not known: " + tracer.reason);
    if (i != axis) {
      if (!isIndexOf(element, i, shape[i]))
        return why("has indices of axis " + Twine(i) +
                   " that are not all of it");
      continue;
    }
    if (!isPosition(element, scatter))
      return why("writes tokens at positions that are not one number for each "
                 "sequence");
    update.position = element.value;
    update.positionIndices = element.indices;
  }
  return update;
}

//===----------------------------------------------------------------------===//
// All updates
//===----------------------------------------------------------------------===//

FailureOr<CacheUpdate> CacheUpdate::get(Value updated, unsigned axis,
                                        std::string &reason) {
  Operation *op = updated.getDefiningOp();
  if (auto concat = dyn_cast_or_null<tensor::ConcatOp>(op))
    return getConcat(concat, axis, reason);
  if (auto insert = dyn_cast_or_null<tensor::InsertSliceOp>(op))
    return getSlice(insert, axis, reason);
  if (auto scatter = dyn_cast_or_null<tensor::ScatterOp>(op))
    return getScatter(scatter, axis, reason);
  if (!op)
    return fail(reason, "it is no argument of a function, but one of a block");
  return fail(reason, "'" + op->getName().getStringRef() +
                          "' makes it: expected an argument of the function, "
                          "and updates of it");
}

bool CacheUpdate::hasPositions() const {
  return llvm::any_of(positionIndices, [](AffineExpr index) {
    return !getConstantIndex(index);
  });
}

static Value castToI64(OpBuilder &b, Location loc, Value number) {
  Type i64 = b.getI64Type();
  if (number.getType() == i64)
    return number;
  if (number.getType().isIndex())
    return arith::IndexCastOp::create(b, loc, i64, number);
  return arith::ExtSIOp::create(b, loc, i64, number);
}

Value CacheUpdate::buildPosition(OpBuilder &b, Location loc,
                                 int64_t sequence) const {
  if (std::optional<int64_t> constant = getConstantIntValue(position))
    return arith::ConstantIntOp::create(b, loc, *constant, 64);
  auto value = cast<Value>(position);
  if (!isa<RankedTensorType>(value.getType()))
    return castToI64(b, loc, value);
  SmallVector<Value> indices;
  for (AffineExpr index : positionIndices)
    indices.push_back(arith::ConstantIndexOp::create(
        b, loc, getConstantIndex(index).value_or(sequence)));
  return castToI64(b, loc, tensor::ExtractOp::create(b, loc, value, indices));
}

Value CacheUpdate::buildTokens(OpBuilder &b, Location loc) const {
  if (tokenShape.empty())
    return tokens;
  Value source = skipReshapes(tokens);
  if (getShape(source) == ArrayRef<int64_t>(tokenShape))
    return source;
  auto type = cast<RankedTensorType>(tokens.getType());
  auto all = llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
  auto flat =
      RankedTensorType::get({type.getNumElements()}, type.getElementType());
  if (type.getRank() > 1)
    source =
        tensor::CollapseShapeOp::create(b, loc, flat, tokens, ArrayRef{all});
  else
    source = tokens;
  auto axes = llvm::to_vector<2>(llvm::seq<int64_t>(0, tokenShape.size()));
  return tensor::ExpandShapeOp::create(b, loc, flat.clone(tokenShape), source,
                                       ArrayRef{axes});
}
