//===- Operands.h - Checks of what the host owns ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts and page tables are operands of many ops, under the same conditions.
// Each check emits an op error.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_OPERANDS_H
#define KVQ_LIB_IR_OPERANDS_H

#include "kvq/IR/KVQ.h"

#include <string>

namespace mlir::kvq {

/// An extent as types print it.
std::string formatExtent(int64_t extent);

/// Checks that a per-sequence operand, if there is one, has one element per
/// sequence.
LogicalResult verifyPerSequence(Operation *op, StringRef name, Value operand,
                                int64_t batch);

/// A cache with a recent window needs the flushed counts; for one without,
/// they follow from the lengths.
LogicalResult verifyFlushed(Operation *op, StringRef name, CacheType cache,
                            Value flushed);

/// A paged cache needs a page table with a row for each of its sequences, long
/// enough for its capacity where both are known; another has none.
LogicalResult verifyPageTable(Operation *op, StringRef name, CacheType cache,
                              Value table);

/// Rows are those of whole query tokens; a window, if there is one, has a
/// token, and no `windowFirst` is without one.
LogicalResult verifyQueryTokens(Operation *op, int64_t rows,
                                int64_t queryTokens, IntegerAttr window,
                                IntegerAttr windowFirst);

/// A mask, if there is one, is for one head or all those that rows are of, and
/// for no more query tokens than these have.
LogicalResult verifyRowMask(Operation *op, Value mask, int64_t rows,
                            int64_t queryTokens);

/// `query_codes`, if given, is i8 or i16 and goes with integer codes on one
/// side at least, or f8E4M3FN with floats of 8 bits; null caches are not known
/// yet.
LogicalResult verifyQueryCodes(Operation *op, TypeAttr queryCodes,
                               CacheType key, CacheType value);

/// The channels that values have, of rows with `headDim`: all, or those of
/// `range`, which has to be within the rows and, in a cache, not to cut what is
/// stored together.
FailureOr<int64_t> verifyValueChannels(Operation *op, Type values,
                                       int64_t headDim,
                                       std::optional<ArrayRef<int64_t>> range);

/// Tables of RoPE are of one type, with a row of angles for each position and
/// an angle for each of some pairs of `channels`. Without them there is no
/// `style` of pairs either.
LogicalResult verifyRopeTables(Operation *op, Value cos, Value sin,
                               std::optional<RopeStyle> style,
                               int64_t channels);

/// Tables of RoPE have a row for each position up to the capacity, where both
/// are known.
LogicalResult verifyRopeRows(Operation *op, CacheType keys, Value table);

/// Keys before RoPE need tables with a row for each position up to the
/// capacity, where both are known; other keys take none.
LogicalResult verifyKeyRope(Operation *op, CacheType keys, Value cos, Value sin,
                            std::optional<RopeStyle> style);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_OPERANDS_H
