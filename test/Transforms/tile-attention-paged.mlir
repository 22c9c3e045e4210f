// RUN: kvq-opt %s -kvq-split-regions -kvq-tile-attention | FileCheck %s

// Tiles begin at borders of pages where both sides' pages are multiples of a tile
// and begin at the same token; then a tile is no more than a slice.

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
#g = #kvq.format<codes = i4, group = [32, 1], scale = f16>
!p128 = !kvq.cache<1x2x?x64xf16, #f, page = 128>
!p64 = !kvq.cache<1x2x?x64xf16, #f, page = 64>
!p16 = !kvq.cache<1x2x?x64xf16, #f, page = 16>
!first = !kvq.cache<1x2x?x64xf16, #f, exact_first = 2, page = 64>
!grouped = !kvq.cache<1x2x?x64xf16, #g, recent = 0, page = 96>

// CHECK-DAG: #[[BORDER:.*]] = affine_map<(d0)[s0] -> (d0 + (s0 floordiv 64) * 64)>

// CHECK-LABEL: func.func @multiples(
// CHECK:         scf.for %[[T:.*]] = %{{.*}} iter_args
// CHECK:           affine.apply #[[BORDER]](%[[T]])
// CHECK:         kvq.partial_attention {{.*}} {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<codes>, within_pages}
func.func @multiples(%q: tensor<4x64xf32>, %k: !p128, %v: !p64, %t: tensor<1x?xi64>, %i: index,
    %lo: index, %hi: index, %m: tensor<4xf32>) -> tensor<4x64xf32> {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x64xf32>, !p128, !p64) at [%i, %i] tokens [%lo to %hi]
      flushed [%i, %i] key_pages(%t : tensor<1x?xi64>) value_pages(%t : tensor<1x?xi64>)
      outs(%q, %m, %m : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0 : tensor<4x64xf32>
}

// Groups of several tokens make the tile.

// CHECK-LABEL: func.func @grouped(
// CHECK:         kvq.partial_attention {{.*}} {key_region = #kvq.region<codes>, tile = 32 : i64, value_region = #kvq.region<codes>, within_pages}
func.func @grouped(%q: tensor<4x64xf32>, %k: !grouped, %v: !p64, %t: tensor<1x?xi64>, %i: index,
    %lo: index, %hi: index, %m: tensor<4xf32>) -> tensor<4x64xf32> {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x64xf32>, !grouped, !p64) at [%i, %i] tokens [%lo to %hi]
      flushed [%i, %i] key_pages(%t : tensor<1x?xi64>) value_pages(%t : tensor<1x?xi64>)
      outs(%q, %m, %m : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0 : tensor<4x64xf32>
}

// CHECK-LABEL: func.func @small(
// CHECK-NOT:     within_pages
// CHECK:         kvq.partial_attention {{.*}} tile = 64 : i64
// CHECK-NOT:     within_pages
func.func @small(%q: tensor<4x64xf32>, %k: !p64, %v: !p16, %t: tensor<1x?xi64>, %i: index,
    %lo: index, %hi: index, %m: tensor<4xf32>) -> tensor<4x64xf32> {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x64xf32>, !p64, !p16) at [%i, %i] tokens [%lo to %hi]
      flushed [%i, %i] key_pages(%t : tensor<1x?xi64>) value_pages(%t : tensor<1x?xi64>)
      outs(%q, %m, %m : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0 : tensor<4x64xf32>
}

// Values begin at another token: only their exact first ones go with pages of keys.

// CHECK-LABEL: func.func @origins(
// CHECK:         kvq.partial_attention {{.*}} value_region = #kvq.region<first>, within_pages}
// CHECK:         kvq.partial_attention {{.*}} value_region = #kvq.region<codes>}
func.func @origins(%q: tensor<4x64xf32>, %k: !p64, %v: !first, %t: tensor<1x?xi64>, %i: index,
    %lo: index, %hi: index, %m: tensor<4xf32>) -> tensor<4x64xf32> {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x64xf32>, !p64, !first) at [%i, %i] tokens [%lo to %hi]
      flushed [%i, %i] key_pages(%t : tensor<1x?xi64>) value_pages(%t : tensor<1x?xi64>)
      outs(%q, %m, %m : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0 : tensor<4x64xf32>
}
