// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

#i4 = #kvq.format<codes = i4, group = [1, 16], scale = f16>
#u4 = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>

// CHECK-DAG: !kvq.cache<2x2x?x16xf16, #{{.*}}, ring = 128>
// CHECK-DAG: !kvq.cache<2x2x256x16xf16, #{{.*}}, exact_first = 2, recent = 64, ring = 128, keep_first = 4>
!plain = !kvq.cache<2x2x?x16xf16, #i4, ring = 128, keep_first = 0>
!window = !kvq.cache<2x2x256x16xf16, #u4, keep_first = 4, ring = 128, recent = 64, exact_first = 2>

// CHECK-LABEL: func.func @empty(
// CHECK: kvq.empty : ![[T:.*]]
func.func @empty(%w: !window) -> !plain {
  %p = kvq.empty : !plain
  return %p : !plain
}
