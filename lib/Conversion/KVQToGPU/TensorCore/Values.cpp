//===- Values.cpp - Probabilities times values ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragments have channels as rows and tokens as columns: a pair of f16 is of
// two tokens. Rows are loaded as transposed matrices of half words, so that a
// word has the same bytes of two tokens, and is unpacked as one of keys.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

/// Scaled probabilities of 16 tokens as columns of a product.
BlockEmitter::Weights BlockEmitter::transposeColumns(Weights weights) {
  for (FragmentB &part : weights)
    for (Value &pair : part)
      pair = w.transpose(pair);
  return weights;
}

/// The words of rows 2t and 2t + 1 of each half of a fragment. With `part`
/// those of other tokens are zeros.
std::array<Words, 2> BlockEmitter::loadValueWords(Value slot, int64_t fragment,
                                                  const ProductPart *part) {
  if (plan.value.hasFragments())
    return loadFragment(slot, fragment);
  std::array<Words, 2> words = loadMatrices(value, slot, fragment);
  if (!part)
    return words;
  for (auto [h, ofHalf] : llvm::enumerate(words)) {
    Value mask = w.i32(0);
    for (int64_t e = 0; e != 2; ++e) {
      Value row = w.add(w.mul(laneColumn, 2), e);
      Value token = w.add(w.mul(row, plan.getLaneTokens()),
                          plan.getTokenOffset(2 * fragment + h));
      token = w.add(part->stepBegin, token);
      Value kept = w.select(sees(part->tokens, token), w.i32(0xffff << 16 * e),
                            w.i32(0));
      if (part->maskRow)
        kept =
            w.select(hides(loadMaskAt(part->maskRow, token)), w.i32(0), kept);
      mask = w.add(mask, kept);
    }
    for (Value &word : ofHalf)
      word = w.bitAnd(word, mask);
  }
  return words;
}

/// The same of a fragment that lies as lanes load it.
std::array<Words, 2> BlockEmitter::loadFragment(Value slot, int64_t fragment) {
  int64_t loadBytes = plan.value.loadBytes, allBytes = 32 * loadBytes;
  int64_t bytes = plan.value.getFragmentBytes();
  Value address = getSlotAddress(slot, value.loadPlace);
  std::array<Words, 2> words;
  for (int64_t offset = 0; offset != bytes; offset += allBytes)
    for (auto [i, word] : llvm::enumerate(
             w.loadShared(address, fragment * bytes + offset, loadBytes)))
      words[i % 2].push_back(word);
  return words;
}

/// Channels of values as rows of products of 16 tokens.
FragmentA BlockEmitter::unpackValues(const std::array<Words, 2> &words,
                                     const ValueStep &step) {
  const StoredElement &element = plan.value.element;
  FragmentA a;
  for (int64_t h = 0; h != 2; ++h) {
    Value word = words[h][step.word];
    // Floats of 8 bits are converted as neighbours.
    if (element.getPairBytes(0)[1] == 1)
      word = w.permuteBytes(word, word, 0x3120);
    auto [even, odd] = unpackPlane(element, word, step.plane);
    if (element.isExact())
      odd = unpackPlane(element, words[h][step.word + 1], 0)[0];
    a[2 * h] = even;
    a[2 * h + 1] = odd;
  }
  return a;
}

/// `yes` in the columns of tile `tile` that `part` is of, `no` in others.
FragmentC BlockEmitter::selectColumns(const ProductPart *part, int64_t tile,
                                      const FragmentC &yes,
                                      const FragmentC &no) {
  FragmentC selected = yes;
  if (part)
    for (auto [i, element] : llvm::enumerate(selected))
      element = w.select(part->columns[tile][i % 2], element, no[i]);
  return selected;
}

/// Scaled probabilities of a fragment, for each group.
SmallVector<BlockEmitter::Weights>
BlockEmitter::getWeights(const WarpState &state, const ScaledProbabilities &of,
                         int64_t fragment) {
  SmallVector<Weights> weights;
  if (of.areScaled) {
    for (ArrayRef<Weights> ofGroup : of.groups)
      weights.push_back(ofGroup[fragment]);
    return weights;
  }
  TokenScales scales =
      loadCopiedScales(value, w.conceal(state.getValueSlot()), fragment);
  for (int64_t group = 0; group != plan.value.groups; ++group)
    weights.push_back(
        scalePairs(of.groups.front()[fragment], scales.scales, 0, group));
  return weights;
}

/// Adds the products of a step. With `part` those are of some columns, and what
/// other tokens hold counts as zeros.
void BlockEmitter::emitValues(WarpState &state,
                              ArrayRef<ScaledProbabilities> probabilities,
                              const ProductPart *part) {
  if (plan.value.multipliesFP8)
    return emitFP8Values(state, probabilities, part);
  int64_t fragments = probabilities.front().getFragments();
  SmallVector<FragmentA> offsets = loadValueOffsets();
  const ScaledProbabilities &first = probabilities.front();
  bool multipliesZeros = multipliesValueZeros() && !first.areScaled;
  Value zero = w.f32(0);
  FragmentC none = {zero, zero, zero, zero};
  std::array<FragmentC, 2> zeroProducts = {none, none};
  for (int64_t fragment = 0; fragment != fragments; ++fragment) {
    // Probabilities have tokens as rows, and columns of a product need them as
    // rows of a pair each.
    SmallVector<SmallVector<SmallVector<FragmentB, 2>>> columns;
    for (auto [ofTile, tile] : llvm::zip_equal(probabilities, state.tiles)) {
      auto &ofGroups = columns.emplace_back();
      for (const Weights &weights : getWeights(state, ofTile, fragment))
        ofGroups.push_back(transposeColumns(weights));
      for (auto [group, of] : llvm::enumerate(offsets)) {
        FragmentC &sums = tile.rounded[getSumsOf(group)];
        FragmentB weights = ofGroups[group].front();
        // Of scales that are still to come this has been done.
        if (plan.sumsGroupsInRows() && ofTile.areScaled)
          for (Value &pair : weights)
            pair = w.select(w.areFinite(pair), pair, w.half2(0));
        sums = w.multiply(of, weights, sums);
      }
    }
    std::array<Words, 2> words =
        loadValueWords(state.getValueSlot(), fragment, part);
    for (auto [i, step] : llvm::enumerate(plan.valueSteps)) {
      FragmentA a = unpackValues(words, step);
      // Exact values have no scales, and codes one for each group.
      for (auto [t, ofGroups] : llvm::enumerate(columns)) {
        FragmentC &acc = state.tiles[t].acc[i], sum = acc;
        for (const FragmentB &column : ofGroups[step.group])
          sum = w.multiply(a, column, sum);
        acc = selectColumns(part, t, sum, acc);
      }
    }
    if (multipliesZeros)
      multiplyValueZeros(zeroProducts, first.groups.front()[fragment],
                         state.getValueSlot(), fragment);
  }
  if (multipliesZeros)
    addZeroProducts(state.tiles.front(), zeroProducts);
}

/// The same in a step that rows may see different tokens of. A NaN or an
/// infinity times a probability of 0 is a NaN. So, where values can be such,
/// the products for each query token are taken by themselves, with zeros for
/// what it does not see; but at once where all of the tile see the same of the
/// step.
void BlockEmitter::emitPartialValues(
    WarpState &state, const Step &step,
    ArrayRef<ScaledProbabilities> probabilities) {
  if (op.getMask())
    return emitMaskedValues(state, step, probabilities);
  if (!rowsDiffer() || plan.value.element.kind == StoredElement::Kind::Integer)
    return emitValues(state, probabilities);
  int64_t queryTokens = op.getQueryTokens();
  Value stepEnd = w.add(step.begin, plan.stepTokens);
  auto hasNone = [&](Value first, Value last) {
    return w.compare(arith::CmpIPredicate::sge, w.max(step.begin, first),
                     w.min(stepEnd, last));
  };
  Value isSame = w.bothTrue(hasNone(some.begin, common.begin),
                            hasNone(common.end, some.end));
  int64_t tileRows = plan.columnTiles * kFragmentRows;
  Value tokens = w.i32(std::min(queryTokens, tileRows));
  WarpState after = state;
  after.unpack(w.buildFor(
      w.i32(0), w.select(isSame, w.i32(1), tokens), w.i32(1), state.pack(),
      [&](Value number, ValueRange carried) {
        WarpState inside = state;
        inside.unpack(carried);
        Value row = w.add(tiles.front().firstRow, number);
        Value ofToken = w.add(position, w.remUnsigned(row, queryTokens));
        ProductPart part = {step.begin, getVisible(ofToken), {}, {}};
        for (const ColumnTile &tile : tiles) {
          PerColumn &areIn = part.columns.emplace_back();
          for (auto [of, isIn] : llvm::zip_equal(tile.positions, areIn))
            isIn = w.eitherTrue(
                isSame, w.compare(arith::CmpIPredicate::eq, of, ofToken));
        }
        emitValues(inside, probabilities, &part);
        return inside.pack();
      }));
  state = after;
}

/// Planes of codes that have sums of offsets of their own, which is what rows
/// of a fragment have room for.
static constexpr int64_t kSummedPlanes = 2;

/// Tensor cores round sums toward zero, which adds up over a long context. So
/// what is taken off is summed as the accumulators are, of numbers of about
/// their size and as many digits, to lose as much on the way.
double BlockEmitter::getSummedOffset(const StoredElement &element,
                                     int64_t plane) {
  // An odd number has as many digits as codes in their place.
  return 2 * std::floor(getOffset(element, plane) / 2) + 1;
}

/// Operands whose products with scaled probabilities are their sums times what
/// codes are off by: rows are of the first plane, or of the second.
FragmentA BlockEmitter::buildValueOffsets() {
  const StoredElement &element = plan.value.element;
  int64_t second = std::min(element.getPlanes(), kSummedPlanes) - 1;
  Value ofFirst = w.half2(getSummedOffset(element, 0));
  Value ofSecond = w.half2(getSummedOffset(element, second));
  return {ofFirst, ofSecond, ofFirst, ofSecond};
}

/// Those of each group, of which all but one row of each half are zeros.
void BlockEmitter::storeValueOffsets() {
  // All groups load the same rows, each from another one on.
  int64_t last = plan.value.groups - 1;
  for (int64_t first : {int64_t(0), last}) {
    // Some rows are stored twice, by other lanes.
    w.syncWarp();
    Value isRow =
        w.compare(arith::CmpIPredicate::eq, laneRow, w.i32(last - first));
    FragmentA offsets = buildValueOffsets();
    for (Value &pair : offsets)
      pair = w.select(isRow, pair, w.half2(0));
    storeQuad(plan.getValueOffsetPlace(first), offsets);
  }
}

/// Of each group with offsets.
SmallVector<FragmentA> BlockEmitter::loadValueOffsets() {
  if (getOffset(plan.value.element, 0) == 0)
    return {};
  if (!plan.sumsGroupsInRows())
    return SmallVector<FragmentA>(plan.value.groups, buildValueOffsets());
  SmallVector<FragmentA> offsets;
  for (int64_t group = 0; group != plan.value.groups; ++group)
    offsets.push_back(
        loadPairs(plan.getValueOffsetPlace(plan.value.groups - 1 - group)));
  return offsets;
}

/// The accumulator with a group's sums.
int64_t BlockEmitter::getSumsOf(int64_t group) {
  return plan.sumsGroupsInRows() ? 0 : group;
}

/// The sums of a group's plane, of the lane's columns.
PerColumn BlockEmitter::getRoundedSums(const ColumnState &state, int64_t group,
                                       int64_t plane) {
  PerColumn sums;
  for (int64_t column = 0; column != 2; ++column) {
    sums[column] = state.rounded[getSumsOf(group)][2 * plane + column];
    if (plan.sumsGroupsInRows())
      sums[column] = w.shuffleFrom(sums[column], w.add(laneColumn, 4 * group));
  }
  return sums;
}

/// Takes what codes are off by off the accumulators, before it grows so that
/// taking it off is inexact.
void BlockEmitter::takeOffsetsOff(WarpState &state) {
  const StoredElement &element = plan.value.element;
  for (ColumnState &tile : state.tiles) {
    if (tile.rounded.empty() || plan.value.multipliesFP8)
      continue;
    SmallVector<std::array<PerColumn, kSummedPlanes>> totals;
    for (int64_t group = 0; group != plan.value.groups; ++group)
      totals.push_back(
          {getRoundedSums(tile, group, 0), getRoundedSums(tile, group, 1)});
    for (auto [step, acc] : llvm::zip_equal(plan.valueSteps, tile.acc)) {
      int64_t summed = std::min(step.plane, kSummedPlanes - 1);
      // Times a power of two, which is exact, and a number close to 1, in a way
      // that errs to both sides.
      double power = std::exp2(-double((step.plane - summed) * element.bits));
      double ratio = getOffset(element, step.plane) /
                     (power * getSummedOffset(element, summed));
      for (auto [i, sum] : llvm::enumerate(acc)) {
        Value total = totals[step.group][summed][i % 2];
        Value offset = w.fma(w.f32(ratio - 1), total, total);
        sum = w.fma(w.f32(-power), offset, sum);
      }
    }
    if (multipliesValueZeros())
      addCenter(tile);
    for (FragmentC &sums : tile.rounded)
      sums.fill(w.f32(0));
  }
}
