// RUN: kvq-opt %s --kvq-nvvm-pipeline=tile-tokens=32 | FileCheck %s

// GPU kernels turn keys as they read them, codes and the exact ones of windows.

#k = #kvq.format<codes = i4, group = [1, 32], scale = f16, rope = pre>
#v = #kvq.format<codes = i8, group = [1, *], scale = f16>
!kc = !kvq.cache<1x2x?x64xf16, #k, recent = 16, page = 32>
!vc = !kvq.cache<1x2x?x64xf16, #v>

// CHECK:       gpu.module
// CHECK:       llvm.func @half_kernel
// CHECK-COUNT-2: llvm.fsub {{.*}} {fastmathFlags = #llvm.fastmath<contract>}
// CHECK-NOT:   kvq.
func.func @half(%q: tensor<1x8x1x64xf32>, %k: !kc, %v: !vc, %n: tensor<1xi64>, %f: tensor<1xi64>,
                %t: tensor<1x?xi64>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>,
                %out: tensor<1x8x1x64xf32>) -> tensor<1x8x1x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !kc, !vc) lengths(%n : tensor<1xi64>)
      key_flushed(%f : tensor<1xi64>) key_pages(%t : tensor<1x?xi64>)
      rope(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>)
      outs(%out : tensor<1x8x1x64xf32>) {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %r : tensor<1x8x1x64xf32>
}

// Pairs of neighbours, in some of the channels.
// CHECK:       llvm.func @interleaved_kernel
// CHECK:       llvm.fsub
func.func @interleaved(%q: tensor<1x8x1x64xf32>, %k: !kc, %v: !vc, %n: tensor<1xi64>, %f: tensor<1xi64>,
                       %t: tensor<1x?xi64>, %cos: tensor<?x20xf32>, %sin: tensor<?x20xf32>,
                       %out: tensor<1x8x1x64xf32>) -> tensor<1x8x1x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !kc, !vc) lengths(%n : tensor<1xi64>)
      key_flushed(%f : tensor<1xi64>) key_pages(%t : tensor<1x?xi64>)
      rope(%cos, %sin : tensor<?x20xf32>, tensor<?x20xf32>)
      outs(%out : tensor<1x8x1x64xf32>)
      {scale = 0.125 : f32, causal, rope_style = #kvq.rope_style<interleaved>} -> tensor<1x8x1x64xf32>
  return %r : tensor<1x8x1x64xf32>
}
