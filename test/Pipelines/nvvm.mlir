// RUN: kvq-opt %s --kvq-nvvm-pipeline | FileCheck %s --check-prefix=IR
// RUN: kvq-opt %s --kvq-nvvm-pipeline=format=isa | FileCheck %s --check-prefix=BINARY
// RUN: kvq-compile %s --emit=ptx | FileCheck %s
// RUN: kvq-compile %s --emit=ptx --chip=sm_90a --ptx=83 \
// RUN:   | FileCheck %s --check-prefix=OTHER

// Decoding with 8-bit keys and values, one scale a token.
#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!cache = !kvq.cache<1x2x256x64xf16, #i8>

// IR-LABEL: func.func @decode(
// IR:         gpu.launch_func @kernels::@decode_kernel
// IR:       gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx78">]
// IR:         llvm.func @decode_kernel(
// IR-SAME:      gpu.kernel
// IR-SAME:      nvvm.kernel
// IR-SAME:      nvvm.maxntid = array<i32: 128, 1, 1>
// IR:           nvvm.barrier0
// IR:           nvvm.mma.sync

// BINARY: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_80", features = "+ptx78">, {{.*}}assembly =
// BINARY-SAME: .visible .entry decode_kernel

// Codes are copied to shared memory while others are worked on, and multiplied by
// tensor cores; nothing calls a library.
// CHECK:     .version 7.8
// CHECK:     .target sm_80
// CHECK:     .extern .shared .align 128 .b8
// CHECK-NOT: .extern
// CHECK:     .visible .entry decode_kernel(
// CHECK:     .maxntid 128
// CHECK-DAG: cp.async.cg.shared.global {{.*}}, 16
// CHECK-DAG: cp.async.commit_group
// CHECK-DAG: cp.async.wait_group 1
// CHECK-DAG: bar.warp.sync
// CHECK-DAG: ld.shared.v2.b32
// CHECK-DAG: lop3.b32 {{.*}}, 0x6a
// CHECK-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK-DAG: ex2.approx
// CHECK-DAG: movmatrix.sync.aligned.m8n8.trans.b16
// CHECK-DAG: ret;

// OTHER: .version 8.3
// OTHER: .target sm_90a
// OTHER: .maxntid 128
func.func @decode(%q: tensor<1x8x1x64xf32>, %k: !cache, %v: !cache,
                  %lengths: tensor<1xi64>, %out: tensor<1x8x1x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !cache, !cache)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x1x64xf32>)
    {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %0 : tensor<1x8x1x64xf32>
}
