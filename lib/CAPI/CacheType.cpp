//===- CacheType.cpp - The cache type and its bytes in C ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq-c/CacheType.h"

#include "kvq/IR/Footprint.h"
#include "kvq/IR/KVQ.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace mlir::kvq;

static CacheType unwrapCache(MlirType type) {
  return cast<CacheType>(unwrap(type));
}

static std::optional<int64_t> unwrapOptional(KvqOptional number) {
  return number.present ? std::optional(number.value) : std::nullopt;
}

static KvqOptional wrapOptional(std::optional<int64_t> number) {
  return {number.has_value(), number.value_or(0)};
}

//===----------------------------------------------------------------------===//
// The type
//===----------------------------------------------------------------------===//

bool kvqTypeIsACache(MlirType type) {
  return isa_and_nonnull<CacheType>(unwrap(type));
}

MlirType kvqCacheTypeGetChecked(MlirLocation location,
                                const KvqCacheFields *fields) {
  Location where = unwrap(location);
  Attribute format = unwrap(fields->format);
  if (!isa_and_nonnull<FormatInterface, SegmentsAttr>(format)) {
    emitError(where) << "expected a #kvq.format or #kvq.segments as format";
    return MlirType{nullptr};
  }
  if (mlirTypeIsNull(fields->elementType)) {
    emitError(where) << "expected f16, bf16 or f32 as elementType";
    return MlirType{nullptr};
  }
  int64_t shape[] = {fields->batch, fields->kvHeads, fields->capacity,
                     fields->headDim};
  return wrap(Type(CacheType::getChecked(
      [&] { return emitError(where); }, where.getContext(), ArrayRef(shape),
      unwrap(fields->elementType), format, fields->exactFirst,
      unwrapOptional(fields->recent), unwrapOptional(fields->residual),
      unwrapOptional(fields->page), unwrapOptional(fields->ring),
      fields->keepFirst, fields->tokenMajor)));
}

KvqCacheFields kvqCacheTypeGetFields(MlirType type) {
  CacheType cache = unwrapCache(type);
  KvqCacheFields fields = {};
  fields.batch = cache.getBatch();
  fields.kvHeads = cache.getHeads();
  fields.capacity = cache.getCapacity();
  fields.headDim = cache.getHeadDim();
  fields.elementType = wrap(cache.getElementType());
  fields.format = wrap(cache.getRowFormat());
  fields.exactFirst = cache.getExactFirst();
  fields.recent = wrapOptional(cache.getRecent());
  fields.residual = wrapOptional(cache.getResidual());
  fields.page = wrapOptional(cache.getPage());
  fields.ring = wrapOptional(cache.getRing());
  fields.keepFirst = cache.getKeepFirst();
  fields.tokenMajor = cache.getTokenMajor();
  return fields;
}

int64_t kvqCacheTypeGetTokenGroup(MlirType cache) {
  return unwrapCache(cache).getTokenGroup();
}

int64_t kvqCacheTypeGetFlushedTokens(MlirType cache, int64_t length) {
  return unwrapCache(cache).getFlushedTokens(length);
}

//===----------------------------------------------------------------------===//
// Storage and bytes
//===----------------------------------------------------------------------===//

/// Fails, with an error, where a cache has no storage for so many tokens.
static LogicalResult checkStorage(Location where, CacheType cache,
                                  int64_t tokens) {
  if (tokens < 0)
    return emitError(where) << "expected at least 0 tokens, got " << tokens;
  if (cache.hasOpenLayout())
    return emitError(where) << "expected a layout of bytes, which "
                               "kvq-assign-layout chooses, got layout = auto "
                               "in "
                            << cache;
  return success();
}

MlirLogicalResult kvqCacheTypeForEachComponent(MlirLocation location,
                                               MlirType type, int64_t capacity,
                                               KvqComponentCallback callback,
                                               void *userData) {
  CacheType cache = unwrapCache(type);
  if (failed(checkStorage(unwrap(location), cache, capacity)))
    return mlirLogicalResultFailure();
  for (const StorageComponent &storage : cache.getComponents(capacity)) {
    std::string name = storage.getName();
    KvqComponent component = {
        wrap(StringRef(name)), intptr_t(storage.shape.size()),
        storage.shape.data(),  wrap(storage.elementType),
        storage.alignment,     storage.given};
    callback(&component, userData);
  }
  return mlirLogicalResultSuccess();
}

/// Passes on what `measure` says of the bytes of `tokens` tokens.
static MlirLogicalResult
getBytes(FailureOr<ByteSplit> (*measure)(CacheType, int64_t), Location where,
         CacheType cache, int64_t tokens, KvqBytes *bytes,
         KvqBytesCallback callback, void *userData) {
  if (failed(checkStorage(where, cache, tokens)))
    return mlirLogicalResultFailure();
  FailureOr<ByteSplit> split = measure(cache, tokens);
  if (failed(split)) {
    emitError(where) << "expected a cache of fewer than 2^63 bytes, got "
                     << cache << " of " << tokens << " tokens";
    return mlirLogicalResultFailure();
  }
  *bytes = {split->total, split->alignment};
  if (callback)
    for (auto [name, size] : split->getParts())
      callback(wrap(name), size, userData);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult kvqCacheTypeGetAllocatedBytes(MlirLocation location,
                                                MlirType cache, int64_t tokens,
                                                KvqBytes *bytes,
                                                KvqBytesCallback callback,
                                                void *userData) {
  return getBytes(getAllocatedBytes, unwrap(location), unwrapCache(cache),
                  tokens, bytes, callback, userData);
}

MlirLogicalResult kvqCacheTypeGetRetainedBytes(MlirLocation location,
                                               MlirType cache, int64_t tokens,
                                               KvqBytes *bytes,
                                               KvqBytesCallback callback,
                                               void *userData) {
  return getBytes(getRetainedBytes, unwrap(location), unwrapCache(cache),
                  tokens, bytes, callback, userData);
}
