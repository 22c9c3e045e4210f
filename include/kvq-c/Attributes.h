//===- kvq-c/Attributes.h - Formats in C ------------------------ -*- C -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes are parsed from text by `mlirAttributeParseGet`, or built here.
// What is wrong goes to the diagnostic handlers of the context, and the result
// is a null attribute (`mlirAttributeIsNull`).
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_C_ATTRIBUTES_H
#define KVQ_C_ATTRIBUTES_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An extent that is a whole axis, `*` in text. */
enum { KvqWholeAxis = -1 };

/** What the zero of a group means. */
typedef enum KvqZeroKind {
  KvqZeroNone,  /**< symmetric: no zero */
  KvqZeroMin,   /**< `min T`: the real minimum, which code 0 stands for */
  KvqZeroPoint, /**< `point T`: the code that 0 has */
} KvqZeroKind;

/** How the range of a group is taken from its values. */
typedef enum KvqRangePolicy {
  KvqRangeDefault, /**< minmax with a zero, absmax without */
  KvqRangeAbsMax,
  KvqRangeMinMax,
  KvqRangeClip,
  KvqRangeSearch,
  KvqRangeRms,
  KvqRangeNorm,
  KvqRangeStatic,
} KvqRangePolicy;

/** Whether keys are stored after RoPE or before. */
typedef enum KvqRopeOrder {
  KvqRopePost,
  KvqRopePre,
} KvqRopeOrder;

/** The fields of a `#kvq.format`, as in text. What is zero or null is absent.
 */
typedef struct KvqFormatFields {
  /** A type attribute (`mlirTypeAttrGet`) of integers or floats of 2 to 8 bits,
   * or of none for exact elements; or a `#kvq.codebook`. Never absent. */
  MlirAttribute codes;
  /** Tokens and channels that share a scale, or `KvqWholeAxis`. */
  int64_t groupTokens, groupChannels;
  /** KV heads that share it too, or `KvqWholeAxis`; 0 is 1. */
  int64_t heads;
  /** The stored type of a scale, and the type of the outer one of two levels.
   */
  MlirType scale, outerScale;
  KvqZeroKind zeroKind;
  /** The type of `zeroKind`. */
  MlirType zero;
  KvqRangePolicy range;
  /** The ratio of `KvqRangeClip`, above 0 and at most 1. */
  float clip;
  /** The steps of `KvqRangeSearch`. */
  int64_t steps;
  /** Channels that a Hadamard rotation mixes, or `KvqWholeAxis`. */
  int64_t rotation;
  /** The type of the mean that is subtracted. */
  MlirType center;
  KvqRopeOrder rope;
  /** A `#kvq.rule`. */
  MlirAttribute rule;
  /** A `#kvq.layout`. */
  MlirAttribute layout;
} KvqFormatFields;

/** Whether the attribute is a `#kvq.format`. */
MLIR_CAPI_EXPORTED bool kvqAttributeIsAFormat(MlirAttribute attribute);

/** The format with these fields. Fails, with an error at `location`, where they
 * do not go together. */
MLIR_CAPI_EXPORTED MlirAttribute
kvqFormatAttrGetChecked(MlirLocation location, const KvqFormatFields *fields);

/** The fields of a format, defaults spelled out: the format that is built of
 * them is the same. */
MLIR_CAPI_EXPORTED KvqFormatFields kvqFormatAttrGetFields(MlirAttribute format);

/** Whether elements are kept as they are (`codes = none`). */
MLIR_CAPI_EXPORTED bool kvqFormatAttrIsExact(MlirAttribute format);

/** Bits of a code; 0 for an exact format. */
MLIR_CAPI_EXPORTED unsigned kvqFormatAttrGetCodeBits(MlirAttribute format);

/** Whether the attribute is a `#kvq.codebook`. */
MLIR_CAPI_EXPORTED bool kvqAttributeIsACodebook(MlirAttribute attribute);

/** The codebook of 2 to 16 increasing values. Fails, with an error at
 * `location`, for others. */
MLIR_CAPI_EXPORTED MlirAttribute kvqCodebookAttrGetChecked(
    MlirLocation location, intptr_t numValues, const float *values);

MLIR_CAPI_EXPORTED intptr_t kvqCodebookAttrGetNumValues(MlirAttribute codebook);

/** The value that code `index` stands for; `index` is below the number of
 * values. */
MLIR_CAPI_EXPORTED float kvqCodebookAttrGetValue(MlirAttribute codebook,
                                                 intptr_t index);

/** Whether the attribute is a `#kvq.segments`. */
MLIR_CAPI_EXPORTED bool kvqAttributeIsASegments(MlirAttribute attribute);

/** Formats of `numSegments` ranges of channels, each from where the one before
 *  ends, the first from 0, to its end. Fails, with an error at `location`,
 * where they do not go together. A `row` that segments share is written as
 * text. */
MLIR_CAPI_EXPORTED MlirAttribute
kvqSegmentsAttrGetChecked(MlirLocation location, intptr_t numSegments,
                          const int64_t *ends, const MlirAttribute *formats);

MLIR_CAPI_EXPORTED intptr_t
kvqSegmentsAttrGetNumSegments(MlirAttribute segments);

/** The channel behind the last one of a segment. */
MLIR_CAPI_EXPORTED int64_t kvqSegmentsAttrGetEnd(MlirAttribute segments,
                                                 intptr_t index);

MLIR_CAPI_EXPORTED MlirAttribute
kvqSegmentsAttrGetFormat(MlirAttribute segments, intptr_t index);

/** How many presets there are: formats that engines store their caches in. */
MLIR_CAPI_EXPORTED intptr_t kvqGetNumPresets(void);

/** The name of a preset, such as "ggml.q8_0"; lives for ever. */
MLIR_CAPI_EXPORTED MlirStringRef kvqPresetGetName(intptr_t index);

/** The format or segments that the preset `name` stands for. Fails, with an
 * error at `location` that has the nearest names, where there is none. */
MLIR_CAPI_EXPORTED MlirAttribute kvqPresetAttrGetChecked(MlirLocation location,
                                                         MlirStringRef name);

#ifdef __cplusplus
}
#endif

#endif /* KVQ_C_ATTRIBUTES_H */
