//===- TensorCache.cpp - A cache that is a tensor of a model -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCache.h"

#include "../ElementTracing/ElementTracer.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::kvq;

static LogicalResult fail(WhyNot &whyNot, const Twine &reason,
                          std::optional<Location> loc) {
  whyNot = {reason.str(), loc};
  return failure();
}

//===----------------------------------------------------------------------===//
// Back to the argument
//===----------------------------------------------------------------------===//

/// The argument of `function` itself, not of a block or an op within.
static BlockArgument getArgument(func::FuncOp function, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &function.front() ? argument
                                                              : nullptr;
}

FailureOr<TensorCache> TensorCache::get(func::FuncOp function, Value component,
                                        CacheType type, WhyNot &whyNot) {
  TensorCache cache;
  cache.view = CacheView::get(component);
  cache.readType = type;
  Value value = cache.view.getSource();
  FailureOr<unsigned> axis = cache.view.getSourceAxis(kTokens);
  if (failed(axis) || !isa<RankedTensorType>(value.getType()))
    return fail(whyNot,
                "tokens do not have an axis of the tensor to themselves",
                value.getLoc());
  cache.tokenAxis = *axis;
  while (!getArgument(function, value)) {
    std::string reason;
    FailureOr<CacheUpdate> update = CacheUpdate::get(value, *axis, reason);
    if (failed(update))
      return fail(whyNot, reason, value.getLoc());
    if (update->updated.getParentRegion() != &function.getBody())
      return fail(whyNot,
                  "'" + value.getDefiningOp()->getName().getStringRef() +
                      "' is within the body of another op",
                  value.getLoc());
    FailureOr<unsigned> sequences = cache.view.getSourceAxis(kBatch);
    if (update->hasPositions() && (failed(sequences) || *sequences != 0))
      return fail(
          whyNot,
          "positions differ along an axis that is not that of sequences",
          value.getLoc());
    cache.updates.insert(cache.updates.begin(), *update);
    value = update->old;
  }
  cache.argument = getArgument(function, value);
  for (const CacheUpdate &update : cache.updates)
    if (update.grows != cache.grows())
      return fail(whyNot, "it is extended, and written at a position as well",
                  update.updated.getLoc());
  if (auto tensor = cast<RankedTensorType>(value.getType());
      cache.grows() && !tensor.isDynamicDim(*axis))
    return fail(whyNot,
                "a tensor of " + Twine(tensor.getDimSize(*axis)) +
                    " tokens is extended: expected a dynamic number of them",
                cache.updates.front().updated.getLoc());
  return cache;
}

//===----------------------------------------------------------------------===//
// All uses
//===----------------------------------------------------------------------===//

SmallVector<Value> TensorCache::getValues() const {
  SmallVector<Value> values = {argument};
  for (const CacheUpdate &update : updates)
    values.push_back(update.updated);
  return values;
}

bool TensorCache::isStore(Operation *op) const {
  auto store = dyn_cast<bufferization::MaterializeInDestinationOp>(op);
  return store && store.getDest() == argument &&
         store.getSource() == getValues().back() &&
         llvm::all_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>);
}

namespace {

/// Looks for an op that reads the tensors of a cache and needs tensors.
class UseVerifier {
public:
  UseVerifier(const TensorCache &cache, const DenseSet<Operation *> &reads)
      : cache(cache), reads(reads) {}

  /// Fails where such an op uses `value`, which is updated next by `update`, if
  /// by anything.
  LogicalResult verify(Value value, Operation *update, WhyNot &whyNot) const;

private:
  bool isUse(Operation *user, Operation *update) const;
  Operation *findOtherUser(Operation *user) const;

  const TensorCache &cache;
  const DenseSet<Operation *> &reads;
};

} // namespace

/// Whether `user` is an update, or asks for an extent that is known.
bool UseVerifier::isUse(Operation *user, Operation *update) const {
  if (auto dim = dyn_cast<tensor::DimOp>(user)) {
    std::optional<int64_t> axis = dim.getConstantIndex();
    auto type = cast<RankedTensorType>(dim.getSource().getType());
    return axis && (!type.isDynamicDim(*axis) ||
                    (*axis == cache.tokenAxis && cache.grows()));
  }
  if (!update || user == update)
    return update;
  // Of a concatenation as two slices, the one of what was there.
  return isa<tensor::InsertSliceOp>(user) && user->hasOneUse() &&
         *user->user_begin() == update;
}

/// An op that reads the tensor, by views, and that is none of the reads.
Operation *UseVerifier::findOtherUser(Operation *user) const {
  if (reads.contains(user))
    return nullptr;
  if (!CacheView::isStep(user))
    return user;
  for (Operation *next : user->getUsers())
    if (Operation *other = findOtherUser(next))
      return other;
  return nullptr;
}

LogicalResult UseVerifier::verify(Value value, Operation *update,
                                  WhyNot &whyNot) const {
  for (Operation *user : value.getUsers()) {
    if (isa<func::ReturnOp>(user)) {
      if (update)
        return fail(whyNot, "it is returned as it was before an update",
                    user->getLoc());
      continue;
    }
    if (cache.isStore(user) || isUse(user, update))
      continue;
    if (Operation *other = findOtherUser(user))
      return fail(whyNot,
                  "'" + other->getName().getStringRef() + "' reads the tensor",
                  other->getLoc());
  }
  return success();
}

LogicalResult TensorCache::verifyUses(const DenseSet<Operation *> &reads,
                                      WhyNot &whyNot) const {
  UseVerifier verifier(*this, reads);
  SmallVector<Value> values = getValues();
  for (auto [i, value] : llvm::enumerate(values)) {
    Operation *update =
        i < updates.size() ? updates[i].updated.getDefiningOp() : nullptr;
    if (failed(verifier.verify(value, update, whyNot)))
      return failure();
  }
  return success();
}

CacheType TensorCache::getType() const {
  CacheType type = readType;
  SmallVector<int64_t> shape(type.getShape());
  shape[2] = cast<RankedTensorType>(argument.getType()).getDimSize(tokenAxis);
  return CacheType::get(
      type.getContext(), shape, type.getElementType(), type.getRowFormat(),
      type.getExactFirst(), type.getRecent(), type.getResidual(),
      type.getPage(), type.getRing(), type.getKeepFirst(), view.isTokenMajor());
}
