// RUN: split-file %s %t
// RUN: kvq-compile %t/functions.mlir --emit=header -o %t.h
// RUN: FileCheck %s < %t.h
// RUN: %c_compiler -std=c99 -Wall -Wextra -pedantic -Werror -x c -fsyntax-only -include %t.h /dev/null
// RUN: %cxx_compiler -std=c++11 -Wall -Wextra -pedantic -Werror -x c++ -fsyntax-only -include %t.h /dev/null
// RUN: not kvq-compile %t/name.mlir --emit=header 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not kvq-compile %t/result.mlir --emit=header 2>&1 | FileCheck %s --check-prefix=RESULT
// RUN: not kvq-compile %t/half.mlir --emit=header 2>&1 | FileCheck %s --check-prefix=HALF
// RUN: not kvq-compile %t/name.mlir --emit=header --block-size=64 2>&1 | FileCheck %s --check-prefix=BLOCK

// Arguments have the names of the source, and what each op that takes one knows
// of it; names that C lacks, or that would come twice, are numbers.

// CHECK: #pragma once
// CHECK: typedef struct {
// CHECK-NEXT: const uint16_t *q; /* f16 [2, 8, q_size2, 64]: batch, query heads, query tokens, channels */
// CHECK-NEXT: int64_t q_size2;
// CHECK-NEXT: int8_t *key_cache_codes; /* i8 [key_cache_codes_size0, 2, 32, 32]: packed codes of !kvq.cache<2x2x?x64xf16, {{.*}}, page = 32> */
// CHECK-NEXT: int64_t key_cache_codes_size0;
// CHECK-NEXT: uint8_t *key_cache_scales; /* f8E4M3FN [key_cache_scales_size0, 2, 32, 2]: the scale of each group */
// CHECK-NEXT: int64_t key_cache_scales_size0;
// CHECK-NEXT: const float *key_cache_outer_scales; /* f32 [1, 2, 1, 1]: given: what scales are times */
// CHECK: int8_t *argument2_codes;
// CHECK: int64_t *argument3; /* i64 [2]: batch: tokens of each sequence */
// CHECK: int64_t *argument4; /* i64 [2, argument4_size1]: batch, pages: those of each sequence's quantized tokens, in order */
// CHECK: int64_t *pages;
// CHECK: float *out; /* f32 [2, 8, out_size2, 64]: batch, query heads, query tokens, channels: the output */
// CHECK-NEXT: int64_t out_size2;
// CHECK-NEXT: } attend_call;
// CHECK: static inline size_t attend_q_bytes(const attend_call *call) {
// CHECK: return sizeof(uint16_t) * (size_t)(2 * 8 * call->q_size2 * 64);
// CHECK: void attend(
// CHECK-NEXT: const uint16_t *, const uint16_t *, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
// CHECK: static inline void attend_invoke(const attend_call *call) {
// CHECK: call->q, call->q, 0, 2, 8, call->q_size2, 64, 8 * call->q_size2 * 64, call->q_size2 * 64, 64, 1,

// CHECK: typedef struct {
// CHECK-NEXT: float *x; /* f32 [] */
// CHECK-NEXT: float y; /* f32 */
// CHECK-NEXT: int64_t n; /* i64 */
// CHECK-NEXT: } store_call;
// CHECK: call->x, call->x, 0,
// CHECK-NEXT: call->y,
// CHECK-NEXT: call->n);

// CHECK: char unused;
// CHECK-NEXT: } nothing_call;
// CHECK: void nothing(void);

// NAME: kvq-compile: error: function 'llama.attend': expected a name that C takes
// RESULT: kvq-compile: error: function 'add': expected no results but arguments, got one of i64
// HALF: kvq-compile: error: function 'f': expected numbers of f32 or f64, which C has, got one of f16 as argument 0
// BLOCK: kvq-compile: error: --block-size: expected with --emit=ptx, cubin, fatbin, manifest, or header and --chip; it is for GPUs

//--- functions.mlir
!cache = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f8E4M3FN of f32>, page = 32>
func.func @attend(%q: tensor<2x8x?x64xf16> {bufferization.writable = false}, %key.cache: !cache, %key-cache: !cache,
                  %0: tensor<2xi64>, %int: tensor<2x?xi64>, %pages: tensor<2x?xi64>, %out: tensor<2x8x?x64xf32>)
    -> tensor<2x8x?x64xf32> {
  %1 = kvq.attention ins(%q, %key.cache, %key-cache : tensor<2x8x?x64xf16>, !cache, !cache)
    lengths(%0 : tensor<2xi64>) key_pages(%int : tensor<2x?xi64>) value_pages(%pages : tensor<2x?xi64>)
    outs(%out : tensor<2x8x?x64xf32>) {scale = 0.125 : f32, causal} -> tensor<2x8x?x64xf32>
  return %1 : tensor<2x8x?x64xf32>
}
func.func @store(%x: memref<f32>, %y: f32, %n: i64) {
  memref.store %y, %x[] : memref<f32>
  return
}
func.func @nothing() {
  return
}
func.func private @helper()
//--- name.mlir
func.func @llama.attend() {
  return
}
//--- result.mlir
func.func @add(%x: i64) -> i64 {
  %0 = arith.addi %x, %x : i64
  return %0 : i64
}
//--- half.mlir
func.func @f(%x: f16) {
  return
}
