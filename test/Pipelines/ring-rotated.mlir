// RUN: kvq-opt %s -kvq-cpu-pipeline | FileCheck %s

// Attention to the ranges of a ring, with values that are rotated: what the
// quantized tokens give is a state of its own, which is merged into that of all
// ranges, in place, in the loop over these.

#v = #kvq.format<codes = i4, group = [1, *], scale = f16, rotate = hadamard<*>>
!k = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>, ring = 23, keep_first = 4>
!v = !kvq.cache<1x2x?x64xf16, #v, exact_first = 3, ring = 23, keep_first = 4>

// CHECK-LABEL: llvm.func @ring
func.func @ring(%q: tensor<1x2x1x64xf32> {bufferization.writable = false}, %k: !k, %v: !v,
    %n: tensor<1xi64> {bufferization.writable = false}, %out: tensor<1x2x1x64xf32>) -> tensor<1x2x1x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x2x1x64xf32>) {scale = 1.0 : f32, causal} -> tensor<1x2x1x64xf32>
  return %r : tensor<1x2x1x64xf32>
}
