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
// A float of few bits has its sign and its magnitude moved to where an f16 has
// them: a power of two times its value, subnormal numbers included.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

/// The f16 whose last mantissa bit is worth 2^-firstBit, as bits: 2^(10 -
/// firstBit).
static uint32_t getMagic(unsigned firstBit) {
  constexpr unsigned kBias = 15, kMantissaBits = 10;
  return (kBias + kMantissaBits - firstBit) << kMantissaBits;
}

/// Where the codes of a plane are in each half of a word.
static unsigned getFirstBit(const StoredElement &element, int64_t plane) {
  return element.firstBit + plane * element.bits;
}

static uint32_t inBothHalves(uint32_t half) { return half << 16 | half; }

/// What pairs of a plane are above the codes.
double BlockEmitter::getOffset(const StoredElement &element, int64_t plane) {
  if (element.kind != StoredElement::Kind::Integer)
    return 0;
  return std::exp2(10.0 - getFirstBit(element, plane)) + element.bias;
}

/// Moves floats to f16s: `firstBit` is the first of them in each half of a
/// word.
static Value moveFloats(WarpBuilder &w, const StoredElement &element,
                        Value word, unsigned firstBit) {
  constexpr int kSignBit = 15, kMantissaBits = 10;
  int magnitudeBits = element.bits - 1, first = firstBit;
  int target = kMantissaBits - element.mantissaBits;
  Value sign = w.shiftLeft(word, kSignBit - (first + magnitudeBits));
  Value magnitude = first <= target ? w.shiftLeft(word, target - first)
                                    : w.shiftRight(word, first - target);
  uint32_t mask = inBothHalves(((1u << magnitudeBits) - 1) << target);
  Value pair = w.toHalf2(
      w.maskOr(sign, inBothHalves(1u << kSignBit), w.bitAnd(magnitude, mask)));
  if (element.multiplier != 1)
    pair = w.fmul(pair, w.half2(element.multiplier));
  return pair;
}

/// The f16s of a word's four f8E4M3FN, NaN included. For few of them: codes
/// take less.
std::array<Value, 4> BlockEmitter::convertE4M3(Value word) {
  std::array<Value, 2> pairs;
  std::array<int64_t, 4> order = {0, 1, 2, 3}; // of the pairs' elements
  for (int64_t i = 0; i != 2; ++i) {
    if (plan.convertsFP8) {
      pairs[i] = w.convertE4M3(word, i);
      continue;
    }
    StoredElement element;
    element.bits = 8;
    element.mantissaBits = 3;
    order = {0, 2, 1, 3};
    Value moved = w.toWord(moveFloats(w, element, word, 8 * i));
    // One more than the bits of NaN is a bit that no number has.
    Value isNaN = w.add(moved, inBothHalves(1u << 7));
    moved = w.maskOr(isNaN, inBothHalves(1u << 14), moved);
    pairs[i] = w.fmul(w.toHalf2(moved), w.half2(256));
  }
  std::array<Value, 4> numbers;
  for (auto [number, place] : llvm::zip_equal(numbers, order))
    number = w.extractElement(pairs[place / 2], place % 2);
  return numbers;
}

Value BlockEmitter::exposeNaN(const StoredElement &element, Value sum) {
  return element.multiplier == 1 ? sum : w.fma(sum, w.f32(0), sum);
}

/// The pairs of a plane's elements (see `StoredElement::getPairBytes`). A word
/// of f16 is one.
std::array<Value, 2> BlockEmitter::unpackPlane(const StoredElement &element,
                                               Value word, int64_t plane) {
  switch (element.kind) {
  case StoredElement::Kind::Half:
    return {w.toHalf2(word), Value()};
  case StoredElement::Kind::BFloat:
    return {word, Value()};
  case StoredElement::Kind::E4M3:
    return {w.convertE4M3(word, 0), w.convertE4M3(word, 1)};
  case StoredElement::Kind::E5M2:
    // The upper half of an f16.
    return {w.toHalf2(w.permuteBytes(word, w.i32(0), 0x1404)),
            w.toHalf2(w.permuteBytes(word, w.i32(0), 0x3424))};
  case StoredElement::Kind::MovedFloat: {
    unsigned firstBit = getFirstBit(element, plane);
    return {moveFloats(w, element, word, firstBit),
            moveFloats(w, element, word, firstBit + 8)};
  }
  case StoredElement::Kind::Table:
    return lookUpPairs(element, word, plane);
  case StoredElement::Kind::Integer:
    break;
  }
  unsigned firstBit = getFirstBit(element, plane);
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
  return {unpack(w.shiftLeft(word, element.firstBit)),
          unpack(w.shiftRight(word, 8 - element.firstBit))};
}

SmallVector<FragmentB, 2>
BlockEmitter::packColumns(const StoredElement &element,
                          std::array<std::array<Value, 2>, 2> pairs) {
  auto [first, second] = pairs;
  if (!element.isBFloat())
    return {
        {w.packHalf2(first[0], first[1]), w.packHalf2(second[0], second[1])}};
  std::array<Value, 2> one = w.packBFloat2(first[0], first[1]);
  std::array<Value, 2> other = w.packBFloat2(second[0], second[1]);
  return {{one[0], other[0]}, {one[1], other[1]}};
}
