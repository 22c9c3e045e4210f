//===- BytesOfPairs.cpp - Lanes from one element of each pair -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of a layout hold pairs: two channels of each token, or two tokens of
// each channel. Lanes take one element of each. Bytes that are extended are
// parts of words, which are loaded and extended once for both.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvq;

/// The pairs of which `operand` has one element of each, from `point` on.
Value BodyEmitter::loadPairs(OpOperand *operand, const Point &point,
                             int64_t neighbour) {
  Value memref = operand->get();
  SmallVector<Value> at = indices(operand, point);
  if (neighbour != 0)
    at.back() = builder.createOrFold<arith::SubIOp>(
        loc, at.back(),
        arith::ConstantIndexOp::create(builder, loc, neighbour));
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return vector::LoadOp::create(
      builder, loc, VectorType::get({2 * lanes}, element), memref, at);
}

/// One element of each pair.
Value BodyEmitter::loadFromPairs(OpOperand *operand, const Point &point,
                                 int64_t neighbour) {
  Value pairs = loadPairs(operand, point, neighbour);
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < lanes; ++lane)
    mask.push_back(2 * lane + neighbour);
  return vector::ShuffleOp::create(builder, loc, pairs, pairs, mask);
}

/// The operand of pairs of bytes that `op` extends, to i32 or to f32; null
/// where it does something else.
OpOperand *BodyEmitter::findExtendedPairs(Operation *op) {
  bool isUnsigned = isa<arith::ExtUIOp>(op);
  if (lanes == 1 || !(isUnsigned || isa<arith::SIToFPOp, arith::UIToFPOp>(op)))
    return nullptr;
  Type result = op->getResult(0).getType();
  auto argument = dyn_cast<BlockArgument>(op->getOperand(0));
  if (!(isUnsigned ? result.isInteger(32) : result.isF32()) || !argument ||
      argument.getOwner() != plan.op.getBody() ||
      !argument.getType().isInteger(8))
    return nullptr;
  OpOperand *operand = plan.op.getMatchingOpOperand(argument);
  bool isInLanes = isa<MemRefType>(operand->get().getType()) &&
                   plan.axesOf(operand)[*plan.laneAxis] &&
                   plan.neighbourInPairs(operand, *plan.laneAxis);
  return isInLanes ? operand : nullptr;
}

/// What `op` makes of bytes of pairs, if it extends them. Null elsewhere.
Value BodyEmitter::emitBytesOfPairs(Operation *op, const Point &point) {
  OpOperand *operand = findExtendedPairs(op);
  if (!operand)
    return {};
  int64_t neighbour = *plan.neighbourInPairs(operand, *plan.laneAxis);
  Value words = vector::BitCastOp::create(
      builder, loc, VectorType::get({lanes}, builder.getI16Type()),
      loadPairs(operand, point, neighbour));
  if (isa<arith::SIToFPOp>(op))
    return convertSignedBytes(words, neighbour);
  Value bytes = extendBytes(words, neighbour);
  if (isa<arith::ExtUIOp>(op))
    return bytes;
  return arith::SIToFPOp::create(
      builder, loc, VectorType::get({lanes}, builder.getF32Type()), bytes);
}

Value BodyEmitter::splatInteger(int32_t value) {
  return splat(
      builder, loc,
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value)),
      lanes);
}

/// Byte `neighbour` of each word, unsigned, as i32.
Value BodyEmitter::extendBytes(Value words, int64_t neighbour) {
  auto wide = VectorType::get({lanes}, builder.getI32Type());
  Value extended = arith::ExtUIOp::create(builder, loc, wide, words);
  if (neighbour == 0)
    return arith::AndIOp::create(builder, loc, extended, splatInteger(0xFF));
  return arith::ShRUIOp::create(builder, loc, extended, splatInteger(8));
}

/// Byte `neighbour` of each word, signed, as f32. That below the other is not
/// shifted up and down: under the bits of 2^23, with its sign turned over, it
/// is a float, from which what it counts from then is subtracted.
Value BodyEmitter::convertSignedBytes(Value words, int64_t neighbour) {
  auto wide = VectorType::get({lanes}, builder.getI32Type());
  auto floats = VectorType::get({lanes}, builder.getF32Type());
  Value extended = arith::ExtSIOp::create(builder, loc, wide, words);
  if (neighbour == 1) {
    extended = arith::ShRSIOp::create(builder, loc, extended, splatInteger(8));
    return arith::SIToFPOp::create(builder, loc, floats, extended);
  }
  Value bits =
      arith::AndIOp::create(builder, loc, extended, splatInteger(0xFF));
  bits = arith::XOrIOp::create(builder, loc, bits, splatInteger(0x4B000080));
  Value least =
      splat(builder, loc,
            arith::ConstantOp::create(
                builder, loc, builder.getF32FloatAttr((1 << 23) + (1 << 7))),
            lanes);
  return arith::SubFOp::create(
      builder, loc, arith::BitcastOp::create(builder, loc, floats, bits),
      least);
}
