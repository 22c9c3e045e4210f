//===- PairwiseSum.h - Sums whose order is given ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_PAIRWISESUM_H
#define KVQ_LIB_IR_PAIRWISESUM_H

#include "mlir/IR/Builders.h"

namespace mlir::kvq {

/// The f32 tensor `terms` summed over `axis`, of static extent, which it loses:
/// a binary tree, neighbours first, over the terms and zeros up to a power of
/// two (rule R21). Each level is a structured op without a reduction, so that
/// no later step may choose another order.
Value buildPairwiseSum(OpBuilder &builder, Location loc, Value terms,
                       int64_t axis);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_PAIRWISESUM_H
