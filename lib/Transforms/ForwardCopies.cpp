//===- ForwardCopies.cpp - Reads of copies to reads of what was copied ----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_FORWARDCOPIESPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// Whether the use reads elements: as the input of a structured op, or as a view
/// with more axes that is read so.
static bool isRead(OpOperand &use) {
  if (auto reader = dyn_cast<linalg::LinalgOp>(use.getOwner()))
    return reader.isDpsInput(&use);
  return isa<tensor::ExpandShapeOp>(use.getOwner()) &&
         llvm::all_of(use.getOwner()->getUses(), isRead);
}

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
      result.replaceUsesWithIf(source, isRead);
      if (result.use_empty())
        copy.erase();
    }
  }
};

} // namespace
