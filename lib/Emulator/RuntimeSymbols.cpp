//===- RuntimeSymbols.cpp - What generated code links to ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeSymbols.h"

#include "SmallFloats.h"

#include <cmath>

using namespace mlir::kvq::emulator;

// As code generation calls them: in the registers of floating point numbers.
static _Float16 toHalf(uint16_t bits) { return llvm::bit_cast<_Float16>(bits); }
static __bf16 toBFloat(uint16_t bits) { return llvm::bit_cast<__bf16>(bits); }

static float extendHalf(_Float16 value) {
  return decodeHalf(llvm::bit_cast<uint16_t>(value));
}
static _Float16 truncateToHalf(float value) {
  return toHalf(encode(SmallFloats::half, value, false));
}
static _Float16 truncateDoubleToHalf(double value) {
  return toHalf(encode(SmallFloats::half, value, false));
}
static __bf16 truncateToBFloat(float value) {
  // LLVM passes bf16 through f32 where this machine has no instruction for it:
  // what was one comes back as it was, NaN too.
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value) && uint16_t(bits) == 0)
    return toBFloat(bits >> 16);
  return toBFloat(encode(SmallFloats::bfloat, value, false));
}
static __bf16 truncateDoubleToBFloat(double value) {
  return toBFloat(encode(SmallFloats::bfloat, value, false));
}

llvm::ArrayRef<std::pair<llvm::StringRef, void *>>
mlir::kvq::emulator::getRuntimeSymbols() {
  static const std::pair<llvm::StringRef, void *> symbols[] = {
      {"__extendhfsf2", reinterpret_cast<void *>(&extendHalf)},
      {"__truncsfhf2", reinterpret_cast<void *>(&truncateToHalf)},
      {"__truncdfhf2", reinterpret_cast<void *>(&truncateDoubleToHalf)},
      {"__truncsfbf2", reinterpret_cast<void *>(&truncateToBFloat)},
      {"__truncdfbf2", reinterpret_cast<void *>(&truncateDoubleToBFloat)},
  };
  return symbols;
}
