// RUN: kvq-compile %s --emit=ptx --chip=sm_89 | FileCheck %s
// RUN: not kvq-compile %s --emit=ptx --chip=sm_80 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not kvq-compile %s --emit=ptx --chip=sm_89 --ptx=83 2>&1 | FileCheck %s --check-prefix=PTX
// RUN: not kvq-opt %s --kvq-cpu-pipeline 2>&1 | FileCheck %s --check-prefix=CPU

// Decoding by products of floats of 8 bits: codes are operands as they are, the
// query and the probabilities are rounded.
#f8 = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f16>
#f8e5 = #kvq.format<codes = f8E5M2, group = [1, *], scale = f16>
!k = !kvq.cache<1x2x256x64xf16, #f8>
!v = !kvq.cache<1x2x256x64xf16, #f8e5>

// OLD: error: 'kvq.partial_attention' op expected attention for tensor cores, for query_codes = 'f8E4M3FN', got that sm_80 with PTX 78 multiplies no f8E4M3FN
// PTX: error: 'kvq.partial_attention' op expected attention for tensor cores, for query_codes = 'f8E4M3FN', got that sm_89 with PTX 83 multiplies no f8E4M3FN
// CPU: error: 'kvq.partial_attention' op expected query_codes of integers without tensor cores (sm_89 or newer, kvq-map-to-tensor-cores), got 'f8E4M3FN'

// CHECK:     .visible .entry decode_kernel(
// CHECK-NOT: cvt.rn.f16x2.e4m3x2
// CHECK-DAG: cvt.rn.satfinite.e4m3x2.f32
// CHECK-DAG: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32
// CHECK-DAG: mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32
// CHECK-DAG: ret;
// CHECK-NOT: m16n8k16
func.func @decode(%q: tensor<1x8x1x64xf32>, %k: !k, %v: !v,
                  %lengths: tensor<1xi64>, %out: tensor<1x8x1x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !k, !v)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x1x64xf32>)
    {scale = 0.125 : f32, causal, query_codes = f8E4M3FN} -> tensor<1x8x1x64xf32>
  return %0 : tensor<1x8x1x64xf32>
}
