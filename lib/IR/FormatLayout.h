//===- FormatLayout.h - A layout and the rest of its format -----*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_FORMATLAYOUT_H
#define KVQ_LIB_IR_FORMATLAYOUT_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// Parses `<s>` behind a field of a row, if it is there.
ParseResult parseFieldStride(AsmParser &parser, int64_t &stride);

/// Checks that `layout` is one of exact elements.
LogicalResult verifyExactLayout(function_ref<InFlightDiagnostic()> emitError,
                                LayoutAttr layout);

/// Checks that `layout` can hold what the other fields of a format, which are
/// valid, say.
LogicalResult verifyFormatLayout(function_ref<InFlightDiagnostic()> emitError,
                                 Attribute codes, int64_t tokens, int64_t heads,
                                 Type scale, ZeroKind zeroKind, Type zero,
                                 RangePolicy range, LayoutAttr layout);

/// Checks that the codes of `format`, not an exact one, fill whole bytes in
/// rows of `headDim` channels, which its groups divide.
LogicalResult verifyRowLayout(function_ref<InFlightDiagnostic()> emitError,
                              FormatAttr format, int64_t headDim);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_FORMATLAYOUT_H
