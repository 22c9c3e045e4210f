//===- CodePlanes.cpp - Codes that share the bytes of a tile --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/CodePlanes.h"

#include "CodePacking.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvq;

std::optional<CodePlanes> CodePlanes::get(CacheType cache) {
  if (!cache.getTileOrder().exists())
    return std::nullopt;
  FormatInterface format = cache.getFormat();
  RowLayout layout = cache.getRowLayout();
  unsigned bits = layout.parts.front().bits;
  if (!format.hasIntegerCodes() || layout.parts.size() != 1 || bits == 8)
    return std::nullopt;
  int64_t count = 8 / bits;
  if (cache.getHeadDim() % (2 * count) != 0)
    return std::nullopt;
  return CodePlanes{count, bits, format.hasSignedCodes(), layout.bias};
}

/// In i16: processors shift lanes of that width, and products are taken of
/// them.
Value CodePlanes::buildCode(OpBuilder &b, Location loc, Value byte,
                            int64_t plane) const {
  Type type = b.getI16Type();
  unsigned above = 8 - bits * (plane + 1);
  if (isSigned && !bias) {
    Value wide = arith::ExtSIOp::create(b, loc, type, byte);
    if (above == 0)
      return arith::ShRSIOp::create(b, loc, wide,
                                    buildInteger(b, loc, type, 8 - bits));
    wide = buildShiftLeft(b, loc, wide, 8 + above);
    return arith::ShRSIOp::create(b, loc, wide,
                                  buildInteger(b, loc, type, 16 - bits));
  }
  Value wide = arith::ExtUIOp::create(b, loc, type, byte);
  wide = buildShiftRight(b, loc, wide, bits * plane);
  if (above != 0)
    wide = buildMask(b, loc, wide, (1 << bits) - 1);
  if (!bias)
    return wide;
  return arith::SubIOp::create(b, loc, wide,
                               buildInteger(b, loc, type, 1 << (bits - 1)));
}

/// With the bits of 2^23 above it a number of fewer bits is a float, from which
/// what it counts from is subtracted, exactly. A signed code's sign is turned
/// over, so that it counts from the least one.
Value CodePlanes::buildScaledCode(OpBuilder &b, Location loc, Value byte,
                                  int64_t plane) const {
  constexpr int64_t kOffset = 1 << 23, kBitsOfOffset = 0x4B000000;
  Type i32 = b.getI32Type();
  unsigned shift = bits * plane;
  int64_t sign = int64_t(1) << (bits - 1 + shift);
  int64_t turned = isSigned && !bias ? sign : 0;
  Value word = arith::ExtUIOp::create(b, loc, i32, byte);
  word = buildMask(b, loc, word, ((1 << bits) - 1) << shift);
  word = arith::XOrIOp::create(
      b, loc, word, buildInteger(b, loc, i32, kBitsOfOffset | turned));
  double least = kOffset + (isSigned || bias ? sign : 0);
  return arith::SubFOp::create(
      b, loc, arith::BitcastOp::create(b, loc, b.getF32Type(), word),
      buildF32(b, loc, least));
}

Value CodePlanes::buildCodeAboveLeast(OpBuilder &b, Location loc, Value byte,
                                      int64_t plane) const {
  Value stored = buildShiftRight(b, loc, byte, bits * plane);
  if (plane + 1 != count)
    stored = buildMask(b, loc, stored, (1 << bits) - 1);
  // Biased codes count from the least one already.
  CodeKind biased{bits, isSigned, /*bias=*/isSigned && !bias};
  return buildStored(b, loc, biased, stored);
}
