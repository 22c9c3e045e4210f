// RUN: kvq-opt %s -kvq-cpu-pipeline='openmp=true splits=2' | FileCheck %s
// RUN: kvq-opt %s -kvq-cpu-pipeline | FileCheck %s --check-prefix=ONE

// Work items are dealt out, sequences, heads and splits alike; each thread has
// scratch of its own. Merging the splits is a second loop. Those of an append are
// sequences, heads and a few tokens each.

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<2x8x?x64xf16, #f>

// ONE-NOT: omp

// CHECK-LABEL: llvm.func @append(
// CHECK:         omp.parallel {
// CHECK-NOT:       llvm.intr.stacksave
// CHECK:           omp.wsloop schedule(dynamic) {
// CHECK-NEXT:        omp.loop_nest ({{.*}}) : i64 = {{.*}} collapse(3)
// CHECK-LABEL: llvm.func @attention(
// CHECK:         omp.parallel {
// CHECK-NEXT:      llvm.alloca
// CHECK-NOT:       llvm.intr.stacksave
// CHECK:           omp.wsloop schedule(dynamic) {
// CHECK-NEXT:        omp.loop_nest ({{.*}}) : i64 = {{.*}} collapse(4)
// CHECK:         omp.parallel {
// CHECK:           omp.loop_nest ({{.*}}) : i64 = {{.*}} collapse(3)
func.func @append(%x: tensor<2x8x?x64xf32>, %c: !c, %n: tensor<2xi64>) -> !c {
  %r = kvq.append ins(%x : tensor<2x8x?x64xf32>) lengths(%n : tensor<2xi64>)
    into(%c : !c) -> !c
  return %r : !c
}

func.func @attention(%q: tensor<2x8x1x64xf32>, %k: !c, %v: !c,
                     %lengths: tensor<2xi64>, %out: tensor<2x8x1x64xf32>)
    -> tensor<2x8x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<2x8x1x64xf32>, !c, !c)
    lengths(%lengths : tensor<2xi64>) outs(%out : tensor<2x8x1x64xf32>)
    {scale = 0.125 : f32} -> tensor<2x8x1x64xf32>
  return %0 : tensor<2x8x1x64xf32>
}
