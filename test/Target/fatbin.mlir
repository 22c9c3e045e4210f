// REQUIRES: fatbinary
// RUN: kvq-compile %s --emit=fatbin --chip=sm_80,sm_90a,sm_120a -o %t
// RUN: od -A n -t x1 -N 4 %t | FileCheck %s --check-prefix=MAGIC
// RUN: llvm-strings %t | FileCheck %s

// One binary with cubins of all chips, and PTX of sm_80 for those to come.
// MAGIC: 50 ed 55 ba
// CHECK-DAG: decode_kernel
!cache = !kvq.cache<1x2x256x64xf16, #kvq.format<codes = i8, group = [1, *], scale = f16>>
func.func @decode(%q: tensor<1x8x1x64xf32>, %k: !cache, %v: !cache,
                  %lengths: tensor<1xi64>, %out: tensor<1x8x1x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !cache, !cache)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x1x64xf32>)
    {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %0 : tensor<1x8x1x64xf32>
}
