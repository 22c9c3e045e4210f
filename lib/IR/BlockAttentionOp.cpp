//===- BlockAttentionOp.cpp - Attention by the threads of a block ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operands.h"

using namespace mlir;
using namespace mlir::kvq;

MutableOperandRange BlockAttentionOp::getDpsInitsMutable() {
  // acc, max and sum are consecutive operands.
  return MutableOperandRange(getOperation(), getAccMutable().getOperandNumber(),
                             3);
}

void BlockAttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isOverwritten = getOverwrites() && operand == getAccMutable();
    if (!isOverwritten)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

/// That `operands` are a cache of `type`, or its components.
static LogicalResult verifySide(BlockAttentionOp op, StringRef name,
                                OperandRange operands, CacheType type) {
  if (operands.size() == 1 && operands.getTypes().front() == type)
    return success();
  SmallVector<StorageComponent> components = type.getComponents();
  bool fit = operands.size() == components.size();
  for (size_t i = 0; fit && i != components.size(); ++i) {
    auto given = dyn_cast<ShapedType>(operands[i].getType());
    fit = given && given.getElementType() == components[i].elementType &&
          given.hasRank() &&
          succeeded(verifyCompatibleShape(given.getShape(),
                                          ArrayRef(components[i].shape)));
  }
  if (fit)
    return success();
  InFlightDiagnostic diag = op.emitOpError("expected ")
                            << name << " to be a " << type << " or its "
                            << components.size() << " components, got ";
  llvm::interleaveComma(operands.getTypes(), diag);
  return diag;
}

/// Whether elements of the last axis of `value` lie side by side, if it is a
/// buffer.
static bool liesTogether(Value value) {
  auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
  SmallVector<int64_t> strides;
  int64_t offset;
  return !type || (succeeded(type.getStridesAndOffset(strides, offset)) &&
                   strides.back() == 1);
}

static LogicalResult verifyBuffers(BlockAttentionOp op) {
  if (!liesTogether(op.getMask()))
    return op.emitOpError("expected a mask in which the elements of tokens lie "
                          "together, got ")
           << op.getMask().getType();
  for (Value pages : {op.getKeyPages(), op.getValuePages()})
    if (!liesTogether(pages))
      return op.emitOpError("expected a page table in which the pages of a "
                            "sequence lie together, got ")
             << pages.getType();
  return success();
}

LogicalResult BlockAttentionOp::verify() {
  auto query = cast<ShapedType>(getQuery().getType());
  auto acc = cast<ShapedType>(getAcc().getType());
  CacheType key = getKeyCache(), value = getValueCache();
  if (!query.hasStaticShape() || query.getDimSize(1) != key.getHeadDim())
    return emitOpError("expected a static query, rows x ")
           << key.getHeadDim() << ", got " << query;
  int64_t rows = query.getDimSize(0);
  SmallVector<int64_t> accShape = {rows, value.getHeadDim()};
  if (acc.getShape() != ArrayRef(accShape))
    return emitOpError("expected an accumulator of ")
           << rows << " x " << value.getHeadDim() << ", got " << acc;
  for (Value perRow : {getMax(), getSum(), getBias(), getSlopes()})
    if (perRow && cast<ShapedType>(perRow.getType()).getDimSize(0) != rows)
      return emitOpError("expected a maximum, a sum, a bias and slopes for ")
             << rows << " rows, got " << perRow.getType();
  if (failed(verifyQueryTokens(*this, rows, getQueryTokens(), getWindowAttr(),
                               getWindowFirstAttr())))
    return failure();
  if (failed(verifyRowMask(*this, getMask(), rows, getQueryTokens())) ||
      failed(verifyBuffers(*this)))
    return failure();
  if (bool needsPosition = getSlopes() || hidesByPosition();
      needsPosition != bool(getPosition()))
    return emitOpError("expected a position with slopes, causal or a window, "
                       "and none without");
  if (std::optional<Type> type = getQueryCodes(); type && type->isInteger())
    return emitOpError("expected query_codes f8E4M3FN, got ") << *type;
  int64_t held = getHeldBytes(), most = getSharedBytes();
  if (held < 0 || held > most)
    return emitOpError("expected held_bytes from 0 to shared_bytes, ")
           << most << ", got " << held;
  if (failed(verifyQueryCodes(*this, getQueryCodesAttr(), key, value)))
    return failure();
  if (failed(verifySide(*this, "keys", getKeys(), key)) ||
      failed(verifySide(*this, "values", getValues(), value)))
    return failure();
  for (auto [name, cache, pages] :
       {std::tuple("key_pages", key, getKeyPages()),
        std::tuple("value_pages", value, getValuePages())})
    if (cache.isPaged() != bool(pages))
      return emitOpError("expected ")
             << name << " with a paged cache and none without, got "
             << (pages ? "one" : "none") << " with " << cache;
  SmallVector<Type> tensors;
  for (Value init : getDpsInits())
    if (isa<RankedTensorType>(init.getType()))
      tensors.push_back(init.getType());
  if ((!tensors.empty() && tensors.size() != 3) ||
      !llvm::equal(getResultTypes(), tensors))
    return emitOpError("expected a result for each tensor that is written, "
                       "none for buffers");
  return success();
}
