//===- GiveResultsDestinations.cpp - Results go where the caller says ----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_GIVERESULTSDESTINATIONSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;

/// The argument that `value` is computed in the place of, or is; null if there
/// is none.
static BlockArgument getDestination(Value value) {
  while (auto op = value.getDefiningOp<DestinationStyleOpInterface>())
    value = op.getTiedOpOperand(cast<OpResult>(value))->get();
  return dyn_cast<BlockArgument>(value);
}

namespace {

struct GiveResultsDestinationsPass
    : kvq::impl::GiveResultsDestinationsPassBase<GiveResultsDestinationsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          llvm::hasSingleElement(function.getBody()) &&
          SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        giveDestinations(function);
  }

  void giveDestinations(func::FuncOp function);
};

} // namespace

/// A tensor that no result takes the place of is only read.
static void setReadOnly(func::FuncOp function,
                        const DenseSet<Value> &destinations) {
  StringRef name = bufferization::BufferizationDialect::kWritableAttrName;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (isa<RankedTensorType>(argument.getType()) &&
        !destinations.contains(argument) && !function.getArgAttr(number, name))
      function.setArgAttr(number, name,
                          BoolAttr::get(function.getContext(), false));
  }
}

void GiveResultsDestinationsPass::giveDestinations(func::FuncOp function) {
  Operation *terminator = function.front().getTerminator();
  OpBuilder b(terminator);
  DenseSet<Value> destinations;
  for (OpOperand &result : terminator->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(result.get().getType());
    if (!type)
      continue;
    if (BlockArgument argument = getDestination(result.get());
        argument && destinations.insert(argument).second)
      continue;
    Location loc = result.get().getLoc();
    unsigned number = function.getNumArguments();
    if (failed(function.insertArgument(number, type, {}, loc)))
      return signalPassFailure();
    BlockArgument out = function.getArgument(number);
    destinations.insert(out);
    result.set(bufferization::MaterializeInDestinationOp::create(
                   b, loc, type, result.get(), out)
                   .getResult());
  }
  setReadOnly(function, destinations);
}
