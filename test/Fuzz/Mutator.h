//===- Mutator.h - Damage to text and bytes ---------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TEST_FUZZ_MUTATOR_H
#define KVQ_TEST_FUZZ_MUTATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <random>
#include <string>
#include <vector>

namespace fuzz {

/// Draws that a seed and the number of a case give, on any machine.
class Random {
public:
  Random(uint64_t seed, uint64_t index) : engine(mix(seed) ^ mix(~index)) {}

  /// Less than `bound`, which is at least 1.
  size_t below(size_t bound) { return engine() % bound; }
  bool oneIn(size_t count) { return below(count) == 0; }
  template <typename T> const T &pick(const std::vector<T> &values) {
    return values[below(values.size())];
  }

private:
  static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  std::mt19937_64 engine;
};

/// `text` with some of its tokens deleted, doubled, swapped or replaced: by one
/// of its own, of `other`, or by a number that is special.
std::string damageText(Random &random, llvm::StringRef text,
                       llvm::StringRef other);

/// `bytes` with some of them flipped, replaced, deleted or copied elsewhere, or
/// cut off.
std::string damageBytes(Random &random, llvm::StringRef bytes);

} // namespace fuzz

#endif // KVQ_TEST_FUZZ_MUTATOR_H
