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

/// The first quad of a tile.
int64_t BlockEmitter::getTileQuad(int64_t tile) {
  return plan.getQueryQuads() + plan.getKeyOffsetQuads() +
         plan.getValueOffsetQuads() + tile * plan.getTileQuads();
}

void BlockEmitter::storeTileQuads() {
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    int64_t quad = getTileQuad(i);
    for (const FragmentC &init : tile.query.scoreInits)
      storeQuad(quad++, init);
    const auto &fragments = tile.query.fragments;
    for (size_t step = 0; step < fragments.size(); step += 2) {
      const FragmentB &first = fragments[step].front();
      const FragmentB &second =
          fragments[std::min(step + 1, fragments.size() - 1)].front();
      storeQuad(quad++, {first[0], first[1], second[0], second[1]});
    }
  }
}

/// The query of a tile, but for what is in registers.
void BlockEmitter::loadTileQuads(QueryColumns &query, int64_t tile) {
  int64_t quad = getTileQuad(tile);
  for (FragmentC &init : query.scoreInits)
    init = loadQuad(quad++, w.builder.getF32Type());
  for (size_t step = 0; step < query.fragments.size(); step += 2) {
    FragmentA both = loadPairs(quad++);
    query.fragments[step].front() = {both[0], both[1]};
    if (step + 1 != query.fragments.size())
      query.fragments[step + 1].front() = {both[2], both[3]};
  }
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
    if (plan.loadsQuery())
      storeTileQuads();
    return {};
  });
  w.syncBlock();
}
