//===- ApplyPolicy.cpp - Exact caches to the types of a policy -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../CacheGraph.h"
#include "Parts.h"

#include "kvq/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_APPLYPOLICYPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// A class of caches and the parts that the policy makes of it.
struct Plan {
  CacheClass *cache;
  SmallVector<PolicyPart> parts;

  /// Whether any part gets another type.
  bool isChange() const {
    return parts.size() > 1 ||
           getType(cache->type, parts.front()) != cache->type;
  }
  /// The type of a part of `whole`, a cache of the class.
  static CacheType getType(CacheType whole, const PolicyPart &part);
  SmallVector<Type> getTypes(CacheType whole) const;
};

struct ApplyPolicyPass : kvq::impl::ApplyPolicyPassBase<ApplyPolicyPass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult apply(PolicyAttr policy);

  /// From the file, if there is one.
  PolicyAttr filePolicy;
};

} // namespace

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// The error that a check of `getType` would give is reported before: see
/// makePlan.
static InFlightDiagnostic emitNothing() { return InFlightDiagnostic(); }

/// `whole` with the heads of `part` alone.
static CacheType getHeadsOf(CacheType whole, const PolicyPart &part) {
  SmallVector<int64_t> shape(whole.getShape());
  shape[1] = part.end - part.begin;
  return whole.withShape(shape);
}

CacheType Plan::getType(CacheType whole, const PolicyPart &part) {
  CacheType heads = getHeadsOf(whole, part);
  return part.entry ? part.entry.getCacheType(emitNothing, heads) : heads;
}

SmallVector<Type> Plan::getTypes(CacheType whole) const {
  SmallVector<CacheType> caches;
  for (const PolicyPart &part : parts)
    caches.push_back(getType(whole, part));
  return getPartTypes(caches);
}

/// Fails, with an error, where `cache` would become `type` though attention
/// does not turn its keys, or though it does.
static LogicalResult verifyRope(function_ref<InFlightDiagnostic()> emitError,
                                CacheType cache, PolicyEntryAttr entry,
                                CacheType type) {
  // An exempt cache stays as it is, which an entry with rope = pre does not ask
  // for.
  auto format = dyn_cast<FormatInterface>(entry.getRowFormat());
  bool isBefore = type.isBeforeRope() || (format && format.isBeforeRope());
  // Which channels of segments are turned is not what it is of a whole row.
  bool isAlike =
      isBefore == type.isBeforeRope() && (!isBefore || !type.getSegments());
  if (isBefore == cache.isBeforeRope() && isAlike)
    return success();
  return emitError()
         << (cache.isBeforeRope()
                 ? "attention turns these keys as it reads them: expected one "
                   "format with rope = pre, got "
                 : "attention has no tables to turn these keys by: expected "
                   "no rope = pre, got ")
         << entry.getRowFormat();
}

/// Fails, with an error, where a part has no type.
static LogicalResult verifyParts(const CacheClass &cache, PolicyKey key,
                                 ArrayRef<PolicyPart> parts) {
  auto emitError = [&] {
    return mlir::emitError(*cache.loc)
           << "policy of the " << describe(key) << ": ";
  };
  for (const PolicyPart &part : parts) {
    if (!part.entry)
      continue;
    CacheType type =
        part.entry.getCacheType(emitError, getHeadsOf(cache.type, part));
    if (!type)
      return failure();
    if (failed(verifyRope(emitError, cache.type, part.entry, type)))
      return failure();
  }
  return success();
}

/// Looks a class of caches up by all of its labels, which have to agree.
static FailureOr<Plan> makePlan(CacheClass &cache, PolicyMatcher &matcher) {
  Plan plan{&cache, {}};
  SmallVector<PolicyKey> keys = cache.getKeys();
  auto emitError = [&] { return mlir::emitError(*cache.loc); };
  for (PolicyKey key : keys) {
    FailureOr<SmallVector<PolicyPart>> parts =
        matcher.match(emitError, key, cache.type.getHeads());
    if (failed(parts) || failed(verifyParts(cache, key, *parts)))
      return failure();
    Plan other{&cache, std::move(*parts)};
    if (plan.parts.empty()) {
      plan = std::move(other);
      continue;
    }
    if (plan.getTypes(cache.type) == other.getTypes(cache.type))
      continue;
    InFlightDiagnostic error =
        emitError() << "the policy gives one cache two types, as "
                    << describe(keys.front()) << " and as " << describe(key);
    if (cache.sides.empty())
      error << ": expected kvq.side, as no kvq.attention reads it";
    return error;
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Head ranges
//===----------------------------------------------------------------------===//

/// Attention takes heads apart only where keys and values do so alike: cuts the
/// one as the other until nothing changes.
static LogicalResult alignHeads(ModuleOp module, CacheGraph &graph,
                                MutableArrayRef<Plan> plans) {
  auto find = [&](Value value) -> Plan * {
    CacheClass *cache = graph.lookup(value);
    return cache ? &plans[cache - graph.getClasses().data()] : nullptr;
  };
  SmallVector<AttentionOp> attentions;
  module.walk([&](AttentionOp op) { attentions.push_back(op); });
  bool changed = true;
  while (changed) {
    changed = false;
    for (AttentionOp op : attentions) {
      Plan *keys = find(op.getKey()), *values = find(op.getValue());
      for (auto [one, other] :
           {std::pair(keys, values), std::pair(values, keys)}) {
        if (!one || one->parts.size() == 1)
          continue;
        if (!other)
          return op.emitError()
                 << "the policy has " << one->parts.size()
                 << " ranges of heads for one operand: expected an exact cache "
                    "as the other one, which can be cut alike, got "
                 << (one == keys ? op.getValue() : op.getKey()).getType();
        SmallVector<PolicyPart> parts = cutAlike(other->parts, one->parts);
        changed |= parts.size() != other->parts.size();
        other->parts = std::move(parts);
      }
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What the pass cannot change
//===----------------------------------------------------------------------===//

/// True if the conversion knows how to change the caches of `op`.
static bool isConvertible(Operation *op) {
  return isa<EmptyOp, AppendOp, AttentionOp, ReorderOp, ShiftOp, func::FuncOp,
             func::CallOp, func::ReturnOp, scf::ForOp, scf::IfOp, scf::WhileOp,
             scf::ConditionOp, scf::YieldOp, cf::BranchOp, cf::CondBranchOp>(
      op);
}

/// Fails, with an error, where `op` carries a cache that changes and that it
/// does not let change.
static LogicalResult verifyConvertible(Operation *op, CacheGraph &graph,
                                       const DenseSet<CacheClass *> &changing) {
  if (isConvertible(op) || !graph.carries(op, changing))
    return success();
  return op->emitError("op '")
         << op->getName()
         << "' carries a !kvq.cache whose type kvq-apply-policy cannot change: "
            "expected it exempt, or the policy applied before";
}

/// Whether any cache of the plan is as `predicate` says.
static bool hasAny(const Plan &plan,
                   llvm::function_ref<bool(CacheType)> predicate) {
  return llvm::any_of(plan.getTypes(plan.cache->type), [&](Type type) {
    auto cache = dyn_cast<CacheType>(type);
    return cache && predicate(cache);
  });
}

static bool hasAnyWindow(const Plan &plan) {
  return hasAny(plan, [](CacheType cache) { return cache.hasRecentWindow(); });
}

/// `kvq.truncate` names a type and no cache. Its flushed counts would be those
/// of the caches that are cut.
static LogicalResult verifyTruncate(TruncateOp op, ArrayRef<Plan> plans) {
  if (op.getCache().isExact() && llvm::any_of(plans, hasAnyWindow))
    return op.emitError()
           << "the policy gives caches a recent window, and what this op does "
              "to their flushed counts is not known: expected kvq.truncate of "
              "quantized types, or none";
  return success();
}

/// Slots say where tokens lie, and a window does. RoPE turns keys, and rows of
/// one format, as which the op was written.
static LogicalResult verifyAppend(AppendOp op, CacheGraph &graph,
                                  ArrayRef<Plan> plans) {
  CacheClass *cache = graph.lookup(op.getCache());
  if (!cache)
    return success();
  if (op.getCos() && cache->sides.size() == 1 &&
      cache->sides.count(CacheSide::Values))
    return op.emitError() << "RoPE turns keys only: expected no tables for a "
                             "cache that is read as values";
  auto hasSegments = [](CacheType type) { return bool(type.getSegments()); };
  for (const Plan &plan : plans) {
    if (plan.cache != cache)
      continue;
    if (op.getSlots() && hasAnyWindow(plan))
      return op.emitError()
             << "the policy gives this cache a recent window, but its tokens "
                "are stored by slots: expected none, and groups of one token";
    if (op.getCos() && plan.isChange() && hasAny(plan, hasSegments))
      return op.emitError()
             << "the policy gives this cache segments, but RoPE turns its "
                "tokens as rows of one format: expected one format";
  }
  return success();
}

/// An exact cache drops any tokens, others whole groups of quantized ones.
static LogicalResult verifyShift(ShiftOp op, CacheGraph &graph,
                                 ArrayRef<Plan> plans) {
  CacheClass *cache = graph.lookup(op.getCache());
  auto isCoarse = [](CacheType type) {
    return type.getTokenGroup() > 1 || type.getExactFirst() != 0 ||
           type.hasRecentWindow();
  };
  for (const Plan &plan : plans)
    if (plan.cache == cache && hasAny(plan, isCoarse))
      return op.emitError()
             << "the policy gives this cache token groups or exact windows, "
                "and not any tokens can be dropped from among them: expected "
                "groups of one token and no windows";
  return success();
}

static LogicalResult verifyModule(ModuleOp module, CacheGraph &graph,
                                  ArrayRef<Plan> plans) {
  DenseSet<CacheClass *> changing;
  for (const Plan &plan : plans)
    if (plan.isChange())
      changing.insert(plan.cache);
  bool isConvertible = true;
  module.walk([&](Operation *op) {
    if (failed(verifyConvertible(op, graph, changing)))
      isConvertible = false;
    if (auto truncate = dyn_cast<TruncateOp>(op))
      isConvertible &= succeeded(verifyTruncate(truncate, plans));
    if (auto shift = dyn_cast<ShiftOp>(op))
      isConvertible &= succeeded(verifyShift(shift, graph, plans));
    if (auto append = dyn_cast<AppendOp>(op))
      isConvertible &= succeeded(verifyAppend(append, graph, plans));
  });
  return success(isConvertible);
}

//===----------------------------------------------------------------------===//
// Change of types
//===----------------------------------------------------------------------===//

/// The attributes of arguments or results once bundles are taken apart: those
/// of a cache hold for each of its parts, labels for caches alone.
static ArrayAttr spreadAttributes(ArrayAttr attributes, ArrayRef<Type> types,
                                  const TypeConverter &converter) {
  if (!attributes)
    return {};
  SmallVector<Attribute> spread;
  for (auto [attribute, type] : llvm::zip_equal(attributes, types)) {
    SmallVector<Type> parts;
    if (failed(converter.convertType(type, parts)))
      return {};
    NamedAttrList withoutLabels(cast<DictionaryAttr>(attribute));
    withoutLabels.erase(kLayerAttrName);
    withoutLabels.erase(kSideAttrName);
    for (Type part : parts)
      spread.push_back(parts.size() == 1 || isa<CacheType>(part)
                           ? attribute
                           : withoutLabels.getDictionary(type.getContext()));
  }
  return ArrayAttr::get(attributes.getContext(), spread);
}

/// Takes all bundles apart.
static LogicalResult unbundle(ModuleOp module) {
  MLIRContext *context = module.getContext();
  PartConverter converter;
  SmallVector<std::tuple<func::FuncOp, ArrayAttr, ArrayAttr>> attributes;
  module.walk([&](func::FuncOp function) {
    attributes.emplace_back(
        function,
        spreadAttributes(function.getArgAttrsAttr(),
                         function.getArgumentTypes(), converter),
        spreadAttributes(function.getResAttrsAttr(), function.getResultTypes(),
                         converter));
  });
  ConversionTarget target(*context);
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    return converter.isSignatureLegal(op.getFunctionType());
  });
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
  RewritePatternSet patterns(context);
  populateApplyPolicyPatterns(converter, patterns);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  cf::populateCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                     target);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  if (failed(applyFullConversion(module, target, std::move(patterns))))
    return failure();
  for (auto [function, arguments, results] : attributes) {
    if (arguments)
      function.setArgAttrsAttr(arguments);
    if (results)
      function.setResAttrsAttr(results);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

LogicalResult ApplyPolicyPass::apply(PolicyAttr policy) {
  ModuleOp module = getOperation();
  FailureOr<CacheGraph> graph = CacheGraph::build(
      module, [](CacheType cache) { return cache.isExact(); });
  if (failed(graph))
    return failure();
  PolicyMatcher matcher(policy);
  SmallVector<Plan> plans;
  for (CacheClass &cache : graph->getClasses()) {
    FailureOr<Plan> plan = makePlan(cache, matcher);
    if (failed(plan))
      return failure();
    plans.push_back(std::move(*plan));
  }
  if (failed(matcher.verifyAllMatched([&] { return module.emitError(); })) ||
      failed(alignHeads(module, *graph, plans)) ||
      failed(verifyModule(module, *graph, plans)))
    return failure();
  for (const Plan &plan : plans)
    if (plan.isChange())
      plan.cache->retype(
          [&](CacheType old) { return bundle(plan.getTypes(old)); });
  return unbundle(module);
}

LogicalResult ApplyPolicyPass::initialize(MLIRContext *context) {
  if (policyFile.empty())
    return success();
  context->getOrLoadDialect<KVQDialect>();
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(policyFile, ParserConfig(context));
  if (!module)
    return failure();
  FailureOr<PolicyAttr> policy = getOnlyPolicy(*module);
  if (succeeded(policy))
    filePolicy = *policy;
  return policy;
}

void ApplyPolicyPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto own = module->getAttrOfType<PolicyAttr>(kPolicyAttrName);
  if (own && filePolicy) {
    module.emitError() << "expected one policy, got one of the module and one "
                          "of the file "
                       << policyFile;
    return signalPassFailure();
  }
  PolicyAttr policy = own ? own : filePolicy;
  if (!policy)
    return markAllAnalysesPreserved();
  if (failed(apply(policy)))
    return signalPassFailure();
  // It is applied.
  module->removeAttr(kPolicyAttrName);
}
