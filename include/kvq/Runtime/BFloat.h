//===- BFloat.h - What compiled code calls for bf16 -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_RUNTIME_BFLOAT_H
#define KVQ_RUNTIME_BFLOAT_H

#include "llvm/ADT/bit.h"

#include <cstdint>

namespace mlir::kvq::runtime {

/// `__truncsfbf2`, which LLVM calls for a bf16 that it has passed through an
/// f32, where the processor has no instruction for that (libgcc has it from
/// version 13 on). What was a bf16 comes back as it was, a NaN too; others are
/// rounded to the nearest, ties to even.
inline __bf16 truncateToBFloat(float value) {
  constexpr unsigned kDroppedBits = 16;
  constexpr uint32_t kKeptMantissa = 0x7f0000, kQuiet = 0x400000;
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (value == value)
    bits += (1u << (kDroppedBits - 1)) - 1 + (bits >> kDroppedBits & 1);
  else if ((bits & kKeptMantissa) == 0) // a NaN stays one
    bits |= kQuiet;
  return llvm::bit_cast<__bf16>(uint16_t(bits >> kDroppedBits));
}

} // namespace mlir::kvq::runtime

#endif // KVQ_RUNTIME_BFLOAT_H
