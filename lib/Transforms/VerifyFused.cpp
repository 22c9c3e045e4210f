//===- VerifyFused.cpp - Nothing of a cache's size is rebuilt -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_VERIFYFUSEDPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct VerifyFusedPass : kvq::impl::VerifyFusedPassBase<VerifyFusedPass> {
  using Base::Base;

  void runOnOperation() override {
  }
};

} // namespace
