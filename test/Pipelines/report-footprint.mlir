// RUN: kvq-opt %s --pass-pipeline="builtin.module(kvq-tile-pipeline{splits=4},\
// RUN:     kvq-bufferize-pipeline,func.func(convert-kvq-to-gpu),kvq-report-footprint{output=table})" \
// RUN:   -o /dev/null 2>&1 | FileCheck %s

// The workspace of 4 splits: accumulator, maximum and sum for each of 32 query
// heads, 4 * 32 * (128 + 1 + 1) * 4 bytes for each query token. Two kernels,
// partial attention and the merge. (The example of the pass's documentation.)
//      CHECK: footprint of @decode
// CHECK-NEXT: temporaries of a call: 66560 bytes x dim(%arg0, 2){{$}}
// CHECK-NEXT: temporaries of a work item: {{[0-9]+}} bytes{{$}}
// CHECK-NEXT: kernel launches: 2{{$}}
// CHECK-NOT:  {{.}}
#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!keys = !kvq.cache<1x8x?x128xf16, #k, recent = 32>
!values = !kvq.cache<1x8x?x128xf16, #v>
func.func @decode(%q: tensor<1x32x?x128xf32>, %k: !keys, %v: !values,
                  %length: tensor<1xi64>, %flushed: tensor<1xi64>,
                  %out: tensor<1x32x?x128xf32>) -> tensor<1x32x?x128xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x32x?x128xf32>, !keys, !values)
      lengths(%length : tensor<1xi64>) key_flushed(%flushed : tensor<1xi64>)
      outs(%out : tensor<1x32x?x128xf32>)
      {scale = 0.0883883461 : f32, causal} -> tensor<1x32x?x128xf32>
  return %0 : tensor<1x32x?x128xf32>
}
