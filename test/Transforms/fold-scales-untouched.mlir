// RUN: kvq-opt %s --kvq-fold-scales --canonicalize --cse | FileCheck %s

// What kvq-fold-scales leaves as it is. $R, $T and $O index the query, the tile
// and the scores of a contraction that channels are reduced in.

// CHECK-DAG: #[[$R:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$T:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$O:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>

#token = #kvq.format<codes = i4, group = [1, 16], scale = f16>
#channel = #kvq.format<codes = i4, group = [32, 1], scale = f16>

#keys = {
  indexing_maps = [affine_map<(r, t, c) -> (r, c)>, affine_map<(r, t, c) -> (t, c)>,
                   affine_map<(r, t, c) -> (r, t)>],
  iterator_types = ["parallel", "parallel", "reduction"]
}
// An exact side has no dequantize: its values are read as they are.

// CHECK-LABEL: func @exact(
// CHECK:       linalg.generic {indexing_maps = [#[[$R]], #[[$T]], #[[$O]]]{{.*}} ins(%arg0, %arg1 : tensor<4x64xf32>, tensor<?x64xf16>)
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.mulf
// CHECK-NEXT:    arith.addf
// CHECK-NOT:   linalg.generic
// CHECK:       return
func.func @exact(%q: tensor<4x64xf32>, %x: tensor<?x64xf16>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf16>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f16, %o: f32):
    %e = arith.extf %b : f16 to f32
    %0 = arith.mulf %a, %e fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// A tile of two token groups has two rows of scales: none holds for all of it.

// CHECK-LABEL: func @two_groups(
// CHECK:       %[[X:.+]] = kvq.dequantize
// CHECK:       linalg.generic {indexing_maps = [#[[$R]], #[[$T]], #[[$O]]]{{.*}} ins(%{{.+}}, %[[X]] :
// CHECK-NOT:   linalg.generic
func.func @two_groups(%q: tensor<4x64xf32>, %c: tensor<64x64xi8>, %s: tensor<2x64xf16>,
    %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<64x64xf32>
  %x = kvq.dequantize #channel ins(%c, %s : tensor<64x64xi8>, tensor<2x64xf16>)
      outs(%buffer : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<64x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// Scratch has to have a static bound, and this tile has none.

// CHECK-LABEL: func @unbounded(
// CHECK:       %[[X:.+]] = kvq.dequantize
// CHECK:       linalg.generic {indexing_maps = [#[[$R]], #[[$T]], #[[$O]]]{{.*}} ins(%{{.+}}, %[[X]] :
// CHECK-NOT:   linalg.generic
func.func @unbounded(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>,
    %tile: tensor<?x64xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %x = kvq.dequantize #token ins(%c, %s : tensor<?x64xi8>, tensor<?x4xf16>)
      outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// The same holds for the rows.

// CHECK-LABEL: func @unbounded_rows(
// CHECK:       %[[X:.+]] = kvq.dequantize
// CHECK:       linalg.generic {{.*}} ins(%{{.+}}, %[[X]] :
// CHECK-NOT:   linalg.generic
func.func @unbounded_rows(%q: tensor<?x64xf32>, %c: tensor<32x64xi8>, %s: tensor<1x64xf16>,
    %out: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %x = kvq.dequantize #channel ins(%c, %s : tensor<32x64xi8>, tensor<1x64xf16>)
      outs(%buffer : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<?x64xf32>, tensor<32x64xf32>) outs(%out : tensor<?x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}

// A body that does more than multiply and add.

// CHECK-LABEL: func @negated(
// CHECK:       %[[X:.+]] = kvq.dequantize
// CHECK:       linalg.generic {{.*}} ins(%{{.+}}, %[[X]] :
// CHECK:         arith.negf
func.func @negated(%q: tensor<4x64xf32>, %c: tensor<32x64xi8>, %s: tensor<1x64xf16>,
    %out: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %x = kvq.dequantize #channel ins(%c, %s : tensor<32x64xi8>, tensor<1x64xf16>)
      outs(%buffer : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<32x64xf32>) outs(%out : tensor<4x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.negf %b : f32
    %0 = arith.mulf %a, %n fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}

// What another op reads too stays beside the folded contraction.

// CHECK-LABEL: func @read_twice(
// CHECK:       %[[X:.+]] = kvq.dequantize
// CHECK:       linalg.generic {{.*}} ins(%{{.+}}, %arg1 : tensor<4x64xf32>, tensor<32x64xi8>)
// CHECK:       return %{{.+}}, %[[X]]
func.func @read_twice(%q: tensor<4x64xf32>, %c: tensor<32x64xi8>, %s: tensor<1x64xf16>,
    %out: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<32x64xf32>) {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %x = kvq.dequantize #channel ins(%c, %s : tensor<32x64xi8>, tensor<1x64xf16>)
      outs(%buffer : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<32x64xf32>) outs(%out : tensor<4x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x32xf32>
  return %r, %x : tensor<4x32xf32>, tensor<32x64xf32>
}
