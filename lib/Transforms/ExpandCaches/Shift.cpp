//===- Shift.cpp - kvq.shift to moves of rows ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each sequence and head: the groups behind the dropped ones move forward,
// in order, so that none is overwritten before it has moved; then the slots of
// the recent window, which follow from positions, rotate, by three reversals.
// Rows pass through scratch, as source and target are one component. Keys after
// RoPE are turned on the way, and groups of them quantized again.
//
//===----------------------------------------------------------------------===//

#include "GroupEncoder.h"
#include "TurnBack.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct ShiftPattern : OpConversionPattern<ShiftOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ShiftOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

/// Rows of quantized tokens (tokens of an exact cache) that a sequence drops.
struct Gap {
  Value sequence;
  /// The first row behind the dropped ones, their number, and that of all rows.
  Value end, count, stored;
  TokenRows rows;
  /// For keys after RoPE: what turns those that move.
  std::optional<KeyTurner> turner;
};

/// Builds the shift of the heads of a sequence from `head` on that share
/// metadata.
class HeadShifter {
public:
  HeadShifter(OpBuilder &builder, Location loc, CacheType cache, const Gap &gap,
              Value head, ValueRange components)
      : builder(builder), loc(loc), math(builder, loc), cache(cache), gap(gap),
        head(head), components(components) {}

  /// Moves the groups behind the gap.
  void moveGroups();
  /// Moves the slots of each head's window.
  void rotateWindows();
  /// What has become of the components.
  const SmallVector<Value> &getComponents() const { return components; }

private:
  HeadShifter inner(OpBuilder &nested, Location loc, ValueRange carried) {
    return HeadShifter(nested, loc, cache, gap, head, carried);
  }
  void copyGroup(const RowPlace &from, const RowPlace &to);
  void turnGroup(const RowPlace &from, const RowPlace &to);
  void rotateWindow();
  void reverseRows(Value begin, Value end);
  void turnWindow();

  OpBuilder &builder;
  Location loc;
  IndexMath math;
  CacheType cache;
  const Gap &gap;
  Value head;
  SmallVector<Value> components;
};

} // namespace

/// A copy of rows of `component` in scratch.
static Value load(OpBuilder &builder, Location loc, const RowSlice &rows,
                  Value component) {
  Value source = rows.extract(builder, loc, component);
  auto type = cast<RankedTensorType>(source.getType());
  Value scratch = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
  return linalg::CopyOp::create(builder, loc, source, scratch).getResult(0);
}

/// `component` with the values of scratch in `rows`.
static Value store(OpBuilder &builder, Location loc, const RowSlice &rows,
                   Value scratch, Value component) {
  Value target = rows.extractTarget(builder, loc, component);
  Value stored =
      linalg::CopyOp::create(builder, loc, scratch, target).getResult(0);
  return rows.insert(builder, loc, stored, component);
}

/// Stores at `to` what lies at `from`, as it is.
void HeadShifter::copyGroup(const RowPlace &from, const RowPlace &to) {
  auto getSlice = [&](const RowPlace &place, ComponentKind kind) {
    RowSlice rows = getGroupSlice(math, cache, place, head, kind);
    if (int64_t heads = cache.getGroupHeads();
        heads != 1 && !isOfHeadGroup(kind))
      rows.heads = heads;
    return rows;
  };
  for (ComponentKind kind : getTokenComponents(cache)) {
    Value &component = components[*cache.findComponent(kind)];
    Value scratch = load(builder, loc, getSlice(from, kind), component);
    component = store(builder, loc, getSlice(to, kind), scratch, component);
  }
}

/// Stores at `to` the keys that lie at `from`, turned to where they move.
void HeadShifter::turnGroup(const RowPlace &from, const RowPlace &to) {
  Value group = gap.turner->turnGroup(builder, loc, components, from, head);
  if (!cache.isExact())
    return GroupEncoder(builder, loc, cache, gap.sequence, head, components)
        .encode(group, to);
  auto inRecords = cache.findComponent(ComponentKind::Records);
  ComponentKind kind =
      inRecords ? ComponentKind::Records : ComponentKind::Values;
  Value &component = components[*cache.findComponent(kind)];
  RowSlice rows = getGroupSlice(math, cache, to, head, kind);
  if (!inRecords) {
    component = store(builder, loc, rows, group, component);
    return;
  }
  Value record = rows.extract(builder, loc, component);
  auto pack = PackOp::create(builder, loc, record.getType(),
                             cache.getFormat().getCore(), group, record);
  component = rows.insert(builder, loc, pack.getResult(0), component);
}

void HeadShifter::moveGroups() {
  int64_t group = cache.getTokenGroup();
  auto moveGroup = [&](OpBuilder &nested, Location loc, Value row,
                       ValueRange carried) {
    HeadShifter step = inner(nested, loc, carried);
    RowPlace from = gap.rows.locate(nested, loc, row);
    RowPlace to = gap.rows.locate(nested, loc, step.math.sub(row, gap.count));
    if (gap.turner)
      step.turnGroup(from, to);
    else
      step.copyGroup(from, to);
    scf::YieldOp::create(nested, loc, step.components);
  };
  auto loop = scf::ForOp::create(builder, loc, gap.end, gap.stored,
                                 math.constant(group), components, moveGroup);
  components = llvm::to_vector_of<Value>(loop.getResults());
}

/// Reverses the order of the window's rows `begin` to `end`.
void HeadShifter::reverseRows(Value begin, Value end) {
  unsigned index = *cache.findComponent(ComponentKind::Recent);
  OpFoldResult one = builder.getIndexAttr(1);
  auto swap = [&](OpBuilder &nested, Location loc, Value i,
                  ValueRange carried) {
    IndexMath math(nested, loc);
    Value last = math.sub(math.add(begin, math.sub(end, i)), 1);
    RowSlice low{gap.sequence, head, i, one};
    RowSlice high{gap.sequence, head, last, one};
    Value lowRow = load(nested, loc, low, carried[0]);
    Value highRow = load(nested, loc, high, carried[0]);
    Value ring = store(nested, loc, low, highRow, carried[0]);
    scf::YieldOp::create(nested, loc, store(nested, loc, high, lowRow, ring));
  };
  Value half = math.div(math.sub(end, begin), 2);
  components[index] =
      scf::ForOp::create(builder, loc, begin, math.add(begin, half),
                         math.constant(1), components[index], swap)
          .getResult(0);
}

/// Turns the keys in the window, all of which move, where any do.
void HeadShifter::turnWindow() {
  unsigned index = *cache.findComponent(ComponentKind::Recent);
  Value zero = math.constant(0), size = math.constant(cache.getRecentRows());
  Value moves = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      gap.count, zero);
  Value end = arith::SelectOp::create(builder, loc, moves, size, zero);
  auto turnRow = [&](OpBuilder &nested, Location loc, Value slot,
                     ValueRange carried) {
    RowSlice row{gap.sequence, head, slot, nested.getIndexAttr(1)};
    Value turned =
        gap.turner->turnRows(nested, loc, row.extract(nested, loc, carried[0]));
    scf::YieldOp::create(nested, loc,
                         store(nested, loc, row, turned, carried[0]));
  };
  components[index] =
      scf::ForOp::create(builder, loc, zero, end, math.constant(1),
                         components[index], turnRow)
          .getResult(0);
}

/// Moves each row of one head's window `count` slots forward, round the ring.
void HeadShifter::rotateWindow() {
  int64_t slots = cache.getRecentRows();
  Value zero = math.constant(0), size = math.constant(slots);
  Value distance = math.rem(gap.count, slots);
  reverseRows(zero, distance);
  reverseRows(distance, size);
  reverseRows(zero, size);
  if (gap.turner)
    turnWindow();
}

void HeadShifter::rotateWindows() {
  int64_t heads = cache.getGroupHeads();
  if (heads == 1)
    return rotateWindow();
  auto rotate = [&](OpBuilder &nested, Location loc, Value index,
                    ValueRange carried) {
    HeadShifter one = inner(nested, loc, carried);
    one.head = index;
    one.rotateWindow();
    scf::YieldOp::create(nested, loc, one.components);
  };
  auto loop = scf::ForOp::create(builder, loc, head, math.add(head, heads),
                                 math.constant(1), components, rotate);
  components = llvm::to_vector_of<Value>(loop.getResults());
}

/// What sequence `index` drops.
static Gap buildGap(OpBuilder &builder, Location loc, ShiftOp op,
                    ShiftPattern::OneToNOpAdaptor adaptor, Value index) {
  CacheType cache = op.getCache().getType();
  IndexMath math(builder, loc);
  auto extract = [&](ValueRange counts) {
    return extractIndex(builder, loc, counts.front(), index);
  };
  Value count = extract(adaptor.getCount());
  Value begin = math.sub(extract(adaptor.getBegin()), cache.getExactFirst());
  Value stored = op.getFlushed()
                     ? extract(adaptor.getFlushed())
                     : buildFlushed(math, cache, extract(adaptor.getLengths()));
  // Nothing moves where nothing is dropped, whatever `begin` is.
  Value isEmpty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        count, math.constant(0));
  Value end = arith::SelectOp::create(builder, loc, isEmpty, stored,
                                      math.add(begin, count));
  Gap gap{index,
          end,
          count,
          stored,
          TokenRows(cache, index, getOptional(adaptor.getPages())),
          /*turner=*/std::nullopt};
  if (op.getCos())
    gap.turner.emplace(cache, op.getRopeStyle().value_or(RopeStyle::Half),
                       adaptor.getCos().front(), adaptor.getSin().front(),
                       count);
  return gap;
}

LogicalResult
ShiftPattern::matchAndRewrite(ShiftOp op, OneToNOpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  CacheType cache = op.getCache().getType();
  IndexMath math(rewriter, op.getLoc());
  int64_t together = cache.getGroupHeads();
  auto shiftHeads = [&](OpBuilder &builder, Location loc, ValueRange item,
                        ValueRange components) {
    Gap gap = buildGap(builder, loc, op, adaptor, item[0]);
    Value head = IndexMath(builder, loc).mul(item[1], together);
    HeadShifter shifter(builder, loc, cache, gap, head, components);
    shifter.moveGroups();
    if (cache.hasRecentWindow())
      shifter.rotateWindows();
    return shifter.getComponents();
  };
  Value batch = math.constant(cache.getBatch());
  Value heads = math.constant(cache.getHeads() / together);
  auto items = ForallOp::create(rewriter, op.getLoc(), ValueRange{batch, heads},
                                adaptor.getCache(), shiftHeads);
  rewriter.replaceOpWithMultiple(op, {items.getResults()});
  return success();
}

void kvq::populateShiftPatterns(const TypeConverter &converter,
                                RewritePatternSet &patterns) {
  patterns.add<ShiftPattern>(converter, patterns.getContext());
}
