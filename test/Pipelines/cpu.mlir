// DEFINE: %{others} = '{{[ "{](kvq|linalg|tensor|bufferization|memref|affine|scf|cf|func|arith|math|vector|index|ub|builtin)[.]}}'
// RUN: kvq-opt %s -kvq-cpu-pipeline | FileCheck %s --implicit-check-not=%{others}
// RUN: kvq-opt %s -kvq-cpu-pipeline='splits=4 tile-tokens=16 vector-width=4' | FileCheck %s --check-prefixes=CHECK,OPTIONS --implicit-check-not=%{others}
// RUN: not kvq-opt %s -kvq-cpu-pipeline=splits=-1 2>&1 | FileCheck %s --check-prefix=SPLITS
// RUN: not kvq-opt %s -kvq-cpu-pipeline=vector-width=6 2>&1 | FileCheck %s --check-prefix=WIDTH

// An append and an attention, down to the LLVM dialect: every op is one of it.

// SPLITS: kvq-assign-schedule: expected splits from 0 to 1024, got -1
// WIDTH: expected a power of two as vector-width, found 6

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #k, recent = 32>
!vc = !kvq.cache<1x8x?x128xf16, #v>

// CHECK-LABEL: llvm.func @append(
// CHECK-SAME:  attributes {llvm.emit_c_interface}
// CHECK-NOT:   @malloc
// Codes: a true division, then the nearest integer.
// CHECK:       llvm.fdiv {{.*}} : vector<{{[0-9]+}}xf32>
// CHECK:       llvm.intr.roundeven({{.*}}) : (vector<{{[0-9]+}}xf32>)
// CHECK-NOT:   @malloc
// CHECK:       llvm.return
// CHECK-LABEL: llvm.func @_mlir_ciface_append(
func.func @append(%x: tensor<1x8x?x128xf32>, %c: !kc, %n: tensor<1xi64>,
                  %f: tensor<1xi64>) -> !kc attributes {llvm.emit_c_interface} {
  %r = kvq.append ins(%x : tensor<1x8x?x128xf32>) lengths(%n : tensor<1xi64>)
      flushed(%f : tensor<1xi64>) into(%c : !kc) -> !kc
  return %r : !kc
}

// CHECK-LABEL: llvm.func @decode(
// CHECK-NOT:   @malloc
// Scores of 16 tokens, vectors of 4.
// OPTIONS:     llvm.fmul {{.*}} {fastmathFlags = #llvm.fastmath<contract>} : vector<4xf32>
// OPTIONS-NOT: vector<8xf32>
// CHECK:       llvm.return
func.func @decode(%q: tensor<1x32x1x128xf32>, %k: !kc, %v: !vc,
                  %n: tensor<1xi64>, %f: tensor<1xi64>,
                  %init: tensor<1x32x1x128xf32>) -> tensor<1x32x1x128xf32> {
  %o = kvq.attention ins(%q, %k, %v : tensor<1x32x1x128xf32>, !kc, !vc)
      lengths(%n : tensor<1xi64>) key_flushed(%f : tensor<1xi64>)
      outs(%init : tensor<1x32x1x128xf32>)
      {scale = 0.0883883461 : f32, causal} -> tensor<1x32x1x128xf32>
  return %o : tensor<1x32x1x128xf32>
}
