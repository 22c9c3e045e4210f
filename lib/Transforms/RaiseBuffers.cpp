//===- RaiseBuffers.cpp - Buffers of a model to tensors ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"
#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_RAISEBUFFERSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// A buffer that a function takes, and what it does with it.
struct UpdatedBuffer {
  BlockArgument argument;
  SmallVector<bufferization::ToTensorOp> loads;
  bufferization::MaterializeInDestinationOp store;
};

/// Why a buffer stays one, and the op for which.
struct WhyNot {
  std::string reason;
  Operation *op;
};

struct RaiseBuffersPass : kvq::impl::RaiseBuffersPassBase<RaiseBuffersPass> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

/// Sorts the uses of a buffer. A reason if one of them does not fit.
static std::optional<WhyNot> sortUses(UpdatedBuffer &buffer) {
  std::optional<WhyNot> whyNot;
  for (Operation *user : buffer.argument.getUsers()) {
    auto store = dyn_cast<bufferization::MaterializeInDestinationOp>(user);
    if (auto load = dyn_cast<bufferization::ToTensorOp>(user))
      buffer.loads.push_back(load);
    else if (!store)
      whyNot = {"'" + user->getName().getStringRef().str() +
                    "' uses the buffer",
                user};
    else if (buffer.store)
      whyNot = {"the buffer is stored to more than once", store};
    else
      buffer.store = store;
  }
  return whyNot;
}

/// A reason if the buffer cannot be an argument and a result.
static std::optional<WhyNot> verify(const UpdatedBuffer &buffer) {
  Operation *store = buffer.store;
  if (store->getBlock() != buffer.argument.getOwner())
    return WhyNot{"the buffer is stored to within the body of another op",
                  store};
  auto type = cast<MemRefType>(buffer.argument.getType());
  if (!type.getLayout().isIdentity() || type.getMemorySpace())
    return WhyNot{"the buffer has strides or a memory space of its own", store};
  for (bufferization::ToTensorOp load : buffer.loads) {
    Operation *ancestor = store->getBlock()->findAncestorOpInBlock(*load);
    if (!ancestor->isBeforeInBlock(store))
      return WhyNot{"the buffer is read after it is stored to", load};
  }
  return std::nullopt;
}

/// The buffers of `function` that become arguments and results; a remark at
/// those that are updated and do not.
static SmallVector<UpdatedBuffer> findBuffers(func::FuncOp function) {
  SmallVector<UpdatedBuffer> buffers;
  for (BlockArgument argument : function.getArguments()) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    UpdatedBuffer buffer{argument, {}, {}};
    std::optional<WhyNot> whyNot = sortUses(buffer);
    if (buffer.loads.empty() || !buffer.store)
      continue; // It is read alone, or stored to alone.
    if (!whyNot)
      whyNot = verify(buffer);
    if (!whyNot) {
      buffers.push_back(buffer);
      continue;
    }
    remark::missed(whyNot->op->getLoc(),
                   remark::RemarkOpts::name("RaiseBuffers")
                       .category("kvq-raise-buffers")
                       .function(function.getName()))
        << remark::add("argument {0} stays a buffer", argument.getArgNumber())
        << remark::reason("{0}", whyNot->reason);
  }
  return buffers;
}

/// Makes a buffer a tensor, which the function returns as it was stored.
static void raise(UpdatedBuffer &buffer, SmallVectorImpl<Value> &results) {
  BlockArgument argument = buffer.argument;
  Value updated = buffer.store.getSource();
  argument.setType(memref::getTensorTypeFromMemRefType(argument.getType()));
  for (bufferization::ToTensorOp load : buffer.loads) {
    load.replaceAllUsesWith(Value(argument));
    if (updated == load)
      updated = argument;
    load.erase();
  }
  OpBuilder b(buffer.store);
  auto stored = bufferization::MaterializeInDestinationOp::create(
      b, buffer.store.getLoc(), argument.getType(), updated, argument);
  results.push_back(stored.getResult());
  buffer.store.erase();
}

static void raise(func::FuncOp function) {
  SmallVector<UpdatedBuffer> buffers = findBuffers(function);
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  for (UpdatedBuffer &buffer : buffers)
    raise(buffer, results);
  terminator->setOperands(results);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      ValueRange(results).getTypes()));
}

/// Whether anything could be a cache.
static bool hasAttention(func::FuncOp function) {
  return function.walk([](AttentionOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

void RaiseBuffersPass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && llvm::hasSingleElement(function.getBody()) &&
        SymbolTable::symbolKnownUseEmpty(function, getOperation()) &&
        hasAttention(function))
      raise(function);
}
