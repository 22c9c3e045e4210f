//===- RaiseCacheUpdates.cpp - Tensors of a model to caches --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCache.h"

#include "../DeadProducers.h"

#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_RAISECACHEUPDATESPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

static constexpr llvm::StringLiteral kCategory = "kvq-raise-cache-updates";

static remark::RemarkOpts getRemarkOpts(func::FuncOp function) {
  return remark::RemarkOpts::name("RaiseCacheUpdates")
      .category(kCategory)
      .function(function.getName());
}

//===----------------------------------------------------------------------===//
// Which caches a function has
//===----------------------------------------------------------------------===//

namespace {

/// A side of an attention that reads a cache over a tensor.
struct Read {
  FromComponentsOp op;
  AttentionOp attention;
  bool isKey;
  /// The attention's number in the function.
  int64_t layer;

  StringRef getName() const { return isKey ? "keys" : "values"; }
};

/// A cache and what reads it.
struct ReadCache {
  TensorCache cache;
  SmallVector<Read> reads;
};

/// The caches of a function, by their arguments.
using Caches = llvm::MapVector<Value, ReadCache>;

} // namespace

static SmallVector<Read> getReads(func::FuncOp function) {
  SmallVector<Read> reads;
  int64_t layer = 0;
  function.walk([&](AttentionOp attention) {
    for (bool isKey : {true, false}) {
      Value side = isKey ? attention.getKey() : attention.getValue();
      auto op = side.getDefiningOp<FromComponentsOp>();
      if (op && op.getCache().getType().isExact() &&
          op.getComponents().size() == 1)
        reads.push_back({op, attention, isKey, layer});
    }
    ++layer;
  });
  return reads;
}

namespace {

/// Reports sides that stay tensors: by remarks, or by errors.
class Reporter {
public:
  Reporter(func::FuncOp function, bool isStrict)
      : function(function), isStrict(isStrict) {}

  void report(ArrayRef<Read> reads, const WhyNot &whyNot) {
    for (Read read : reads) {
      Location loc = whyNot.loc.value_or(read.attention.getLoc());
      if (isStrict) {
        hasErrors = true;
        emitError(loc) << read.getName() << " of attention " << read.layer
                       << " stay a tensor: " << whyNot.reason;
        continue;
      }
      remark::missed(loc, getRemarkOpts(function))
          << remark::add("{0} of attention {1} stay a tensor",
                         read.getName().str(), read.layer)
          << remark::reason("{0}", whyNot.reason);
    }
  }

  bool hasErrors = false;

private:
  func::FuncOp function;
  bool isStrict;
};

} // namespace

/// Adds what a read follows back to. Fails where that is no cache, or one that
/// is read in another way elsewhere.
static LogicalResult addRead(func::FuncOp function, Caches &caches, Read read,
                             WhyNot &whyNot) {
  FailureOr<TensorCache> cache =
      TensorCache::get(function, read.op.getComponents().front(),
                       read.op.getCache().getType(), whyNot);
  if (failed(cache))
    return failure();
  auto [it, isNew] = caches.insert({cache->argument, ReadCache{*cache, {}}});
  TensorCache &known = it->second.cache;
  if (!known.view.isSameAs(cache->view)) {
    whyNot = {"its axes are read in another order elsewhere", {}};
    return failure();
  }
  it->second.reads.push_back(read);
  // Reads before the last update know of fewer.
  if (known.updates.size() < cache->updates.size())
    std::swap(known, *cache);
  return success();
}

/// The caches that can be raised; those that cannot are reported.
static Caches findCaches(func::FuncOp function, Reporter &reporter) {
  Caches caches;
  for (const Read &read : getReads(function)) {
    WhyNot whyNot;
    if (failed(addRead(function, caches, read, whyNot)))
      reporter.report(read, whyNot);
  }
  caches.remove_if([&](auto &entry) {
    ReadCache &cache = entry.second;
    DenseSet<Operation *> reads;
    for (const Read &read : cache.reads)
      reads.insert(read.op);
    WhyNot whyNot;
    if (succeeded(cache.cache.verifyUses(reads, whyNot)))
      return false;
    reporter.report(cache.reads, whyNot);
    return true;
  });
  return caches;
}

/// Why the signature of `function` cannot change: empty if it can.
static std::string whyNotSignature(func::FuncOp function, ModuleOp module) {
  if (!llvm::hasSingleElement(function.getBody()))
    return "the function has several blocks";
  auto uses = SymbolTable::getSymbolUses(function, module);
  if (uses && !uses->empty())
    return "'" + uses->begin()->getUser()->getName().getStringRef().str() +
           "' refers to the function: expected it inlined";
  return "";
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {

/// Turns the caches of one function from tensors into caches.
class FunctionRaiser {
public:
  explicit FunctionRaiser(func::FuncOp function)
      : function(function), b(function.getContext()) {}

  void raise(MutableArrayRef<std::pair<Value, ReadCache>> caches);

private:
  void raise(ReadCache &cache);
  Value addLength();
  Value buildLengths(const TensorCache &cache, const CacheUpdate &update,
                     Value length);
  Value buildCount(const CacheUpdate &update, const TensorCache &cache);
  void replaceExtents(const TensorCache &cache, Value value, Value length);
  void replaceReads(const ReadCache &cache, Value value, Value cacheValue);
  void label(const ReadCache &cache);

  func::FuncOp function;
  OpBuilder b;
  /// How many tokens caches that grow hold, an i64 argument.
  Value length;
};

} // namespace

Value FunctionRaiser::addLength() {
  unsigned number = function.getNumArguments();
  [[maybe_unused]] LogicalResult added =
      function.insertArgument(number, b.getI64Type(), {}, function.getLoc());
  assert(succeeded(added) && "a function of func has any type");
  return function.getArgument(number);
}

/// The number of new tokens, an i64.
Value FunctionRaiser::buildCount(const CacheUpdate &update,
                                 const TensorCache &cache) {
  Location loc = update.updated.getLoc();
  auto type = cast<RankedTensorType>(update.tokens.getType());
  if (!type.isDynamicDim(cache.tokenAxis))
    return arith::ConstantIntOp::create(b, loc,
                                        type.getDimSize(cache.tokenAxis), 64);
  Value extent = tensor::DimOp::create(b, loc, update.tokens, cache.tokenAxis);
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), extent);
}

/// How many tokens each sequence holds before the update.
Value FunctionRaiser::buildLengths(const TensorCache &cache,
                                   const CacheUpdate &update, Value length) {
  Location loc = update.updated.getLoc();
  int64_t batch = cache.readType.getBatch();
  SmallVector<Value> lengths;
  for (int64_t sequence : llvm::seq(batch))
    lengths.push_back(update.grows ? length
                                   : update.buildPosition(b, loc, sequence));
  auto type = RankedTensorType::get({batch}, b.getI64Type());
  return tensor::FromElementsOp::create(b, loc, type, lengths);
}

/// Extents of `value`, of which `length` is the one of tokens.
void FunctionRaiser::replaceExtents(const TensorCache &cache, Value value,
                                    Value length) {
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    if (!dim)
      continue;
    int64_t axis = *dim.getConstantIndex();
    OpBuilder b(dim);
    Value extent = axis == cache.tokenAxis && cache.grows()
                       ? Value(arith::IndexCastOp::create(
                             b, dim.getLoc(), b.getIndexType(), length))
                       : Value(arith::ConstantIndexOp::create(b, dim.getLoc(),
                                                              shape[axis]));
    dim.replaceAllUsesWith(extent);
    dim.erase();
  }
}

/// What reads `value` reads the cache instead.
void FunctionRaiser::replaceReads(const ReadCache &cache, Value value,
                                  Value cacheValue) {
  for (Read read : cache.reads)
    if (CacheView::get(read.op->getOperand(0)).getSource() == value)
      read.op.getCache().replaceAllUsesWith(cacheValue);
  for (Operation *user : value.getUsers())
    if (isa<func::ReturnOp>(user))
      user->replaceUsesOfWith(value, cacheValue);
}

/// Says which layer's the cache is, unless something does already.
void FunctionRaiser::label(const ReadCache &cache) {
  unsigned number = cache.cache.argument.getArgNumber();
  const Read &read = cache.reads.front();
  if (!function.getArgAttr(number, kLayerAttrName))
    function.setArgAttr(number, kLayerAttrName,
                        b.getI64IntegerAttr(read.layer));
  remark::passed(cache.cache.argument.getLoc(), getRemarkOpts(function))
      << remark::add("argument {0} is the cache of the {1} of attention {2}",
                     number, read.getName().str(), read.layer);
}

/// An append stays in its place: nothing has to be stored there.
static void dropStores(const TensorCache &cache, Value cacheValue) {
  for (Operation *user :
       llvm::make_early_inc_range(cache.argument.getUsers())) {
    if (!cache.isStore(user))
      continue;
    user->getResult(0).replaceAllUsesWith(cacheValue);
    user->erase();
  }
}

void FunctionRaiser::raise(ReadCache &readCache) {
  const TensorCache &cache = readCache.cache;
  Value current = cache.argument, tokens = length;
  CacheType type = cache.getType();
  replaceReads(readCache, cache.argument, current);
  replaceExtents(cache, cache.argument, tokens);
  for (const CacheUpdate &update : cache.updates) {
    Location loc = update.updated.getLoc();
    b.setInsertionPoint(update.updated.getDefiningOp());
    Value lengths = buildLengths(cache, update, tokens);
    if (update.grows)
      tokens = arith::AddIOp::create(b, loc, tokens, buildCount(update, cache));
    Value added = cache.view.build(b, loc, update.buildTokens(b, loc));
    auto append = AppendOp::create(
        b, loc, type, /*newSaturated=*/Type(), added, current, lengths,
        /*flushed=*/Value(), /*counts=*/Value(), /*pages=*/Value(),
        /*starts=*/Value(), /*slots=*/Value(), /*positions=*/Value(),
        /*cos=*/Value(), /*sin=*/Value(), /*saturated=*/Value(),
        /*rope_style=*/RopeStyleAttr(), /*rope_segment=*/IntegerAttr());
    current = append.getResult();
    replaceReads(readCache, update.updated, current);
    replaceExtents(cache, update.updated, tokens);
  }
  dropStores(cache, current);
  label(readCache);
  SmallVector<Operation *> replaced;
  for (const CacheUpdate &update : cache.updates)
    replaced.push_back(update.updated.getDefiningOp());
  for (const Read &read : readCache.reads)
    replaced.push_back(read.op);
  IRRewriter rewriter(function.getContext());
  eraseDead(rewriter, replaced);
  BlockArgument(cache.argument).setType(type);
}

void FunctionRaiser::raise(
    MutableArrayRef<std::pair<Value, ReadCache>> caches) {
  Block &body = function.front();
  if (llvm::any_of(caches,
                   [](auto &entry) { return entry.second.cache.grows(); }))
    length = addLength();
  for (auto &[argument, cache] : caches)
    raise(cache);
  function.setFunctionType(b.getFunctionType(
      body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct RaiseCacheUpdatesPass
    : kvq::impl::RaiseCacheUpdatesPassBase<RaiseCacheUpdatesPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(raise(function)))
        signalPassFailure();
  }

  LogicalResult raise(func::FuncOp function) {
    Reporter reporter(function, strict);
    Caches caches = findCaches(function, reporter);
    if (caches.empty())
      return failure(reporter.hasErrors);
    WhyNot whyNot = {whyNotSignature(function, getOperation()), {}};
    if (whyNot.reason.empty())
      FunctionRaiser(function).raise(caches.takeVector());
    else
      for (auto &[argument, cache] : caches)
        reporter.report(cache.reads, whyNot);
    return failure(reporter.hasErrors);
  }
};

} // namespace
