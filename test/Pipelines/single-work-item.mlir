// RUN: kvq-opt %s -kvq-nvvm-pipeline | FileCheck %s
// RUN: kvq-opt %s -kvq-cpu-pipeline='openmp=true' | FileCheck %s --check-prefix=CPU

// One sequence, one KV head, one query token: a work item like any other, and so
// a kernel.

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x1x?x64xf16, #f>

// CHECK-LABEL: func.func @attention(
// CHECK-NOT:     memref.load
// CHECK:         gpu.launch_func @kernels::@attention_kernel
// CHECK:       gpu.module @kernels
// CHECK:         llvm.func @attention_kernel

// CPU-LABEL: llvm.func @attention(
func.func @attention(%q: tensor<1x4x1x64xf32>, %k: !c, %v: !c,
                     %lengths: tensor<1xi64>, %out: tensor<1x4x1x64xf32>)
    -> tensor<1x4x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !c, !c)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x4x1x64xf32>)
    {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
  return %0 : tensor<1x4x1x64xf32>
}
