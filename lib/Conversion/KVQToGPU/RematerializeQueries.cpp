//===- RematerializeQueries.cpp - Queries are made where they are read ----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a kernel attends to several regions, the query's rows for the last one
// would be in the block's memory during the copies of the first one, whose
// rings they are taken from. They are made anew from the query in global memory
// where that gives rings more.
//
//===----------------------------------------------------------------------===//

#include "RematerializeQueries.h"

#include "Rings.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kvq;

/// Whether a buffer is scratch of the kernel, or a view of it.
static bool isScratch(Value buffer) {
  auto memref = dyn_cast<MemrefValue>(buffer);
  return memref && isa_and_present<memref::AllocOp, memref::AllocaOp>(
                       memref::skipViewLikeOps(memref).getDefiningOp());
}

/// Whether `op` may write to other memory than scratch.
static bool writesBeyondScratch(Operation &op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(&op);
  return !effects || llvm::any_of(*effects, [](const auto &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect()) &&
           !(effect.getValue() && isScratch(effect.getValue()));
  });
}

/// The op that writes the query, if it is one that gives the same when it is
/// repeated right before `reader`.
static linalg::LinalgOp findRepeatable(Value query, BlockAttentionOp reader) {
  linalg::LinalgOp writer;
  for (Operation *user : query.getUsers()) {
    if (isa<BlockAttentionOp, memref::DeallocOp>(user))
      continue;
    auto made = dyn_cast<linalg::LinalgOp>(user);
    if (!made || writer || made.getNumDpsInits() != 1 ||
        made.getDpsInits().front() != query ||
        made->getBlock() != reader->getBlock())
      return {};
    writer = made;
  }
  if (!writer || llvm::any_of(writer.getDpsInputs(), isScratch))
    return {};
  for (Operation *op = writer->getNextNode(); op != reader;
       op = op->getNextNode())
    if (!op || writesBeyondScratch(*op))
      return {};
  return writer;
}

/// Whether rings have more without the query beside them.
static FailureOr<bool> pays(Rings &rings, Value query) {
  auto type = cast<MemRefType>(query.getType());
  if (failed(rings.size(type.getNumElements() * type.getElementTypeBitWidth() /
                        8)))
    return failure();
  int64_t bytes = rings.getBytes();
  if (failed(rings.size(0)))
    return failure();
  return rings.getBytes() > bytes;
}

LogicalResult kvq::rematerializeQueries(RewriterBase &rewriter,
                                        gpu::LaunchOp launch) {
  OpBuilder::InsertionGuard guard(rewriter);
  FailureOr<Rings> rings = Rings::get(launch);
  if (failed(rings))
    return failure();
  llvm::SmallPtrSet<Value, 2> seen;
  for (BlockAttentionOp op : llvm::make_early_inc_range(
           launch.getBody().front().getOps<BlockAttentionOp>())) {
    Value query = op.getQuery();
    if (seen.insert(query).second || !isScratch(query))
      continue;
    Operation *alloc = query.getDefiningOp();
    linalg::LinalgOp writer = findRepeatable(query, op);
    if (!alloc || !writer)
      continue;
    FailureOr<bool> doesPay = pays(*rings, query);
    if (failed(doesPay))
      return failure();
    if (!*doesPay)
      continue;
    rewriter.setInsertionPoint(op);
    IRMapping mapping;
    rewriter.clone(*alloc, mapping);
    rewriter.clone(*writer, mapping);
    rewriter.modifyOpInPlace(
        op, [&] { op.getQueryMutable().assign(mapping.lookup(query)); });
  }
  return success();
}
