// REQUIRES: tsan

// The thread sanitizer finds no race between the threads of appends and of attention,
// with splits and without, and it finds those of threads that are given the same items.

// DEFINE: %{instrument} = sed -e 's/^attributes #[0-9]* = {/& sanitize_thread/' -e '/^define/s/) {$/) sanitize_thread {/' \
// DEFINE:   | opt -passes='tsan-module,function(tsan)' -S
// DEFINE: %{compile} = %c_compiler -fsanitize=thread -g -O1 -Wno-override-module %S/Inputs/threads.c %S/Inputs/team.c -lm -lpthread

// RUN: kvq-opt %s --kvq-cpu-pipeline="openmp splits=1 tile-tokens=16" | kvq-translate --mlir-to-llvmir | %{instrument} > %t.whole.ll
// RUN: FileCheck %s --check-prefix=THREADS < %t.whole.ll
// RUN: %{compile} %t.whole.ll -o %t.whole
// RUN: %t.whole 2>&1 | FileCheck %s

// RUN: kvq-opt %s --kvq-cpu-pipeline="openmp splits=3 tile-tokens=16" | kvq-translate --mlir-to-llvmir | %{instrument} > %t.split.ll
// RUN: %{compile} %t.split.ll -o %t.split
// RUN: %t.split 2>&1 | FileCheck %s

// THREADS: define internal void @append..omp_par(
// THREADS: call void @__tsan_

// CHECK-NOT: WARNING
// CHECK: finite: 1, not zero: 1
// CHECK-NOT: WARNING

// RUN: %{compile} -DRACE %t.whole.ll -o %t.race
// RUN: not %t.race 2>&1 | FileCheck %s --check-prefix=RACE
// RACE: WARNING: ThreadSanitizer: data race
// RACE: append..omp_par

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!cache = !kvq.cache<2x2x64x64xf32, #i8>

func.func @append(%x: tensor<2x2x40x64xf32>, %n: tensor<2xi64>, %c: !cache) -> !cache
    attributes {llvm.emit_c_interface} {
  %r = kvq.append ins(%x : tensor<2x2x40x64xf32>) lengths(%n : tensor<2xi64>) into(%c : !cache) -> !cache
  return %r : !cache
}

func.func @attend(%q: tensor<2x4x1x64xf32>, %k: !cache, %v: !cache, %n: tensor<2xi64>,
                  %out: tensor<2x4x1x64xf32>) -> tensor<2x4x1x64xf32>
    attributes {llvm.emit_c_interface} {
  %o = kvq.attention ins(%q, %k, %v : tensor<2x4x1x64xf32>, !cache, !cache) lengths(%n : tensor<2xi64>)
      outs(%out : tensor<2x4x1x64xf32>) {scale = 0.125 : f32} -> tensor<2x4x1x64xf32>
  return %o : tensor<2x4x1x64xf32>
}
