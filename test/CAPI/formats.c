// UNSUPPORTED: asan
// RUN: %compile_c %s -o %t
// RUN: %t | FileCheck %s

// Formats and cache types, built and taken apart, and the bytes of caches.

#include "kvq-c/Attributes.h"
#include "kvq-c/CacheType.h"
#include "kvq-c/Registration.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"

#include <stdio.h>
#include <stdlib.h>

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "expected %s\n", what);
  exit(1);
}

static void print(MlirStringRef text, void *unused) {
  (void)unused;
  printf("%.*s", (int)text.length, text.data);
}

static void printAttribute(MlirAttribute attribute) {
  mlirAttributePrint(attribute, print, NULL);
  printf("\n");
}

static MlirLogicalResult printDiagnostic(MlirDiagnostic diagnostic,
                                         void *count) {
  ++*(int *)count;
  printf("error at ");
  mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), print, NULL);
  printf(": ");
  mlirDiagnosticPrint(diagnostic, print, NULL);
  printf("\n");
  return mlirLogicalResultSuccess();
}

static MlirStringRef text(const char *characters) {
  return mlirStringRefCreateFromCString(characters);
}

// The format is the same when it is parsed, and when it is built of its fields.
static MlirAttribute requireSame(MlirLocation here, MlirAttribute format,
                                 const char *expected) {
  require(kvqAttributeIsAFormat(format), "a format");
  printAttribute(format);
  MlirAttribute parsed =
      mlirAttributeParseGet(mlirLocationGetContext(here), text(expected));
  require(mlirAttributeEqual(format, parsed), expected);
  KvqFormatFields fields = kvqFormatAttrGetFields(format);
  require(mlirAttributeEqual(kvqFormatAttrGetChecked(here, &fields), format),
          "the same format from its fields");
  return format;
}

static void buildFormats(MlirContext context, MlirLocation here) {
  MlirType f16 = mlirF16TypeGet(context), f32 = mlirF32TypeGet(context);
  KvqFormatFields fields = {
      .codes = mlirTypeAttrGet(mlirIntegerTypeUnsignedGet(context, 4)),
      .groupTokens = 32,
      .groupChannels = 1,
      .scale = f16,
      .zeroKind = KvqZeroMin,
      .zero = f16,
      .range = KvqRangeClip,
      .clip = 0.9f,
  };
  // CHECK: #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = clip<0.9>>
  MlirAttribute format = requireSame(
      here, kvqFormatAttrGetChecked(here, &fields),
      "#kvq.format<codes = ui4, group = [32, 1], scale = f16, "
      "zero = min f16, range = clip<0.9>>");
  require(kvqFormatAttrGetCodeBits(format) == 4, "codes of 4 bits");
  require(!kvqFormatAttrIsExact(format), "a quantized format");

  const float values[] = {-1.0f, -0.25f, 0.0f, 0.25f, 1.0f};
  MlirAttribute codebook = kvqCodebookAttrGetChecked(here, 5, values);
  require(kvqAttributeIsACodebook(codebook), "a codebook");
  require(kvqCodebookAttrGetNumValues(codebook) == 5, "5 values");
  require(kvqCodebookAttrGetValue(codebook, 1) == -0.25f, "-0.25");
  fields = (KvqFormatFields){
      .codes = codebook,
      .groupTokens = 1,
      .groupChannels = KvqWholeAxis,
      .heads = 2,
      .scale = mlirFloat8E4M3FNTypeGet(context),
      .outerScale = f32,
      .range = KvqRangeSearch,
      .steps = 8,
      .rotation = 64,
      .center = f16,
  };
  // CHECK: #kvq.format<codes = #kvq.codebook<values = [-1.0, -0.25, 0.0, 0.25, 1.0]>, group = [1, *], heads = 2, scale = f8E4M3FN of f32, range = search<8>, rotate = hadamard<64>, center = f16>
  requireSame(
      here, kvqFormatAttrGetChecked(here, &fields),
      "#kvq.format<codes = #kvq.codebook<values = [-1.0, -0.25, 0.0, 0.25, "
      "1.0]>, group = [1, *], heads = 2, scale = f8E4M3FN of f32, "
      "range = search<8>, rotate = hadamard<64>, center = f16>");

  fields = (KvqFormatFields){.codes = mlirTypeAttrGet(mlirNoneTypeGet(context)),
                             .rope = KvqRopePre};
  // CHECK: #kvq.format<codes = none, rope = pre>
  format = requireSame(here, kvqFormatAttrGetChecked(here, &fields),
                       "#kvq.format<codes = none, rope = pre>");
  require(kvqFormatAttrIsExact(format), "an exact format");

  // Layouts and rules come as they are.
  const char *open = "#kvq.format<codes = i8, group = [1, 32], scale = f16, "
                     "layout = auto>";
  // CHECK: layout = auto
  requireSame(here, mlirAttributeParseGet(context, text(open)), open);
  // CHECK: layout = #kvq.layout<codes = planar, bias, record = [scale, codes]>
  MlirAttribute preset = kvqPresetAttrGetChecked(here, text("ggml.q4_0"));
  requireSame(here, preset, "#kvq.preset<\"ggml.q4_0\">");
  for (intptr_t index = 0; index < kvqGetNumPresets(); ++index)
    require(!mlirAttributeIsNull(
                kvqPresetAttrGetChecked(here, kvqPresetGetName(index))),
            "a preset of that name");
}

static MlirAttribute buildSegments(MlirContext context, MlirLocation here) {
  const int64_t ends[] = {512, 576};
  const MlirAttribute formats[] = {
      mlirAttributeParseGet(
          context,
          text("#kvq.format<codes = i8, group = [1, 128], scale = f32>")),
      mlirAttributeParseGet(context, text("#kvq.format<codes = none>"))};
  MlirAttribute segments = kvqSegmentsAttrGetChecked(here, 2, ends, formats);
  require(kvqAttributeIsASegments(segments), "segments");
  // CHECK: #kvq.segments<[0:512] = #kvq.format<codes = i8, group = [1, 128], scale = f32, range = absmax>, [512:576] = none>
  printAttribute(segments);
  require(kvqSegmentsAttrGetNumSegments(segments) == 2, "2 segments");
  require(kvqSegmentsAttrGetEnd(segments, 0) == 512, "an end at 512");
  require(
      mlirAttributeEqual(kvqSegmentsAttrGetFormat(segments, 1), formats[1]),
      "the format of the segment");
  return segments;
}

static void printComponent(const KvqComponent *component, void *unused) {
  (void)unused;
  printf("component %.*s:", (int)component->name.length, component->name.data);
  for (intptr_t axis = 0; axis < component->rank; ++axis)
    printf(" %d", (int)component->shape[axis]);
  printf(" of ");
  mlirTypePrint(component->elementType, print, NULL);
  printf(", at %d%s\n", (int)component->alignment,
         component->given ? ", given" : "");
}

static void addBytes(MlirStringRef name, int64_t bytes, void *sum) {
  *(int64_t *)sum += bytes;
  printf("%.*s: %d\n", (int)name.length, name.data, (int)bytes);
}

static void buildCaches(MlirContext context, MlirLocation here,
                        MlirAttribute segments) {
  KvqCacheFields fields = {
      .batch = 2,
      .kvHeads = 8,
      .capacity = mlirShapedTypeGetDynamicSize(),
      .headDim = 128,
      .elementType = mlirF16TypeGet(context),
      .format = mlirAttributeParseGet(
          context, text("#kvq.format<codes = ui4, group = [32, 1], "
                        "scale = f16, zero = min f16>")),
      .exactFirst = 4,
      .recent = {true, 32},
  };
  MlirType cache = kvqCacheTypeGetChecked(here, &fields);
  require(kvqTypeIsACache(cache), "a cache");
  // CHECK: !kvq.cache<2x8x?x128xf16, #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>, exact_first = 4, recent = 32>
  mlirTypePrint(cache, print, NULL);
  printf("\n");
  KvqCacheFields again = kvqCacheTypeGetFields(cache);
  require(mlirTypeEqual(kvqCacheTypeGetChecked(here, &again), cache),
          "the same cache from its fields");
  require(kvqCacheTypeGetTokenGroup(cache) == 32, "groups of 32 tokens");
  // 4 first ones, 32 exact ones, and of 64 others whole groups.
  require(kvqCacheTypeGetFlushedTokens(cache, 4 + 32 + 65) == 64,
          "64 quantized tokens");

  // (1,000 - 36) / 32 = 30 groups of quantized tokens.
  // CHECK: component codes: 2 8 960 64 of i8, at 64
  // CHECK: component scales: 2 8 30 128 of f16, at 64
  // CHECK: component zeros: 2 8 30 128 of f16, at 64
  // CHECK: component first: 2 8 4 128 of f16, at 64
  // CHECK: component recent: 2 8 63 128 of f16, at 64
  require(mlirLogicalResultIsSuccess(kvqCacheTypeForEachComponent(
              here, cache, 1000, printComponent, NULL)),
          "components");
  // CHECK: codes: 983040
  // CHECK: scales: 122880
  // CHECK: zeros: 122880
  // CHECK: first: 16384
  // CHECK: recent: 258048
  // CHECK: total: 1503232
  int64_t sum = 0;
  KvqBytes bytes;
  require(mlirLogicalResultIsSuccess(kvqCacheTypeGetAllocatedBytes(
              here, cache, 1000, &bytes, addBytes, &sum)),
          "bytes");
  printf("total: %d\n", (int)bytes.total);
  require(sum == bytes.total, "parts that add up");
  // One token holds a row of each head, in `first`.
  require(mlirLogicalResultIsSuccess(kvqCacheTypeGetRetainedBytes(
              here, cache, 1, &bytes, NULL, NULL)),
          "bytes");
  require(bytes.total == 2 * 8 * 128 * 2, "the bytes of one exact token");

  fields = (KvqCacheFields){.batch = 1,
                            .kvHeads = 1,
                            .capacity = 64,
                            .headDim = 576,
                            .elementType = mlirBF16TypeGet(context),
                            .format = segments,
                            .page = {true, 16}};
  // CHECK: component codes.0: 4 1 16 512 of i8
  // CHECK: component scales.0: 4 1 16 4 of f32
  // CHECK: component values.1: 4 1 16 64 of bf16
  require(mlirLogicalResultIsSuccess(kvqCacheTypeForEachComponent(
              here, kvqCacheTypeGetChecked(here, &fields), 64, printComponent,
              NULL)),
          "components");
}

static void checkErrors(MlirContext context, MlirLocation here, int *errors) {
  MlirType f16 = mlirF16TypeGet(context);
  MlirAttribute i4 = mlirTypeAttrGet(mlirIntegerTypeSignedGet(context, 4));
  MlirAttribute plain =
      mlirTypeAttrGet(mlirIntegerTypeGet(context, 4)); // as `i4` in text
  const KvqFormatFields formats[] = {
      // CHECK: error at loc("here":3:1): expected an attribute as codes
      {.groupTokens = 1, .groupChannels = 32, .scale = f16},
      // CHECK: error at loc("here":3:1): expected field 'group' with quantized codes
      {.codes = plain, .scale = f16},
      // CHECK: error at loc("here":3:1): expected a group extent of at least 1 or '*', got 0
      {.codes = plain, .groupTokens = 1, .scale = f16},
      // CHECK: error at loc("here":3:1): expected field 'scale' with quantized codes
      {.codes = plain, .groupTokens = 1, .groupChannels = 32},
      // CHECK: error at loc("here":3:1): expected codes of i2, {{.*}} got si4
      {.codes = i4, .groupTokens = 1, .groupChannels = 32, .scale = f16},
      // CHECK: error at loc("here":3:1): expected range KvqRangeClip beside a ratio in clip
      {.codes = plain, .groupTokens = 1, .groupChannels = 32, .scale = f16, .clip = 0.5f},
      // CHECK: error at loc("here":3:1): expected range KvqRangeSearch beside a number in steps
      {.codes = plain, .groupTokens = 1, .groupChannels = 32, .scale = f16, .steps = 2},
      // CHECK: error at loc("here":3:1): expected a clip ratio above 0 and at most 1, got 0
      {.codes = plain, .groupTokens = 1, .groupChannels = 32, .scale = f16, .range = KvqRangeClip},
      // CHECK: error at loc("here":3:1): expected a KvqRangePolicy as range, got 8
      {.codes = plain, .groupTokens = 1, .groupChannels = 32, .scale = f16, .range = (KvqRangePolicy)8},
      // CHECK: error at loc("here":3:1): expected a scale beside outerScale
      {.codes = plain, .groupTokens = 1, .groupChannels = 32, .outerScale = f16},
      // CHECK: error at loc("here":3:1): expected a type as zero beside zeroKind
      {.codes = plain, .groupTokens = 1, .groupChannels = 32, .scale = f16, .zeroKind = KvqZeroMin},
      // CHECK: error at loc("here":3:1): {{.*}}got 'none'
      {.codes = plain, .groupTokens = 1, .groupChannels = 32, .scale = f16, .zero = f16},
  };
  int expected = 0;
  for (size_t index = 0; index < sizeof(formats) / sizeof(*formats); ++index) {
    require(mlirAttributeIsNull(
                kvqFormatAttrGetChecked(here, &formats[index])),
            "no format");
    require(*errors == ++expected, "one error each");
  }

  // CHECK: error at loc("here":3:1): unknown preset 'ggml.q4_9', the nearest are ggml.q4_0
  require(mlirAttributeIsNull(
              kvqPresetAttrGetChecked(here, text("ggml.q4_9"))),
          "no preset");
  // CHECK: error at loc("here":3:1): expected strictly increasing values
  const float falling[] = {1.0f, 0.0f};
  require(mlirAttributeIsNull(kvqCodebookAttrGetChecked(here, 2, falling)),
          "no codebook");
  // CHECK: error at loc("here":3:1): expected a #kvq.format as the format of segment 0
  const int64_t end = 64;
  require(mlirAttributeIsNull(kvqSegmentsAttrGetChecked(here, 1, &end, &i4)),
          "no segments");

  KvqCacheFields fields = {.batch = 1,
                           .kvHeads = 8,
                           .capacity = 64,
                           .headDim = 128,
                           .elementType = f16};
  // CHECK: error at loc("here":3:1): expected a #kvq.format or #kvq.segments as format
  require(mlirTypeIsNull(kvqCacheTypeGetChecked(here, &fields)), "no cache");
  fields.format = mlirAttributeParseGet(
      context, text("#kvq.format<codes = i4, group = [4, 32], scale = f16>"));
  // CHECK: error at loc("here":3:1): a group of 4 tokens has no range
  require(mlirTypeIsNull(kvqCacheTypeGetChecked(here, &fields)), "no cache");
  fields.recent = (KvqOptional){true, 0};
  MlirType cache = kvqCacheTypeGetChecked(here, &fields);
  require(kvqTypeIsACache(cache), "a cache with recent = 0");
  fields.capacity = -1;
  // CHECK: error at loc("here":3:1): expected a capacity of at least 0, got -1
  require(mlirTypeIsNull(kvqCacheTypeGetChecked(here, &fields)), "no cache");
  // CHECK: error at loc("here":3:1): expected at least 0 tokens, got -1
  KvqBytes bytes;
  require(mlirLogicalResultIsFailure(kvqCacheTypeGetAllocatedBytes(
              here, cache, -1, &bytes, NULL, NULL)),
          "no bytes");
  // CHECK: error at loc("here":3:1): expected a cache of fewer than 2^63 bytes
  require(mlirLogicalResultIsFailure(kvqCacheTypeGetAllocatedBytes(
              here, cache, INT64_MAX / 8, &bytes, NULL, NULL)),
          "no bytes");
}

int main(void) {
  MlirContext context = mlirContextCreate();
  MlirDialectHandle kvq = mlirGetDialectHandle__kvq__();
  mlirDialectHandleLoadDialect(kvq, context);
  MlirLocation here =
      mlirLocationFileLineColGet(context, text("here"), /*line=*/3, /*col=*/1);
  int errors = 0;
  MlirDiagnosticHandlerID handler = mlirContextAttachDiagnosticHandler(
      context, printDiagnostic, &errors, NULL);

  buildFormats(context, here);
  MlirAttribute segments = buildSegments(context, here);
  buildCaches(context, here, segments);
  require(errors == 0, "no error so far");
  checkErrors(context, here, &errors);

  mlirContextDetachDiagnosticHandler(context, handler);
  mlirContextDestroy(context);
  // CHECK: done
  printf("done\n");
  return 0;
}
