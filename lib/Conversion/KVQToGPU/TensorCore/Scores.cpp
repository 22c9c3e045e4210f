//===- Scores.cpp - Query times keys --------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

/// The token of the lane's rows, as an absolute one.
Value BlockEmitter::getToken(Value stepBegin, int64_t laneToken) {
  Value first = w.add(stepBegin, w.mul(laneRow, plan.getLaneTokens()));
  return w.add(first, plan.getTokenOffset(laneToken));
}

/// Whether variants make other scores of sums of products and biases.
bool BlockEmitter::changesScores() {
  return op.getSoftcap() || op.getSlopes() || op.getMask();
}

/// What variants make of a score, before the mask and the shift.
Value BlockEmitter::applyVariants(const ColumnTile &tile, Value score,
                                  int64_t token, int64_t column,
                                  Value stepBegin) {
  if (std::optional<APFloat> cap = op.getSoftcap()) {
    // Scores are of base 2.
    double limit = cap->convertToFloat() * llvm::numbers::log2e;
    score =
        math::TanhOp::create(w.builder, w.loc, w.fmul(score, w.f32(1 / limit)));
    score = w.fmul(score, w.f32(limit));
  }
  if (Value slope = tile.slopes[column]) {
    Value distance = w.sub(getToken(stepBegin, token), tile.positions[column]);
    distance = arith::SIToFPOp::create(w.builder, w.loc, w.builder.getF32Type(),
                                       distance);
    score = w.fma(slope, distance, score);
  }
  return score;
}

/// The words of rows g and g + 8 of a fragment.
std::array<Words, 2> BlockEmitter::loadKeyWords(Value slot, int64_t fragment) {
  if (plan.key.loadsMatrices())
    return loadMatrices(key, slot, fragment);
  std::array<Words, 2> words;
  for (int64_t h = 0; h != 2; ++h)
    for (int64_t load = 0; load != plan.key.getRowLoads(); ++load) {
      auto [address, offset] =
          getLoadAddress(key, slot, 2 * fragment + h, load);
      llvm::append_range(words[h],
                         w.loadShared(address, offset, plan.key.loadBytes));
    }
  return words;
}

/// Queries times the codes of 16 tokens, of each query for each group.
SmallVector<SmallVector<FragmentC>>
BlockEmitter::emitDots(Value slot, ArrayRef<QueryColumns> queries,
                       int64_t fragment) {
  std::array<Words, 2> words = loadKeyWords(slot, fragment);
  SmallVector<SmallVector<FragmentC>> dots;
  for (const QueryColumns &query : queries)
    dots.push_back(query.scoreInits);
  if (plan.key.multipliesFP8) {
    addFP8Dots(words, queries, dots);
    return dots;
  }
  for (auto [i, step] : llvm::enumerate(plan.keySteps)) {
    FragmentA a;
    for (int64_t h = 0; h != 2; ++h) {
      auto [first, second] =
          unpackPlane(plan.key.element, words[h][step.word], step.plane);
      if (plan.key.element.isExact())
        second = unpackPlane(plan.key.element, words[h][step.word + 1], 0)[0];
      a[h] = first;
      a[h + 2] = second;
    }
    for (auto [query, ofGroups] : llvm::zip_equal(queries, dots))
      for (const FragmentB &part : query.fragments[i])
        ofGroups[step.group] = w.multiply(a, part, ofGroups[step.group]);
  }
  for (SmallVector<FragmentC> &ofGroups : dots)
    for (FragmentC &ofGroup : ofGroups)
      for (Value &dot : ofGroup)
        dot = exposeNaN(plan.key.element, dot);
  return dots;
}

/// The scores of 16 tokens, shifted unless there is a mask. `of` are the scales
/// of the lane's two.
FragmentC BlockEmitter::finishScores(const ColumnTile &tile,
                                     const PerColumn &shift,
                                     const QueryColumns &columns,
                                     ArrayRef<FragmentC> dots,
                                     const TokenScales &of, Value stepBegin,
                                     int64_t fragment) {
  if (columns.beginsWithShift)
    return dots.front();
  FragmentC finished, zeroDots;
  if (!of.zeroPairs.empty())
    zeroDots = multiplyKeyZeros(of.zeroPairs, columns);
  for (int64_t i = 0; i != 4; ++i) {
    int64_t h = i / 2, column = i % 2;
    // Products are added to the shift where nothing comes between.
    bool isPlain = !changesScores();
    Value score = isPlain ? shift[column] : Value();
    if (Value bias = tile.biases[column])
      score = score ? w.fadd(score, bias) : bias;
    // What all tokens of the step have in common is added once.
    if (isPlain && columns.zeros[column])
      score = w.fadd(score, columns.zeros[column]);
    auto accumulate = [&](Value lhs, Value rhs) {
      score = score ? w.fma(lhs, rhs, score) : w.fmul(lhs, rhs);
    };
    Value unit = columns.unit[column];
    auto inUnits = [&](Value dot) { return unit ? w.fmul(dot, unit) : dot; };
    if (of.scales.empty()) {
      accumulate(dots.front()[i], unit ? unit : w.f32(1));
    } else if (unit && dots.size() > 1) {
      Value sum = w.f32(0);
      for (auto [scale, dot] : llvm::zip_equal(of.scales[h], dots))
        sum = w.fma(dot[i], w.extend(scale), sum);
      accumulate(sum, unit);
    } else {
      for (auto [scale, dot] : llvm::zip_equal(of.scales[h], dots))
        accumulate(inUnits(dot[i]), w.extend(scale));
    }
    if (!of.zeros.empty())
      for (auto [zero, sum] : llvm::zip_equal(of.zeros[h], columns.sums))
        accumulate(zero, inUnits(sum[column]));
    if (zeroDots[i])
      accumulate(inUnits(zeroDots[i]), w.f32(getZeroFactor()));
    if (!isPlain && columns.zeros[column])
      score = w.fadd(score, columns.zeros[column]);
    if (!isPlain)
      score = applyVariants(tile, score, 2 * fragment + h, column, stepBegin);
    if (!isPlain && !op.getMask())
      score = w.fadd(score, shift[column]);
    finished[i] = score;
  }
  return finished;
}

/// The queries of all tiles for a span of a step.
SmallVector<QueryColumns, 1> BlockEmitter::getQueries(const WarpState &state,
                                                      const Step &step,
                                                      int64_t span) {
  // Between fragments of a partial step the shift is replaced.
  bool beginsWithShift = step.kind == StepKind::Whole && !changesScores();
  SmallVector<QueryColumns, 1> queries;
  for (auto [i, tile, of] : llvm::enumerate(tiles, state.tiles)) {
    PerColumn first = of.shift;
    for (auto [shift, bias] : llvm::zip_equal(first, tile.biases))
      if (bias)
        shift = w.fadd(shift, bias);
    if (plan.scalesQueryInPairs())
      queries.push_back(scaleQueryPairs(state, step, span,
                                        beginsWithShift ? &first : nullptr));
    else if (plan.key.foldsIntoQuery())
      queries.push_back(buildQuery(tile.firstRow, &step));
    else
      queries.push_back(tile.query);
    if (plan.loadsQuery()) {
      loadTileInits(queries.back(), i);
      loadTileQuery(queries.back(), i, 0);
    }
  }
  return queries;
}

/// Adds the scores of a fragment, as above, to those of each tile. `loadScales`
/// gives the scales of the lane's two tokens.
void BlockEmitter::addScores(SmallVectorImpl<Scores> &scores,
                             const WarpState &state, const Step &step,
                             ArrayRef<QueryColumns> queries,
                             llvm::function_ref<TokenScales()> loadScales,
                             int64_t fragment) {
  auto dots = emitDots(state.getKeySlot(), queries, fragment);
  TokenScales of = loadScales();
  for (auto [i, tile] : llvm::enumerate(tiles))
    scores[i].push_back(finishScores(tile, state.tiles[i].shift, queries[i],
                                     dots[i], of, step.begin, fragment));
}

/// Before a fragment of keys in groups: loads of it, and of what is the same in
/// all fragments, are not to be moved ahead of the one before. Where is what
/// leaves the assembler 168 registers and costs least. Codes of 8 bits take
/// more: half of the query is loaded again.
void BlockEmitter::limitLoads(int64_t fragment,
                              MutableArrayRef<QueryColumns> queries) {
  bool isWide = plan.key.element.bits == 8;
  if (fragment == 0 || (isWide && 2 * fragment != plan.getFragments()))
    return;
  w.syncWarp();
  if (!isWide)
    return;
  for (auto [i, query] : llvm::enumerate(queries))
    loadTileQuery(query, i, query.fragments.size() / 4);
}

/// The scores of a whole step, of each tile; shifted unless there is a mask.
SmallVector<BlockEmitter::Scores>
BlockEmitter::emitScores(const WarpState &state, const Step &step) {
  TokenScales whole = loadScales(key, step);
  auto getTokens = [&](const PerToken &all, int64_t fragment) {
    return all.empty() ? all
                       : PerToken({all[2 * fragment], all[2 * fragment + 1]});
  };
  bool isCopied = plan.key.copiesScales && plan.key.hasTokenScales();
  auto getScales = [&](int64_t fragment) -> TokenScales {
    if (isCopied)
      return loadCopiedScales(key, state.getKeySlot(), fragment);
    return {getTokens(whole.scales, fragment),
            getTokens(whole.zeros, fragment),
            {}};
  };
  SmallVector<MaskElements> mask;
  if (op.getMask())
    mask = loadMask(step);
  // Ahead of all products where these would wait for scales from memory.
  SmallVector<SmallVector<QueryColumns, 1>, 0> ahead;
  if (!plan.key.copiesScales)
    for (int64_t span = 0; span != plan.getSpans(); ++span)
      ahead.push_back(getQueries(state, step, span));
  SmallVector<Scores> scores(tiles.size());
  SmallVector<QueryColumns, 1> queries;
  for (int64_t fragment = 0; fragment != plan.getFragments(); ++fragment) {
    bool isFirst = fragment % plan.getSpanFragments() == 0;
    int64_t span = fragment / plan.getSpanFragments();
    // No loads for the next query before the products with this one: both would
    // be in registers.
    if (isFirst && span != 0 && ahead.empty())
      w.syncWarp();
    if (isFirst)
      queries = ahead.empty() ? getQueries(state, step, span) : ahead[span];
    if (plan.loadsQuery())
      limitLoads(fragment, queries);
    addScores(
        scores, state, step, queries, [&] { return getScales(fragment); },
        fragment);
  }
  for (auto [of, elements] : llvm::zip(scores, mask))
    applyMask(of, elements);
  return scores;
}

/// Makes the scores of hidden tokens such that they do not count.
void BlockEmitter::hideScores(const ColumnTile &tile, Scores &scores,
                              Value stepBegin) {
  for (auto [fragment, of] : llvm::enumerate(scores))
    for (auto [i, score] : llvm::enumerate(of)) {
      Value token = getToken(stepBegin, 2 * fragment + i / 2);
      score = w.select(sees(tile.visible[i % 2], token), score,
                       w.f32(getHiddenScore()));
    }
}
