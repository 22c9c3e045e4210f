//===- ForwardCopies.cpp - Reads of copies to reads of what was copied ----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_FORWARDCOPIESPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct ForwardCopiesPass : kvq::impl::ForwardCopiesPassBase<ForwardCopiesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::CopyOp> copies;
    getOperation()->walk([&](linalg::CopyOp copy) { copies.push_back(copy); });
    for (linalg::CopyOp copy : copies) {
      if (!copy.hasPureTensorSemantics())
        continue;
      Value source = copy.getInputs().front(), result = copy.getResult(0);
      if (source.getType() != result.getType())
        continue;
      result.replaceUsesWithIf(source, [](OpOperand &use) {
        auto reader = dyn_cast<linalg::LinalgOp>(use.getOwner());
        return reader && reader.isDpsInput(&use);
      });
      if (result.use_empty())
        copy.erase();
    }
  }
};

} // namespace
