//===- RuntimeSymbols.cpp - What generated code links to ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeSymbols.h"

#include "SmallFloats.h"

#include "kvq/Runtime/BFloat.h"

using namespace mlir::kvq;
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
static __bf16 truncateDoubleToBFloat(double value) {
  return toBFloat(encode(SmallFloats::bfloat, value, false));
}

llvm::ArrayRef<std::pair<llvm::StringRef, void *>>
mlir::kvq::emulator::getRuntimeSymbols() {
  static const std::pair<llvm::StringRef, void *> symbols[] = {
      {"__extendhfsf2", reinterpret_cast<void *>(&extendHalf)},
      {"__truncsfhf2", reinterpret_cast<void *>(&truncateToHalf)},
      {"__truncdfhf2", reinterpret_cast<void *>(&truncateDoubleToHalf)},
      {"__truncsfbf2", reinterpret_cast<void *>(&runtime::truncateToBFloat)},
      {"__truncdfbf2", reinterpret_cast<void *>(&truncateDoubleToBFloat)},
  };
  return symbols;
}
