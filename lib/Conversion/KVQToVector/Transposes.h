//===- Transposes.h - Rows that become columns ------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_TRANSPOSES_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_TRANSPOSES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kvq {

/// A copy of rows [row, (group,) column, (element)] to [(group,) column, row,
/// (element)]: units of a few elements, which lie side by side, stay together.
struct Transpose {
  Value input, output;
  int64_t groups, columns, elements;
  /// Whether buffers have an axis of groups, and one of the elements of a unit.
  bool hasGroups, hasUnits;
};

std::optional<Transpose> matchTranspose(linalg::GenericOp op);

/// Writes the loops, which bring some rows at a time together in registers.
void emitTranspose(OpBuilder &builder, Location loc, const Transpose &transpose,
                   int64_t vectorWidth);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_TRANSPOSES_H
