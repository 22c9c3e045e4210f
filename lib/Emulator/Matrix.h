//===- Matrix.h - Matrix fragments of a warp ------------------ -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_MATRIX_H
#define KVQ_LIB_EMULATOR_MATRIX_H

#include "Program.h"

namespace mlir::kvq::emulator {

/// Elements of the factors of an mma.sync.
enum class MatrixElement { F16, BF16, TF32, E4M3, E5M2, S8, U8 };

/// Operation::kind of multiplyMatrices.
struct MatrixProduct {
  MatrixElement a, b;
  /// The accumulators of f16 products may be f16, both.
  bool halfResult, halfAddend;
  bool saturates;

  int64_t encode() const {
    return int64_t(a) | int64_t(b) << 4 | int64_t(halfResult) << 8 |
           int64_t(halfAddend) << 9 | int64_t(saturates) << 10;
  }
  static MatrixProduct decode(int64_t kind) {
    return {MatrixElement(kind & 15), MatrixElement(kind >> 4 & 15),
            bool(kind >> 8 & 1), bool(kind >> 9 & 1), bool(kind >> 10 & 1)};
  }
};

// Handlers.
/// mma.sync of m16n8; size: k.
void multiplyMatrices(Thread &thread, const Site &site, Slot *results,
                      const Slot *arguments);
/// ldmatrix of 8×8 matrices of 16 bits; size: how many; flag: transposed.
void loadMatrices(Thread &thread, const Site &site, Slot *results,
                  const Slot *arguments);
/// stmatrix, likewise.
void storeMatrices(Thread &thread, const Site &site, Slot *results,
                   const Slot *arguments);
/// movmatrix: transposes 8×8 of 16 bits.
void transposeMatrix(Thread &thread, const Site &site, Slot *results,
                     const Slot *arguments);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_MATRIX_H
