//===- TracedColumns.h - Elements that differ in their column ---*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_TRACEDCOLUMNS_H
#define KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_TRACEDCOLUMNS_H

#include "../ElementTracing/ElementTracer.h"

namespace mlir::kvq {

/// Elements of the same tensor that differ in their column.
struct TracedColumns {
  /// Any of them, its columns being kChannels, from the lowest one on.
  TracedElement element;
  /// Of each, counted from the lowest.
  SmallVector<int64_t> columns;

  /// How many elements in a row have the same column, all columns being as
  /// many; nothing where it is not so.
  std::optional<int64_t> getGroup() const {
    int64_t group = llvm::count(columns, 0), size = columns.size();
    if (group == 0 || size % group != 0)
      return std::nullopt;
    for (auto [index, column] : llvm::enumerate(columns))
      if (column != int64_t(index) / group)
        return std::nullopt;
    return group;
  }
};

/// The columns of `elements`, which `name` names in reasons.
FailureOr<TracedColumns> getColumns(ElementTracer &tracer,
                                    ArrayRef<TracedElement> elements,
                                    StringRef name);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_FUSEDEQUANTIZE_TRACEDCOLUMNS_H
