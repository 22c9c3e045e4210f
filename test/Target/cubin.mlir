// REQUIRES: ptxas
// RUN: kvq-compile %s --emit=cubin -o %t.80
// RUN: kvq-compile %s --emit=cubin --chip=sm_89 -o %t.89
// RUN: kvq-compile %s --emit=cubin --chip=sm_90a -o %t.90a
// RUN: kvq-compile %s --emit=cubin --chip=sm_100a -o %t.100a
// RUN: kvq-compile %s --emit=cubin --chip=sm_120a -o %t.120a
// RUN: llvm-readobj --file-headers --symbols %t.80 | FileCheck %s
// RUN: llvm-readobj --file-headers --symbols %t.89 | FileCheck %s
// RUN: llvm-readobj --file-headers --symbols %t.90a | FileCheck %s
// RUN: llvm-readobj --file-headers --symbols %t.100a | FileCheck %s
// RUN: llvm-readobj --file-headers --symbols %t.120a | FileCheck %s

// Two functions, two kernels, one file. The second has several scales a token,
// several sequences and any capacity.
#token = #kvq.format<codes = i8, group = [1, *], scale = f32>
#group = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!token = !kvq.cache<1x2x256x64xf16, #token>
!group = !kvq.cache<2x2x?x64xf16, #group>

// CHECK: Class: 64-bit
// CHECK: Machine: EM_CUDA
// CHECK-DAG: Name: one_kernel
// CHECK-DAG: Name: two_kernel
func.func @one(%q: tensor<1x8x1x64xf32>, %k: !token, %v: !token,
               %lengths: tensor<1xi64>, %out: tensor<1x8x1x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !token, !token)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x1x64xf32>)
    {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %0 : tensor<1x8x1x64xf32>
}
func.func @two(%q: tensor<2x8x1x64xf16>, %k: !group, %v: !group,
               %lengths: tensor<2xi64>, %out: tensor<2x8x1x64xf16>)
    -> tensor<2x8x1x64xf16> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<2x8x1x64xf16>, !group, !group)
    lengths(%lengths : tensor<2xi64>) outs(%out : tensor<2x8x1x64xf16>)
    {scale = 0.125 : f32, causal} -> tensor<2x8x1x64xf16>
  return %0 : tensor<2x8x1x64xf16>
}
