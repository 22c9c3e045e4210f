// RUN: kvq-opt %s --kvq-fold-scales=lanes=false --canonicalize --cse | FileCheck %s
// RUN: kvq-opt %s --kvq-fold-scales --canonicalize --cse | FileCheck %s --check-prefix=LANES

// Every way out of a contraction that a scale s and a zero z have: of keys
// (channels are reduced) and of values (tokens are reduced); with one token in a
// group (four groups in a row, one group in a row) and with several; without and
// with a zero. Names of maps are the loops that index an operand: three of them
// ($M), two ($A) or four ($F).

// CHECK-DAG: #[[$A01:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$A0:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$A1:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[$M01:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$M02:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$M12:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$M21:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$M012:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$F012:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[$F023:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
// CHECK-DAG: #[[$F123:.+]] = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
// CHECK-DAG: #[[$F031:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
// CHECK-DAG: #[[$F312:.+]] = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>

#token = #kvq.format<codes = i4, group = [1, 16], scale = f16>
#token_zero = #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = min f16>
#row = #kvq.format<codes = i4, group = [1, *], scale = f16>
#row_zero = #kvq.format<codes = ui4, group = [1, *], scale = f16, zero = min f16>
#channel = #kvq.format<codes = i4, group = [32, 1], scale = f16>
#channel_zero = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>

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

// score[r, t] += sum_g s[t, g] (sum_c q[r, g, c] code[t, g, c]), or where lanes
// sum in one sum of all groups, with scales in f32.
//
// LANES-LABEL: func @keys_token(
// LANES-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// LANES-NOT:   kvq.dequantize
// LANES:       %[[XG:.+]] = tensor.expand_shape %[[X]] {{.*}} into tensor<4x4x16xf32>
// LANES:       %[[CG:.+]] = tensor.expand_shape %[[C]] {{.*}} into tensor<?x4x16xi8>
// LANES:       %[[WIDE:.+]] = linalg.generic {{.*}} ins(%[[S]] : tensor<?x4xf16>)
// LANES:         arith.extf
// LANES:       %[[R:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
// LANES-SAME:      ins(%[[XG]], %[[CG]], %[[WIDE]] :{{.*}} outs(%[[OUT]] :
// LANES:         %[[CODE:.+]] = arith.sitofp %{{.+}} : i8 to f32
// LANES:         %[[KEY:.+]] = arith.mulf %[[CODE]], %{{.+}} fastmath<contract>
// LANES:         %[[PRODUCT:.+]] = arith.mulf %in, %[[KEY]] fastmath<contract>
// LANES:         arith.addf %out, %[[PRODUCT]] fastmath<contract>
// LANES:       return %[[R]]
// LANES-LABEL: func @keys_token_zero(
// LANES:       %[[SCORES:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
// LANES:       %[[SUMS:.+]] = linalg.generic {{.*}} ins(%{{.+}} : tensor<4x4x16xf32>) outs(%{{.+}} : tensor<4x4xf32>)
// LANES:       %[[ZR:.+]] = linalg.generic {{.*}} ins(%[[SUMS]], %{{.+}} : tensor<4x4xf32>, tensor<?x4xf16>) outs(%[[SCORES]] :
// LANES:       return %[[ZR]]
//
// CHECK-LABEL: func @keys_token(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[XG:.+]] = tensor.expand_shape %[[X]] {{.*}} into tensor<4x4x16xf32>
// CHECK:       %[[CG:.+]] = tensor.expand_shape %[[C]] {{.*}} into tensor<?x4x16xi8>
// CHECK:       %[[B:.+]] = tensor.empty() : tensor<4x32x4xf32>
// CHECK:       %[[T:.+]] = tensor.extract_slice %[[B]]
// CHECK:       %[[I:.+]] = linalg.fill {{.*}} outs(%[[T]] :
// CHECK:       %[[DOTS:.+]] = linalg.generic {indexing_maps = [#[[$F023]], #[[$F123]], #[[$F012]]]{{.*}} ins(%[[XG]], %[[CG]] :{{.*}} outs(%[[I]] :
// CHECK:         arith.sitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$M012]], #[[$M12]], #[[$M01]]]{{.*}} ins(%[[DOTS]], %[[S]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[R]]
func.func @keys_token(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #token
      ins(%c, %s : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// ... + sum_g z[t, g] (sum_c q[r, g, c]).
//
// CHECK-LABEL: func @keys_token_zero(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[XG:.+]] = tensor.expand_shape %[[X]] {{.*}} into tensor<4x4x16xf32>
// CHECK:       %[[CG:.+]] = tensor.expand_shape %[[C]] {{.*}} into tensor<?x4x16xi8>
// CHECK:       %[[B:.+]] = tensor.empty() : tensor<4x32x4xf32>
// CHECK:       %[[T:.+]] = tensor.extract_slice %[[B]]
// CHECK:       %[[I:.+]] = linalg.fill {{.*}} outs(%[[T]] :
// CHECK:       %[[DOTS:.+]] = linalg.generic {indexing_maps = [#[[$F023]], #[[$F123]], #[[$F012]]]{{.*}} ins(%[[XG]], %[[CG]] :{{.*}} outs(%[[I]] :
// CHECK:         arith.uitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$M012]], #[[$M12]], #[[$M01]]]{{.*}} ins(%[[DOTS]], %[[S]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[SUMS:.+]] = linalg.generic {indexing_maps = [#[[$M012]], #[[$M01]]]{{.*}} ins(%[[XG]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.addf %out, %in fastmath<contract>
// CHECK:       %[[RZ:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M12]], #[[$M01]]]{{.*}} ins(%[[SUMS]], %[[Z]] :{{.*}} outs(%[[R]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[RZ]]
func.func @keys_token_zero(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>, %z: tensor<?x4xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #token_zero
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<?x4xf16>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// score[r, t] += s[t] (sum_c q[r, c] code[t, c]).
//
// CHECK-LABEL: func @keys_row(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[DOTS:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M12]], #[[$M01]]]{{.*}} ins(%[[X]], %[[C]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.sitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<?xf16>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[DOTS]], %[[SR]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[R]]
func.func @keys_row(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<?x1xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #row
      ins(%c, %s : tensor<?x64xi8>, tensor<?x1xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// ... + z[t] (sum_c q[r, c]).
//
// CHECK-LABEL: func @keys_row_zero(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[DOTS:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M12]], #[[$M01]]]{{.*}} ins(%[[X]], %[[C]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.uitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<?xf16>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[DOTS]], %[[SR]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[SUM:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A0]]]{{.*}} ins(%[[X]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.addf %out, %in fastmath<contract>
// CHECK:       %[[ZR:.+]] = tensor.collapse_shape %[[Z]] {{.*}} into tensor<?xf16>
// CHECK:       %[[RZ:.+]] = linalg.generic {indexing_maps = [#[[$A0]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[SUM]], %[[ZR]] :{{.*}} outs(%[[R]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[RZ]]
func.func @keys_row_zero(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<?x1xf16>, %z: tensor<?x1xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #row_zero
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<?x1xf16>, tensor<?x1xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// score[r, t] += sum_c (q[r, c] s[c]) code[t, c]: the query is scaled once a tile.
//
// CHECK-LABEL: func @keys_channel(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<64xf16>
// CHECK:       %[[XS:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[X]], %[[SR]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         linalg.yield
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M12]], #[[$M01]]]{{.*}} ins(%[[XS]], %[[C]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.sitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[R]]
func.func @keys_channel(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<1x64xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #channel
      ins(%c, %s : tensor<?x64xi8>, tensor<1x64xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// ... + sum_c q[r, c] z[c], the same for all tokens of the tile.
//
// CHECK-LABEL: func @keys_channel_zero(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<64xf16>
// CHECK:       %[[XS:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[X]], %[[SR]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         linalg.yield
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M12]], #[[$M01]]]{{.*}} ins(%[[XS]], %[[C]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.uitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[ZR:.+]] = tensor.collapse_shape %[[Z]] {{.*}} into tensor<64xf16>
// CHECK:       %[[XZ:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A0]]]{{.*}} ins(%[[X]], %[[ZR]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[RZ:.+]] = linalg.generic {indexing_maps = [#[[$A0]], #[[$A01]]]{{.*}} ins(%[[XZ]] :{{.*}} outs(%[[R]] :
// CHECK:         arith.addf %out, %in fastmath<contract>
// CHECK:       return %[[RZ]]
func.func @keys_channel_zero(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<1x64xf16>, %z: tensor<1x64xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #channel_zero
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// acc[r, g, c] += sum_t (p[r, t] s[t, g]) code[t, g, c].
//
// CHECK-LABEL: func @values_token(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[XS:.+]] = linalg.generic {indexing_maps = [#[[$M01]], #[[$M12]], #[[$M012]]]{{.*}} ins(%[[X]], %[[S]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         linalg.yield
// CHECK:       %[[CG:.+]] = tensor.expand_shape %[[C]] {{.*}} into tensor<?x4x16xi8>
// CHECK:       %[[OG:.+]] = tensor.expand_shape %[[OUT]] {{.*}} into tensor<4x4x16xf32>
// CHECK:       %[[RZ:.+]] = linalg.generic {indexing_maps = [#[[$F031]], #[[$F312]], #[[$F012]]]{{.*}} ins(%[[XS]], %[[CG]] :{{.*}} outs(%[[OG]] :
// CHECK:         arith.sitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[J:.+]] = tensor.collapse_shape %[[RZ]] {{.*}} into tensor<4x64xf32>
// CHECK:       return %[[J]]
func.func @values_token(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #token
      ins(%c, %s : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// ... + sum_t p[r, t] z[t, g].
//
// CHECK-LABEL: func @values_token_zero(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[XS:.+]] = linalg.generic {indexing_maps = [#[[$M01]], #[[$M12]], #[[$M012]]]{{.*}} ins(%[[X]], %[[S]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         linalg.yield
// CHECK:       %[[CG:.+]] = tensor.expand_shape %[[C]] {{.*}} into tensor<?x4x16xi8>
// CHECK:       %[[OG:.+]] = tensor.expand_shape %[[OUT]] {{.*}} into tensor<4x4x16xf32>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$F031]], #[[$F312]], #[[$F012]]]{{.*}} ins(%[[XS]], %[[CG]] :{{.*}} outs(%[[OG]] :
// CHECK:         arith.uitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[XZ:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M21]], #[[$M01]]]{{.*}} ins(%[[X]], %[[Z]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[RZ:.+]] = linalg.generic {indexing_maps = [#[[$M01]], #[[$M012]]]{{.*}} ins(%[[XZ]] :{{.*}} outs(%[[R]] :
// CHECK:         arith.addf %out, %in fastmath<contract>
// CHECK:       %[[J:.+]] = tensor.collapse_shape %[[RZ]] {{.*}} into tensor<4x64xf32>
// CHECK:       return %[[J]]
func.func @values_token_zero(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>, %z: tensor<?x4xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #token_zero
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<?x4xf16>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// acc[r, c] += sum_t (p[r, t] s[t]) code[t, c].
//
// CHECK-LABEL: func @values_row(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<?xf16>
// CHECK:       %[[XS:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[X]], %[[SR]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         linalg.yield
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M21]], #[[$M01]]]{{.*}} ins(%[[XS]], %[[C]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.sitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[R]]
func.func @values_row(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<?x1xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #row
      ins(%c, %s : tensor<?x64xi8>, tensor<?x1xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// ... + sum_t p[r, t] z[t].
//
// CHECK-LABEL: func @values_row_zero(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<?xf16>
// CHECK:       %[[XS:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[X]], %[[SR]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         linalg.yield
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M21]], #[[$M01]]]{{.*}} ins(%[[XS]], %[[C]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.uitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[ZR:.+]] = tensor.collapse_shape %[[Z]] {{.*}} into tensor<?xf16>
// CHECK:       %[[XZ:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A0]]]{{.*}} ins(%[[X]], %[[ZR]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[RZ:.+]] = linalg.generic {indexing_maps = [#[[$A0]], #[[$A01]]]{{.*}} ins(%[[XZ]] :{{.*}} outs(%[[R]] :
// CHECK:         arith.addf %out, %in fastmath<contract>
// CHECK:       return %[[RZ]]
func.func @values_row_zero(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<?x1xf16>, %z: tensor<?x1xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #row_zero
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<?x1xf16>, tensor<?x1xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// acc[r, c] += s[c] (sum_t p[r, t] code[t, c]).
//
// CHECK-LABEL: func @values_channel(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[SUMS:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M21]], #[[$M01]]]{{.*}} ins(%[[X]], %[[C]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.sitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<64xf16>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[SUMS]], %[[SR]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[R]]
func.func @values_channel(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<1x64xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #channel
      ins(%c, %s : tensor<?x64xi8>, tensor<1x64xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// ... + z[c] (sum_t p[r, t]).
//
// CHECK-LABEL: func @values_channel_zero(
// CHECK-SAME:  %[[X:[^:]+]]: {{[^%]*}}%[[C:[^:]+]]: {{[^%]*}}%[[S:[^:]+]]: {{[^%]*}}%[[Z:[^:]+]]: {{[^%]*}}%{{[^:]+}}: index, %[[OUT:[^:]+]]:
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[SUMS:.+]] = linalg.generic {indexing_maps = [#[[$M02]], #[[$M21]], #[[$M01]]]{{.*}} ins(%[[X]], %[[C]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.uitofp %{{.+}} : i8 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[SR:.+]] = tensor.collapse_shape %[[S]] {{.*}} into tensor<64xf16>
// CHECK:       %[[R:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[SUMS]], %[[SR]] :{{.*}} outs(%[[OUT]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       %[[XSUM:.+]] = linalg.generic {indexing_maps = [#[[$A01]], #[[$A0]]]{{.*}} ins(%[[X]] :{{.*}} outs(%{{.+}} :
// CHECK:         arith.addf %out, %in fastmath<contract>
// CHECK:       %[[ZR:.+]] = tensor.collapse_shape %[[Z]] {{.*}} into tensor<64xf16>
// CHECK:       %[[RZ:.+]] = linalg.generic {indexing_maps = [#[[$A0]], #[[$A1]], #[[$A01]]]{{.*}} ins(%[[XSUM]], %[[ZR]] :{{.*}} outs(%[[R]] :
// CHECK:         arith.extf %{{.+}} : f16 to f32
// CHECK:         arith.mulf %in, %{{.+}} fastmath<contract>
// CHECK:         arith.addf %out, %{{.+}} fastmath<contract>
// CHECK:       return %[[RZ]]
func.func @values_channel_zero(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<1x64xf16>, %z: tensor<1x64xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #channel_zero
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}
