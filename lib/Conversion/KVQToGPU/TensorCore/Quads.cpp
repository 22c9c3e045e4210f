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

/// Of pairs or f32s. `place` is lane 0's.
void BlockEmitter::storeQuad(int64_t place, const std::array<Value, 4> &of) {
  Words words;
  for (Value value : of)
    words.push_back(w.toWord(value));
  w.storeShared(words, w.add(ring, laneBytes), place);
}

std::array<Value, 4> BlockEmitter::loadQuad(int64_t place, Type type) {
  Words words = w.loadShared(w.add(ring, laneBytes), place, kLaneQuadBytes);
  std::array<Value, 4> of;
  for (auto [value, word] : llvm::zip_equal(of, words))
    value = w.bitcast(word, type);
  return of;
}

FragmentA BlockEmitter::loadPairs(int64_t place) {
  return loadQuad(place, VectorType::get({2}, w.builder.getF16Type()));
}

void BlockEmitter::storeTileQuads() {
  for (auto [i, tile] : llvm::enumerate(tiles)) {
    int64_t quad = 0;
    auto store = [&, place = i](const std::array<Value, 4> &of) {
      storeQuad(plan.getTileQuadPlace(place, quad++), of);
    };
    for (const FragmentC &init : tile.query.scoreInits)
      store(init);
    const auto &fragments = tile.query.fragments;
    for (size_t step = 0; step < fragments.size(); step += 2) {
      const FragmentB &first = fragments[step].front();
      const FragmentB &second =
          fragments[std::min(step + 1, fragments.size() - 1)].front();
      store({first[0], first[1], second[0], second[1]});
    }
  }
}

/// What the scores of a tile begin with.
void BlockEmitter::loadTileInits(QueryColumns &query, int64_t tile) {
  for (auto [quad, init] : llvm::enumerate(query.scoreInits))
    init = loadQuad(plan.getTileQuadPlace(tile, quad), w.builder.getF32Type());
}

/// The query of a tile from a pair of steps on, but for what is in registers.
void BlockEmitter::loadTileQuery(QueryColumns &query, int64_t tile,
                                 size_t firstPair) {
  size_t quad = query.scoreInits.size();
  for (size_t pair = firstPair; 2 * pair < query.fragments.size(); ++pair) {
    FragmentA both = loadPairs(plan.getTileQuadPlace(tile, quad + pair));
    query.fragments[2 * pair].front() = {both[0], both[1]};
    if (2 * pair + 1 != query.fragments.size())
      query.fragments[2 * pair + 1].front() = {both[2], both[3]};
  }
}

/// Those of the query's rows from `firstRow` on: all warps load what one of
/// them stores.
void BlockEmitter::storeQuads(Value firstRow) {
  if (!plan.hasQuads())
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
}
