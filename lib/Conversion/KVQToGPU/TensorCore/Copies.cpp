//===- Copies.cpp - From the cache to a block's memory --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of codes go to the warp's ring, in copies of 16 bytes that are not
// waited for until they are needed; scales go to registers.
//
// In a slot, chunk c of row r is at chunk (r n + c) ^ s(r), n being the chunks
// of a row. s keeps lanes that load at once from different rows apart: of keys
// these are rows 2F g, of values rows 4F t (see BlockPlan.h).
//
//===----------------------------------------------------------------------===//

#include "BlockEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvq;

static constexpr int64_t kChunkBytes = 16, kLanes = 32;

//===----------------------------------------------------------------------===//
// Where rows are
//===----------------------------------------------------------------------===//

namespace {

/// Axes of a component that holds rows of tokens.
struct RowAxes {
  unsigned head, row;

  explicit RowAxes(const SidePlan &plan) {
    bool isTokenMajor =
        plan.region == TokenRegion::Codes && plan.cache.getTokenMajor();
    head = isTokenMajor ? 2 : 1;
    row = isTokenMajor ? 1 : 2;
  }
};

} // namespace

static int64_t getElementBytes(Value component) {
  Type type = cast<MemRefType>(component.getType()).getElementType();
  return type.getIntOrFloatBitWidth() / 8;
}

/// Bytes from one of a component's rows to the next.
static int64_t getRowStride(const SidePlan &plan, Value component) {
  ArrayRef<int64_t> shape = cast<MemRefType>(component.getType()).getShape();
  int64_t stride = shape.back() * getElementBytes(component);
  return RowAxes(plan).row == 1 ? stride * shape[2] : stride;
}

/// Bytes from one of a component's first axis' elements to the next, which all
/// rows of all heads lie between.
static Value buildBlockBytes(WarpBuilder &w, Value component) {
  auto type = cast<MemRefType>(component.getType());
  int64_t bytes = getElementBytes(component);
  Value total = w.i64(bytes);
  for (unsigned axis : {1, 2, 3}) {
    Value extent =
        type.isDynamicDim(axis)
            ? w.toI64(memref::DimOp::create(w.builder, w.loc, component, axis))
            : w.i64(type.getDimSize(axis));
    total = w.mul(total, extent);
  }
  return total;
}

/// The i64 address of a head's first row, in the first block or that of the
/// sequence.
static Value buildBase(WarpBuilder &w, const SidePlan &plan, Value component,
                       Value batch, Value head) {
  auto type = cast<MemRefType>(component.getType());
  Value address = w.toI64(memref::ExtractAlignedPointerAsIndexOp::create(
      w.builder, w.loc, component));
  RowAxes axes(plan);
  int64_t rowBytes = type.getShape().back() * getElementBytes(component);
  Value headBytes = w.i64(rowBytes);
  if (axes.row == 2) {
    Value rows =
        type.isDynamicDim(2)
            ? w.toI64(memref::DimOp::create(w.builder, w.loc, component, 2))
            : w.i64(type.getDimSize(2));
    headBytes = w.mul(rows, rowBytes);
  }
  address = w.add(address, w.mul(w.toI64(head), headBytes));
  if (!batch)
    return address;
  return w.add(address, w.mul(w.toI64(batch), buildBlockBytes(w, component)));
}

/// What divides the address of the first of a lane's tokens in a whole step.
static int64_t getAlignment(const SidePlan &plan, const BlockPlan &block,
                            Value component, int64_t stride) {
  auto type = cast<MemRefType>(component.getType());
  constexpr int64_t kComponentAlignment = 64;
  int64_t alignment =
      std::gcd(kComponentAlignment, block.getLaneTokens() * stride);
  // Where steps begin, in rows.
  int64_t first = block.firstToken - plan.cache.getExactFirst();
  alignment = std::gcd(alignment, std::abs(first) * stride);
  int64_t bytes = getElementBytes(component);
  for (unsigned axis : {3, 2, 1}) {
    bytes *= type.isDynamicDim(axis) ? 1 : type.getDimSize(axis);
    alignment = std::gcd(alignment, bytes);
  }
  return alignment;
}

SideRows BlockEmitter::locateSide(const SidePlan &plan, ValueRange components,
                                  Value pages) {
  SideRows side;
  side.plan = &plan;
  auto find = [&](ComponentKind kind) {
    return components[*plan.cache.findComponent(kind)];
  };
  bool isCodes = plan.region == TokenRegion::Codes;
  side.rows = find(plan.region == TokenRegion::First    ? ComponentKind::First
                   : plan.region == TokenRegion::Recent ? ComponentKind::Recent
                   : plan.element.isExact               ? ComponentKind::Values
                                                        : ComponentKind::Codes);
  if (isCodes)
    side.pages = pages;
  Value batch = side.pages ? Value() : op.getBatch();
  auto locate = [&](Value component, Value &base, Value &pageBytes,
                    int64_t &stride) {
    base = buildBase(w, plan, component, batch, op.getHead());
    stride = getRowStride(plan, component);
    if (side.pages)
      pageBytes = buildBlockBytes(w, component);
  };
  locate(side.rows, side.rowBase, side.pageBytes, side.rowStride);
  if (plan.hasScales()) {
    side.scales = find(ComponentKind::Scales);
    locate(side.scales, side.scaleBase, side.scalePageBytes, side.scaleStride);
    side.scaleAlignment =
        getAlignment(plan, this->plan, side.scales, side.scaleStride);
  }
  if (plan.zeroType) {
    side.zeros = find(ComponentKind::Zeros);
    locate(side.zeros, side.zeroBase, side.zeroPageBytes, side.zeroStride);
    side.zeroAlignment =
        getAlignment(plan, this->plan, side.zeros, side.zeroStride);
  }
  planCopies(side);
  return side;
}

/// The row of the side's component that holds a token.
Value BlockEmitter::getRow(const SideRows &side, Value token) {
  CacheType cache = side.plan->cache;
  if (side.plan->region == TokenRegion::First)
    return token;
  Value row = w.add(token, -cache.getExactFirst());
  if (side.plan->region == TokenRegion::Recent)
    row = arith::RemUIOp::create(w.builder, w.loc, row,
                                 w.i32(cache.getRecentRows()));
  return row;
}

/// The i64 address of what the step's first token has in a component. Steps lie
/// within pages.
Value BlockEmitter::locateStep(const SideRows &side, Value stepBegin,
                               Value base, Value pageBytes, int64_t stride) {
  Value row = getRow(side, stepBegin);
  if (!side.pages)
    return w.add(base, w.mul(w.toI64(row), stride));
  int64_t pageTokens = *side.plan->cache.getPage();
  Value size = w.i32(pageTokens);
  Value number = arith::DivUIOp::create(w.builder, w.loc, row, size);
  Value inPage = arith::RemUIOp::create(w.builder, w.loc, row, size);
  Value page =
      memref::LoadOp::create(w.builder, w.loc, side.pages,
                             ValueRange{op.getBatch(), w.toIndex(number)});
  Value address = w.add(base, w.mul(page, pageBytes));
  return w.add(address, w.mul(w.toI64(inPage), stride));
}

//===----------------------------------------------------------------------===//
// Slots of the ring
//===----------------------------------------------------------------------===//

/// s(r) of the row whose lane rows' number is `group`: of keys g, of values t.
static std::pair<int64_t, int64_t> getSwizzle(const SidePlan &plan,
                                              int64_t laneRows) {
  // Rows that share 128 bytes are moved alike.
  if (!llvm::isPowerOf2_64(plan.rowBytes) || plan.getSharedRows() > laneRows)
    return {1, 0};
  if (!plan.isKey)
    return {4, 2};
  return {32 / plan.loadBytes, plan.loadBytes / 4};
}

/// Chunk `chunk` of the slot's rows one after the other, moved, in bytes.
/// `group` is the number of its row's lane.
static Value buildMoved(WarpBuilder &w, const SidePlan &plan, Value chunk,
                        Value group, int64_t laneRows) {
  auto [period, factor] = getSwizzle(plan, laneRows);
  if (factor != 0)
    chunk = w.bitXor(chunk, w.mul(w.remUnsigned(group, period), factor));
  return w.mul(chunk, kChunkBytes);
}

void BlockEmitter::planCopies(SideRows &side) {
  const SidePlan &plan = *side.plan;
  int64_t chunks = plan.getChunks();
  int64_t laneTokens = this->plan.getLaneTokens();
  int64_t laneRows = plan.isKey ? laneTokens : 2 * laneTokens;
  int64_t copies = this->plan.stepTokens * chunks / kLanes;
  for (int64_t i = 0; i != copies; ++i) {
    Value chunk = w.add(lane, i * kLanes);
    Value row = arith::DivUIOp::create(w.builder, w.loc, chunk, w.i32(chunks));
    Value group =
        arith::DivUIOp::create(w.builder, w.loc, row, w.i32(laneRows));
    side.copyOffsets.push_back(buildMoved(w, plan, chunk, group, laneRows));
  }

  // Lanes of keys are told by g and t, those of values by t and g.
  Value group = plan.isKey ? laneRow : laneColumn;
  Value inRow = plan.isKey ? laneColumn : laneRow;
  int64_t lanesOfRow = plan.isKey ? 4 : 8;
  int64_t loads = plan.rowBytes / (lanesOfRow * plan.loadBytes);
  for (int64_t row = 0; row != plan.getSharedRows(); ++row) {
    SmallVector<Value> &offsets = side.loadOffsets.emplace_back();
    for (int64_t load = 0; load != loads; ++load) {
      Value byte = w.add(w.mul(inRow, plan.loadBytes),
                         load * lanesOfRow * plan.loadBytes);
      Value firstChunk = w.mul(w.add(w.mul(group, laneRows), row), chunks);
      Value chunk = w.add(firstChunk, w.divideUnsigned(byte, kChunkBytes));
      offsets.push_back(w.add(buildMoved(w, plan, chunk, group, laneRows),
                              w.remUnsigned(byte, kChunkBytes)));
    }
  }
}

std::pair<Value, int64_t> BlockEmitter::getLoadAddress(const SideRows &side,
                                                       Value slot, int64_t row,
                                                       int64_t load) {
  int64_t shared = side.plan->getSharedRows();
  Value offset = side.loadOffsets[row % shared][load];
  return {w.add(slot, offset), row / shared * shared * side.plan->rowBytes};
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Whether all tokens of the step are of the op.
Value BlockEmitter::isWhole(Value stepBegin) {
  Value stepEnd = w.add(stepBegin, plan.stepTokens);
  return w.bothTrue(w.compare(arith::CmpIPredicate::sge, stepBegin, begin),
                    w.compare(arith::CmpIPredicate::sle, stepEnd, end));
}

/// Copies the rows of a step; guarded, those of tokens that are not the op's
/// become zeros, and nothing is read for them.
void BlockEmitter::copyRows(const SideRows &side, Value stepBegin, Value slot,
                            bool guarded) {
  const SidePlan &plan = *side.plan;
  int64_t chunks = plan.getChunks();
  bool isScattered = plan.region == TokenRegion::Recent;
  bool isContiguous = side.rowStride == plan.rowBytes && !isScattered;
  Value first = isScattered ? side.rowBase
                            : locateStep(side, stepBegin, side.rowBase,
                                         side.pageBytes, side.rowStride);
  if (isContiguous)
    first = w.add(first, w.toI64(w.mul(lane, kChunkBytes)));
  for (auto [i, offset] : llvm::enumerate(side.copyOffsets)) {
    Value source = first, size;
    int64_t sourceOffset = 0;
    Value chunk = w.add(lane, i * kLanes), row, token;
    if (guarded || !isContiguous) {
      row = arith::DivUIOp::create(w.builder, w.loc, chunk, w.i32(chunks));
      token = w.add(stepBegin, row);
    }
    if (isContiguous) {
      sourceOffset = i * kLanes * kChunkBytes;
    } else {
      Value inRow =
          arith::RemUIOp::create(w.builder, w.loc, chunk, w.i32(chunks));
      Value rowNumber = isScattered ? getRow(side, token) : row;
      source = w.add(first, w.mul(w.toI64(rowNumber), side.rowStride));
      source = w.add(source, w.toI64(w.mul(inRow, kChunkBytes)));
    }
    if (guarded) {
      Value isThere =
          w.bothTrue(w.compare(arith::CmpIPredicate::sge, token, begin),
                     w.compare(arith::CmpIPredicate::slt, token, end));
      size = w.select(isThere, w.i32(kChunkBytes), w.i32(0));
    }
    w.copyAsync(w.add(slot, offset), 0, source, sourceOffset, size);
  }
}

/// Starts copying a step, nothing if it begins behind the op's tokens.
void BlockEmitter::copyStep(const SideRows &side, Value stepBegin, Value slot) {
  auto copy = [&](bool guarded) {
    return [&, guarded]() -> SmallVector<Value> {
      copyRows(side, stepBegin, slot, guarded);
      return {};
    };
  };
  auto copyPart = [&]() -> SmallVector<Value> {
    w.buildIf(w.compare(arith::CmpIPredicate::slt, stepBegin, end), {},
              copy(true));
    return {};
  };
  w.buildIf(isWhole(stepBegin), {}, copy(false), copyPart);
  w.commitCopies();
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

PerToken BlockEmitter::loadWholeScales(const SideRows &side, Value stepBegin,
                                       bool zeros) {
  const SidePlan &plan = *side.plan;
  int64_t stride = zeros ? side.zeroStride : side.scaleStride;
  Value address =
      locateStep(side, stepBegin, zeros ? side.zeroBase : side.scaleBase,
                 zeros ? side.zeroPageBytes : side.scalePageBytes, stride);
  int64_t tokens = this->plan.getLaneTokens();
  address = w.add(address, w.toI64(w.mul(laneRow, tokens * stride)));
  Type type = zeros ? plan.zeroType : plan.scaleType;
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  int64_t alignment = zeros ? side.zeroAlignment : side.scaleAlignment;
  PerToken loaded(tokens);
  // As many at once as lie together and an instruction takes.
  bool isContiguous = stride == plan.groups * bytes;
  int64_t count = isContiguous ? tokens * plan.groups : plan.groups;
  int64_t perLoad = std::min<int64_t>(count, kChunkBytes / bytes);
  while (count % perLoad != 0)
    --perLoad;
  for (int64_t element = 0; element < tokens * plan.groups;
       element += perLoad) {
    int64_t offset =
        element / plan.groups * stride + element % plan.groups * bytes;
    Value vector =
        w.loadGlobal(address, offset, VectorType::get({perLoad}, type),
                     std::gcd(alignment, std::gcd(offset, kChunkBytes)));
    for (int64_t i = 0; i != perLoad; ++i)
      loaded[(element + i) / plan.groups].push_back(
          w.extend(w.extractElement(vector, i)));
  }
  return loaded;
}

/// One by one, 0 for tokens that are not the op's.
PerToken BlockEmitter::loadGuardedScales(const SideRows &side, Value stepBegin,
                                         bool zeros) {
  const SidePlan &plan = *side.plan;
  int64_t stride = zeros ? side.zeroStride : side.scaleStride;
  Type type = zeros ? plan.zeroType : plan.scaleType;
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  PerToken loaded(this->plan.getLaneTokens());
  // The page of a step that holds a token of the op is there.
  Value address =
      locateStep(side, stepBegin, zeros ? side.zeroBase : side.scaleBase,
                 zeros ? side.zeroPageBytes : side.scalePageBytes, stride);
  for (auto [i, values] : llvm::enumerate(loaded)) {
    Value row = w.add(w.mul(laneRow, this->plan.getLaneTokens()), i);
    Value token = w.add(stepBegin, row);
    Value isThere =
        w.bothTrue(w.compare(arith::CmpIPredicate::sge, token, begin),
                   w.compare(arith::CmpIPredicate::slt, token, end));
    values = w.buildIf(
        isThere, SmallVector<Type>(plan.groups, w.builder.getF32Type()),
        [&] {
          Value place = w.add(address, w.mul(w.toI64(row), stride));
          SmallVector<Value> loads;
          for (int64_t group = 0; group != plan.groups; ++group)
            loads.push_back(
                w.extend(w.loadGlobal(place, group * bytes, type, bytes)));
          return loads;
        },
        [&] { return SmallVector<Value>(plan.groups, w.f32(0)); });
  }
  return loaded;
}

/// The f32 scales or zeros of the lane's tokens in a step.
PerToken BlockEmitter::loadScales(const SideRows &side, Value stepBegin,
                                  bool zeros) {
  int64_t tokens = plan.getLaneTokens(), groups = side.plan->groups;
  auto flatten = [](const PerToken &values) {
    SmallVector<Value> flat;
    for (const SmallVector<Value> &of : values)
      llvm::append_range(flat, of);
    return flat;
  };
  SmallVector<Value> flat = w.buildIf(
      isWhole(stepBegin),
      SmallVector<Type>(tokens * groups, w.builder.getF32Type()),
      [&] { return flatten(loadWholeScales(side, stepBegin, zeros)); },
      [&] { return flatten(loadGuardedScales(side, stepBegin, zeros)); });
  PerToken loaded(tokens);
  for (auto [i, value] : llvm::enumerate(flat))
    loaded[i / groups].push_back(value);
  return loaded;
}
