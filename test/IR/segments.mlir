// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt %s --mlir-print-op-generic | kvq-opt | FileCheck %s
// RUN: kvq-opt %s --emit-bytecode | kvq-opt | FileCheck %s

// CHECK-DAG: #[[LATENT:[a-z0-9]+]] = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32, range = absmax>
// CHECK-DAG: #[[NONE:[a-z0-9]+]] = #kvq.format<codes = none>
// CHECK-DAG: ![[ROW_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #[[LATENT]], [512:576] = none>, exact_first = 4, recent = 16>
// CHECK-DAG: ![[LATENT_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x512xbf16, #[[LATENT]], exact_first = 4, recent = 16>
// CHECK-DAG: ![[ROPE_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x64xbf16, #[[NONE]]>
// CHECK-DAG: !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #[[LATENT]], [512:576] = none, row = [codes.0, scale.0, values.1]>>
// CHECK-DAG: #[[LATENT_IN_ROW:[a-z0-9]+]] = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32, range = absmax, layout = #kvq.layout<codes = planar, row = [codes, scale, skip<128>]>>
// CHECK-DAG: #[[ROPE_IN_ROW:[a-z0-9]+]] = #kvq.format<codes = none, layout = #kvq.layout<codes = planar, row = [skip<528>, values]>>
// CHECK-DAG: #[[ROTATED:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 128], scale = f16, range = absmax, rotate = hadamard<128>, center = bf16>
// CHECK-DAG: ![[RING_CACHE:[a-z0-9]+]] = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #[[ROTATED]], [512:576] = none>, ring = 64, keep_first = 4>
#latent = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>
#row = #kvq.segments<[0:512] = #latent, [512:576] = none>
!row = !kvq.cache<1x1x?x576xbf16, #row, exact_first = 4, recent = 16>
!latent = !kvq.cache<1x1x?x512xbf16, #latent, exact_first = 4, recent = 16>
!rope = !kvq.cache<1x1x?x64xbf16, #kvq.format<codes = none>>

// CHECK-LABEL: func.func @ops
// CHECK-SAME: %[[C:.*]]: ![[ROW_CACHE]]
// CHECK: %[[PART:.*]] = kvq.extract_segment %[[C]][1] : ![[ROW_CACHE]] -> ![[ROPE_CACHE]]
// CHECK: kvq.insert_segment %[[PART]] into %[[C]][1] : ![[ROPE_CACHE]] into ![[ROW_CACHE]]
// CHECK: kvq.extract_segment %{{.*}}[0] : ![[ROW_CACHE]] -> ![[LATENT_CACHE]]
func.func @ops(%c: !row) -> (!row, !latent) {
  %part = kvq.extract_segment %c[1] : !row -> !rope
  %new = kvq.insert_segment %part into %c[1] : !rope into !row
  %latent = kvq.extract_segment %new[0] : !row -> !latent
  return %new, %latent : !row, !latent
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

// With a row of all segments each of them skips the bytes of the others.

#joined = #kvq.segments<[0:512] = #latent, [512:576] = none, row = [codes.0, scale.0, values.1]>
!joined = !kvq.cache<1x1x?x576xbf16, #joined>
!latent_in_row = !kvq.cache<1x1x?x512xbf16, #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32,
    layout = #kvq.layout<row = [codes, scale, skip<128>]>>>
!rope_in_row = !kvq.cache<1x1x?x64xbf16, #kvq.format<codes = none, layout = #kvq.layout<row = [skip<528>, values]>>>

// CHECK-LABEL: func.func @row
// CHECK: kvq.from_components
// CHECK: kvq.extract_segment %{{.*}}[0]
func.func @row(%records: tensor<1x1x?x656xi8>) -> (!latent_in_row, !rope_in_row) {
  %c = kvq.from_components %records : tensor<1x1x?x656xi8> -> !joined
  %latent = kvq.extract_segment %c[0] : !joined -> !latent_in_row
  %rope = kvq.extract_segment %c[1] : !joined -> !rope_in_row
  return %latent, %rope : !latent_in_row, !rope_in_row
}

// A ring, and what acts before quantization in a segment.

// CHECK: func.func private @ring(![[RING_CACHE]])
#rotated = #kvq.format<codes = i4, group = [1, 128], scale = f16, rotate = hadamard<128>, center = bf16>
func.func private @ring(!kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #rotated, [512:576] = none>, ring = 64, keep_first = 4>)
