//===- CacheGraph.cpp - Which values are one cache ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheGraph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvq;

SmallVector<PolicyKey> CacheClass::getKeys() const {
  SmallVector<PolicyKey> keys;
  for (CacheSide side : {CacheSide::Keys, CacheSide::Values}) {
    // A cache that nothing reads may be either.
    if (!sides.empty() && !sides.count(side))
      continue;
    for (int64_t layer : layers)
      keys.push_back({side, layer});
    if (layers.empty())
      keys.push_back({side, std::nullopt});
  }
  return keys;
}

void CacheClass::retype(function_ref<Type(CacheType)> getType) const {
  for (Value value : values)
    value.setType(getType(cast<CacheType>(value.getType())));
  for (Slot slot : slots) {
    FunctionType type = slot.function.getFunctionType();
    SmallVector<Type> inputs(type.getInputs()), results(type.getResults());
    Type &changed = (slot.isResult ? results : inputs)[slot.index];
    changed = getType(cast<CacheType>(changed));
    slot.function.setFunctionType(
        FunctionType::get(type.getContext(), inputs, results));
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

bool CacheGraph::isMember(Type type) const {
  auto cache = dyn_cast<CacheType>(type);
  return cache && members(cache);
}

unsigned CacheGraph::addNode(Node node) {
  nodes.push_back(node);
  equivalence.insert(nodes.size() - 1);
  return nodes.size() - 1;
}

std::optional<unsigned> CacheGraph::getNode(Value value) {
  if (!isMember(value.getType()))
    return std::nullopt;
  auto [it, isNew] = valueNodes.try_emplace(value, 0);
  if (isNew)
    it->second =
        addNode({cast<CacheType>(value.getType()), value.getLoc(), value});
  return it->second;
}

std::optional<unsigned> CacheGraph::getNode(func::FuncOp function,
                                            unsigned index, bool isResult) {
  FunctionType type = function.getFunctionType();
  Type slot = isResult ? type.getResult(index) : type.getInput(index);
  if (!isMember(slot))
    return std::nullopt;
  auto [it, isNew] =
      slotNodes.try_emplace({function.getOperation(), index, isResult}, 0);
  if (isNew)
    it->second = addNode({cast<CacheType>(slot), function.getLoc(), Value()});
  return it->second;
}

void CacheGraph::unite(std::optional<unsigned> a, std::optional<unsigned> b) {
  if (a && b)
    equivalence.unionSets(*a, *b);
}

void CacheGraph::unite(ValueRange a, ValueRange b) {
  for (auto [left, right] : llvm::zip(a, b))
    unite(getNode(left), getNode(right));
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

void CacheGraph::uniteFunction(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::optional<unsigned> slot = getNode(function, i, /*isResult=*/false);
    if (slot && !function.isExternal())
      unite(slot, getNode(function.getArgument(i)));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    getNode(function, i, /*isResult=*/true);
  function.walk([&](func::ReturnOp op) {
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      unite(getNode(operand), getNode(function, i, /*isResult=*/true));
  });
}

void CacheGraph::uniteCall(func::CallOp call, SymbolTableCollection &symbols) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee)
    return;
  for (auto [i, operand] : llvm::enumerate(call.getOperands()))
    unite(getNode(operand), getNode(callee, i, /*isResult=*/false));
  for (auto [i, result] : llvm::enumerate(call.getResults()))
    unite(getNode(result), getNode(callee, i, /*isResult=*/true));
}

void CacheGraph::uniteOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<AppendOp, ShiftOp>(
          [&](auto op) { unite(op.getCache(), op.getResult()); })
      .Case([&](ReorderOp op) {
        unite(op.getCache(), op.getDestination());
        unite(op.getDestination(), op.getResult());
      })
      .Case([&](arith::SelectOp op) {
        unite(op.getTrueValue(), op.getFalseValue());
        unite(op.getTrueValue(), op.getResult());
      })
      .Case([&](scf::ForOp op) {
        unite(op.getInitArgs(), op.getRegionIterArgs());
        unite(op.getInitArgs(), op.getResults());
        unite(op.getInitArgs(), op.getYieldedValues());
      })
      .Case([&](scf::IfOp op) {
        for (mlir::Region *region : {&op.getThenRegion(), &op.getElseRegion()})
          if (!region->empty())
            unite(op.getResults(),
                  region->front().getTerminator()->getOperands());
      })
      .Case([&](scf::WhileOp op) {
        unite(op.getInits(), op.getBeforeArguments());
        unite(op.getInits(), op.getYieldedValues());
        unite(op.getConditionOp().getArgs(), op.getAfterArguments());
        unite(op.getConditionOp().getArgs(), op.getResults());
      })
      .Case([&](BranchOpInterface op) {
        for (auto [i, block] : llvm::enumerate(op->getSuccessors())) {
          SuccessorOperands operands = op.getSuccessorOperands(i);
          unite(operands.getForwardedOperands(),
                block->getArguments().drop_front(
                    operands.getProducedOperandCount()));
        }
      });
  // A node for each cache, united or not.
  for (Value result : op->getResults())
    getNode(result);
  for (mlir::Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments())
        getNode(argument);
}

//===----------------------------------------------------------------------===//
// Classes and their labels
//===----------------------------------------------------------------------===//

void CacheGraph::makeClasses() {
  // In the order of nodes, so that errors do not depend on addresses.
  DenseMap<unsigned, unsigned> classOfLeader;
  for (unsigned node = 0; node < nodes.size(); ++node) {
    auto [it, isNew] = classOfLeader.try_emplace(
        equivalence.getLeaderValue(node), classes.size());
    if (isNew) {
      CacheClass &made = classes.emplace_back();
      made.type = nodes[node].type;
      made.loc = nodes[node].loc;
    }
    classOfNode[node] = it->second;
    if (Value value = nodes[node].value)
      classes[it->second].values.push_back(value);
  }
  for (auto [place, node] : slotNodes) {
    auto [function, index, isResult] = place;
    classes[classOfNode[node]].slots.push_back(
        {cast<func::FuncOp>(function), index, isResult});
  }
}

CacheClass *CacheGraph::lookup(Value value) {
  auto it = valueNodes.find(value);
  return it == valueNodes.end() ? nullptr : &classes[classOfNode[it->second]];
}

/// Whether `op` takes, makes or hands to a region of its own a value that
/// `predicate` holds of.
static bool hasAnyValue(Operation *op, function_ref<bool(Value)> predicate) {
  bool isAny = llvm::any_of(op->getOperands(), predicate) ||
               llvm::any_of(op->getResults(), predicate);
  for (mlir::Region &region : op->getRegions())
    for (Block &block : region)
      isAny |= llvm::any_of(block.getArguments(), predicate);
  return isAny;
}

bool CacheGraph::hides(Operation *op) const {
  return hasAnyValue(op, [&](Value value) {
    Type type = value.getType();
    if (isa<CacheType>(type))
      return false;
    return type
        .walk([&](CacheType cache) {
          return members(cache) ? WalkResult::interrupt()
                                : WalkResult::advance();
        })
        .wasInterrupted();
  });
}

bool CacheGraph::carries(Operation *op,
                         const DenseSet<CacheClass *> &changing) {
  return hides(op) || hasAnyValue(op, [&](Value value) {
           return changing.contains(lookup(value));
         });
}

/// The caches that an op takes or makes.
static SmallVector<Value> getCaches(Operation *op) {
  SmallVector<Value> caches;
  for (Value value : op->getOperands())
    if (isa<CacheType>(value.getType()))
      caches.push_back(value);
  for (Value value : op->getResults())
    if (isa<CacheType>(value.getType()))
      caches.push_back(value);
  return caches;
}

LogicalResult CacheGraph::addLabels(Operation *op) {
  auto layer = op->getAttrOfType<IntegerAttr>(kLayerAttrName);
  auto side = op->getAttrOfType<CacheSideAttr>(kSideAttrName);
  SmallVector<Value> caches = getCaches(op);
  auto attention = dyn_cast<AttentionOp>(op);
  if ((layer || side) && !isa<TruncateOp>(op) &&
      (caches.empty() ||
       !isa<EmptyOp, AppendOp, ReorderOp, ShiftOp, AttentionOp>(op)))
    return op->emitError()
           << "expected " << (layer ? kLayerAttrName : kSideAttrName)
           << " on a function argument or an op on caches, got it on '"
           << op->getName() << "'";
  if (attention && side)
    return op->emitError() << "expected no " << kSideAttrName
                           << " on 'kvq.attention', whose operands have sides";
  for (Value cache : caches) {
    CacheClass *found = lookup(cache);
    if (!found)
      continue;
    if (layer)
      found->layers.insert(layer.getInt());
    if (side)
      found->sides.insert(side.getValue());
  }
  if (!attention)
    return success();
  if (CacheClass *keys = lookup(attention.getKey()))
    keys->sides.insert(CacheSide::Keys);
  if (CacheClass *values = lookup(attention.getValue()))
    values->sides.insert(CacheSide::Values);
  return success();
}

LogicalResult CacheGraph::addArgumentLabels(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto layer = function.getArgAttrOfType<IntegerAttr>(i, kLayerAttrName);
    auto side = function.getArgAttrOfType<CacheSideAttr>(i, kSideAttrName);
    if (!layer && !side)
      continue;
    Type type = function.getFunctionType().getInput(i);
    if (!isa<CacheType>(type))
      return function.emitError() << "argument " << i << ": expected "
                                  << (layer ? kLayerAttrName : kSideAttrName)
                                  << " on a cache, got it on " << type;
    std::optional<unsigned> node = getNode(function, i, /*isResult=*/false);
    if (!node)
      continue;
    CacheClass &found = classes[classOfNode[*node]];
    if (layer)
      found.layers.insert(layer.getInt());
    if (side)
      found.sides.insert(side.getValue());
  }
  return success();
}

FailureOr<CacheGraph>
CacheGraph::build(ModuleOp module, std::function<bool(CacheType)> members) {
  CacheGraph graph(std::move(members));
  SymbolTableCollection symbols;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      graph.uniteFunction(function);
    else if (auto call = dyn_cast<func::CallOp>(op))
      graph.uniteCall(call, symbols);
    graph.uniteOp(op);
  });
  graph.makeClasses();
  WalkResult walk = module.walk([&](Operation *op) {
    auto function = dyn_cast<func::FuncOp>(op);
    bool failed = mlir::failed(graph.addLabels(op)) ||
                  (function && mlir::failed(graph.addArgumentLabels(function)));
    return failed ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return graph;
}
