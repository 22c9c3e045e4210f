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

/// The tensor of the given shape that `value` is a reshape of; another, if
/// there is none.
static Value skipReshapes(Value value, ArrayRef<int64_t> shape) {
  while (getShape(value) != shape) {
    if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
      value = expand.getSrc();
    else if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>())
      value = collapse.getSrc();
    else
      break;
  }
  return value;
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

/// Whether the element is a position, or (with several tokens) the sum of one
/// and of the token's number: `element` becomes the position.
static bool matchPosition(ElementTracer &tracer, TracedElement &element,
                          unsigned axis, int64_t tokens, Operation *user) {
  if (tokens == 1)
    return isPosition(element, user);
  if (!element.value.getDefiningOp<arith::AddIOp>())
    return false;
  TracedElement terms[] = {ElementTracer::getOperand(element, 0),
                           ElementTracer::getOperand(element, 1)};
  for (TracedElement &term : terms)
    if (failed(skipIntegerCasts(tracer, term)))
      return false;
  if (isIndexOf(terms[0], axis, tokens))
    std::swap(terms[0], terms[1]);
  element = terms[0];
  return isIndexOf(terms[1], axis, tokens) && isPosition(element, user);
}

/// The indices of each leading axis, one after the other; nothing where they
/// are not written so.
static ValueRange getIndexColumns(tensor::ScatterOp scatter, unsigned axis) {
  auto columns = scatter.getIndices().getDefiningOp<tensor::ConcatOp>();
  ArrayRef<int64_t> dims = scatter.getScatterDims();
  bool isLeading = llvm::equal(dims, llvm::seq<int64_t>(0, dims.size()));
  if (!columns || columns.getDim() != 1 || !isLeading || axis >= dims.size() ||
      columns.getInputs().size() != dims.size())
    return {};
  return columns.getInputs();
}

/// How many tokens of each sequence are written; nothing where they are no
/// whole tokens.
static std::optional<int64_t> getScattered(tensor::ScatterOp scatter,
                                           unsigned axis) {
  ArrayRef<int64_t> dest = scatter.getDestType().getShape();
  int64_t rows = scatter.getSourceType().getDimSize(0), others = 1;
  for (int64_t dim : scatter.getScatterDims())
    if (dim != axis)
      others *= dest[dim];
  if (ShapedType::isDynamic(rows) || others <= 0 || rows % others != 0)
    return std::nullopt;
  return rows / others;
}

/// Elements or rows one by one, at indices that are written out: those of
/// tokens from a position on.
static FailureOr<CacheUpdate> getScatter(tensor::ScatterOp scatter,
                                         unsigned axis, std::string &reason) {
  auto why = [&](const Twine &text) {
    return fail(reason, "'tensor.scatter' " + text);
  };
  ValueRange columns = getIndexColumns(scatter, axis);
  if (columns.empty())
    return why("does not write elements or rows by indices of all leading "
               "axes that are concatenated");
  std::optional<int64_t> tokens = getScattered(scatter, axis);
  if (!tokens)
    return why("does not write whole tokens of each sequence");
  CacheUpdate update;
  update.old = scatter.getDest();
  update.updated = scatter.getResult();
  update.tokens = scatter.getSource();
  update.tokenShape = llvm::to_vector(scatter.getDestType().getShape());
  update.tokenShape[axis] = *tokens;
  auto extents =
      ArrayRef<int64_t>(update.tokenShape).take_front(columns.size());
  for (auto [i, column] : llvm::enumerate(columns)) {
    Value indices = skipReshapes(column, extents);
    if (getShape(indices) != extents)
      return why("has indices of axis " + Twine(i) +
                 " that are not those of tokens");
    ElementTracer tracer(scatter.getContext(), extents);
    TracedElement element = {indices, {}};
    for (unsigned dim : llvm::seq<unsigned>(0, extents.size()))
      element.indices.push_back(getAffineDimExpr(dim, scatter.getContext()));
    if (failed(skipIntegerCasts(tracer, element)))
      return why("has indices of axis " + Twine(i) +
                 " that are not known: " + tracer.reason);
    if (i != axis) {
      if (!isIndexOf(element, i, extents[i]))
        return why("has indices of axis " + Twine(i) +
                   " that are not all of it");
      continue;
    }
    if (!matchPosition(tracer, element, axis, *tokens, scatter))
      return why("writes tokens that are not told to follow one position of "
                 "each sequence");
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
  Value source = skipReshapes(tokens, tokenShape);
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
