//===- ByteProducts.h - Instructions for products of bytes ------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_CONVERSION_BYTEPRODUCTS_H
#define KVQ_CONVERSION_BYTEPRODUCTS_H

namespace mlir::kvq {

/// What a target has to add four products of unsigned and signed bytes to each
/// lane of i32. LLVM makes none of these of other ops.
enum class ByteProducts {
  None,
  /// x86's vpdpbusd on vectors of up to 256 bits, and of up to 512.
  AVXVNNI,
  AVX512VNNI,
  /// AArch64 without any: it adds products one after the other, where others
  /// add two neighbours at once.
  Neon,
  /// AArch64's sdot, of signed bytes on both sides, and usdot.
  NeonDot,
  NeonMixedDot
};

} // namespace mlir::kvq

#endif // KVQ_CONVERSION_BYTEPRODUCTS_H
