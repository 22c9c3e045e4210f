//===- KVQToVector.cpp - Structured ops to vector loops -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_CONVERTKVQTOVECTORPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct ConvertKVQToVectorPass : kvq::impl::ConvertKVQToVectorPassBase<ConvertKVQToVectorPass> {
  using Base::Base;

  void runOnOperation() override {
    emitError(getOperation()->getLoc(), "skeleton");
    signalPassFailure();
  }
};

} // namespace
