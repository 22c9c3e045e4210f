//===- CodePlanes.h - Codes that share the bytes of a tile ------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_CODEPLANES_H
#define KVQ_IR_CODEPLANES_H

#include "kvq/IR/KVQ.h"

#include <optional>

namespace mlir::kvq {

/// The codes of a cache's tiles where each byte holds `count` of them, the
/// `count` planes of the tile: plane p lies in bits `p * bits` and up, and is
/// the p-th of `count` equal parts of the channels, in the bytes' order. So
/// planes can be read where they are used, without being unpacked before.
struct CodePlanes {
  int64_t count;
  unsigned bits;
  bool isSigned;
  /// Whether stored codes count from the least signed one.
  bool bias;

  /// Nothing where the cache has no tiles, a code is a byte or is cut into
  /// parts, or pairs of channels do not fill planes.
  static std::optional<CodePlanes> get(CacheType cache);

  /// The code, i16, that the i8 `byte` holds in `plane`.
  Value buildCode(OpBuilder &builder, Location loc, Value byte,
                  int64_t plane) const;
  /// The code over its unit, f32: how it reads without being shifted.
  Value buildScaledCode(OpBuilder &builder, Location loc, Value byte,
                        int64_t plane) const;
  /// What a scaled code times is the code: a power of two.
  double getUnit(int64_t plane) const {
    return 1.0 / static_cast<double>(int64_t(1) << (bits * plane));
  }
  /// How much the code is above the least one, i8.
  Value buildCodeAboveLeast(OpBuilder &builder, Location loc, Value byte,
                            int64_t plane) const;
};

} // namespace mlir::kvq

#endif // KVQ_IR_CODEPLANES_H
