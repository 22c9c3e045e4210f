//===- NextBytes.h - What a loop over tiles reads next ----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_NEXTBYTES_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_NEXTBYTES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kvq {

/// What comes to be read, of a buffer whose rows are contiguous.
struct NextBytes {
  /// The buffer, with one index for all that is contiguous, and the others.
  Value flat;
  SmallVector<Value> at;
  /// The first element, and how many follow each other, at most `most`.
  Value first, count;
  int64_t most;
  /// Elements of a row.
  int64_t ofRow;
  /// Whether all is read before more comes than the first cache holds.
  bool isNear = true;
};

/// What follows `part`, of which `loop` takes another one in each iteration, in
/// the one that is `distance` behind; none where that is not known.
std::optional<NextBytes> findNextBytes(OpBuilder &b, memref::SubViewOp part,
                                       scf::ForOp loop, int64_t distance);

/// Iterations of a loop whose bounds are known; 0 where they are not.
int64_t countTrips(scf::ForOp loop);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_NEXTBYTES_H
