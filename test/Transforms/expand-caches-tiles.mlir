// RUN: kvq-opt %s --kvq-expand-caches --canonicalize --cse | FileCheck %s

// Components of caches whose rows lie in tiles: a token is a strided slice of a
// tile, and a whole tile one slice.

#k = #kvq.format<codes = i8, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = token_pairs<64>>>
!kc = !kvq.cache<1x2x?x64xf16, #k>
!vc = !kvq.cache<1x2x100x64xf16, #v>

// CHECK-LABEL: func @append(
// CHECK-SAME:  %[[C:[^:]+]]: tensor<1x2x?x32x64x2xi8>, %[[S:[^:]+]]: tensor<1x2x?x2x64xf16>
// CHECK:       kvq.quantize
// CHECK:       tensor.expand_shape %{{.+}} into tensor<32x2xi8>
// CHECK:       tensor.insert_slice %{{.+}} into %{{.+}}[{{.*}}] [1, 1, 1, 32, 1, 2] [1, 1, 1, 1, 1, 1] : tensor<32x2xi8> into tensor<1x2x?x32x64x2xi8>
// CHECK:       tensor.insert_slice %{{.+}} into %{{.+}}[{{.*}}] [1, 1, 1, 2, 1] [1, 1, 1, 1, 1] : tensor<2xf16> into tensor<1x2x?x2x64xf16>
func.func @append(%x: tensor<1x2x?x64xf16>, %n: tensor<1xi64>, %c: !kc) -> !kc {
  %r = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>) into(%c : !kc) -> !kc
  return %r : !kc
}

// 100 tokens take two tiles. Bytes of a pair of tokens lie together, so that
// their planes are as those of a row twice as long.

// CHECK-LABEL: func @load_tile(
// CHECK-SAME:  %[[C:[^:]+]]: tensor<1x2x2x32x32x2xi8>, %[[S:[^:]+]]: tensor<1x2x2x2x64xf16>
// CHECK:       %[[T:.+]] = arith.divui %{{.+}}, %c64
// CHECK:       %[[BYTES:.+]] = tensor.extract_slice %[[C]][%{{.+}}, %{{.+}}, %[[T]], 0, 0, 0] [1, 1, 1, 32, 32, 2]
// CHECK:       %[[SCALES:.+]] = tensor.extract_slice %[[S]][%{{.+}}, %{{.+}}, %[[T]], 0, 0] [1, 1, 1, 2, 64]
// CHECK:       %[[ROWS:.+]] = tensor.collapse_shape %[[BYTES]] {{\[\[}}0], [1, 2]] : {{.*}} into tensor<32x64xi8>
// CHECK:       %[[CODES:.+]] = kvq.unpack #{{.+}} ins(%[[ROWS]] : tensor<32x64xi8>) outs(%{{.+}} : tensor<32x128xi8>)
// CHECK:       tensor.expand_shape %[[CODES]] {{.*}} into tensor<32x64x2xi8>
func.func @load_tile(%c: !vc, %b: index, %h: index, %lo: index, %hi: index) -> (tensor<32x64x2xi8>, tensor<2x64xf16>) {
  %t:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {as_tile, tile = 64 : i64, within_page}
      : !vc -> tensor<32x64x2xi8>, tensor<2x64xf16>
  return %t#0, %t#1 : tensor<32x64x2xi8>, tensor<2x64xf16>
}

// In fragments a row of 64 bytes is 2 x 2 x 2 parts of 8 bytes, which lie apart
// from each other, and scales are in rows. Pages hold whole tiles.

#fv = #kvq.format<codes = i8, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = fragments<64>>>
!fc = !kvq.cache<1x2x?x64xf16, #fv, page = 128>

// CHECK-LABEL: func @append_to_fragments(
// CHECK-SAME:  %[[C:[^:]+]]: tensor<?x2x2x4x2x8x4x2x4x2xi8>, %[[S:[^:]+]]: tensor<?x2x128x2xf16>
// CHECK:       kvq.quantize
// CHECK:       %[[ROW:.+]] = tensor.expand_shape %{{.+}} into tensor<2x2x2x8xi8>
// CHECK:       %[[TARGET:.+]] = tensor.extract_slice %{{.+}}[{{.*}}] [1, 1, 1, 1, 2, 8, 1, 2, 1, 2] [{{.*}}] : tensor<?x2x2x4x2x8x4x2x4x2xi8> to tensor<2x8x2x2xi8>
// CHECK:       %[[PARTS:.+]] = linalg.transpose ins(%[[ROW]] : tensor<2x2x2x8xi8>) outs(%[[TARGET]] : tensor<2x8x2x2xi8>) permutation = [0, 3, 1, 2]
// CHECK:       tensor.insert_slice %[[PARTS]] into
// CHECK:       tensor.insert_slice %{{.+}} into %{{.+}} : tensor<1x2xf16> into tensor<?x2x128x2xf16>
func.func @append_to_fragments(%x: tensor<1x2x?x64xf16>, %n: tensor<1xi64>, %p: tensor<1x?xi64>, %c: !fc) -> !fc {
  %r = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>) pages(%p : tensor<1x?xi64>) into(%c : !fc) -> !fc
  return %r : !fc
}
