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
/// their metadata, the metadata alone, what of these is packed, or the packed
/// bytes.
enum class Side { Values, Codes, Metadata, Unpacked, Packed };

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
/// operands. `floatType` is that of values, and of exact elements.
static SmallVector<RankedTensorType> getSideTypes(FormatInterface format,
                                                  ArrayRef<int64_t> shape,
                                                  Side side, Type floatType) {
  Type i8 = IntegerType::get(format.getContext(), 8);
  int64_t headDim = shape.back();
  SmallVector<RankedTensorType> types;
  auto addRows = [&](int64_t tokens, int64_t rowSize, Type type) {
    SmallVector<int64_t> dims(shape);
    dims.back() = rowSize;
    dims[dims.size() - 2] = ceilDivOrDynamic(dims[dims.size() - 2], tokens);
    types.push_back(RankedTensorType::get(dims, type));
    return &types.back();
  };
  auto addMetadata = [&](int64_t rowSize, Type type) {
    RankedTensorType *added = addRows(format.getGroupTokens(), rowSize, type);
    // Rows of rank 2 are of one head.
    if (shape.size() == 2 || ShapedType::isDynamic(shape.end()[-3]))
      return;
    SmallVector<int64_t> dims(added->getShape());
    int64_t &heads = dims.end()[-3];
    heads = llvm::divideCeil(heads, format.getGroupHeads(heads));
    *added = RankedTensorType::get(dims, type);
  };
  RowLayout layout = format.getRowLayout(headDim, floatType);
  if (side == Side::Values) {
    addRows(1, headDim, floatType);
    return types;
  }
  if (side == Side::Packed) {
    for (const PackedRow *row : {&layout.codes, &layout.records})
      if (row->exists())
        addRows(row->tokens, row->getBytes(), i8);
    return types;
  }
  if (side != Side::Metadata)
    addRows(1, headDim, format.isExact() ? floatType : i8);
  if (format.isExact())
    return types;
  // What is given is an operand of its own.
  if (format.hasStaticRange())
    return types;
  int64_t groups = headDim / format.getGroupChannels(headDim);
  bool isPacking = side == Side::Unpacked;
  if (!isPacking || layout.storesScales())
    addMetadata(groups, format.getScaleType());
  Type zero = format.getZeroType();
  if (zero && (!isPacking || layout.storesZeros()))
    addMetadata(groups, zero);
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

bool kvq::goesWithCodes(ComponentKind kind) {
  return kind == ComponentKind::Scales || kind == ComponentKind::Zeros ||
         kind == ComponentKind::OuterScales;
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
                                RankedTensorType rows, Side side) {
  ArrayRef<int64_t> shape = rows.getShape();
  Type floatType = rows.getElementType();
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

/// Checks that `rows` are such that `format` can be of. Exact ones are packed
/// in records alone.
static LogicalResult verifyRows(Operation *op, FormatInterface format,
                                Type rows, bool isPacking) {
  auto type = dyn_cast<RankedTensorType>(rows);
  if (!type || type.getRank() < 2 ||
      ShapedType::isDynamic(type.getShape().back()))
    return op->emitOpError()
           << "expected a tensor ... x tokens x head_dim with a static "
              "head_dim, got "
           << rows;
  if (format.isExact() && isPacking) {
    if (!isFloatTensor(rows))
      return op->emitOpError()
             << "expected exact elements of f16, bf16 or f32, "
                "got "
             << rows;
    if (!format.getRowLayout(type.getShape().back(), type.getElementType())
             .records.exists())
      return op->emitOpError("exact elements are stored as they are: expected "
                             "a format with codes, or with a record");
    return success();
  }
  if (format.isExact())
    return op->emitOpError(
        "exact elements are not quantized: expected a format with codes");
  if (format.isPrepared())
    return op->emitOpError(
               "a mean and a rotation act before codes are computed: "
               "expected a format without them, got ")
           << format;
  if (format.isBeforeRope())
    return op->emitOpError("RoPE turns keys that are read from a cache: "
                           "expected a format without rope = pre, got ")
           << format;
  auto emitError = [&] { return op->emitOpError(); };
  return format.verifyHeadDim(emitError, type.getShape().back());
}

/// Checks that `type` holds `row` for tokens of the shape `shape`: for each
/// leading index of its own, or once for all.
static LogicalResult verifyGivenRow(Operation *op, FormatInterface format,
                                    const GivenRow &row,
                                    ArrayRef<int64_t> shape, Type type) {
  SmallVector<int64_t> each(shape);
  each[shape.size() - 2] = 1;
  each.back() = row.extent;
  if (each.size() > 2 && !ShapedType::isDynamic(each[each.size() - 3]))
    each[each.size() - 3] /= format.getGroupHeads(each[each.size() - 3]);
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

/// Takes what is given for rows of the shape `shape` from the end of `inputs`,
/// and checks it; something has to be left.
static LogicalResult takeGiven(Operation *op, FormatInterface format,
                               ArrayRef<int64_t> shape, TypeRange &inputs) {
  SmallVector<GivenRow> rows = getGivenRows(format, shape.back());
  if (inputs.size() <= rows.size())
    return op->emitOpError()
           << "expected " << rows.size()
           << " given inputs and one or more before them, got " << inputs.size()
           << " inputs";
  for (auto [row, type] : llvm::zip_equal(rows, inputs.take_back(rows.size())))
    if (failed(verifyGivenRow(op, format, row, shape, type)))
      return failure();
  inputs = inputs.drop_back(rows.size());
  return success();
}

/// Checks a value-level op whose rows have the shape of `rows`.
static LogicalResult verifyValueOp(Operation *op, FormatInterface format,
                                   Type rows, OperandRange inputs,
                                   Side inputSide, OperandRange inits,
                                   Side initSide, TypeRange results) {
  bool isPacking = inputSide == Side::Packed || initSide == Side::Packed;
  if (failed(verifyRows(op, format, rows, isPacking)))
    return failure();
  auto type = cast<RankedTensorType>(rows);
  TypeRange inputTypes = inputs.getTypes();
  bool takesGiven = inputSide == Side::Codes || inputSide == Side::Values;
  if (takesGiven && failed(takeGiven(op, format, type.getShape(), inputTypes)))
    return failure();
  if (failed(verifySide(op, "inputs", inputTypes, format, type, inputSide)) ||
      failed(
          verifySide(op, "outputs", inits.getTypes(), format, type, initSide)))
    return failure();
  if (inits.getTypes() != results)
    return op->emitOpError() << "expected results of the outputs' types "
                             << inits.getTypes() << ", got " << results;
  return success();
}

/// Checks the heads of `rows` where `format` shares metadata between heads. A
/// number of them is enough to dequantize one head.
static LogicalResult verifyHeadGroups(Operation *op, FormatInterface format,
                                      Type rows, bool takesOneHead) {
  auto type = cast<RankedTensorType>(rows);
  int64_t group = format.getGroupHeads(/*kvHeads=*/0);
  if (group == 1 || (type.getRank() == 2 && takesOneHead && group != 0))
    return success();
  if (type.getRank() == 2 || type.isDynamicDim(type.getRank() - 3))
    return op->emitOpError("expected ... x heads x tokens x head_dim with a "
                           "static number of heads, which share metadata in ")
           << format << ", got " << type;
  return format.verifyHeads([&] { return op->emitOpError(); },
                            type.getDimSize(type.getRank() - 3));
}

/// Fails when an op has no operand to take the shape of its rows from.
static LogicalResult expectOperand(Operation *op, StringRef name,
                                   OperandRange operands) {
  if (!operands.empty())
    return success();
  return op->emitOpError() << "expected " << name << ", got none";
}

/// Fails when groups of tokens do not divide those of one of `operands`.
static LogicalResult verifyWholeGroups(Operation *op, FormatInterface format,
                                       ValueRange operands) {
  int64_t group = format.getGroupTokens();
  for (Value operand : operands) {
    auto type = cast<RankedTensorType>(operand.getType());
    int64_t tokens = type.getDimSize(type.getRank() - 2);
    if (!ShapedType::isDynamic(tokens) && tokens % group != 0)
      return op->emitOpError("group of ")
             << group << " tokens does not divide " << tokens << " tokens";
  }
  return success();
}

LogicalResult QuantizeOp::verify() {
  if (failed(expectOperand(*this, "inputs", getInputs())))
    return failure();
  Type rows = getInputs().front().getType();
  if (failed(verifyValueOp(*this, getFormat(), rows, getInputs(), Side::Values,
                           getInits(), Side::Codes, getResultTypes())) ||
      failed(verifyHeadGroups(*this, getFormat(), rows,
                              /*takesOneHead=*/false)))
    return failure();
  // Either may be dynamic where the other is static.
  return verifyWholeGroups(*this, getFormat(),
                           {getInputs().front(), getInits().front()});
}

LogicalResult CountSaturatedOp::verify() {
  if (failed(expectOperand(*this, "inputs", getInputs())))
    return failure();
  Value rows = getInputs().front();
  if (failed(verifyRows(*this, getFormat(), rows.getType(),
                        /*isPacking=*/false)) ||
      failed(verifyHeadGroups(*this, getFormat(), rows.getType(),
                              /*takesOneHead=*/false)))
    return failure();
  if (getFormat().encodesUnrounded())
    return emitOpError("elements are counted under stored metadata: expected a "
                       "rule with metadata = stored, got ")
           << getFormat();
  auto type = cast<RankedTensorType>(rows.getType());
  TypeRange inputs(getInputs());
  if (failed(takeGiven(*this, getFormat(), type.getShape(), inputs)))
    return failure();
  if (failed(verifySide(*this, "values", inputs.take_front(), getFormat(), type,
                        Side::Values)) ||
      failed(verifySide(*this, "metadata", inputs.drop_front(), getFormat(),
                        type, Side::Metadata)) ||
      failed(verifyWholeGroups(*this, getFormat(), rows)))
    return failure();
  auto expected = RankedTensorType::get(type.getShape().drop_back(2),
                                        IntegerType::get(getContext(), 64));
  if (failed(verifyCompatibleShape(expected, getInit().getType())))
    return emitOpError("expected an output of type ")
           << expected << ", got " << getInit().getType();
  if (getInit().getType() != getResult().getType())
    return emitOpError("expected a result of the output's type ")
           << getInit().getType() << ", got " << getResult().getType();
  return success();
}

LogicalResult DequantizeOp::verify() {
  if (failed(expectOperand(*this, "inputs", getInputs())))
    return failure();
  Type rows = getInputs().front().getType();
  if (failed(verifyValueOp(*this, getFormat(), rows, getInputs(), Side::Codes,
                           getInits(), Side::Values, getResultTypes())))
    return failure();
  return verifyHeadGroups(*this, getFormat(), rows, /*takesOneHead=*/true);
}

/// Checks that the tokens of `rows` fill rows of codes, each of several tokens.
static LogicalResult verifyWholeBlocks(Operation *op, FormatInterface format,
                                       Type rows) {
  auto type = cast<RankedTensorType>(rows);
  int64_t tokens = type.getDimSize(type.getRank() - 2);
  int64_t block =
      format.getRowLayout(type.getShape().back(), type.getElementType())
          .getCodeTokens();
  if (format.isExact() || ShapedType::isDynamic(tokens) || tokens % block == 0)
    return success();
  return op->emitOpError("rows of codes of ")
         << block << " tokens do not hold " << tokens << " tokens";
}

LogicalResult PackOp::verify() {
  if (failed(verifyAssignedLayout(*this, getFormat())))
    return failure();
  if (failed(expectOperand(*this, "inputs", getInputs())))
    return failure();
  Type rows = getInputs().front().getType();
  if (failed(verifyValueOp(*this, getFormat(), rows, getInputs(),
                           Side::Unpacked, getInits(), Side::Packed,
                           getResultTypes())))
    return failure();
  return verifyWholeBlocks(*this, getFormat(), rows);
}

LogicalResult UnpackOp::verify() {
  if (failed(verifyAssignedLayout(*this, getFormat())))
    return failure();
  if (failed(expectOperand(*this, "outputs", getInits())))
    return failure();
  Type rows = getInits().front().getType();
  if (failed(verifyValueOp(*this, getFormat(), rows, getInputs(), Side::Packed,
                           getInits(), Side::Unpacked, getResultTypes())))
    return failure();
  return verifyWholeBlocks(*this, getFormat(), rows);
}
