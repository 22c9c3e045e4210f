//===- FuseDequantize.cpp - Attention over codes, not over dequantized tensors
//===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/KVQ.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_FUSEDEQUANTIZEPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct FuseDequantizePass
    : kvq::impl::FuseDequantizePassBase<FuseDequantizePass> {
  using Base::Base;

  void runOnOperation() override {
  }
};

} // namespace
