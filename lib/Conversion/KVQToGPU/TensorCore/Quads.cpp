//===- Quads.cpp - Operands that lanes load anew --------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is the same in all steps but needed for a short while in each would be
// in registers all the time. Constants, too: an operand is four registers that
// follow each other, which would be moved there again and again. So it lies in
// the block's memory, 16 bytes of each lane, as a lane loads at once.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

/// Of pairs or f32s.
void BlockEmitter::storeQuad(int64_t quad, const std::array<Value, 4> &of) {
  Words words;
  for (Value value : of)
    words.push_back(w.toWord(value));
  w.storeShared(words, w.add(ring, laneBytes), plan.getQuadPlace(quad));
}

std::array<Value, 4> BlockEmitter::loadQuad(int64_t quad, Type type) {
  Words words =
      w.loadShared(w.add(ring, laneBytes), plan.getQuadPlace(quad), 16);
  std::array<Value, 4> of;
  for (auto [value, word] : llvm::zip_equal(of, words))
    value = w.bitcast(word, type);
  return of;
}

FragmentA BlockEmitter::loadPairs(int64_t quad) {
  return loadQuad(quad, VectorType::get({2}, w.builder.getF16Type()));
}

/// Where what scores begin with is of a tile.
int64_t BlockEmitter::getScoreQuad(int64_t tile) {
  return plan.getQueryQuads() + plan.getKeyOffsetQuads() +
         plan.getValueOffsetQuads() + tile * plan.key.groups;
}

void BlockEmitter::storeScoreInits() {
  for (auto [i, tile] : llvm::enumerate(tiles))
    for (auto [group, init] : llvm::enumerate(tile.query.scoreInits))
      storeQuad(getScoreQuad(i) + group, init);
}

SmallVector<FragmentC> BlockEmitter::loadScoreInits(int64_t tile) {
  SmallVector<FragmentC> inits;
  for (int64_t group = 0; group != plan.key.groups; ++group)
    inits.push_back(
        loadQuad(getScoreQuad(tile) + group, w.builder.getF32Type()));
  return inits;
}

/// Those of the query's rows from `firstRow` on: all warps load what one of
/// them stores.
void BlockEmitter::storeQuads(Value firstRow) {
  if (plan.getQuads() == 0)
    return;
  Value isFirstWarp = w.compare(arith::CmpIPredicate::eq, warp, w.i32(0));
  w.buildIf(isFirstWarp, {}, [&]() -> SmallVector<Value> {
    if (plan.scalesQueryInPairs()) {
      storeQueryPairs(firstRow);
      storeKeyOffsets();
    }
    if (plan.sumsGroupsInRows())
      storeValueOffsets();
    if (plan.getScoreQuads() != 0)
      storeScoreInits();
    return {};
  });
  w.syncBlock();
}
