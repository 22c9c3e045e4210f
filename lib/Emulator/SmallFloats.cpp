//===- SmallFloats.cpp - Conversions of small floating point --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallFloats.h"

#include "llvm/ADT/ArrayRef.h"

#include <cmath>

using namespace mlir::kvq::emulator;

uint16_t mlir::kvq::emulator::encode(const SmallFloat &format, double value,
                                     bool saturates, Rounding rounding) {
  if (std::isnan(value))
    return format.nan;
  uint16_t sign = std::signbit(value)
                      ? 1u << (format.exponentBits + format.mantissaBits)
                      : 0;
  double magnitude = std::fabs(value);
  int bias = (1 << (format.exponentBits - 1)) - 1;
  // In units of the last place of its binade, or of the subnormal numbers.
  int exponent = magnitude > 0 && std::isfinite(magnitude)
                     ? std::max(std::ilogb(magnitude), 1 - bias)
                     : 1 - bias;
  double units = std::ldexp(magnitude, int(format.mantissaBits) - exponent);
  units = rounding == Rounding::NearestEven ? std::nearbyint(units)
                                            : std::trunc(units);
  // Where rounding reaches the next binade the carry does the rest.
  double bits =
      units + std::ldexp(double(exponent + bias - 1), format.mantissaBits);
  if (!std::isfinite(magnitude) || bits > format.max) {
    bool toInfinity =
        format.infinity && !saturates &&
        (rounding == Rounding::NearestEven || !std::isfinite(magnitude));
    return sign | (toInfinity ? format.infinity : format.max);
  }
  return sign | uint16_t(bits);
}

float mlir::kvq::emulator::decode(const SmallFloat &format, uint16_t bits) {
  unsigned magnitudeBits = format.exponentBits + format.mantissaBits;
  bool isNegative = bits >> magnitudeBits & 1;
  uint16_t magnitude = bits & ((1u << magnitudeBits) - 1);
  float value;
  if (magnitude > format.max) {
    value = format.infinity && magnitude == format.infinity ? INFINITY : NAN;
  } else {
    int bias = (1 << (format.exponentBits - 1)) - 1;
    int exponent = magnitude >> format.mantissaBits;
    unsigned mantissa = magnitude & ((1u << format.mantissaBits) - 1);
    if (exponent)
      mantissa |= 1u << format.mantissaBits;
    value = std::ldexp(float(mantissa),
                       std::max(exponent, 1) - bias - int(format.mantissaBits));
  }
  return isNegative ? -value : value;
}

//===----------------------------------------------------------------------===//
// Handlers
//===----------------------------------------------------------------------===//

llvm::ArrayRef<const SmallFloat *> mlir::kvq::emulator::getPairFormats() {
  static const SmallFloat *const formats[] = {
      &SmallFloats::e4m3, &SmallFloats::e5m2, &SmallFloats::e2m1,
      &SmallFloats::e2m3, &SmallFloats::e3m2};
  return formats;
}

static float getFloat(Slot slot) {
  return llvm::bit_cast<float>(uint32_t(slot));
}

/// Zero for what is not positive; NaN stays.
static float clampNegative(float value) { return value < 0 ? 0 : value; }

/// Where the upper number of a pair begins: in the next byte, or four bits on.
static unsigned getUpperShift(const SmallFloat &format) {
  return 1 + format.exponentBits + format.mantissaBits == 4 ? 4 : 8;
}

static Slot encodePair(const Operation &operation, float lower, float upper) {
  const SmallFloat &format = *getPairFormats()[operation.kind];
  if (operation.flag) {
    lower = clampNegative(lower);
    upper = clampNegative(upper);
  }
  return encode(format, lower, /*saturates=*/true) |
         encode(format, upper, /*saturates=*/true) << getUpperShift(format);
}

void mlir::kvq::emulator::pairFromFloats(Thread &thread, const Site &site,
                                         Slot *results, const Slot *arguments) {
  // The first operand is the upper one.
  results[0] = encodePair(site.operation, getFloat(arguments[1]),
                          getFloat(arguments[0]));
}

void mlir::kvq::emulator::pairFromHalves(Thread &thread, const Site &site,
                                         Slot *results, const Slot *arguments) {
  results[0] = encodePair(site.operation, decodeHalf(uint16_t(arguments[0])),
                          decodeHalf(uint16_t(arguments[0] >> 16)));
}

void mlir::kvq::emulator::pairToHalves(Thread &thread, const Site &site,
                                       Slot *results, const Slot *arguments) {
  const SmallFloat &format = *getPairFormats()[site.operation.kind];
  unsigned shift = getUpperShift(format);
  uint16_t mask = (1u << shift) - 1;
  uint32_t halves = 0;
  for (unsigned i = 0; i != 2; ++i) {
    float value = decode(format, arguments[0] >> i * shift & mask);
    if (site.operation.flag)
      value = clampNegative(value);
    // Every such number is a half.
    halves |= uint32_t(encode(SmallFloats::half, value, false)) << 16 * i;
  }
  results[0] = halves;
}

/// The exponent of the power of two at or above the magnitude, or at or below.
static uint8_t encodeScale(float value, bool roundsUp, bool saturates) {
  if (std::isnan(value))
    return 0xFF;
  uint32_t bits = llvm::bit_cast<uint32_t>(std::fabs(value));
  uint32_t exponent = bits >> 23;
  if (exponent == 0xFF)
    return saturates ? 0xFE : 0xFF;
  // Below 2^-126 there is 2^-127 only, which is 0x400000.
  bool isPower =
      exponent ? (bits & 0x7FFFFF) == 0 : bits == 0 || bits == 0x400000;
  if (!exponent)
    return roundsUp && bits > 0x400000 ? 1 : 0;
  if (!roundsUp || isPower)
    return exponent;
  return exponent == 0xFE && !saturates
             ? 0xFF
             : std::min<uint32_t>(exponent + 1, 0xFE);
}

static Slot encodeScales(const Operation &operation, float lower, float upper) {
  return encodeScale(lower, operation.kind, operation.flag) |
         encodeScale(upper, operation.kind, operation.flag) << 8;
}

void mlir::kvq::emulator::scalesFromFloats(Thread &thread, const Site &site,
                                           Slot *results,
                                           const Slot *arguments) {
  results[0] = encodeScales(site.operation, getFloat(arguments[1]),
                            getFloat(arguments[0]));
}

void mlir::kvq::emulator::scalesFromBFloats(Thread &thread, const Site &site,
                                            Slot *results,
                                            const Slot *arguments) {
  results[0] =
      encodeScales(site.operation, decodeBFloat(uint16_t(arguments[0])),
                   decodeBFloat(uint16_t(arguments[0] >> 16)));
}

void mlir::kvq::emulator::scalesToBFloats(Thread &thread, const Site &site,
                                          Slot *results,
                                          const Slot *arguments) {
  uint32_t result = 0;
  for (unsigned i = 0; i != 2; ++i) {
    uint32_t exponent = arguments[0] >> 8 * i & 0xFF;
    uint32_t bits = exponent == 0xFF ? 0x7FFF
                    : exponent == 0  ? 0x0040
                                     : exponent << 7;
    result |= bits << 16 * i;
  }
  results[0] = result;
}

void mlir::kvq::emulator::narrowFloats(Thread &thread, const Site &site,
                                       Slot *results, const Slot *arguments) {
  int64_t kind = site.operation.kind;
  const SmallFloat &format = kind & 1 ? SmallFloats::bfloat : SmallFloats::half;
  auto narrow = [&](Slot argument) {
    float value = getFloat(argument);
    if (kind & 4)
      value = clampNegative(value);
    return uint32_t(
        encode(format, value, kind & 8,
               kind & 2 ? Rounding::TowardZero : Rounding::NearestEven));
  };
  // The first operand is the upper one.
  results[0] = site.operation.size == 2
                   ? narrow(arguments[1]) | narrow(arguments[0]) << 16
                   : narrow(arguments[0]);
}
