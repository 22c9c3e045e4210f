//===- FP8Products.cpp - Products of floats of 8 bits ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes of f8E4M3FN and f8E5M2 are operands as they are stored, four in a word,
// 32 along a product. The query and the probabilities are rounded to f8E4M3FN.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

using namespace mlir;
using namespace mlir::kvq;

/// The largest f8E4M3FN.
static constexpr double kMax = 448;
/// Query rows whose elements are all less count as that.
static constexpr double kLeast = 0x1p-100;

static bool isE5M2(const SidePlan &side) {
  return side.element.kind == StoredElement::Kind::E5M2;
}

/// The rows, each relative to its largest element.
void BlockEmitter::roundQueryToFP8(QueryColumns &columns,
                                   ArrayRef<std::array<Value, 4>> elements) {
  Value largest = w.f32(kLeast);
  for (const std::array<Value, 4> &of : elements)
    for (Value element : of)
      largest = w.fmax(largest, w.fabs(element));
  largest = w.reduceQuad(largest, &WarpBuilder::fmax);
  Value unit = w.fmul(largest, w.f32(1 / kMax));
  Value inverse = w.exp2(w.fneg(w.log2(unit)));
  for (const std::array<Value, 4> &of : elements) {
    std::array<Value, 4> scaled;
    for (auto [result, element] : llvm::zip_equal(scaled, of))
      result = w.fmul(element, inverse);
    columns.words.push_back(w.packE4M3(scaled));
  }
  for (auto [column, of] : llvm::enumerate(columns.unit))
    of = getOfColumn(unit, column);
}

/// Adds the products with the codes of 16 tokens, whose rows g and g + 8 have
/// these words.
void BlockEmitter::addFP8Dots(const std::array<Words, 2> &words,
                              ArrayRef<QueryColumns> queries,
                              MutableArrayRef<SmallVector<FragmentC>> dots) {
  for (size_t i = 0; i != plan.keySteps.size(); ++i) {
    const KeyStep &first = plan.keySteps[i];
    // Two steps of a group are one product.
    bool isPair = i + 1 != plan.keySteps.size() &&
                  plan.keySteps[i + 1].group == first.group;
    Value none = w.i32(0);
    FragmentA a;
    for (int64_t h = 0; h != 2; ++h) {
      a[h] = words[h][first.word];
      a[h + 2] = isPair ? words[h][plan.keySteps[i + 1].word] : none;
    }
    for (auto [query, ofGroups] : llvm::zip_equal(queries, dots)) {
      FragmentB b = {query.words[i], isPair ? query.words[i + 1] : none};
      FragmentC &dot = ofGroups[first.group];
      dot = w.multiplyFP8(a, isE5M2(plan.key), b, dot);
    }
    i += isPair;
  }
}

/// The bytes of four tokens of a channel of each, for the two channels of half
/// a word.
static std::array<Value, 2> gatherBytes(WarpBuilder &w,
                                        const std::array<Words, 2> &words,
                                        const ValueStep &step) {
  Value first = words[0][step.word], second = words[1][step.word];
  return {w.permuteBytes(first, second, 0x6240),
          w.permuteBytes(first, second, 0x7351)};
}

/// Two fragments are one product. A lane's tokens of a fragment are rows 2t and
/// 2t + 1 of each half, in the order (2t, 0), (2t, 1), (2t + 1, 0), (2t + 1,
/// 1): that in which a transposition of 16-bit pairs leaves probabilities.
void BlockEmitter::emitFP8Values(WarpState &state,
                                 ArrayRef<ScaledProbabilities> probabilities,
                                 const ProductPart *part) {
  Value none = w.i32(0);
  auto transpose = [&](const Weights &weights) {
    return w.toWord(w.transpose(w.toHalf2(weights.front().front())));
  };
  int64_t fragments = probabilities.front().getFragments();
  for (int64_t first = 0; first < fragments; first += 2) {
    bool isPair = first + 1 != fragments;
    SmallVector<std::array<Words, 2>> words;
    for (int64_t fragment = first; fragment <= first + isPair; ++fragment)
      words.push_back(loadValueWords(state.getValueSlot(), fragment, part));
    SmallVector<SmallVector<FragmentB>> columns; // of each tile and group
    for (auto [t, ofTile] : llvm::enumerate(probabilities)) {
      auto &ofGroups = columns.emplace_back();
      for (auto [p, rounded] :
           llvm::zip_equal(ofTile.groups, state.tiles[t].rounded)) {
        FragmentB b = {transpose(p[first]),
                       isPair ? transpose(p[first + 1]) : none};
        // Every row of a product with ones is the sum.
        rounded = selectColumns(
            part, t, w.multiplyFP8(w.onesOfFP8(), /*isE5M2=*/false, b, rounded),
            rounded);
        ofGroups.push_back(b);
      }
    }
    for (auto [i, step] : llvm::enumerate(plan.valueSteps)) {
      FragmentA a = {none, none, none, none};
      for (auto [half, of] : llvm::enumerate(words)) {
        auto [even, odd] = gatherBytes(w, of, step);
        a[2 * half] = even;
        a[2 * half + 1] = odd;
      }
      for (auto [t, ofGroups] : llvm::enumerate(columns)) {
        FragmentC &acc = state.tiles[t].acc[i];
        acc = selectColumns(
            part, t,
            w.multiplyFP8(a, isE5M2(plan.value), ofGroups[step.group], acc),
            acc);
      }
    }
  }
}

/// What a column's sums are multiplied by, so that their weights add up to what
/// the probabilities did before they were rounded: many equal ones are all
/// rounded the same way, and small ones to 0.
PerColumn BlockEmitter::getRoundingFactor(const ColumnState &state,
                                          int64_t group) {
  PerColumn factor;
  for (int64_t column = 0; column != 2; ++column) {
    Value rounded = state.rounded[group][column];
    Value scaled = w.sumRows(state.scaled[group][column]);
    factor[column] =
        w.select(w.isEqual(rounded, 0), w.f32(1), w.fdiv(scaled, rounded));
  }
  return factor;
}
