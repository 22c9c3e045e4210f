//===- ValueOps.cpp - Verifiers of the value-level ops -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// What a value-level op takes on one side: the float values, the codes with
/// their metadata, or the packed bytes.
enum class Side { Values, Codes, CodesOnly, Bytes };

/// A row of metadata that is given rather than computed.
struct GivenRow {
  StringRef name;
  int64_t extent;
  Type elementType;
};

} // namespace

static int64_t ceilDivOrDynamic(int64_t extent, int64_t divisor) {
  return ShapedType::isDynamic(extent) ? extent
                                       : llvm::divideCeil(extent, divisor);
}

/// The tensor types that `side` has for rows of the shape `shape`, one list of
/// operands. A null type stands for any float tensor of the shape.
static SmallVector<RankedTensorType> getSideTypes(FormatInterface format,
                                                  ArrayRef<int64_t> shape,
                                                  Side side, Type floatType) {
  MLIRContext *context = format.getContext();
  Type i8 = IntegerType::get(context, 8);
  SmallVector<int64_t> dims(shape);
  int64_t headDim = dims.back();
  switch (side) {
  case Side::Values:
    return {RankedTensorType::get(dims, floatType)};
  case Side::CodesOnly:
    return {RankedTensorType::get(dims, i8)};
  case Side::Bytes:
    dims.back() = format.getPackedBytes(headDim);
    return {RankedTensorType::get(dims, i8)};
  case Side::Codes:
    break;
  }
  SmallVector<RankedTensorType> types = {RankedTensorType::get(dims, i8)};
  dims.back() = headDim / format.getGroupChannels(headDim);
  dims[dims.size() - 2] =
      ceilDivOrDynamic(dims[dims.size() - 2], format.getGroupTokens());
  if (format.hasStaticRange())
    return types;
  types.push_back(RankedTensorType::get(dims, format.getScaleType()));
  if (Type zero = format.getZeroType())
    types.push_back(RankedTensorType::get(dims, zero));
  return types;
}

/// What is given for rows of `headDim` channels, in the order of the operands.
static SmallVector<GivenRow> getGivenRows(FormatInterface format,
                                          int64_t headDim) {
  SmallVector<GivenRow> rows;
  int64_t groups = headDim / format.getGroupChannels(headDim);
  if (format.hasStaticRange())
    rows.push_back({"scales", groups, format.getScaleType()});
  if (Type zero = format.getZeroType(); zero && format.hasStaticRange())
    rows.push_back({"zeros", groups, zero});
  if (Type outer = format.getOuterScaleType())
    rows.push_back({"outer scales", 1, outer});
  return rows;
}

unsigned kvq::countGivenInputs(FormatInterface format) {
  // Of rows of any size.
  return getGivenRows(format, format.getGroupChannels(1)).size();
}

/// True if `type` is a float tensor that may hold values.
static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor &&
         (tensor.getElementType().isF16() || tensor.getElementType().isBF16() ||
          tensor.getElementType().isF32());
}

static LogicalResult verifySide(Operation *op, StringRef name,
                                TypeRange operands, FormatInterface format,
                                ArrayRef<int64_t> shape, Side side) {
  Type floatType;
  if (side == Side::Values) {
    if (operands.size() != 1 || !isFloatTensor(operands.front()))
      return op->emitOpError() << "expected one tensor of f16, bf16 or f32 as "
                               << name << ", got " << operands;
    floatType = cast<RankedTensorType>(operands.front()).getElementType();
  }
  SmallVector<RankedTensorType> expected =
      getSideTypes(format, shape, side, floatType);
  if (expected.size() != operands.size())
    return op->emitOpError()
           << "expected " << expected.size() << " " << name << " of types "
           << expected << ", got " << operands.size();
  for (auto [want, got] : llvm::zip_equal(expected, operands)) {
    auto tensor = dyn_cast<RankedTensorType>(got);
    if (!tensor || tensor.getElementType() != want.getElementType() ||
        failed(verifyCompatibleShape(want, got)))
      return op->emitOpError()
             << "expected " << name << " of type " << want << ", got " << got;
  }
  return success();
}

/// Checks that `type` holds `row` for tokens of the shape `shape`: for each
/// leading index of its own, or once for all.
static LogicalResult verifyGivenRow(Operation *op, const GivenRow &row,
                                    ArrayRef<int64_t> shape, Type type) {
  SmallVector<int64_t> each(shape);
  each[shape.size() - 2] = 1;
  each.back() = row.extent;
  auto tensor = dyn_cast<RankedTensorType>(type);
  bool fits = tensor && tensor.getElementType() == row.elementType &&
              tensor.getRank() == int64_t(each.size()) &&
              tensor.getShape().take_back(2) == ArrayRef(each).take_back(2);
  for (unsigned axis = 0; fits && axis + 2 < each.size(); ++axis) {
    int64_t extent = tensor.getDimSize(axis);
    fits = extent == 1 || extent == each[axis] ||
           ShapedType::isDynamic(extent) || ShapedType::isDynamic(each[axis]);
  }
  if (fits)
    return success();
  return op->emitOpError() << "expected given " << row.name << " of type "
                           << RankedTensorType::get(each, row.elementType)
                           << " (leading extents may be 1), got " << type;
}

/// Checks the inputs of an op on rows of the shape `shape`: those of its side,
/// then what is given.
static LogicalResult verifyInputs(Operation *op, TypeRange inputs,
                                  FormatInterface format,
                                  ArrayRef<int64_t> shape, Side side) {
  SmallVector<GivenRow> given;
  if (side == Side::Codes || side == Side::Values)
    given = getGivenRows(format, shape.back());
  if (inputs.size() <= given.size()) // at least one of its side
    return op->emitOpError() << "expected " << given.size()
                             << " given inputs and one or more before them, "
                                "got "
                             << inputs.size() << " inputs";
  if (failed(verifySide(op, "inputs", inputs.drop_back(given.size()), format,
                        shape, side)))
    return failure();
  for (auto [row, type] :
       llvm::zip_equal(given, inputs.take_back(given.size())))
    if (failed(verifyGivenRow(op, row, shape, type)))
      return failure();
  return success();
}

/// Checks a value-level op whose rows have the shape of `rows`.
static LogicalResult verifyValueOp(Operation *op, FormatInterface format,
                                   Type rows, OperandRange inputs,
                                   Side inputSide, OperandRange inits,
                                   Side initSide, TypeRange results) {
  auto type = dyn_cast<RankedTensorType>(rows);
  if (!type || type.getRank() < 2 ||
      ShapedType::isDynamic(type.getShape().back()))
    return op->emitOpError()
           << "expected a tensor ... x tokens x head_dim with a static "
              "head_dim, got "
           << rows;
  if (format.isExact())
    return op->emitOpError(
        "exact elements are not quantized: expected a format with codes");
  auto emitError = [&] { return op->emitOpError(); };
  if (failed(format.verifyHeadDim(emitError, type.getShape().back())))
    return failure();
  if (failed(verifyInputs(op, inputs.getTypes(), format, type.getShape(),
                          inputSide)) ||
      failed(verifySide(op, "outputs", inits.getTypes(), format,
                        type.getShape(), initSide)))
    return failure();
  if (inits.getTypes() != results)
    return op->emitOpError() << "expected results of the outputs' types "
                             << inits.getTypes() << ", got " << results;
  return success();
}

/// Fails when an op has no operand to take the shape of its rows from.
static LogicalResult expectOperand(Operation *op, StringRef name,
                                   OperandRange operands) {
  if (!operands.empty())
    return success();
  return op->emitOpError() << "expected " << name << ", got none";
}

LogicalResult QuantizeOp::verify() {
  if (failed(expectOperand(*this, "inputs", getInputs())))
    return failure();
  Type rows = getInputs().front().getType();
  if (failed(verifyValueOp(*this, getFormat(), rows, getInputs(), Side::Values,
                           getInits(), Side::Codes, getResultTypes())))
    return failure();
  // Either may be dynamic where the other is static.
  int64_t group = getFormat().getGroupTokens();
  for (Value operand : {getInputs().front(), getInits().front()}) {
    auto type = cast<RankedTensorType>(operand.getType());
    int64_t tokens = type.getDimSize(type.getRank() - 2);
    if (!ShapedType::isDynamic(tokens) && tokens % group != 0)
      return emitOpError("group of ")
             << group << " tokens does not divide " << tokens << " tokens";
  }
  return success();
}

LogicalResult DequantizeOp::verify() {
  if (failed(expectOperand(*this, "inputs", getInputs())))
    return failure();
  return verifyValueOp(*this, getFormat(), getInputs().front().getType(),
                       getInputs(), Side::Codes, getInits(), Side::Values,
                       getResultTypes());
}

LogicalResult PackOp::verify() {
  if (failed(expectOperand(*this, "inputs", getInputs())))
    return failure();
  return verifyValueOp(*this, getFormat(), getInputs().front().getType(),
                       getInputs(), Side::CodesOnly, getInits(), Side::Bytes,
                       getResultTypes());
}

LogicalResult UnpackOp::verify() {
  if (failed(expectOperand(*this, "outputs", getInits())))
    return failure();
  return verifyValueOp(*this, getFormat(), getInits().front().getType(),
                       getInputs(), Side::Bytes, getInits(), Side::CodesOnly,
                       getResultTypes());
}
