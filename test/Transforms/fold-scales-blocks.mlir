// RUN: kvq-opt %s --kvq-fold-scales | FileCheck %s

// Groups of several tokens and several channels, and offsets that need the scale:
// what fold-scales.mlir does not have.

// CHECK-DAG: #[[$ROWS:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$GROUP:.+]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-DAG: #[[$ROW:.+]] = affine_map<(d0, d1, d2) -> (d0)>
// CHECK-DAG: #[[$TOKEN:.+]] = affine_map<(d0, d1) -> (d1)>

#block = #kvq.format<codes = ui4, group = [32, 16], scale = f16, zero = point ui8>
#whole = #kvq.format<codes = i4, group = [32, *], scale = f8E8M0FNU>
#point = #kvq.format<codes = ui4, group = [1, *], scale = f16, zero = point f16>

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

// The scale goes into the query, and the dot product is of whole rows. The offset
// of a group is minus zero point times scale.
//
// CHECK-LABEL: func @keys_block(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[XG:.+]] = tensor.expand_shape %[[X]] {{.*}} into tensor<4x4x16xf32>
// CHECK:       %[[SG:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<4xf16>
// CHECK:       %[[SCALED:.+]] = linalg.generic {indexing_maps = [#[[$ROWS]], #[[$GROUP]], #[[$ROWS]]]{{.*}} ins(%[[XG]], %[[SG]] :
// CHECK:         arith.mulf
// CHECK:       %[[XS:.+]] = tensor.collapse_shape %[[SCALED]] {{.*}} into tensor<4x64xf32>
// CHECK:       linalg.generic {{.*}} ins(%[[XS]], %[[C]] : tensor<4x64xf32>, tensor<?x64xi8>)
// CHECK:         arith.uitofp
// CHECK:       linalg.generic {indexing_maps = [#[[$ROWS]], #[[$GROUP]], #[[$GROUP]], #[[$ROW]]], iterator_types = ["parallel", "reduction", "reduction"]}
// CHECK-DAG:     %[[POINT:.+]] = arith.uitofp %{{.+}} : i8 to f32
// CHECK-DAG:     %[[SCALE:.+]] = arith.extf %{{.+}} : f16 to f32
// CHECK:         %[[DISTANCE:.+]] = arith.mulf %[[POINT]], %[[SCALE]] : f32
// CHECK:         %[[OFFSET:.+]] = arith.negf %[[DISTANCE]]
// CHECK:         arith.mulf %in, %[[OFFSET]] fastmath<contract>
func.func @keys_block(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<1x4xf16>, %z: tensor<1x4xi8>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #block
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<1x4xf16>, tensor<1x4xi8>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// The sum over the tokens of the block is of whole rows; the scale, here a power
// of two, goes into the accumulator once.
//
// CHECK-LABEL: func @values_whole(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[SUMS:.+]] = linalg.generic {{.*}} ins(%[[X]], %[[C]] : tensor<4x?xf32>, tensor<?x64xi8>)
// CHECK:       %[[SUMSG:.+]] = tensor.expand_shape %[[SUMS]] {{.*}} into tensor<4x1x64xf32>
// CHECK:       %[[SG:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<1xf8E8M0FNU>
// CHECK:       %[[OUTG:.+]] = tensor.expand_shape %[[OUT]] {{.*}} into tensor<4x1x64xf32>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$ROWS]], #[[$GROUP]], #[[$ROWS]]]{{.*}} ins(%[[SUMSG]], %[[SG]] :{{.*}} outs(%[[OUTG]] :
// CHECK:         arith.bitcast %{{.+}} : f8E8M0FNU to i8
// CHECK:       tensor.collapse_shape %[[R]] {{.*}} into tensor<4x64xf32>
func.func @values_whole(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<1x1xf8E8M0FNU>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #whole
      ins(%c, %s : tensor<?x64xi8>, tensor<1x1xf8E8M0FNU>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// One token in a group: the offset as a sum with the weights of the tokens.
//
// CHECK-LABEL: func @values_point(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[ZT:.+]] = tensor.collapse_shape %[[Z]] {{.*}} into tensor<?xf16>
// CHECK:       linalg.generic {indexing_maps = [#{{.+}}, #[[$TOKEN]], #[[$TOKEN]], #{{.+}}], iterator_types = ["parallel", "reduction"]} ins(%[[X]], %[[ZT]], %{{.+}} :
// CHECK:         arith.negf
func.func @values_point(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<?x1xf16>, %z: tensor<?x1xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #point
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<?x1xf16>, tensor<?x1xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}
