//===- OutlineKernels.cpp - One kernel for equal ops ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// Ops that one kernel can stand for.
struct EqualOps {
  SmallVector<Operation *> ops;
  /// Of each operand, which of the distinct ones it is: an op that reads a
  /// cache twice is not one that reads two caches.
  SmallVector<unsigned> operandNumbers;
};

} // namespace

/// The values among the op's operands, each once.
static SetVector<Value> getDistinctOperands(Operation *op) {
  return SetVector<Value>(op->operand_begin(), op->operand_end());
}

static SmallVector<unsigned> getOperandNumbers(Operation *op) {
  SetVector<Value> distinct = getDistinctOperands(op);
  SmallVector<unsigned> numbers;
  for (Value operand : op->getOperands())
    numbers.push_back(
        std::distance(distinct.begin(), llvm::find(distinct, operand)));
  return numbers;
}

/// Labels of layers and sides are the policy's, which is applied by now.
static void dropLabels(Operation *op) {
  for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
    if (attribute.getNameDialect() == op->getDialect())
      op->removeDiscardableAttr(attribute.getName());
}

static bool areEqual(Operation *left, Operation *right) {
  return OperationEquivalence::isEquivalentTo(
      left, right, OperationEquivalence::ignoreValueEquivalence,
      /*markEquivalent=*/nullptr, OperationEquivalence::Flags::IgnoreLocations);
}

/// Whether `value` is a view of a part of a tensor, or of one whose axes lie in
/// another order, or a cache over such.
static bool isView(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<tensor::ExtractSliceOp, bufferization::ToTensorOp>(op))
    return true;
  return isa_and_nonnull<FromComponentsOp, tensor::CastOp,
                         tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) &&
         llvm::any_of(op->getOperands(), isView);
}

/// Whether the op works on views. Arguments are whole tensors, so that a kernel
/// would need copies.
static bool readsViews(Operation *op) {
  return llvm::any_of(op->getOperands(), isView);
}

/// Whether a call in place of the op would find a function of `module`: not
/// from a module within it, nor from within an op that may be a symbol table,
/// for all that is known of it.
static bool seesFunctionsOf(ModuleOp module, Operation *op) {
  return SymbolTable::getNearestSymbolTable(op) == module;
}

/// Puts attention and appends into groups of equal ones, in order.
static std::vector<EqualOps> collectEqualOps(ModuleOp module) {
  std::vector<EqualOps> groups;
  // Equal ops have equal hashes, so each is compared with few.
  DenseMap<size_t, SmallVector<size_t, 1>> byHash;
  module.walk([&](Operation *op) {
    if (!isa<AttentionOp, AppendOp>(op) || readsViews(op) ||
        !seesFunctionsOf(module, op))
      return;
    dropLabels(op);
    SmallVector<unsigned> numbers = getOperandNumbers(op);
    size_t hash = OperationEquivalence::computeHash(
        op, OperationEquivalence::ignoreHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::Flags::IgnoreLocations);
    hash = llvm::hash_combine(hash,
                              llvm::hash_combine_range(op->operand_type_begin(),
                                                       op->operand_type_end()));
    SmallVector<size_t, 1> &candidates = byHash[hash];
    for (size_t index : candidates) {
      EqualOps &group = groups[index];
      if (group.operandNumbers != numbers || !areEqual(group.ops.front(), op))
        continue;
      group.ops.push_back(op);
      return;
    }
    candidates.push_back(groups.size());
    groups.push_back({{op}, std::move(numbers)});
  });
  return groups;
}

/// A private function of the distinct operands of `op` that does what it does.
static func::FuncOp buildKernel(SymbolTable &symbols, Operation *op) {
  SetVector<Value> operands = getDistinctOperands(op);
  auto parameters = ValueRange(operands.getArrayRef()).getTypes();
  OpBuilder b(op->getContext());
  auto type =
      b.getFunctionType(SmallVector<Type>(parameters), op->getResultTypes());
  std::string name = ("kvq_" + op->getName().stripDialect()).str();
  auto kernel = func::FuncOp::create(b, op->getLoc(), name, type);
  kernel.setPrivate();
  Block *entry = kernel.addEntryBlock();
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip_equal(operands, entry->getArguments()))
    mapping.map(operand, argument);
  b.setInsertionPointToStart(entry);
  Operation *body = b.clone(*op, mapping);
  func::ReturnOp::create(b, op->getLoc(), body->getResults());
  symbols.insert(kernel);
  return kernel;
}

namespace {

struct OutlineKernelsPass
    : kvq::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    IRRewriter rewriter(&getContext());
    for (EqualOps &group : collectEqualOps(getOperation())) {
      // A kernel that is called once only costs a call.
      if (group.ops.size() == 1)
        continue;
      func::FuncOp kernel = buildKernel(symbols, group.ops.front());
      for (Operation *op : group.ops) {
        rewriter.setInsertionPoint(op);
        rewriter.replaceOpWithNewOp<func::CallOp>(
            op, kernel, getDistinctOperands(op).getArrayRef());
      }
    }
  }
};

} // namespace
