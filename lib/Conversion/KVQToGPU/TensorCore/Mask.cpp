//===- Mask.cpp - What hides tokens of a row one by one -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each lane loads the elements of its scores from memory. Under a mask steps
// are as whole as without one: what it hides are scores of minus infinity, and
// probabilities that are zeros even where scales are no numbers. Only values
// that are no numbers themselves, which times zero are none, call for products
// of each row by itself.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

static int64_t getElementBytes(BlockAttentionOp op) {
  return getElementTypeOrSelf(op.getMask().getType()).getIntOrFloatBitWidth() /
         8;
}

/// Whether the mask has an element of a token for each query head.
static bool hasHeads(BlockAttentionOp op) {
  return cast<MemRefType>(op.getMask().getType()).getDimSize(0) != 1;
}

/// Whether all query rows have the same elements.
static bool isShared(BlockAttentionOp op) {
  return !hasHeads(op) && op.getQueryTokens() == 1;
}

/// The i64 address of a query row's elements, for tokens from 0 on. What is
/// beside the query tokens of a mask is padding, and takes the last one's.
Value BlockEmitter::locateMaskRow(Value row) {
  auto metadata =
      memref::ExtractStridedMetadataOp::create(w.builder, w.loc, op.getMask());
  int64_t bytes = getElementBytes(op);
  Value address = w.toI64(memref::ExtractAlignedPointerAsIndexOp::create(
      w.builder, w.loc, op.getMask()));
  address = w.add(address, w.mul(w.toI64(metadata.getOffset()), bytes));
  auto advance = [&](Value index, unsigned axis) {
    Value stride = w.mul(w.toI64(metadata.getStrides()[axis]), bytes);
    address = w.add(address, w.mul(w.toI64(index), stride));
  };
  int64_t queryTokens = op.getQueryTokens();
  if (hasHeads(op))
    advance(w.divideUnsigned(row, queryTokens), 0);
  if (queryTokens != 1) {
    Value last = w.add(w.toI32(metadata.getSizes()[1]), -1);
    advance(w.min(w.remUnsigned(row, queryTokens), last), 1);
  }
  return address;
}

/// The element of a token. Beside the op's tokens, where nothing may be, that
/// of one of them.
Value BlockEmitter::loadMaskAt(Value maskRow, Value token) {
  int64_t bytes = getElementBytes(op);
  token = w.min(w.max(token, begin), w.add(end, -1));
  Value address = w.add(maskRow, w.mul(w.toI64(token), bytes));
  return w.loadGlobal(address, 0, getElementTypeOrSelf(op.getMask().getType()),
                      bytes);
}

/// The elements of the lane's tokens: of a whole step all, of a partial one
/// those of its first fragment.
BlockEmitter::MaskElements BlockEmitter::loadMaskOfTile(const ColumnTile &tile,
                                                        const Step &step) {
  int64_t bytes = getElementBytes(op);
  bool isWhole = step.kind == StepKind::Whole;
  MaskElements mask(isWhole ? 2 * plan.getFragments() : 2);
  for (int64_t column = 0; column != (isShared(op) ? 1 : 2); ++column) {
    Value first = w.mul(w.toI64(getToken(step.begin, 0)), bytes);
    Value address = w.add(tile.maskRows[column], first);
    for (auto [i, ofToken] : llvm::enumerate(mask))
      ofToken[column] =
          isWhole ? w.loadGlobal(address, plan.getTokenOffset(i) * bytes,
                                 getElementTypeOrSelf(op.getMask().getType()),
                                 bytes)
                  : loadMaskAt(tile.maskRows[column], getToken(step.begin, i));
  }
  if (isShared(op))
    for (PerColumn &ofToken : mask)
      ofToken[1] = ofToken[0];
  return mask;
}

/// The same of each tile.
SmallVector<BlockEmitter::MaskElements>
BlockEmitter::loadMask(const Step &step) {
  SmallVector<MaskElements> masks;
  for (const ColumnTile &tile : tiles)
    masks.push_back(!masks.empty() && isShared(op)
                        ? masks.front()
                        : loadMaskOfTile(tile, step));
  return masks;
}

/// Whether an element of the mask hides its token: 0, or minus infinity of
/// floats.
Value BlockEmitter::hides(Value element) {
  if (element.getType().isInteger())
    return w.compare(arith::CmpIPredicate::eq, element,
                     w.zero(element.getType()));
  return w.isEqual(w.extend(element), -std::numeric_limits<double>::infinity());
}

/// Makes scores without a shift what the mask makes of them.
void BlockEmitter::applyMask(Scores &scores, const MaskElements &mask) {
  for (auto [f, fragment] : llvm::enumerate(scores))
    for (auto [i, score] : llvm::enumerate(fragment)) {
      Value element = mask[2 * f + i / 2][i % 2];
      // Scores are of base 2.
      if (!element.getType().isInteger())
        score = w.fma(w.extend(element), w.f32(llvm::numbers::log2e), score);
      score = w.select(hides(element), w.f32(getHiddenScore()), score);
    }
}

/// Whether some of what the values of a step hold is no number: sums of their
/// products with zeros are none then.
Value BlockEmitter::holdNoNumbers(Value slot, int64_t fragments) {
  FragmentC sums = {w.f32(0), w.f32(0), w.f32(0), w.f32(0)};
  for (int64_t fragment = 0; fragment != fragments; ++fragment) {
    std::array<Words, 2> words = loadValueWords(slot, fragment, nullptr);
    for (const ValueStep &step : plan.valueSteps) {
      if (plan.value.multipliesFP8) {
        Value first = words[0][step.word], second = words[1][step.word];
        bool isE5M2 = plan.value.element.kind == StoredElement::Kind::E5M2;
        sums = w.multiplyFP8({first, second, first, second}, isE5M2,
                             {w.i32(0), w.i32(0)}, sums);
        continue;
      }
      FragmentA a = unpackValues(words, step);
      Value none = w.zero(a.front().getType());
      sums = w.multiply(a, {none, none}, sums);
    }
  }
  // The columns are all the same.
  Value isNone = w.isNaN(w.fadd(sums[0], sums[2]));
  return w.anyLane(isNone);
}

/// The products of each query row by itself, with zeros for what it does not
/// see.
void BlockEmitter::emitValuesByRow(
    WarpState &state, const Step &step,
    ArrayRef<ScaledProbabilities> probabilities) {
  int64_t tileRows = plan.columnTiles * kFragmentRows;
  WarpState after = state;
  after.unpack(w.buildFor(
      w.i32(0), w.i32(std::min(rows, tileRows)), w.i32(1), state.pack(),
      [&](Value number, ValueRange carried) {
        w.keepRolled();
        WarpState inside = state;
        inside.unpack(carried);
        Value row =
            w.min(w.add(tiles.front().firstRow, number), w.i32(rows - 1));
        ProductPart part = {step.begin, some, locateMaskRow(row), {}};
        if (position)
          part.tokens = getVisible(
              w.add(position, w.remUnsigned(row, op.getQueryTokens())));
        for (int64_t tile = 0; tile != plan.columnTiles; ++tile) {
          PerColumn &areIn = part.columns.emplace_back();
          for (auto [column, isIn] : llvm::enumerate(areIn)) {
            Value ofColumn =
                w.add(w.mul(laneColumn, 2), tile * kFragmentRows + column);
            isIn = w.compare(arith::CmpIPredicate::eq, ofColumn, number);
          }
        }
        emitValues(inside, probabilities, &part);
        return inside.pack();
      }));
  state = after;
}

/// Adds the products of a step. What a mask hides of values that are no numbers
/// has no influence.
void BlockEmitter::emitMaskedValues(
    WarpState &state, const Step &step,
    ArrayRef<ScaledProbabilities> probabilities) {
  if (!op.getMask() || plan.value.element.kind == StoredElement::Kind::Integer)
    return emitValues(state, probabilities);
  SmallVector<Value> carried = state.pack();
  auto emit = [&](auto emitProducts) {
    WarpState inside = state;
    inside.unpack(carried);
    emitProducts(inside);
    return inside.pack();
  };
  int64_t fragments = probabilities.front().getFragments();
  state.unpack(w.buildIf(
      holdNoNumbers(state.getValueSlot(), fragments),
      ValueRange(carried).getTypes(),
      [&] {
        return emit([&](WarpState &inside) {
          emitValuesByRow(inside, step, probabilities);
        });
      },
      [&] {
        return emit(
            [&](WarpState &inside) { emitValues(inside, probabilities); });
      }));
}
