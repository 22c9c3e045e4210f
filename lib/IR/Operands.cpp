//===- Operands.cpp - Checks of what the host owns ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

std::string kvq::formatExtent(int64_t extent) {
  return ShapedType::isDynamic(extent) ? "?" : std::to_string(extent);
}

LogicalResult kvq::verifyPerSequence(Operation *op, StringRef name,
                                     Value operand, int64_t batch) {
  if (!operand)
    return success();
  auto type = cast<RankedTensorType>(operand.getType());
  if (type.isDynamicDim(0) || type.getDimSize(0) == batch)
    return success();
  return op->emitOpError() << "expected " << name << " for " << batch
                           << " sequences, got " << type.getDimSize(0);
}

LogicalResult kvq::verifyFlushed(Operation *op, StringRef name, CacheType cache,
                                 Value flushed) {
  if (cache.hasRecentWindow() && !flushed)
    return op->emitOpError() << "a cache with a recent window needs " << name;
  if (!cache.hasRecentWindow() && flushed)
    return op->emitOpError() << name << " is given for a cache without a "
                             << "recent window: every token is flushed at once";
  return verifyPerSequence(op, name, flushed, cache.getBatch());
}

LogicalResult kvq::verifyPageTable(Operation *op, StringRef name,
                                   CacheType cache, Value table) {
  if (cache.isPaged() && !table)
    return op->emitOpError() << "a cache with pages of " << *cache.getPage()
                             << " tokens needs " << name;
  if (!cache.isPaged() && table)
    return op->emitOpError() << name << " is given for a cache without pages";
  if (!table)
    return success();
  if (failed(verifyPerSequence(op, name, table, cache.getBatch())))
    return failure();
  int64_t found = cast<RankedTensorType>(table.getType()).getDimSize(1);
  int64_t rows = cache.getQuantizedRows(cache.getCapacity());
  if (ShapedType::isDynamic(found) || ShapedType::isDynamic(rows))
    return success();
  int64_t needed = llvm::divideCeil(rows, *cache.getPage());
  if (found >= needed)
    return success();
  return op->emitOpError() << "expected " << name << " of at least " << needed
                           << " pages for " << cache.getCapacity()
                           << " tokens, got " << found;
}

/// Whether `query_codes` of the type say something of a cache.
static bool hasCodesFor(Type queryCodes, CacheType cache) {
  return llvm::any_of(cache.getSegmentCaches(), [&](CacheType part) {
    FormatInterface format = part.getFormat();
    bool hasCodes = queryCodes.isInteger() ? format.hasIntegerCodes()
                                           : format.hasFP8Codes();
    // RoPE turns floats.
    return hasCodes && !format.isBeforeRope();
  });
}

LogicalResult kvq::verifyQueryTokens(Operation *op, int64_t rows,
                                     int64_t queryTokens, IntegerAttr window,
                                     IntegerAttr windowFirst) {
  if (queryTokens < 1 || rows % queryTokens != 0)
    return op->emitOpError("expected query_tokens that divide the ")
           << rows << " rows, got " << queryTokens;
  if (window && window.getInt() < 1)
    return op->emitOpError("expected a window of at least 1 token, got ")
           << window.getInt();
  if (windowFirst && (windowFirst.getInt() < 0 || !window))
    return op->emitOpError("expected window_first of at least 0, with a "
                           "window, got ")
           << windowFirst.getInt();
  return success();
}

LogicalResult kvq::verifyRowMask(Operation *op, Value mask, int64_t rows,
                                 int64_t queryTokens) {
  if (!mask)
    return success();
  auto type = cast<ShapedType>(mask.getType());
  int64_t heads = rows / queryTokens;
  if (type.getRank() == 3 &&
      (type.getDimSize(0) == 1 || type.getDimSize(0) == heads) &&
      type.getDimSize(1) <= queryTokens)
    return success();
  return op->emitOpError("expected a mask of 1 or ")
         << heads << " heads x at most " << queryTokens
         << " query tokens x tokens, got " << type;
}

LogicalResult kvq::verifyQueryCodes(Operation *op, TypeAttr queryCodes,
                                    CacheType key, CacheType value) {
  if (!queryCodes)
    return success();
  Type type = queryCodes.getValue();
  if (!type.isSignlessInteger(8) && !type.isSignlessInteger(16) &&
      !isa<Float8E4M3FNType>(type))
    return op->emitOpError()
           << "expected query_codes i8, i16 or f8E4M3FN, got " << type;
  if (!key || !value || hasCodesFor(type, key) || hasCodesFor(type, value))
    return success();
  return op->emitOpError() << "query_codes needs "
                           << (type.isInteger() ? "integer codes"
                                                : "codes of f8E4M3FN or f8E5M2")
                           << " of keys or of values, got "
                           << key.getRowFormat() << " and "
                           << value.getRowFormat();
}

FailureOr<int64_t>
kvq::verifyValueChannels(Operation *op, Type values, int64_t headDim,
                         std::optional<ArrayRef<int64_t>> range) {
  if (!range)
    return headDim;
  if (range->size() != 2)
    return op->emitOpError("expected value_channels = [begin, end], got ")
           << range->size() << " numbers";
  int64_t begin = range->front(), end = range->back();
  if (begin < 0 || end <= begin || end > headDim)
    return op->emitOpError("expected value_channels within ")
           << headDim << " channels of a row, got [" << begin << ", " << end
           << "]";
  if (auto cache = dyn_cast<CacheType>(values)) {
    std::string reason = cache.whyNotChannels(begin, end);
    if (!reason.empty())
      return op->emitOpError("value_channels = [")
             << begin << ", " << end << "] " << reason;
  }
  return end - begin;
}

LogicalResult kvq::verifyRopeTables(Operation *op, Value cos, Value sin,
                                    std::optional<RopeStyle> style,
                                    int64_t channels) {
  if (!cos && style)
    return op->emitOpError("rope_style is given without tables of RoPE");
  if (!cos)
    return success();
  auto type = cast<RankedTensorType>(cos.getType());
  if (type != sin.getType())
    return op->emitOpError("expected tables of RoPE of one type, got ")
           << type << " and " << sin.getType();
  int64_t pairs = type.getDimSize(1);
  if (!ShapedType::isDynamic(pairs) && pairs >= 1 && pairs <= channels / 2)
    return success();
  return op->emitOpError("expected tables of RoPE with 1 to ")
         << channels / 2 << " angles a position, one for each pair of "
         << channels << " channels, got " << formatExtent(pairs);
}

LogicalResult kvq::verifyKeyRope(Operation *op, CacheType keys, Value cos,
                                 Value sin, std::optional<RopeStyle> style) {
  if (keys.isBeforeRope() != bool(cos))
    return op->emitOpError()
           << (cos ? "tables of RoPE are given for keys without rope = pre, "
                     "which are read as they are: "
                   : "keys with rope = pre need tables of RoPE, "
                     "'rope(%cos, %sin)': ")
           << keys;
  for (CacheType segment : keys.getSegmentCaches())
    if (segment.isBeforeRope() &&
        failed(verifyRopeTables(op, cos, sin, style, segment.getHeadDim())))
      return failure();
  if (!cos)
    return verifyRopeTables(op, cos, sin, style, keys.getHeadDim());
  return verifyRopeRows(op, keys, cos);
}

LogicalResult kvq::verifyRopeRows(Operation *op, CacheType keys, Value table) {
  int64_t rows = cast<RankedTensorType>(table.getType()).getDimSize(0);
  if (ShapedType::isDynamic(rows) ||
      ShapedType::isDynamic(keys.getCapacity()) || rows >= keys.getCapacity())
    return success();
  return op->emitOpError("expected tables of RoPE with a row for each of ")
         << keys.getCapacity() << " positions, got " << rows;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static InFlightDiagnostic emitOpenLayout(Operation *op) {
  return op->emitOpError("expected a layout of bytes, which "
                         "kvq-assign-layout chooses, got layout = auto in ");
}

LogicalResult kvq::verifyAssignedLayout(Operation *op, CacheType cache) {
  if (!cache.hasOpenLayout())
    return success();
  return emitOpenLayout(op) << cache;
}

LogicalResult kvq::verifyAssignedLayout(Operation *op, FormatInterface format) {
  if (!format.hasOpenLayout())
    return success();
  return emitOpenLayout(op) << format;
}
