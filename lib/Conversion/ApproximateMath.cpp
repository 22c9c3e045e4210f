//===- ApproximateMath.cpp - Functions without a library ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApproximateMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

void kvq::approximateMath(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return name == math::TanhOp::getOperationName() ||
           name == math::Log2Op::getOperationName();
  });
  // Nothing hangs on the last bit of a polynomial.
  struct Approximations : RewriterBase::Listener {
    void notifyOperationInserted(Operation *op,
                                 OpBuilder::InsertPoint) override {
      if (auto fma = dyn_cast<math::FmaOp>(op))
        fma.setFastmath(fma.getFastmath() | arith::FastMathFlags::afn);
    }
  } listener;
  walkAndApplyPatterns(root, std::move(patterns), &listener);
}
