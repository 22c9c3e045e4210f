//===- MathToIntrinsics.cpp - Math that needs no library ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "../ApproximateMath.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_MATHTOINTRINSICSPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

/// The intrinsic for which LLVM has an instruction on every target, or empty.
static StringRef getIntrinsic(Operation *op) {
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<math::AbsFOp>([](auto) { return "llvm.fabs"; })
      .Case<math::CeilOp>([](auto) { return "llvm.ceil"; })
      .Case<math::Exp2Op>([](auto) { return "llvm.exp2"; })
      .Case<math::FmaOp>([](auto) { return "llvm.fma"; })
      .Case<math::FloorOp>([](auto) { return "llvm.floor"; })
      .Case<math::RoundOp>([](auto) { return "llvm.round"; })
      .Case<math::RoundEvenOp>([](auto) { return "llvm.roundeven"; })
      .Case<math::SqrtOp>([](auto) { return "llvm.sqrt"; })
      .Default([](auto) { return ""; });
}

namespace {

struct MathToIntrinsicsPass
    : kvq::impl::MathToIntrinsicsPassBase<MathToIntrinsicsPass> {
  using Base::Base;

  void runOnOperation() override {
    approximateMath(getOperation());
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](Operation *op) {
      StringRef intrinsic = getIntrinsic(op);
      if (intrinsic.empty() || !op->getResult(0).getType().isF32())
        return;
      rewriter.setInsertionPoint(op);
      rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
          op, op->getResult(0).getType(), rewriter.getStringAttr(intrinsic),
          op->getOperands());
    });
  }
};

} // namespace
