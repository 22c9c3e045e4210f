//===- SmallFloats.h - Conversions of small floating point ---- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As PTX's `cvt` does them: to nearest even, or toward zero.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_SMALLFLOATS_H
#define KVQ_LIB_EMULATOR_SMALLFLOATS_H

#include "Program.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/bit.h"

#include <cstdint>

namespace mlir::kvq::emulator {

inline float decodeHalf(uint16_t bits) {
  // The exponent's bias is off by 112; the product is exact, for subnormal
  // numbers too.
  uint32_t magnitude = uint32_t(bits & 0x7FFF) << 13;
  float value = llvm::bit_cast<float>(magnitude) * 0x1p112f;
  uint32_t result = llvm::bit_cast<uint32_t>(value);
  if ((bits & 0x7C00) == 0x7C00)
    result = magnitude | 0x7F800000;
  return llvm::bit_cast<float>(result | uint32_t(bits & 0x8000) << 16);
}

inline float decodeBFloat(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

/// A floating point format of at most 16 bits.
struct SmallFloat {
  unsigned exponentBits, mantissaBits;
  /// The largest magnitude.
  uint16_t max;
  /// 0: the format has none.
  uint16_t infinity;
  /// What a NaN becomes.
  uint16_t nan;
};

namespace SmallFloats {
inline constexpr SmallFloat half = {5, 10, 0x7BFF, 0x7C00, 0x7FFF};
inline constexpr SmallFloat bfloat = {8, 7, 0x7F7F, 0x7F80, 0x7FFF};
inline constexpr SmallFloat e4m3 = {4, 3, 0x7E, 0, 0x7F};
inline constexpr SmallFloat e5m2 = {5, 2, 0x7B, 0x7C, 0x7F};
inline constexpr SmallFloat e2m1 = {2, 1, 0x7, 0, 0x7};
inline constexpr SmallFloat e2m3 = {2, 3, 0x1F, 0, 0x1F};
inline constexpr SmallFloat e3m2 = {3, 2, 0x1F, 0, 0x1F};
} // namespace SmallFloats

enum class Rounding { NearestEven, TowardZero };

/// Converts; what is beyond the largest number becomes that, if `saturates` or
/// the format has no infinity.
uint16_t encode(const SmallFloat &format, double value, bool saturates,
                Rounding rounding = Rounding::NearestEven);
float decode(const SmallFloat &format, uint16_t bits);

// Handlers.
/// Two numbers of the format that `kind` has the index of; flag: negative ones
/// become zero.
void pairFromFloats(Thread &thread, const Site &site, Slot *results,
                    const Slot *arguments);
void pairFromHalves(Thread &thread, const Site &site, Slot *results,
                    const Slot *arguments);
void pairToHalves(Thread &thread, const Site &site, Slot *results,
                  const Slot *arguments);
/// kind: 1 if it rounds up; flag: whether it saturates.
void scalesFromFloats(Thread &thread, const Site &site, Slot *results,
                      const Slot *arguments);
void scalesFromBFloats(Thread &thread, const Site &site, Slot *results,
                       const Slot *arguments);
void scalesToBFloats(Thread &thread, const Site &site, Slot *results,
                     const Slot *arguments);
/// One float or two to f16 or bf16. kind: bit 0: bf16; bit 1: toward zero;
/// bit 2: negative ones become zero; bit 3: saturates; size: how many.
void narrowFloats(Thread &thread, const Site &site, Slot *results,
                  const Slot *arguments);

/// The formats that `kind` counts.
llvm::ArrayRef<const SmallFloat *> getPairFormats();

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_SMALLFLOATS_H
