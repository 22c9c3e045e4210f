// RUN: kvq-opt %s --kvq-nvvm-pipeline | FileCheck %s --check-prefix=IR
// RUN: kvq-compile %s --emit=ptx | FileCheck %s
// RUN: kvq-compile %s --emit=ptx | FileCheck %s --check-prefix=EXACT

// An append is one launch: a block for each sequence and KV head, and where tokens
// stand by themselves for each 16 of them.

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x8x?x128xf16, #k, exact_first = 4, recent = 32, page = 64>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!v = !kvq.cache<2x8x?x128xf16, #v>
#rms = #kvq.format<codes = #kvq.codebook<lloyd_max = 4>, group = [1, *], scale = f32, range = rms>
!rms = !kvq.cache<2x8x?x128xf16, #rms, page = 16>

// IR-LABEL: func.func @windows(
// IR:         gpu.launch_func @kernels::@windows_kernel blocks in (%c16, %c1, %c1) threads in (%c128, %c1, %c1)
// IR-NOT:     gpu.launch_func
// IR:         return
// IR-LABEL: func.func @turned(
// IR:         gpu.launch_func @kernels::@turned_kernel blocks in (%c16, %c1, %c1) threads in (%c128, %c1, %c1)
// IR-NOT:     gpu.launch_func
// IR:         return
// IR-LABEL: func.func @turned_slots(
// IR:         gpu.launch_func @kernels::@turned_slots_kernel
// IR-NOT:     gpu.launch_func
// IR:         return
// IR-LABEL: func.func @tokens(
// IR:         %[[CHUNKS:.*]] = arith.divui %{{.*}}, %c16
// IR:         %[[BLOCKS:.*]] = arith.muli %[[CHUNKS]], %c16
// IR:         gpu.launch_func @kernels::@tokens_kernel blocks in (%[[BLOCKS]],
// IR-NOT:     gpu.launch_func
// IR:         return
// IR-LABEL: func.func @slots(
// IR:         gpu.launch_func @kernels::@slots_kernel
// IR-NOT:     gpu.launch_func
// IR:         return

// Codes are those of a CPU, bit for bit: each step is rounded by itself, and
// subnormals stay.
// EXACT-NOT: .ftz
// EXACT-NOT: fma
// EXACT-NOT: .approx
// EXACT-NOT: div.full
// EXACT-NOT: {{add|sub|mul}}.f32

// CHECK: .visible .entry windows_kernel(
// CHECK:   min.NaN.f32
// CHECK:   max.NaN.f32
// CHECK:   sub.rn.f32
// CHECK:   div.rn.f32
// CHECK:   cvt.rpi.f32.f32
// CHECK:   cvt.rn.f16.f32
// CHECK:   sub.rn.f32
// CHECK:   div.rn.f32
// CHECK:   cvt.rni.f32.f32
// CHECK:   st.global.b8
func.func @windows(%x: tensor<2x8x?x128xf32>, %n: tensor<2xi64>, %f: tensor<2xi64>, %t: tensor<2x?xi64>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<2x8x?x128xf32>) lengths(%n : tensor<2xi64>) flushed(%f : tensor<2xi64>)
    pages(%t : tensor<2x?xi64>) into(%c : !k) -> !k
  return %0 : !k
}

// Keys are turned in that launch: products, differences and sums are rounded, each by
// itself.
// CHECK: .visible .entry turned_kernel(
// CHECK:   mul.rn.f32
// CHECK:   sub.rn.f32
// CHECK:   cvt.rn.f16.f32
// CHECK:   add.rn.f32
// CHECK:   min.NaN.f32
// CHECK:   st.global.b8
func.func @turned(%x: tensor<2x8x?x128xf16>, %n: tensor<2xi64>, %f: tensor<2xi64>, %t: tensor<2x?xi64>,
                  %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<2x8x?x128xf16>) lengths(%n : tensor<2xi64>) flushed(%f : tensor<2xi64>)
    pages(%t : tensor<2x?xi64>) rope(%cos, %sin : tensor<?x64xf32>, tensor<?x64xf32>) into(%c : !k) -> !k
  return %0 : !k
}

// CHECK: .visible .entry turned_slots_kernel(
// CHECK:   mul.rn.f32
func.func @turned_slots(%x: tensor<?x8x128xf32>, %s: tensor<?xi64>, %p: tensor<?xi64>,
                        %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>, %c: !rms) -> !rms {
  %0 = kvq.append ins(%x : tensor<?x8x128xf32>) slots(%s : tensor<?xi64>) positions(%p : tensor<?xi64>)
    rope(%cos, %sin : tensor<?x64xf32>, tensor<?x64xf32>) into(%c : !rms) {rope_style = #kvq.rope_style<interleaved>} -> !rms
  return %0 : !rms
}

// CHECK: .visible .entry tokens_kernel(
func.func @tokens(%x: tensor<2x8x?x128xf32>, %n: tensor<2xi64>, %c: !v) -> !v {
  %0 = kvq.append ins(%x : tensor<2x8x?x128xf32>) lengths(%n : tensor<2xi64>) into(%c : !v) -> !v
  return %0 : !v
}

// CHECK: .visible .entry slots_kernel(
// CHECK:   mul.rn.f32
// CHECK:   add.rn.f32
// CHECK:   sqrt.rn.f32
func.func @slots(%x: tensor<?x8x128xf32>, %s: tensor<?xi64>, %c: !rms) -> !rms {
  %0 = kvq.append ins(%x : tensor<?x8x128xf32>) slots(%s : tensor<?xi64>) into(%c : !rms) -> !rms
  return %0 : !rms
}
