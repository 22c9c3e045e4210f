//===- Rings.cpp - When and where rings take workgroup memory -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rings.h"

using namespace mlir;
using namespace mlir::kvq;

FailureOr<Rings> Rings::get(gpu::LaunchOp launch) {
  Rings rings;
  rings.body = &launch.getBody().front();
  for (Operation &op : *rings.body)
    rings.places[&op] = rings.places.size();
  launch.getBody().walk([&](BlockAttentionOp op) {
    Operation *ofBody = rings.body->findAncestorOpInBlock(*op);
    rings.uses.push_back(
        {op, 3 * rings.places.lookup(ofBody), int64_t(op.getHeldBytes()), {}});
  });
  if (failed(rings.size(/*heldBytes=*/0)))
    return failure();
  return rings;
}

LogicalResult Rings::size(int64_t heldBytes) {
  for (Use &use : uses) {
    use.op.setHeldBytes(use.heldBytes + heldBytes);
    FailureOr<RingUse> ring = getRingUse(use.op);
    if (failed(ring))
      return failure();
    use.ring = *ring;
  }
  return success();
}

int64_t Rings::getBytes() const {
  int64_t bytes = 0;
  for (const Use &use : uses)
    bytes = std::max(bytes, use.ring.bytes);
  return bytes;
}

std::pair<unsigned, unsigned> Rings::getTimes(OpOperand &use) const {
  Operation *user = use.getOwner();
  unsigned first = 3 * places.lookup(body->findAncestorOpInBlock(*user));
  unsigned last = first + 2;
  const Use *ring =
      llvm::find_if(uses, [&](const Use &of) { return of.op == user; });
  // In a loop there is a next time.
  if (ring == uses.end() || user->getBlock() != body ||
      !ring->ring.readsRowsAhead)
    return {first, last};
  BlockAttentionOp op = ring->op;
  if (use == op.getQueryMutable())
    return {first, first};
  if (use == op.getAccMutable() && op.getOverwrites())
    return {last, last};
  return {first, last};
}

MemoryRange Rings::getRange(unsigned first, unsigned last) const {
  MemoryRange range;
  auto isWithin = [&](unsigned time) { return first <= time && time <= last; };
  for (const auto &[op, time, heldBytes, ring] : uses) {
    if (isWithin(time + 1)) {
      range.intersect({ring.bytes, getBytes()});
    } else if (isWithin(time)) {
      range.intersect({0, ring.restEnd});
    } else if (isWithin(time + 2)) {
      range.intersect({ring.restBegin, getBytes()});
    }
  }
  return range;
}
