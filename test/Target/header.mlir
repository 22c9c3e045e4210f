// RUN: kvq-compile %s --emit=header --chip=sm_90a --splits=2 -o %t.h
// RUN: FileCheck %s < %t.h
// RUN: %c_compiler -std=c99 -Wall -Wextra -pedantic -Werror -x c -fsyntax-only -include %t.h /dev/null
// RUN: %cxx_compiler -std=c++11 -Wall -Wextra -pedantic -Werror -x c++ -fsyntax-only -include %t.h /dev/null
// RUN: kvq-compile %s --emit=header --chip=sm_80,sm_90a -o %t.both.h
// RUN: FileCheck %s --check-prefix=BOTH < %t.both.h
// RUN: %c_compiler -std=c99 -Wall -Wextra -pedantic -Werror -x c -fsyntax-only -include %t.both.h /dev/null

// What a call takes, the memory that its kernels share, and of each launch the
// name, the geometry, the shared memory and the arguments, in order.

// CHECK: #pragma once
// CHECK: /* For sm_90a. */
// CHECK: typedef struct {
// CHECK:   uint64_t argument0; /* f16 [2, 8, argument0_size2, 64] */
// CHECK:   int64_t argument0_size2;
// CHECK:   uint64_t argument1_codes; /* i8 [argument1_codes_size0, 2, 32, 32] */
// CHECK:   uint64_t argument1_scales; /* f16
// CHECK:   uint64_t workspace0; /* decode_workspace0_bytes(), any bytes */
// CHECK: } decode_call;
// CHECK: static inline size_t decode_workspace0_bytes(const decode_call *call) {
// CHECK:   return (size_t)4 * 2 * 2 * 2 * call->argument0_size2 * 4{{.*}};
// CHECK: /* Launch 1 of 2.
// CHECK: #define decode_kernel_name "decode_kernel"
// CHECK: #define decode_kernel_static_shared_bytes {{[0-9]+}}
// CHECK: static inline size_t decode_kernel_dynamic_shared_bytes(const decode_call *call)
// CHECK: static inline void decode_kernel_get_grid(const decode_call *call, unsigned extents[3])
// CHECK:   extents[0] = (unsigned)((call->argument0_size2 * 8));
// CHECK: static inline void decode_kernel_get_block(
// CHECK:   extents[0] = (unsigned)({{[0-9]+}});
// CHECK: } decode_kernel_arguments;
// CHECK:   arguments.argument1_codes_sizes[0] = call->argument1_codes_size0;
// CHECK: /* Launch 2 of 2.
// CHECK: #define decode_kernel_1_name "decode_kernel_1"
// CHECK: } decode_kernel_1_arguments;

// BOTH: For sm_80.
// BOTH: decode_sm_80_call;
// BOTH: #define decode_kernel_sm_80_name "decode_kernel"
// BOTH: For sm_90a.
// BOTH: decode_sm_90a_call;
// BOTH: #define decode_kernel_sm_90a_name "decode_kernel"

!cache = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>, page = 32>
func.func @decode(%q: tensor<2x8x?x64xf16>, %k: !cache, %v: !cache, %lengths: tensor<2xi64>,
                  %kp: tensor<2x?xi64>, %vp: tensor<2x?xi64>, %out: tensor<2x8x?x64xf32>)
    -> tensor<2x8x?x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<2x8x?x64xf16>, !cache, !cache)
    lengths(%lengths : tensor<2xi64>) key_pages(%kp : tensor<2x?xi64>) value_pages(%vp : tensor<2x?xi64>)
    outs(%out : tensor<2x8x?x64xf32>) {scale = 0.125 : f32, causal} -> tensor<2x8x?x64xf32>
  return %0 : tensor<2x8x?x64xf32>
}
