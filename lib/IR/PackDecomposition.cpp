//===- PackDecomposition.cpp - Packing to structured ops ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AggregatedOpInterface of pack and unpack (rule R13). A code is cut into parts
// of a power of two of bits, lowest first; a row holds one part after the
// other, each planar: plane p of a part lies in bits `p * bits` and up of the
// part's bytes. So each op reads and writes slices of rows, and shifts are
// constant.
//
//===----------------------------------------------------------------------===//

#include "TensorSlices.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// Bits `firstBit` to `firstBit + bits` of each code of a row.
struct CodePart {
  unsigned firstBit;
  unsigned bits;
  /// Where the part's bytes start in a row, and how many there are: one plane.
  int64_t firstByte;
  int64_t bytes;

  unsigned getPlanes() const { return 8 / bits; }
  int64_t getMask() const { return (1 << bits) - 1; }
};

} // namespace

static SmallVector<CodePart> getParts(FormatInterface format, int64_t headDim) {
  SmallVector<CodePart> parts;
  int64_t firstByte = 0;
  for (unsigned bit = 0, end = format.getCodeBits(); bit < end;) {
    unsigned bits = llvm::bit_floor(end - bit);
    int64_t bytes = headDim * bits / 8;
    parts.push_back({bit, bits, firstByte, bytes});
    firstByte += bytes;
    bit += bits;
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

static Value buildI8(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(b.getI8Type(), APInt(8, value)));
}

static Value buildShiftLeft(OpBuilder &b, Location loc, Value value,
                            unsigned amount) {
  if (amount == 0)
    return value;
  return arith::ShLIOp::create(b, loc, value, buildI8(b, loc, amount));
}

static Value buildShiftRight(OpBuilder &b, Location loc, Value value,
                             unsigned amount) {
  if (amount == 0)
    return value;
  return arith::ShRUIOp::create(b, loc, value, buildI8(b, loc, amount));
}

static Value buildMask(OpBuilder &b, Location loc, Value value, int64_t mask) {
  return arith::AndIOp::create(b, loc, value, buildI8(b, loc, mask));
}

/// `value`, or'ed into `sum` unless that is null.
static Value buildOr(OpBuilder &b, Location loc, Value sum, Value value) {
  if (!sum)
    return value;
  return arith::OrIOp::create(b, loc, sum, value);
}

/// An elementwise generic from `inputs` to `init`, all of one shape.
static Value buildElementwise(
    OpBuilder &b, Location loc, ValueRange inputs, Value init,
    function_ref<Value(OpBuilder &, Location, ValueRange)> buildBody) {
  int64_t rank = cast<RankedTensorType>(init.getType()).getRank();
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange args) {
               linalg::YieldOp::create(b, loc, buildBody(b, loc, args));
             })
      .getResult(0);
}

/// With 8 bits the bytes are the codes: a copy, as the destination is written
/// even where the caller never looks at the result.
static SmallVector<Value> buildCopy(OpBuilder &b, Location loc, Value source,
                                    Value destination) {
  return {linalg::CopyOp::create(b, loc, source, destination).getResult(0)};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The bytes of `part` of the rows `codes`, written into `init`.
static Value buildPackedPart(OpBuilder &b, Location loc, const CodePart &part,
                             Value codes, Value init) {
  int64_t axis = cast<RankedTensorType>(codes.getType()).getRank() - 1;
  // One input a plane, so that a byte is written once.
  SmallVector<Value> planes;
  for (unsigned plane = 0; plane < part.getPlanes(); ++plane)
    planes.push_back(buildSlice(b, loc, codes, axis,
                                b.getIndexAttr(plane * part.bytes),
                                b.getIndexAttr(part.bytes)));
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value byte;
    for (unsigned plane = 0; plane < part.getPlanes(); ++plane) {
      Value field = buildShiftRight(b, loc, args[plane], part.firstBit);
      field = buildMask(b, loc, field, part.getMask());
      field = buildShiftLeft(b, loc, field, plane * part.bits);
      byte = buildOr(b, loc, byte, field);
    }
    return byte;
  };
  return buildElementwise(b, loc, planes, init, body);
}

FailureOr<SmallVector<Value>> PackOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value codes = getInputs().front();
  Value bytes = getInits().front();
  auto type = cast<RankedTensorType>(codes.getType());
  if (getFormat().getCodeBits() == 8)
    return buildCopy(b, loc, codes, bytes);

  SmallVector<CodePart> parts = getParts(getFormat(), type.getShape().back());
  if (parts.size() == 1)
    return SmallVector<Value>{
        buildPackedPart(b, loc, parts.front(), codes, bytes)};
  int64_t axis = type.getRank() - 1;
  for (const CodePart &part : parts) {
    OpFoldResult offset = b.getIndexAttr(part.firstByte);
    OpFoldResult size = b.getIndexAttr(part.bytes);
    Value slice = buildSlice(b, loc, bytes, axis, offset, size);
    slice = buildPackedPart(b, loc, part, codes, slice);
    bytes = buildInsert(b, loc, slice, bytes, axis, offset, size);
  }
  return SmallVector<Value>{bytes};
}

namespace {

/// Codes next to each other in a row, whose parts lie next to each other in one
/// plane each.
struct CodeRun {
  int64_t first;
  int64_t size;

  unsigned getPlane(const CodePart &part) const { return first / part.bytes; }
  int64_t getFirstByte(const CodePart &part) const {
    return part.firstByte + first % part.bytes;
  }
};

} // namespace

/// The codes of `run` from one slice of bytes for each part.
static Value buildUnpackedCode(OpBuilder &b, Location loc,
                               ArrayRef<CodePart> parts, const CodeRun &run,
                               ValueRange bytes, bool isSigned) {
  Value code;
  for (auto [part, byte] : llvm::zip_equal(parts, bytes)) {
    Value field = buildShiftRight(b, loc, byte, run.getPlane(part) * part.bits);
    field = buildMask(b, loc, field, part.getMask());
    code = buildOr(b, loc, code, buildShiftLeft(b, loc, field, part.firstBit));
  }
  if (!isSigned)
    return code;
  // Sign extension without an arithmetic shift of bytes, which x86 lacks.
  unsigned top = parts.back().firstBit + parts.back().bits - 1;
  Value sign = buildI8(b, loc, 1 << top);
  code = arith::XOrIOp::create(b, loc, code, sign);
  return arith::SubIOp::create(b, loc, code, sign);
}

FailureOr<SmallVector<Value>> UnpackOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  FormatInterface format = getFormat();
  Value bytes = getInputs().front();
  Value codes = getInits().front();
  auto type = cast<RankedTensorType>(codes.getType());
  if (format.getCodeBits() == 8)
    return buildCopy(b, loc, bytes, codes);

  int64_t headDim = type.getShape().back(), axis = type.getRank() - 1;
  SmallVector<CodePart> parts = getParts(format, headDim);
  // The last part has the fewest bits, and so the shortest planes.
  int64_t size = parts.back().bytes;
  for (int64_t first = 0; first < headDim; first += size) {
    CodeRun run{first, size};
    SmallVector<Value> inputs;
    for (const CodePart &part : parts)
      inputs.push_back(parts.size() == 1
                           ? bytes
                           : buildSlice(b, loc, bytes, axis,
                                        b.getIndexAttr(run.getFirstByte(part)),
                                        b.getIndexAttr(size)));
    auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
      return buildUnpackedCode(b, loc, parts, run, args,
                               format.hasSignedCodes());
    };
    OpFoldResult offset = b.getIndexAttr(first), extent = b.getIndexAttr(size);
    Value slice = buildSlice(b, loc, codes, axis, offset, extent);
    slice = buildElementwise(b, loc, inputs, slice, body);
    codes = buildInsert(b, loc, slice, codes, axis, offset, extent);
  }
  return SmallVector<Value>{codes};
}
