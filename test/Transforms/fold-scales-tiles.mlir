// RUN: kvq-opt %s --kvq-fold-scales --canonicalize --cse | FileCheck %s

// A tile of attention that is a tile of the cache's layout is contracted as it is
// stored: of keys all scores are computed, and those of the range read; of values
// the weights of other tokens are 0.

#k = #kvq.format<codes = i8, group = [1, 16], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
#v = #kvq.format<codes = i8, group = [1, 16], scale = f16, layout = #kvq.layout<codes = planar, tile = token_pairs<64>>>
!kc = !kvq.cache<1x8x?x64xf16, #k, exact_first = 4>
!vc = !kvq.cache<1x8x?x64xf16, #v, exact_first = 4>

#keys = {
  indexing_maps = [affine_map<(r, t, c) -> (r, c)>, affine_map<(r, t, c) -> (t, c)>,
                   affine_map<(r, t, c) -> (r, t)>],
  iterator_types = ["parallel", "parallel", "reduction"]
}
#values = {
  indexing_maps = [affine_map<(r, c, t) -> (r, t)>, affine_map<(r, c, t) -> (t, c)>,
                   affine_map<(r, c, t) -> (r, c)>],
  iterator_types = ["parallel", "parallel", "reduction"]
}

// CHECK-DAG: #[[$OFFSET:.+]] = affine_map<()[s0] -> (s0 - ((s0 - 4) floordiv 64) * 64 - 4)>
// CHECK-DAG: #[[$EVEN:.+]] = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2 * 2)>
// CHECK-DAG: #[[$ODD:.+]] = affine_map<(d0, d1, d2, d3) -> (d1, d3, d2 * 2 + 1)>

// CHECK-LABEL: func @keys(
// CHECK-NOT:   kvq.dequantize
// CHECK-NOT:   kvq.load_tile {{.*}} {tile
// CHECK:       %[[FIRST:.+]] = affine.apply #[[$OFFSET]]()[%{{.+}}]
// CHECK:       %[[N:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<4x4x16xi16>)
// CHECK:       %[[TILE:.+]]:2 = kvq.load_tile %{{.+}} <codes> at[{{.*}}] tokens[{{.*}}] {as_tile, tile = 64 : i64, within_page} : {{.*}} -> tensor<32x64x2xi8>, tensor<4x64xf16>
// CHECK:       %[[CODES:.+]] = tensor.expand_shape %[[TILE]]#0 {{.*}} into tensor<4x8x64x2xi8>
// CHECK:       %[[PAIRS:.+]] = tensor.expand_shape %[[N]] {{.*}} into tensor<4x4x8x2xi16>
// CHECK:       %[[SCORES:.+]] = linalg.generic {{.*}} ins(%[[PAIRS]], %[[CODES]], %{{.+}}, %[[TILE]]#1 : tensor<4x4x8x2xi16>, tensor<4x8x64x2xi8>, tensor<4x4xf32>, tensor<4x64xf16>) outs(%{{.+}} : tensor<4x64xf32>)
// CHECK:       tensor.extract_slice %[[SCORES]][0, %[[FIRST]]] [4, %{{.+}}] [1, 1]
func.func @keys(%q: tensor<4x64xf32>, %cache: !kc, %b: index, %h: index, %lo: index, %hi: index,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %t:2 = kvq.load_tile %cache <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64 : i64, within_page}
      : !kc -> tensor<?x64xi8>, tensor<?x4xf16>
  %buffer = tensor.empty() : tensor<64x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #k ins(%t#0, %t#1 : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>)
      attrs = {kvq.query_codes = i16} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// In f32 the two of a pair are read from every other place.

// CHECK-LABEL: func @keys_f32(
// CHECK:       kvq.load_tile {{.*}} {as_tile,
// CHECK:       linalg.generic {indexing_maps = [{{.*}}, {{.*}}, #[[$EVEN]], #[[$ODD]], {{.*}}]
func.func @keys_f32(%q: tensor<4x64xf32>, %cache: !kc, %b: index, %h: index, %lo: index, %hi: index,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %t:2 = kvq.load_tile %cache <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64 : i64, within_page}
      : !kc -> tensor<?x64xi8>, tensor<?x4xf16>
  %buffer = tensor.empty() : tensor<64x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #k ins(%t#0, %t#1 : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// CHECK-LABEL: func @values(
// CHECK:       %[[TILE:.+]]:2 = kvq.load_tile {{.*}} {as_tile, {{.*}} -> tensor<32x64x2xi8>, tensor<4x64xf16>
// CHECK:       %[[FIRST:.+]] = affine.apply #[[$OFFSET]]
// CHECK:       %[[ZERO:.+]] = linalg.fill ins(%c0_i16 : i16)
// CHECK:       tensor.extract_slice %[[TILE]]#1[0, %[[FIRST]]]
// CHECK:       %[[PART:.+]] = tensor.extract_slice %[[ZERO]][0, 0, %[[FIRST]]]
// CHECK:       %[[N:.+]] = linalg.generic {{.*}} outs(%[[PART]] :
// CHECK:       %[[ALL:.+]] = tensor.insert_slice %[[N]] into %[[ZERO]][0, 0, %[[FIRST]]]
// CHECK-DAG:   %[[PAIRS:.+]] = tensor.expand_shape %[[ALL]] {{.*}} into tensor<4x4x32x2xi16>
// CHECK-DAG:   %[[CODES:.+]] = tensor.expand_shape %[[TILE]]#0 {{.*}} into tensor<32x4x16x2xi8>
// CHECK:       linalg.generic {{.*}} ins(%[[PAIRS]], %[[CODES]], %{{.+}} : tensor<4x4x32x2xi16>, tensor<32x4x16x2xi8>, tensor<4x4xf32>)
func.func @values(%p: tensor<4x?xf32>, %cache: !vc, %b: index, %h: index, %lo: index, %hi: index,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %t:2 = kvq.load_tile %cache <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64 : i64, within_page}
      : !vc -> tensor<?x64xi8>, tensor<?x4xf16>
  %buffer = tensor.empty() : tensor<64x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #v ins(%t#0, %t#1 : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>)
      attrs = {kvq.query_codes = i16} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// Keys whose tokens lie in pairs are read row by row.

// CHECK-LABEL: func @other_pairs(
// CHECK:       kvq.load_tile
// CHECK-NOT:   as_tile
// CHECK:       return
func.func @other_pairs(%q: tensor<4x64xf32>, %cache: !vc, %b: index, %h: index, %lo: index, %hi: index,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %t:2 = kvq.load_tile %cache <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64 : i64, within_page}
      : !vc -> tensor<?x64xi8>, tensor<?x4xf16>
  %buffer = tensor.empty() : tensor<64x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #v ins(%t#0, %t#1 : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>)
      attrs = {kvq.query_codes = i16} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// Where a byte holds two codes, each of the two planes is a contraction with the
// bytes as they are stored: here of channels 0 to 32 and 32 to 64.

#v4 = #kvq.format<codes = i4, group = [1, 16], scale = f16, layout = #kvq.layout<codes = planar, tile = token_pairs<64>>>
!vc4 = !kvq.cache<1x8x?x64xf16, #v4>

// CHECK-LABEL: func @planes(
// CHECK:       %[[TILE:.+]]:2 = kvq.load_tile {{.*}} {as_tile, packed, {{.*}} -> tensor<32x32x2xi8>, tensor<4x64xf16>
// CHECK-DAG:   %[[CODES:.+]] = tensor.expand_shape %[[TILE]]#0 {{.*}} into tensor<32x2x16x2xi8>
// CHECK-DAG:   %[[LOW:.+]] = tensor.extract_slice %[[ALL:.+]][0, 0, 0, 0] [4, 2, 32, 2] [1, 1, 1, 1]
// CHECK:       linalg.generic {{.*}} ins(%[[LOW]], %[[CODES]], %{{.+}} : tensor<4x2x32x2xi16>, tensor<32x2x16x2xi8>, tensor<4x2xf32>)
// CHECK-NEXT:  ^bb0(%{{.+}}: i16, %[[BYTE:.+]]: i8,
// CHECK:         %[[WIDE:.+]] = arith.extsi %[[BYTE]] : i8 to i16
// CHECK:         %[[UP:.+]] = arith.shli %[[WIDE]], %c12_i16
// CHECK:         arith.shrsi %[[UP]], %c12_i16
// CHECK:       %[[HIGH:.+]] = tensor.extract_slice %[[ALL]][0, 2, 0, 0] [4, 2, 32, 2] [1, 1, 1, 1]
// CHECK:       linalg.generic {{.*}} ins(%[[HIGH]], %[[CODES]], %{{.+}} : tensor<4x2x32x2xi16>, tensor<32x2x16x2xi8>, tensor<4x2xf32>)
// CHECK:         arith.shrsi %{{.+}}, %c4_i16
func.func @planes(%p: tensor<4x?xf32>, %cache: !vc4, %b: index, %h: index, %lo: index, %hi: index,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %t:2 = kvq.load_tile %cache <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64 : i64, within_page}
      : !vc4 -> tensor<?x64xi8>, tensor<?x4xf16>
  %buffer = tensor.empty() : tensor<64x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #v4 ins(%t#0, %t#1 : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>)
      attrs = {kvq.query_codes = i16} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// In f32 both planes are summed next to each other. The codes of the upper one are
// read where they lie, 16 times as large, which is made up for in the sums.

// CHECK-LABEL: func @planes_f32(
// CHECK:       %[[TILE:.+]]:2 = kvq.load_tile {{.*}} {as_tile, packed, {{.*}} -> tensor<32x32x2xi8>, tensor<4x64xf16>
// CHECK:       %[[SUMS:.+]]:2 = linalg.generic {{.*}} outs(%{{.+}}, %{{.+}} : tensor<4x2x16xf32>, tensor<4x2x16xf32>)
// CHECK:         %[[LOW:.+]] = arith.andi %[[BYTE:.+]], %c15_i32 : i32
// CHECK-NEXT:    %[[BITS:.+]] = arith.xori %[[LOW]], %{{.+}} : i32
// CHECK-NEXT:    %[[ABOVE:.+]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK-NEXT:    arith.subf %[[ABOVE]], %{{.+}} : f32
// CHECK:         arith.andi %[[BYTE]], %c240_i32 : i32
// CHECK:       linalg.generic {{.*}} ins(%[[SUMS]]#1 : tensor<4x2x16xf32>)
// CHECK:         arith.mulf %{{.+}}, %cst{{.*}} fastmath<contract> : f32
func.func @planes_f32(%p: tensor<4x?xf32>, %cache: !vc4, %b: index, %h: index, %lo: index, %hi: index,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %t:2 = kvq.load_tile %cache <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64 : i64, within_page}
      : !vc4 -> tensor<?x64xi8>, tensor<?x4xf16>
  %buffer = tensor.empty() : tensor<64x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #v4 ins(%t#0, %t#1 : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// Of a query of i8 four channels are multiplied at once, of two rows of pairs, with
// unsigned codes. What these are above the least code is taken away again.

// CHECK-LABEL: func @quads(
// CHECK:       %[[N:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<4x4x16xi8>)
// CHECK:       %[[QUADS:.+]] = tensor.expand_shape %[[N]] {{.*}} into tensor<4x4x4x4xi8>
// CHECK:       %[[SCORES:.+]] = linalg.generic {{.*}} ins(%[[QUADS]], %{{.+}}, %{{.+}}, %[[S:.+]] : tensor<4x4x4x4xi8>, tensor<4x8x64x2xi8>, tensor<4x4xf32>, tensor<4x64xf16>)
// CHECK-NEXT:  ^bb0(%{{.+}}: i8, %[[BYTE:.+]]: i8,
// CHECK:         %[[ABOVE:.+]] = arith.xori %[[BYTE]], %c-128_i8 : i8
// CHECK:         arith.extui %[[ABOVE]] : i8 to i32
// CHECK:       %[[SUMS:.+]] = linalg.generic {{.*}} ins(%[[N]], %{{.+}} : tensor<4x4x16xi8>, tensor<4x4xf32>) outs(%{{.+}} : tensor<4x4xf32>)
// CHECK:       %[[LEAST:.+]] = linalg.generic {{.*}} ins(%[[SUMS]] : tensor<4x4xf32>)
// CHECK:       linalg.generic {{.*}} ins(%[[LEAST]], %[[S]] : tensor<4x4xf32>, tensor<4x64xf16>) outs(%[[SCORES]] :
func.func @quads(%q: tensor<4x64xf32>, %cache: !kc, %b: index, %h: index, %lo: index, %hi: index,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %t:2 = kvq.load_tile %cache <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64 : i64, within_page}
      : !kc -> tensor<?x64xi8>, tensor<?x4xf16>
  %buffer = tensor.empty() : tensor<64x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #k ins(%t#0, %t#1 : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>)
      attrs = {kvq.query_codes = i8} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.mulf %a, %c fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}
