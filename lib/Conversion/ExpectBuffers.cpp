//===- ExpectBuffers.cpp - Loops over work items on buffers ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_EXPECTBUFFERSPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

struct ExpectBuffersPass : kvq::impl::ExpectBuffersPassBase<ExpectBuffersPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](scf::ForallOp op) {
      if (op.getNumResults() == 0)
        return;
      op.emitOpError("expected buffers, got results of type ")
          << op.getResultTypes().front()
          << " (run kvq-bufferize-pipeline first)";
      signalPassFailure();
    });
  }
};

} // namespace
