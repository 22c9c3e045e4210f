//===- kvq-c/CacheType.h - The cache type and its bytes in C ---- -*- C -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types are parsed from text by `mlirTypeParseGet`, or built here. What is
// wrong goes to the diagnostic handlers of the context, and the result is a
// null type (`mlirTypeIsNull`) or a logical failure.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_C_CACHETYPE_H
#define KVQ_C_CACHETYPE_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A number that may be absent. Zero is absent: `{true, 0}` is the number 0. */
typedef struct KvqOptional {
  bool present;
  int64_t value;
} KvqOptional;

/** The fields of a `!kvq.cache`, as in text. What is zero is absent. */
typedef struct KvqCacheFields {
  int64_t batch, kvHeads;
  /** Tokens; `mlirShapedTypeGetDynamicSize()` where it is dynamic. */
  int64_t capacity;
  int64_t headDim;
  /** f16, bf16 or f32: what exact tokens hold. */
  MlirType elementType;
  /** A `#kvq.format` or `#kvq.segments`. */
  MlirAttribute format;
  /** Tokens that stay exact at the start of a sequence. */
  int64_t exactFirst;
  /** Exact windows of the newest tokens: one of the two, or neither. */
  KvqOptional recent, residual;
  /** Tokens in a page. */
  KvqOptional page;
  /** Tokens in a ring, and how many first ones of them stay. */
  KvqOptional ring;
  int64_t keepFirst;
  bool tokenMajor;
} KvqCacheFields;

/** Whether the type is a `!kvq.cache`. */
MLIR_CAPI_EXPORTED bool kvqTypeIsACache(MlirType type);

/** The cache with these fields. Fails, with an error at `location`, where they
 * do not go together. */
MLIR_CAPI_EXPORTED MlirType
kvqCacheTypeGetChecked(MlirLocation location, const KvqCacheFields *fields);

/** The fields of a cache: the cache that is built of them is the same. */
MLIR_CAPI_EXPORTED KvqCacheFields kvqCacheTypeGetFields(MlirType cache);

/** Tokens that are quantized together. */
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetTokenGroup(MlirType cache);

/** Tokens of a sequence of `length` that are stored as codes by then. */
MLIR_CAPI_EXPORTED int64_t kvqCacheTypeGetFlushedTokens(MlirType cache,
                                                        int64_t length);

/** A contiguous array that a cache is stored in. It lives during the call that
 *  it is given to. */
typedef struct KvqComponent {
  MlirStringRef name;
  intptr_t rank;
  const int64_t *shape;
  MlirType elementType;
  /** Bytes that the array's start is a multiple of. */
  int64_t alignment;
  /** Whether it is given when the cache is made, and never written. */
  bool given;
} KvqComponent;

/** Called with each component in turn, and the caller's data. */
typedef void (*KvqComponentCallback)(const KvqComponent *component,
                                     void *userData);

/** The components of storage for `capacity` tokens of each sequence, in order,
 *  with as many pages as they need where none is shared. Fails, with an error
 * at `location`, for a negative capacity, and for a layout that is still open.
 */
MLIR_CAPI_EXPORTED MlirLogicalResult kvqCacheTypeForEachComponent(
    MlirLocation location, MlirType cache, int64_t capacity,
    KvqComponentCallback callback, void *userData);

/** Called with each part of a number of bytes: the name of a component,
 * "padding" or "page_tails", and its bytes. */
typedef void (*KvqBytesCallback)(MlirStringRef name, int64_t bytes,
                                 void *userData);

/** Bytes of a cache. */
typedef struct KvqBytes {
  /** The bytes of the arrays. */
  int64_t total;
  /** Beside them: what alignment leaves unused where they lie one after the
   *  other. */
  int64_t alignment;
} KvqBytes;

/** The bytes of storage for `tokens` tokens of each sequence, and their parts,
 * to `callback` unless it is null: they add up to the total. Fails, with an
 * error at `location`, for a negative number of tokens, a layout that is still
 * open, and 2^63 bytes or more. */
MLIR_CAPI_EXPORTED MlirLogicalResult kvqCacheTypeGetAllocatedBytes(
    MlirLocation location, MlirType cache, int64_t tokens, KvqBytes *bytes,
    KvqBytesCallback callback, void *userData);

/** The same for those bytes that hold tokens once each sequence has `tokens`.
 */
MLIR_CAPI_EXPORTED MlirLogicalResult kvqCacheTypeGetRetainedBytes(
    MlirLocation location, MlirType cache, int64_t tokens, KvqBytes *bytes,
    KvqBytesCallback callback, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* KVQ_C_CACHETYPE_H */
