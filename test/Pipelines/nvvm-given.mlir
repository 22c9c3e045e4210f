// RUN: kvq-opt %s --kvq-nvvm-pipeline=tile-tokens=32 | FileCheck %s

// What is given to caches is read by GPU kernels too: static ranges, outer
// scales, means, rotations.

#k = #kvq.format<codes = ui4, group = [*, 1], scale = f16, zero = min f16, range = static, center = f16>
#v = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32, rotate = hadamard<64>>
!kc = !kvq.cache<1x2x?x64xf16, #k>
!vc = !kvq.cache<1x2x?x64xf16, #v>

// CHECK: gpu.module
// CHECK: llvm.func @decode_kernel
// CHECK-NOT: kvq.
func.func @decode(%q: tensor<1x8x1x64xf32>, %k: !kc, %v: !vc, %n: tensor<1xi64>, %out: tensor<1x8x1x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !kc, !vc) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x8x1x64xf32>) {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %r : tensor<1x8x1x64xf32>
}
