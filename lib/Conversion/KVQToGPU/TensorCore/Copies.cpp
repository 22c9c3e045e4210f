//===- Copies.cpp - From the cache to a block's memory --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of codes go to the warp's ring, in copies of 16 bytes that are not
// waited for until they are needed.
//
// In a slot rows lie as `SlotLayout` says (see BlockPlan.h), such that lanes
// that load at once do so from different banks.
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvq;

static constexpr int64_t kChunkBytes = 16, kLanes = 32, kPageNumberBytes = 8;

//===----------------------------------------------------------------------===//
// Where rows are
//===----------------------------------------------------------------------===//

/// Whether rows of all heads of a token lie together.
static bool isTokenMajor(const SidePlan &plan) {
  return plan.region == TokenRegion::Codes && plan.cache.getTokenMajor();
}

static int64_t getElementBytes(MemRefType component) {
  return component.getElementTypeBitWidth() / 8;
}

/// An extent of a component, i64.
static Value buildExtent(WarpBuilder &w, Value component, unsigned axis) {
  auto type = cast<MemRefType>(component.getType());
  if (!type.isDynamicDim(axis))
    return w.i64(type.getDimSize(axis));
  return w.toI64(memref::DimOp::create(w.builder, w.loc, component, axis));
}

/// Bytes of a row, or of what else is numbered by the axes before: a tile.
static int64_t getUnitBytes(MemRefType component) {
  int64_t bytes = getElementBytes(component);
  for (int64_t extent : component.getShape().drop_front(3))
    bytes *= extent;
  return bytes;
}

/// Bytes from one of a component's first axis' elements to the next, which all
/// rows of all heads lie between.
static Value buildBlockBytes(WarpBuilder &w, Value component) {
  Value total = w.i64(getUnitBytes(cast<MemRefType>(component.getType())));
  for (unsigned axis : {1, 2})
    total = w.mul(total, buildExtent(w, component, axis));
  return total;
}

/// What divides the addresses of each `tokens`th token's row from where steps
/// begin.
static int64_t getAlignment(const SidePlan &plan, const BlockPlan &block,
                            MemRefType type, int64_t stride, int64_t tokens) {
  constexpr int64_t kComponentAlignment = 64;
  int64_t alignment = std::gcd(kComponentAlignment, tokens * stride);
  // Where steps begin, in rows.
  int64_t first = block.firstToken - plan.cache.getExactFirst();
  alignment = std::gcd(alignment, std::abs(first) * stride);
  // Strides of all axes but that of rows.
  int64_t bytes = getElementBytes(type);
  unsigned rowAxis = isTokenMajor(plan) ? 1 : 2;
  for (unsigned axis : {2, 1, 0}) {
    bytes *= type.isDynamicDim(axis + 1) ? 1 : type.getDimSize(axis + 1);
    if (axis != rowAxis)
      alignment = std::gcd(alignment, bytes);
  }
  return alignment;
}

ComponentRows BlockEmitter::locateComponent(const SidePlan &plan,
                                            Value component, int64_t rowTokens,
                                            bool isPool) {
  auto type = cast<MemRefType>(component.getType());
  int64_t unitBytes = getUnitBytes(type);
  bool isTiled = type.getRank() != 4;
  ComponentRows rows;
  rows.elementType = type.getElementType();
  rows.rowTokens = rowTokens;
  rows.stride = isTokenMajor(plan) ? unitBytes * type.getDimSize(2)
                : isTiled          ? unitBytes / plan.getTileTokens()
                                   : unitBytes;
  if (!isTiled) {
    auto getAlignmentOf = [&](int64_t tokens) {
      return getAlignment(plan, this->plan, type, rows.stride, tokens);
    };
    rows.alignment = getAlignmentOf(this->plan.getLaneTokens());
    rows.stepAlignment = getAlignmentOf(this->plan.getScaleRows(plan));
  }
  Value headBytes = isTokenMajor(plan)
                        ? w.i64(unitBytes)
                        : w.mul(buildExtent(w, component, 2), unitBytes);
  rows.base = w.toI64(memref::ExtractAlignedPointerAsIndexOp::create(
      w.builder, w.loc, component));
  rows.base = w.add(rows.base, w.mul(w.toI64(head), headBytes));
  Value blockBytes = buildBlockBytes(w, component);
  if (isPool)
    rows.pageBytes = blockBytes;
  else
    rows.base = w.add(rows.base, w.mul(w.toI64(batch), blockBytes));
  return rows;
}

ComponentRows BlockEmitter::locateGiven(const SidePlan &plan, Value component) {
  auto type = cast<MemRefType>(component.getType());
  ComponentRows rows;
  rows.elementType = type.getElementType();
  Value row = w.divideUnsigned(head, plan.cache.getGroupHeads());
  rows.base = w.toI64(memref::ExtractAlignedPointerAsIndexOp::create(
      w.builder, w.loc, component));
  rows.base = w.add(rows.base, w.mul(w.toI64(row), getUnitBytes(type)));
  return rows;
}

SideRows BlockEmitter::locateSide(const SidePlan &plan, ValueRange components,
                                  Value pages) {
  SideRows side;
  side.plan = &plan;
  if (plan.region == TokenRegion::Codes)
    side.pages = pages;
  auto locate = [&](ComponentKind kind, int64_t rowTokens) {
    Value component = components[*plan.cache.findComponent(kind)];
    bool isGiven = kind == ComponentKind::OuterScales ||
                   (plan.hasGivenScales && (kind == ComponentKind::Scales ||
                                            kind == ComponentKind::Zeros));
    return isGiven
               ? locateGiven(plan, component)
               : locateComponent(plan, component, rowTokens, bool(side.pages));
  };
  side.rows =
      locate(plan.region == TokenRegion::First    ? ComponentKind::First
             : plan.region == TokenRegion::Recent ? ComponentKind::Recent
             : plan.element.isExact()             ? ComponentKind::Values
                                                  : ComponentKind::Codes,
             /*rowTokens=*/1);
  if (plan.scaleType)
    side.scales = locate(ComponentKind::Scales, plan.groupTokens);
  if (plan.zeroType)
    side.zeros = locate(ComponentKind::Zeros, plan.groupTokens);
  if (plan.region == TokenRegion::Codes &&
      plan.cache.getFormat().getOuterScaleType()) {
    ComponentRows rows = locate(ComponentKind::OuterScales, /*rowTokens=*/1);
    side.outerScale =
        w.loadGlobal(rows.base, 0, rows.elementType, rows.getElementBytes());
  }
  planScaleCopies(side);
  return side;
}

/// Sets where the lane's copies and loads are in a slot.
void BlockEmitter::planPlaces(SideRows &side) {
  planCopies(side);
  planLoads(side);
}

/// The row of the side's component that holds a token.
Value BlockEmitter::getRow(const SideRows &side, Value token) {
  CacheType cache = side.plan->cache;
  if (side.plan->region == TokenRegion::First)
    return token;
  Value row = w.add(token, -cache.getExactFirst());
  if (side.plan->region == TokenRegion::Recent)
    row = w.remUnsigned(row, cache.getRecentRows());
  return row;
}

/// The place of row `index` in a ring, or, counted in pages of `size` rows,
/// that of a page. Other caches have it where it is.
Value BlockEmitter::wrap(const SideRows &side, Value index, int64_t size) {
  CacheType cache = side.plan->cache;
  if (side.plan->region != TokenRegion::Codes || !cache.isRing())
    return index;
  int64_t kept = cache.getKeptRows() / size;
  Value beyond = w.max(w.add(index, -kept), w.i32(0));
  Value slot = w.add(w.remUnsigned(beyond, cache.getRingRows() / size), kept);
  // Before the rows that go round each is where it was.
  return w.min(index, slot);
}

/// Stores where the sequence's rows of page tables are: addresses that steps
/// load where they need them.
void BlockEmitter::storeTables() {
  Words words;
  for (const SideRows *side : {&key, &value}) {
    Value address = w.i64(0);
    if (side->pages) {
      auto table = memref::ExtractStridedMetadataOp::create(w.builder, w.loc,
                                                            side->pages);
      Value first =
          w.add(w.toI64(table.getOffset()),
                w.mul(w.toI64(batch), w.toI64(table.getStrides()[0])));
      address = memref::ExtractAlignedPointerAsIndexOp::create(w.builder, w.loc,
                                                               side->pages);
      address = w.add(w.toI64(address), w.mul(first, kPageNumberBytes));
    }
    llvm::append_range(words, w.splitI64(address));
  }
  w.storeShared(words, ring, plan.getTablesPlace());
}

/// Two words of each side.
Words BlockEmitter::loadTables() {
  if (!key.pages && !value.pages)
    return Words(4);
  return w.loadShared(ring, plan.getTablesPlace(), kLaneQuadBytes);
}

/// The page of a step, which lies within one; of a step that no token of the op
/// is in, that of the next token that is. Null without pages.
Value BlockEmitter::loadPage(const SideRows &side, ArrayRef<Value> table,
                             Value stepBegin, StepKind kind) {
  if (!side.pages)
    return {};
  Value row = getRow(side, stepBegin);
  if (kind == StepKind::Partial)
    row = w.max(w.min(row, getRow(side, w.add(end, -1))), w.i32(0));
  int64_t pageRows = *side.plan->cache.getPage();
  Value number = wrap(side, w.divideUnsigned(row, pageRows), pageRows);
  // Lest it is shifted and masked as 64 bits, and not multiplied as 32. Of a
  // page's number the lower bits.
  Value address = w.add(w.joinI64(table[0], table[1]),
                        w.mul(w.toI64(w.conceal(number)), kPageNumberBytes));
  return w.loadGlobal(address, 0, w.builder.getI32Type(), 4);
}

Step BlockEmitter::createStep(Value stepBegin, StepKind kind) {
  Words tables = loadTables();
  ArrayRef<Value> both = tables;
  return {stepBegin, kind, loadPage(key, both.take_front(2), stepBegin, kind),
          loadPage(value, both.drop_front(2), stepBegin, kind)};
}

/// The step after `ahead`, whose pages are loaded a step before they are needed
/// for copies.
Step BlockEmitter::createLaterStep(const Step &ahead) {
  Value some = w.add(ahead.some, plan.getStride());
  if (!key.pages && !value.pages)
    return {some, ahead.kind, Value(), Value()};
  if (ahead.kind == StepKind::Partial)
    return createStep(some, ahead.kind);
  // There may be no more tokens. The last one is not in a register.
  Value last = w.loadShared(ring, plan.getLastTokenPlace(), 4).front();
  return createStep(w.min(some, last), ahead.kind);
}

/// The i64 address of the row of a component that the step's first token is in.
Value BlockEmitter::locateStep(const SideRows &side, const Step &step,
                               const ComponentRows &rows) {
  Value row = getRow(side, step.begin);
  Value base = rows.base;
  if (side.pages) {
    row = w.remUnsigned(row, *side.plan->cache.getPage());
    Value page = side.plan->isKey ? step.keyPage : step.valuePage;
    base = w.add(base, w.mul(w.toI64(page), rows.pageBytes));
  } else {
    row = wrap(side, row, 1);
  }
  row = w.divideUnsigned(row, rows.rowTokens);
  return w.add(base, w.mul(w.toI64(row), rows.stride));
}

//===----------------------------------------------------------------------===//
// Slots of the ring
//===----------------------------------------------------------------------===//

/// Bytes from a slot to where a run of its layout is.
static Value buildPlace(WarpBuilder &w, const SlotLayout &layout, Value run) {
  Value kind = w.remUnsigned(run, layout.kinds);
  Value ofKind = w.divideUnsigned(run, layout.kinds);
  return w.add(w.mul(kind, layout.kindPitch), w.mul(ofKind, layout.runBytes));
}

/// Bytes from a slot to a chunk of the rows one after the other.
static Value buildChunkPlace(WarpBuilder &w, const SlotLayout &layout,
                             Value chunk) {
  int64_t runChunks = layout.runBytes / kChunkBytes;
  Value place = buildPlace(w, layout, w.divideUnsigned(chunk, runChunks));
  return w.add(place, w.mul(w.remUnsigned(chunk, runChunks), kChunkBytes));
}

void BlockEmitter::planCopies(SideRows &side) {
  SlotLayout layout = plan.getSlotLayout(*side.plan);
  int64_t runChunks = layout.runBytes / kChunkBytes;
  int64_t copies = plan.stepTokens * side.plan->getChunks() / kLanes;
  // Where copies are of whole runs, or of parts of one, they are a constant
  // apart: runs of a copy are a power of two, as kinds are.
  bool areApart = kLanes % runChunks == 0 || runChunks % kLanes == 0;
  Value ofLane = buildChunkPlace(w, layout, lane);
  side.copyPlaces.clear();
  for (int64_t i = 0; i != copies; ++i) {
    int64_t chunk = i * kLanes;
    if (areApart)
      side.copyPlaces.push_back({ofLane, layout.getPlace(chunk / runChunks) +
                                             chunk % runChunks * kChunkBytes});
    else
      side.copyPlaces.push_back(
          {buildChunkPlace(w, layout, w.add(lane, chunk)), 0});
  }
}

void BlockEmitter::planLoads(SideRows &side) {
  const SidePlan &plan = *side.plan;
  SlotLayout layout = this->plan.getSlotLayout(plan);
  if (plan.hasFragments())
    side.loadPlace = w.mul(lane, plan.loadBytes);
  else if (plan.loadsMatrices()) // of lane 8 m + r for row r of matrix m
    side.loadPlace = w.add(buildPlace(w, layout, w.remUnsigned(lane, 8)),
                           w.mul(w.divideUnsigned(lane, 8), kChunkBytes));
  else
    side.loadPlace = w.add(buildPlace(w, layout, laneRow),
                           w.mul(laneColumn, plan.loadBytes));
}

/// The chunks of both halves of a fragment's rows, which lie one after the
/// other in a run, as matrices.
std::array<Words, 2> BlockEmitter::loadMatrices(const SideRows &side,
                                                Value slot, int64_t fragment) {
  constexpr int64_t kAtOnce = 4;
  int64_t chunks = side.plan->getChunks();
  Value address = getSlotAddress(slot, side.loadPlace);
  int64_t place = plan.getFragmentPlace(*side.plan, fragment);
  Words words;
  for (int64_t first = 0; first < 2 * chunks; first += kAtOnce)
    llvm::append_range(words,
                       w.loadMatrices(address, place + first * kChunkBytes,
                                      std::min(kAtOnce, 2 * chunks - first),
                                      /*transposes=*/!side.plan->isKey));
  ArrayRef<Value> all = words;
  return {Words(all.take_front(chunks)), Words(all.drop_front(chunks))};
}

std::pair<Value, int64_t> BlockEmitter::getLoadAddress(const SideRows &side,
                                                       Value slot, int64_t row,
                                                       int64_t load) {
  const SidePlan &of = *side.plan;
  int64_t loadBytes = of.getRowLanes() * of.loadBytes; // of all lanes
  return {getSlotAddress(slot, side.loadPlace),
          plan.getFragmentPlace(of, row / 2) + row % 2 * of.rowBytes +
              load * loadBytes};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Starts copying the rows of a step.
void BlockEmitter::copyStep(const SideRows &side, const Step &step,
                            Value slot) {
  if (copiesInBulk && step.kind == StepKind::Whole)
    return copyStepInBulk(side, step, slot);
  if (step.kind == StepKind::Whole && side.plan->region != TokenRegion::Recent)
    copyWholeStep(side, step, slot);
  else
    copyRowByRow(side, step, slot);
  copyScales(side, step, slot);
  w.commitCopies();
}

/// Waits for the keys of a step, then for its values. Copies that were started
/// later are its values, both sides of steps between, and keys of the step
/// ahead.
void BlockEmitter::awaitCopies(const SideRows &side, const Step &step,
                               Value slot) {
  if (copiesInBulk && step.kind == StepKind::Whole)
    awaitBulkCopies(side, slot);
  else
    w.waitForCopies(2 * plan.depth - 1);
  w.syncWarp();
}

void BlockEmitter::copyWholeStep(const SideRows &side, const Step &step,
                                 Value slot) {
  const SidePlan &plan = *side.plan;
  int64_t chunks = plan.getChunks();
  Value first = locateStep(side, step, side.rows);
  bool isContiguous = side.rows.stride == plan.rowBytes;
  // Otherwise, with rows of a power of two of chunks, the rows of copies are a
  // constant apart.
  bool areAlike = kLanes % chunks == 0;
  if (isContiguous)
    first = w.add(first, w.toI64(laneReach));
  else if (areAlike)
    first = addChunk(first, side, lane);
  for (auto [i, place] : llvm::enumerate(side.copyPlaces)) {
    Value source = first;
    int64_t offset = i * kLanes / chunks * side.rows.stride;
    if (isContiguous) {
      offset = i * kLanes * kChunkBytes - kCopyReach;
    } else if (!areAlike) {
      source = addChunk(first, side, w.add(lane, i * kLanes));
      offset = 0;
    }
    w.copyAsync(getSlotAddress(slot, place.offset), place.constant, source,
                offset);
  }
}

/// The i64 address of a chunk of a step whose first row is at `first`.
Value BlockEmitter::addChunk(Value first, const SideRows &side, Value chunk) {
  int64_t chunks = side.plan->getChunks();
  Value row = w.divideUnsigned(chunk, chunks);
  Value inRow = w.remUnsigned(chunk, chunks);
  Value address = w.add(first, w.mul(w.toI64(row), side.rows.stride));
  return w.add(address, w.toI64(w.mul(inRow, kChunkBytes)));
}

/// Copies what is there of a step: rows of tokens that are not the op's, or
/// that no column sees, become zeros, and nothing is read for them. Rows need
/// not lie together. A loop that stays one, lest its numbers are all in
/// registers.
void BlockEmitter::copyRowByRow(const SideRows &side, const Step &step,
                                Value slot) {
  const SidePlan &plan = *side.plan;
  SlotLayout layout = this->plan.getSlotLayout(plan);
  bool isScattered = plan.region == TokenRegion::Recent;
  Value first =
      isScattered ? side.rows.base : locateStep(side, step, side.rows);
  int64_t chunks = plan.getChunks();
  // All of a tile is there if one of its tokens is. What others hold are
  // integers, which count nothing.
  Value isThere;
  if (plan.hasFragments()) {
    Value last = w.add(step.begin, this->plan.stepTokens);
    isThere = w.bothTrue(w.compare(arith::CmpIPredicate::slt, step.begin, end),
                         w.compare(arith::CmpIPredicate::sgt, last, begin));
  }
  auto copy = [&](Value firstChunk, ValueRange) -> SmallVector<Value> {
    w.keepRolled();
    Value chunk = w.add(firstChunk, lane);
    Value row = w.divideUnsigned(chunk, chunks);
    Value inRow = w.remUnsigned(chunk, chunks);
    Value token = w.add(step.begin, row);
    Value place = isScattered ? getRow(side, token) : row;
    Value source = w.add(first, w.mul(w.toI64(place), side.rows.stride));
    source = w.add(source, w.toI64(w.mul(inRow, kChunkBytes)));
    Value isRead = isThere ? isThere : sees(some, token);
    w.copyAsync(getSlotAddress(slot, buildChunkPlace(w, layout, chunk)), 0,
                source, 0, w.select(isRead, w.i32(kChunkBytes), w.i32(0)));
    return {};
  };
  w.buildFor(w.i32(0), w.i32(this->plan.stepTokens * chunks), w.i32(kLanes), {},
             copy);
}
