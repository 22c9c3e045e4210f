//===- Tables.cpp - Codes of 4 bits to any f16s ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A byte permutation is a table: each of four nibbles names one of eight bytes.
// So what the lower three bits of four codes name are four bytes, from a table
// for codes without and one for codes with the fourth bit. Upper and lower
// bytes are looked up apart, and put together as f16s.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// A byte for each code.
using Table = std::array<uint8_t, 16>;

/// Four codes of 4 bits.
struct FourCodes {
  /// The lower three bits of each, nibbles of a selector.
  Value selector;
  /// Bytes all of whose bits are the fourth bit of each.
  Value masks;
};

} // namespace

/// Selects bytes `first` of two words, then bytes `second`.
static uint32_t interleave(uint32_t first, uint32_t second) {
  return first | (4 + first) << 4 | second << 8 | (4 + second) << 12;
}

/// The codes of bytes 2 `half` and 2 `half` + 1 of a word.
static FourCodes splitCodes(WarpBuilder &w, Value word, int64_t half) {
  // Bit 3 of each byte to bit 7, where it is the byte's sign, which selectors
  // can repeat through all of it.
  Value lower = w.shiftLeft(word, 4);
  constexpr uint32_t kRepeatSigns = 0x8888;
  uint32_t bytes = interleave(2 * half, 2 * half + 1) | kRepeatSigns;
  Value selector = w.shiftRight(w.bitAnd(word, 0x77777777), 16 * half);
  return {selector, w.permuteBytes(lower, word, bytes)};
}

static Value lookUpHalf(WarpBuilder &w, const Table &table, int64_t first,
                        Value selector) {
  std::array<uint32_t, 2> words = {0, 0};
  for (int64_t i = 0; i != 8; ++i)
    words[i / 4] |= uint32_t(table[first + i]) << (i % 4 * 8);
  return w.permuteBytes(w.i32(words[0]), w.i32(words[1]), selector);
}

/// The bytes of four codes.
static Value lookUp(WarpBuilder &w, const Table &table,
                    const FourCodes &codes) {
  Value low = lookUpHalf(w, table, 0, codes.selector);
  Value high = lookUpHalf(w, table, 8, codes.selector);
  return w.bitXor(low, w.bitAnd(w.bitXor(low, high), codes.masks));
}

/// The pairs of a plane, f16s of neighbours.
std::array<Value, 2> BlockEmitter::lookUpPairs(const StoredElement &element,
                                               Value word, int64_t plane) {
  Table upper, lower;
  for (auto [bits, up, low] : llvm::zip_equal(element.table, upper, lower)) {
    up = bits >> 8;
    low = bits & 0xff;
  }
  // In each half of a word the codes of a plane are every other one.
  uint32_t bytes = interleave(plane, plane + 2);
  std::array<Value, 2> pairs;
  for (auto [half, pair] : llvm::enumerate(pairs)) {
    FourCodes codes = splitCodes(w, word, half);
    pair = w.toHalf2(w.permuteBytes(lookUp(w, lower, codes),
                                    lookUp(w, upper, codes), bytes));
  }
  return pairs;
}
