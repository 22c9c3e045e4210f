//===- DropReturnedArguments.cpp - In-place results of functions ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_DROPRETURNEDARGUMENTSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

namespace {

struct DropReturnedArgumentsPass
    : kvq::impl::DropReturnedArgumentsPassBase<DropReturnedArgumentsPass> {
  using Base::Base;

  size_t countResults() {
    size_t count = 0;
    for (auto function : getOperation().getOps<func::FuncOp>())
      count += function.getNumResults();
    return count;
  }

  void runOnOperation() override {
    // Upstream leaves public functions alone, so none is public meanwhile.
    SmallVector<func::FuncOp> publicFunctions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        publicFunctions.push_back(function);
    for (func::FuncOp function : publicFunctions)
      function.setPrivate();
    // A caller returns an argument once its callee does not: as often as there
    // are fewer results.
    LogicalResult dropped = success();
    size_t before;
    do {
      before = countResults();
      dropped = bufferization::dropEquivalentBufferResults(getOperation());
    } while (succeeded(dropped) && countResults() < before);
    for (func::FuncOp function : publicFunctions)
      function.setPublic();
    if (failed(dropped))
      signalPassFailure();
  }
};

} // namespace
