// RUN: kvq-opt %s --kvq-decompose-attention --canonicalize --cse --split-input-file | FileCheck %s

// Both sides hold codes: each is loaded and dequantized into scratch of the
// tile's size, of which the tokens that are there are used.

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #k, recent = 32>
!vc = !kvq.cache<1x8x?x64xf16, #v>

// CHECK-DAG: #[[$COUNT:.+]] = affine_map<()[s0, s1] -> (-s0 + s1)>
// CHECK-DAG: #[[$RT:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$R:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$Q:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$K:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$S:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$V:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func @codes(
// CHECK-SAME:  %[[QUERY:[^:]+]]: tensor<4x128xf32>, %[[KC:[^:]+]]: !cache, %[[VC:[^:]+]]: !cache1, %[[B:[^:]+]]: index, %[[H:[^:]+]]: index, %{{[^:]+}}: index, %{{[^:]+}}: index, %[[LO:[^:]+]]: index, %[[HI:[^:]+]]: index, %[[ACC:[^:]+]]: tensor<4x64xf32>, %[[MAX:[^:]+]]: tensor<4xf32>, %[[SUM:[^:]+]]: tensor<4xf32>)
// CHECK-DAG:   %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:   %[[LOWEST:.+]] = arith.constant 0xFF800000 : f32
// CHECK-NOT:   kvq.partial_attention

// Keys.
// CHECK:       %[[N:.+]] = affine.apply #[[$COUNT]]()[%[[LO]], %[[HI]]]
// CHECK:       %[[KT:.+]]:3 = kvq.load_tile %[[KC]] <codes> at[%[[B]], %[[H]]] tokens[%[[LO]] to %[[HI]]] {tile = 32 : i64} : !cache -> tensor<?x128xi8>, tensor<1x128xf16>, tensor<1x128xf16>
// CHECK:       %[[KB:.+]] = tensor.empty() : tensor<32x128xf32>
// CHECK:       %[[KI:.+]] = tensor.extract_slice %[[KB]][0, 0] [%[[N]], 128] [1, 1]
// CHECK:       %[[KEYS:.+]] = kvq.dequantize #{{.+}} ins(%[[KT]]#0, %[[KT]]#1, %[[KT]]#2 : {{.*}}) outs(%[[KI]] : tensor<?x128xf32>)

// Scores.
// CHECK:       %[[SB:.+]] = tensor.empty() : tensor<4x32xf32>
// CHECK:       %[[SI:.+]] = tensor.extract_slice %[[SB]][0, 0] [4, %[[N]]] [1, 1]
// CHECK:       %[[S0:.+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[SI]] :
// CHECK:       %[[SCORES:.+]] = linalg.generic {indexing_maps = [#[[$Q]], #[[$K]], #[[$S]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[QUERY]], %[[KEYS]] : {{.*}}) outs(%[[S0]] :
// CHECK:         arith.mulf {{.*}} fastmath<contract>
// CHECK-NEXT:    arith.addf {{.*}} fastmath<contract>

// The tile's maximum; max', the weight of the old state beside it, sum.
// CHECK:       %[[TM0:.+]] = linalg.fill ins(%[[LOWEST]] : f32)
// CHECK:       %[[TM:.+]] = linalg.generic {indexing_maps = [#[[$RT]], #[[$R]]], iterator_types = ["parallel", "reduction"]} ins(%[[SCORES]] : {{.*}}) outs(%[[TM0]] :
// CHECK:         arith.maximumf
// CHECK:       %[[STATE:.+]]:3 = linalg.generic {{.*}} ins(%[[TM]] : tensor<4xf32>) outs(%{{.+}}, %[[MAX]], %[[SUM]] :
// CHECK-NEXT:  ^bb0(%[[IN:.+]]: f32, %{{.+}}: f32, %[[M:.+]]: f32, %[[L:.+]]: f32):
// CHECK-NEXT:    %[[M1:.+]] = arith.maximumf %[[M]], %[[IN]]
// A row that has seen no token has weight exp2(-inf - 0), not NaN.
// CHECK-NEXT:    %[[NONE:.+]] = arith.cmpf oeq, %[[M1]], %[[LOWEST]]
// CHECK-NEXT:    %[[ORIGIN:.+]] = arith.select %[[NONE]], %[[ZERO]], %[[M1]]
// CHECK-NEXT:    %[[D:.+]] = arith.subf %[[M]], %[[ORIGIN]]
// CHECK-NEXT:    %[[W:.+]] = math.exp2 %[[D]]
// CHECK-NEXT:    %[[L1:.+]] = arith.mulf %[[L]], %[[W]]
// CHECK-NEXT:    linalg.yield %[[W]], %[[M1]], %[[L1]]
// CHECK:       %[[ACC1:.+]] = linalg.generic {indexing_maps = [#[[$R]], #[[$RT]]], iterator_types = ["parallel", "parallel"]} ins(%[[STATE]]#0 : {{.*}}) outs(%[[ACC]] :
// CHECK:         arith.mulf

// Probabilities, over the scores; their sum.
// CHECK:       %[[P:.+]] = linalg.generic {indexing_maps = [#[[$R]], #[[$RT]]], iterator_types = ["parallel", "parallel"]} ins(%[[STATE]]#1 : {{.*}}) outs(%[[SCORES]] :
// CHECK:         math.exp2
// CHECK:       %[[SUM1:.+]] = linalg.generic {indexing_maps = [#[[$RT]], #[[$R]]], iterator_types = ["parallel", "reduction"]} ins(%[[P]] : {{.*}}) outs(%[[STATE]]#2 :
// CHECK:         arith.addf

// Values, of another head_dim.
// CHECK:       %[[VT:.+]]:2 = kvq.load_tile %[[VC]] <codes> at[%[[B]], %[[H]]] tokens[%[[LO]] to %[[HI]]] {tile = 32 : i64} : !cache1 -> tensor<?x64xi8>, tensor<?x2xf16>
// CHECK:       %[[VALUES:.+]] = kvq.dequantize #{{.+}} ins(%[[VT]]#0, %[[VT]]#1 : {{.*}}) outs(%{{.+}} : tensor<?x64xf32>)
// CHECK:       %[[ACC2:.+]] = linalg.generic {indexing_maps = [#[[$Q]], #[[$V]], #[[$S]]], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[P]], %[[VALUES]] : {{.*}}) outs(%[[ACC1]] :
// CHECK:       return %[[ACC2]], %[[STATE]]#1, %[[SUM1]]
func.func @codes(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %b: index, %h: index,
                 %kf: index, %vf: index, %lo: index, %hi: index,
                 %acc: tensor<4x64xf32>, %max: tensor<4xf32>,
                 %sum: tensor<4xf32>)
    -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%b, %h] tokens [%lo to %hi] flushed [%kf, %vf]
      outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_region = #kvq.region<codes>, tile = 32 : i64,
       value_region = #kvq.region<codes>}
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Exact tokens are read in their own type: nothing is dequantized, the body of a
// contraction widens them.

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!kc = !kvq.cache<1x8x?x128xf16, #k, exact_first = 4, recent = 32>
!vc = !kvq.cache<1x8x?x128xbf16, #kvq.format<codes = none>>

// CHECK-LABEL: func @exact(
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[KT:.+]] = kvq.load_tile %{{.+}} <recent> {{.*}} -> tensor<?x128xf16>
// CHECK:       linalg.generic {{.*}} ins(%{{.+}}, %[[KT]] : tensor<4x128xf32>, tensor<?x128xf16>)
// CHECK-NEXT:  ^bb0(%{{.+}}: f32, %[[IN:.+]]: f16, %{{.+}}: f32):
// CHECK-NEXT:    arith.extf %[[IN]] : f16 to f32
// CHECK-NOT:   kvq.dequantize
// CHECK:       %[[VT:.+]] = kvq.load_tile %{{.+}} <codes> {{.*}} -> tensor<?x128xbf16>
// CHECK:       linalg.generic {{.*}} ins(%{{.+}}, %[[VT]] : tensor<4x?xf32>, tensor<?x128xbf16>)
// CHECK-NEXT:  ^bb0(%{{.+}}: f32, %[[IN:.+]]: bf16, %{{.+}}: f32):
// CHECK-NEXT:    arith.extf %[[IN]] : bf16 to f32
// CHECK-NOT:   kvq.
// CHECK:       return
func.func @exact(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %kf: index,
                 %vf: index, %lo: index, %hi: index, %acc: tensor<4x128xf32>,
                 %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%c0, %h] tokens [%lo to %hi] flushed [%kf, %vf]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_region = #kvq.region<recent>, tile = 64 : i64,
       value_region = #kvq.region<codes>}
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Scores are summed over the segments of a key; each segment of a value goes
// into its channels.

// CHECK-LABEL: func.func @segments
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<4x96xf32>
// CHECK: %[[K0:.*]] = kvq.extract_segment %{{.*}}[0]
// CHECK: %[[K1:.*]] = kvq.extract_segment %{{.*}}[1]
// CHECK: kvq.load_tile %[[K0]] <recent>
// CHECK: kvq.load_tile %[[K1]] <codes>
// CHECK: %[[Q0:.*]] = tensor.extract_slice %[[Q]][0, 0] [4, 64] [1, 1]
// CHECK: %[[S0:.*]] = linalg.generic {{.*}} ins(%[[Q0]], %{{.*}} : tensor<4x64xf32>, tensor<?x64xf16>)
// CHECK: %[[Q1:.*]] = tensor.extract_slice %[[Q]][0, 64] [4, 32] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[Q1]], %{{.*}} : tensor<4x32xf32>, tensor<?x32xf16>) outs(%[[S0]]
// CHECK: kvq.load_tile %[[K0]] <codes>
// CHECK: %[[A0:.*]] = tensor.extract_slice %[[ACC:.*]][0, 0] [4, 64] [1, 1]
// CHECK: %[[SUM0:.*]] = linalg.generic {{.*}} outs(%[[A0]]
// CHECK: %[[ACC1:.*]] = tensor.insert_slice %[[SUM0]] into %[[ACC]][0, 0] [4, 64] [1, 1]
// CHECK: %[[A1:.*]] = tensor.extract_slice %[[ACC1]][0, 64] [4, 32] [1, 1]
// CHECK: %[[SUM1:.*]] = linalg.generic {{.*}} outs(%[[A1]]
// CHECK: tensor.insert_slice %[[SUM1]] into %[[ACC1]][0, 64] [4, 32] [1, 1]
#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<2x1x?x96xf16, #kvq.segments<[0:64] = #f, [64:96] = none>, recent = 8>
func.func @segments(%q: tensor<4x96xf32>, %c: !c, %i: index, %lo: index, %hi: index,
    %acc: tensor<4x96xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x96xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x96xf32>, !c, !c)
      at [%i, %i] tokens [%lo to %hi] flushed [%i, %i]
      outs(%acc, %max, %sum : tensor<4x96xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_region = #kvq.region<recent>, value_region = #kvq.region<codes>, tile = 16}
      -> tensor<4x96xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x96xf32>, tensor<4xf32>, tensor<4xf32>
}
