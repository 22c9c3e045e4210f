//===- ValueOpInterfaces.cpp - Tiling and decomposition of value ops ------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

using namespace mlir;
using namespace mlir::kvq;

#define KVQ_STUB(Op)                                                           \
  SmallVector<utils::IteratorType> Op::getLoopIteratorTypes() { return {}; }   \
  SmallVector<Range> Op::getIterationDomain(OpBuilder &) { return {}; }        \
  FailureOr<TilingResult> Op::getTiledImplementation(                          \
      OpBuilder &, ArrayRef<OpFoldResult>, ArrayRef<OpFoldResult>) {           \
    return failure();                                                          \
  }                                                                            \
  LogicalResult Op::getResultTilePosition(                                     \
      OpBuilder &, unsigned, ArrayRef<OpFoldResult>, ArrayRef<OpFoldResult>,   \
      SmallVector<OpFoldResult> &, SmallVector<OpFoldResult> &) {              \
    return failure();                                                          \
  }                                                                            \
  FailureOr<SmallVector<Value>> Op::decomposeOperation(OpBuilder &) {          \
    return failure();                                                          \
  }
KVQ_STUB(QuantizeOp)
KVQ_STUB(DequantizeOp)
KVQ_STUB(PackOp)
KVQ_STUB(UnpackOp)
