//===- CacheGraph.h - Which values are one cache ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_CACHEGRAPH_H
#define KVQ_LIB_TRANSFORMS_CACHEGRAPH_H

#include "kvq/IR/Policy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <functional>
#include <map>

namespace mlir::kvq {

/// Values and places of signatures that hold one cache in the course of its
/// life: before and after appends, inside and outside of loops and calls.
/// They get one representation.
struct CacheClass {
  /// Values that are the cache, for all their ops; none for a declaration.
  SmallVector<Value> values;
  /// Arguments and results of functions.
  struct Slot {
    func::FuncOp function;
    unsigned index;
    bool isResult;
  };
  SmallVector<Slot> slots;
  /// Of any member: heads and element type are those of all.
  CacheType type;
  /// Where errors are reported.
  std::optional<Location> loc;
  /// What labels and uses say of it.
  std::set<int64_t> layers;
  std::set<CacheSide> sides;

  /// Every look-up that the labels ask for.
  SmallVector<PolicyKey> getKeys() const;
  /// Gives the values and signatures the types that `getType` makes of theirs.
  void retype(function_ref<Type(CacheType)> getType) const;
};

/// Some caches of a module: those that a pass may change.
class CacheGraph {
public:
  /// The caches of types that are `members`. Fails, with an error, where labels
  /// do not make sense.
  static FailureOr<CacheGraph> build(ModuleOp module,
                                     std::function<bool(CacheType)> members);

  MutableArrayRef<CacheClass> getClasses() { return classes; }
  /// The class of a value; null if it is none of the caches.
  CacheClass *lookup(Value value);
  /// Whether `op` carries one of the caches inside of another type: of a
  /// function, a tuple, ...
  bool hides(Operation *op) const;
  /// Whether `op` carries a cache of `changing`, or hides one.
  bool carries(Operation *op, const DenseSet<CacheClass *> &changing);

private:
  struct Node {
    CacheType type;
    Location loc;
    /// Null for a place of a signature.
    Value value;
  };

  explicit CacheGraph(std::function<bool(CacheType)> members)
      : members(std::move(members)) {}

  bool isMember(Type type) const;
  unsigned addNode(Node node);
  std::optional<unsigned> getNode(Value value);
  std::optional<unsigned> getNode(func::FuncOp function, unsigned index,
                                  bool isResult);
  void unite(std::optional<unsigned> a, std::optional<unsigned> b);
  void unite(ValueRange a, ValueRange b);
  void uniteFunction(func::FuncOp function);
  void uniteCall(func::CallOp call, SymbolTableCollection &symbols);
  void uniteOp(Operation *op);
  void makeClasses();
  LogicalResult addLabels(Operation *op);
  LogicalResult addArgumentLabels(func::FuncOp function);

  std::function<bool(CacheType)> members;
  SmallVector<Node> nodes;
  DenseMap<Value, unsigned> valueNodes;
  std::map<std::tuple<Operation *, unsigned, bool>, unsigned> slotNodes;
  llvm::EquivalenceClasses<unsigned> equivalence;
  SmallVector<CacheClass, 0> classes;
  DenseMap<unsigned, unsigned> classOfNode;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_CACHEGRAPH_H
