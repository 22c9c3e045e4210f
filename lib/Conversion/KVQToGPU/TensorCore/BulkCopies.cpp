//===- BulkCopies.cpp - Whole steps by bulk copies ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane starts a copy for each run of a slot's rows (see SlotLayout), which
// the slot's mbarrier counts. Slots hold keys and values in turn, so that
// phases of keys have one parity and those of values the other, and nothing is
// carried. mbarriers are there from the first whole step to the last: what
// comes before and after, which is not known to be in memory, is copied by
// lanes.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

static constexpr int64_t kKeyParity = 0, kValueParity = 1;

/// The components that come by the ring beside codes.
static SmallVector<const ComponentRows *>
getCopiedScales(const SideRows &side) {
  if (!side.plan->copiesScales)
    return {};
  if (!side.plan->zeroType)
    return {&side.scales};
  return {&side.scales, &side.zeros};
}

/// Bytes of a step's rows of scales or zeros.
static int64_t getBytes(const BlockPlan &plan, const SideRows &side,
                        const ComponentRows &rows) {
  return plan.getScaleRows(*side.plan) * rows.rowBytes;
}

/// Whether rows of a step follow each other in memory.
static bool areTogether(const BlockPlan &plan, const SideRows &side) {
  constexpr int64_t kBulkBytes = 16; // a multiple of it, and aligned to it
  return side.plan->region != TokenRegion::Recent &&
         side.rows.stride == side.plan->rowBytes &&
         llvm::all_of(getCopiedScales(side), [&](const ComponentRows *rows) {
           return rows->stride == rows->rowBytes &&
                  rows->copyBytes == kBulkBytes &&
                  getBytes(plan, side, *rows) % kBulkBytes == 0;
         });
}

bool BlockEmitter::areStepsTogether() const {
  return areTogether(plan, key) && areTogether(plan, value);
}

/// One lane does what `emit` emits.
void BlockEmitter::emitByOneLane(llvm::function_ref<void()> emit) {
  w.buildIf(w.electLane(), {}, [&]() -> SmallVector<Value> {
    emit();
    return {};
  });
}

void BlockEmitter::copyStepInBulk(const SideRows &side, const Step &step,
                                  Value slot) {
  SlotLayout layout = plan.getSlotLayout(*side.plan);
  Value first = locateStep(side, step, side.rows);
  int64_t barrier = plan.getBarrierOffset();
  int64_t bytes = plan.stepTokens * side.plan->rowBytes;
  SmallVector<const ComponentRows *> scales = getCopiedScales(side);
  SmallVector<Value> firstScales;
  for (const ComponentRows *rows : scales) {
    bytes += getBytes(plan, side, *rows);
    firstScales.push_back(locateStep(side, step, *rows));
  }
  Value address = w.add(warpSlots, slot);
  emitByOneLane([&] {
    w.arriveExpecting(address, barrier, bytes);
    for (auto [rows, from] : llvm::zip_equal(scales, firstScales))
      w.copyInBulk(address, rows->slotPlace, from, 0,
                   getBytes(plan, side, *rows), barrier);
    for (int64_t run = 0; run != layout.getRuns(); ++run)
      w.copyInBulk(address, layout.getPlace(run), first, run * layout.runBytes,
                   layout.runBytes, barrier);
  });
}

void BlockEmitter::awaitBulkCopies(const SideRows &side, Value slot) {
  w.awaitPhase(w.add(warpSlots, slot), plan.getBarrierOffset(),
               side.plan->isKey ? kKeyParity : kValueParity);
}

/// After steps that lanes have copied: what these have written is there before
/// bulk copies write, and counts as if such had brought it.
void BlockEmitter::beginBulkCopies(const WarpState &state) {
  int64_t barrier = plan.getBarrierOffset();
  w.waitForCopies(0);
  w.fenceForBulkCopies();
  w.syncWarp();
  emitByOneLane([&] {
    for (Value slot : state.slots)
      w.initBarrier(w.add(warpSlots, slot), barrier);
    // Values are in phases of the second parity.
    for (int64_t step = 0; step != plan.depth; ++step) {
      Value ofKeys = w.add(warpSlots, state.slots[2 * step]);
      Value ofValues = w.add(warpSlots, state.slots[2 * step + 1]);
      w.arrive(ofKeys, barrier);
      w.arrive(ofValues, barrier);
      w.arrive(ofValues, barrier);
    }
    w.fenceForBulkCopies();
  });
  w.syncWarp();
}

/// Before steps that lanes copy: the keys and values of the next steps are
/// there, and mbarriers are memory again.
void BlockEmitter::endBulkCopies(const WarpState &state) {
  for (int64_t step = 0; step != plan.depth; ++step) {
    awaitBulkCopies(key, state.slots[2 * step]);
    awaitBulkCopies(value, state.slots[2 * step + 1]);
  }
  w.syncWarp();
  emitByOneLane([&] {
    for (Value slot : state.slots)
      w.invalidateBarrier(w.add(warpSlots, slot), plan.getBarrierOffset());
  });
  w.syncWarp();
}
