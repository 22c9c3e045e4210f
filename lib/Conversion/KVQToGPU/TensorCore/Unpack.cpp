//===- Unpack.cpp - Words of codes to pairs of f16 ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A code of b bits at bit n of a 16-bit half, put into the mantissa of an f16
// of 2^(10 - n), gives that number plus the code: one operation for two codes.
// What they are off by is taken off the products instead of each code.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

/// The f16 whose last mantissa bit is worth 2^-firstBit, as bits: 2^(10 -
/// firstBit).
static uint32_t getMagic(unsigned firstBit) {
  constexpr unsigned kBias = 15, kMantissaBits = 10;
  return (kBias + kMantissaBits - firstBit) << kMantissaBits;
}

static uint32_t inBothHalves(uint32_t half) { return half << 16 | half; }

/// What pairs of a plane are above the codes.
double BlockEmitter::getOffset(const StoredElement &element, int64_t plane) {
  if (element.isExact)
    return 0;
  return double(1024 >> (plane * element.bits)) + double(element.bias);
}

/// The codes of a plane of bytes 0 and 2, and of bytes 1 and 3; of an exact
/// word the word, twice.
std::array<Value, 2> BlockEmitter::unpackPlane(const StoredElement &element,
                                               Value word, int64_t plane) {
  if (element.isExact)
    return {w.toHalf2(word), Value()};
  unsigned firstBit = plane * element.bits;
  uint32_t mask = inBothHalves(((1u << element.bits) - 1) << firstBit);
  uint32_t magic = inBothHalves(getMagic(firstBit));
  uint32_t sign = inBothHalves(1u << (firstBit + element.bits - 1));
  auto unpack = [&](Value word) {
    Value pair = element.flipsSign ? w.maskXor(word, mask, magic | sign)
                                   : w.maskOr(word, mask, magic);
    return w.toHalf2(pair);
  };
  // Bytes alone need no shift: their places are swapped with the magic's.
  if (element.bits == 8 && !element.flipsSign)
    return {unpack(word),
            w.toHalf2(w.permuteBytes(word, w.i32(magic), 0x7351))};
  return {unpack(word), unpack(w.shiftRight(word, 8))};
}
