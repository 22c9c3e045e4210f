//===- Policy.h - Caches and the entries of a policy ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `kvq-apply-policy` and the report of bytes share: which entry of a
// `#kvq.policy` is for a cache, and whether all of them are for one.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_POLICY_H
#define KVQ_IR_POLICY_H

#include "kvq/IR/KVQ.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

namespace mlir::kvq {

/// Where a policy looks a cache up. Without a layer only entries for all layers
/// can be for it.
struct PolicyKey {
  CacheSide side;
  std::optional<int64_t> layer;
};

/// Neighbouring KV heads `[begin, end)` of a cache that one entry is for, or
/// none.
struct PolicyPart {
  int64_t begin, end;
  PolicyEntryAttr entry;
};

/// `parts`, cut where parts of `others` begin: attention takes heads apart only
/// where keys and values are cut alike.
SmallVector<PolicyPart> cutAlike(ArrayRef<PolicyPart> parts,
                                 ArrayRef<PolicyPart> others);

/// Looks caches up in a policy, and keeps what it was asked for.
class PolicyMatcher {
public:
  explicit PolicyMatcher(PolicyAttr policy) : policy(policy) {}

  /// The parts of the heads `[0, heads)` of a cache, in order. Fails with an
  /// error where an entry names other heads, and for a cache without a layer
  /// where entries name layers.
  FailureOr<SmallVector<PolicyPart>>
  match(llvm::function_ref<InFlightDiagnostic()> emitError, PolicyKey key,
        int64_t heads);

  /// Fails with an error where an entry, or a layer that it names, was not
  /// found by any call of `match`.
  LogicalResult
  verifyAllMatched(llvm::function_ref<InFlightDiagnostic()> emitError) const;

private:
  void record(unsigned entry, PolicyKey key);

  PolicyAttr policy;
  /// The layers that were asked for, of keys and of values together.
  std::set<int64_t> layers;
  /// Of each entry that was found, the layers it was found for.
  std::map<unsigned, std::set<int64_t>> matched;
};

/// The policy of a module that holds nothing else, as files do. Fails with an
/// error where it is something else.
FailureOr<PolicyAttr> getOnlyPolicy(ModuleOp module);

/// Whether half-open ranges, begin and end after one another, hold `number`.
bool contains(ArrayRef<int64_t> ranges, int64_t number);

/// "keys of layer 3", for messages.
std::string describe(PolicyKey key);

} // namespace mlir::kvq

#endif // KVQ_IR_POLICY_H
