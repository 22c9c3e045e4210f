// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt %s --mlir-print-op-generic | kvq-opt | FileCheck %s
// RUN: kvq-opt %s --emit-bytecode | kvq-opt | FileCheck %s

// CHECK-DAG: #[[LATENT:[a-z0-9]+]] = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32, range = absmax>
// CHECK-DAG: #[[NONE:[a-z0-9]+]] = #kvq.format<codes = none>
// CHECK-DAG: ![[ROW_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #[[LATENT]], [512:576] = none>, exact_first = 4, recent = 16>
// CHECK-DAG: ![[LATENT_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x512xbf16, #[[LATENT]], exact_first = 4, recent = 16>
// CHECK-DAG: ![[ROPE_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x64xbf16, #[[NONE]]>
// CHECK-DAG: #[[ROTATED:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 128], scale = f16, range = absmax, rotate = hadamard<128>, center = bf16>
// CHECK-DAG: ![[RING_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #[[ROTATED]], [512:576] = none>, ring = 64, keep_first = 4>
#latent = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>
#row = #kvq.segments<[0:512] = #latent, [512:576] = none>
!row = !kvq.cache<1x1x?x576xbf16, #row, exact_first = 4, recent = 16>
!latent = !kvq.cache<1x1x?x512xbf16, #latent, exact_first = 4, recent = 16>
!rope = !kvq.cache<1x1x?x64xbf16, #kvq.format<codes = none>>

// CHECK-LABEL: func.func @ops
// CHECK: %[[PARTS:.*]]:2 = kvq.split_segments %{{.*}} : ![[ROW_CACHE]] -> ![[LATENT_CACHE]], ![[ROPE_CACHE]]
// CHECK: kvq.join_segments %[[PARTS]]#0, %[[PARTS]]#1 : ![[LATENT_CACHE]], ![[ROPE_CACHE]] -> ![[ROW_CACHE]]
func.func @ops(%c: !row) -> !row {
  %parts:2 = kvq.split_segments %c : !row -> !latent, !rope
  %joined = kvq.join_segments %parts#0, %parts#1 : !latent, !rope -> !row
  return %joined : !row
}

// The components are those of the segments.

// CHECK-LABEL: func.func @components
// CHECK: kvq.from_components
func.func @components(%codes: tensor<1x1x?x512xi8>, %scales: tensor<1x1x?x4xf32>,
    %first: tensor<1x1x4x512xbf16>, %recent: tensor<1x1x16x512xbf16>, %rope: tensor<1x1x?x64xbf16>) -> !row {
  %c = kvq.from_components %codes, %scales, %first, %recent, %rope
      : tensor<1x1x?x512xi8>, tensor<1x1x?x4xf32>, tensor<1x1x4x512xbf16>, tensor<1x1x16x512xbf16>, tensor<1x1x?x64xbf16> -> !row
  return %c : !row
}

// A ring, and what acts before quantization in a segment.

// CHECK: func.func private @ring(![[RING_CACHE]])
#rotated = #kvq.format<codes = i4, group = [1, 128], scale = f16, rotate = hadamard<128>, center = bf16>
func.func private @ring(!kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #rotated, [512:576] = none>, ring = 64, keep_first = 4>)
