// RUN: kvq-opt %s --kvq-decompose-attention --canonicalize --cse --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-decompose-attention --kvq-fold-scales --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s --check-prefix=FOLD

// A tile of keys before RoPE is turned by the rows of the tables at its positions.
// Scores are the sum over the first channels of pairs and the second ones.

#k = #kvq.format<codes = i8, group = [1, 32], scale = f16, rope = pre>
#v = #kvq.format<codes = none>
!kc = !kvq.cache<1x8x?x128xf16, #k>
!vc = !kvq.cache<1x8x?x128xf16, #v>

// CHECK-DAG: #[[$TJ:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @half(
// CHECK-SAME:  %[[QUERY:[^:]+]]: tensor<4x128xf32>, %{{[^:]+}}: !cache, %{{[^:]+}}: !cache1, %{{[^:]+}}: index, %{{[^:]+}}: index, %[[LO:[^:]+]]: index, %{{[^:]+}}: index, %[[COS:[^:]+]]: tensor<?x64xf32>, %[[SIN:[^:]+]]: tensor<?x64xf32>
// CHECK:       %[[N:.+]] = affine.apply
// CHECK:       %[[KEYS:.+]] = kvq.dequantize {{.*}} -> tensor<?x128xf32>
// CHECK-DAG:   %[[C:.+]] = tensor.extract_slice %[[COS]][%[[LO]], 0] [%[[N]], 64] [1, 1]
// CHECK-DAG:   %[[S:.+]] = tensor.extract_slice %[[SIN]][%[[LO]], 0] [%[[N]], 64] [1, 1]
// CHECK-DAG:   %[[X:.+]] = tensor.extract_slice %[[KEYS]][0, 0] [%{{.+}}, 64] [1, 1]
// CHECK-DAG:   %[[Y:.+]] = tensor.extract_slice %[[KEYS]][0, 64] [%{{.+}}, 64] [1, 1]
// CHECK:       %[[T:.+]]:2 = linalg.generic {indexing_maps = [#[[$TJ]], #[[$TJ]], #[[$TJ]], #[[$TJ]], #[[$TJ]], #[[$TJ]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[Y]], %[[C]], %[[S]] : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
// CHECK-NEXT:  ^bb0(%[[x:.+]]: f32, %[[y:.+]]: f32, %[[c:.+]]: f32, %[[s:.+]]: f32, %{{.+}}: f32, %{{.+}}: f32):
// CHECK-NEXT:    %[[XC:.+]] = arith.mulf %[[x]], %[[c]] fastmath<contract>
// CHECK-NEXT:    %[[YS:.+]] = arith.mulf %[[y]], %[[s]] fastmath<contract>
// CHECK-NEXT:    %[[A:.+]] = arith.subf %[[XC]], %[[YS]] fastmath<contract>
// CHECK-NEXT:    %[[XS:.+]] = arith.mulf %[[x]], %[[s]] fastmath<contract>
// CHECK-NEXT:    %[[YC:.+]] = arith.mulf %[[y]], %[[c]] fastmath<contract>
// CHECK-NEXT:    %[[B:.+]] = arith.addf %[[XS]], %[[YC]] fastmath<contract>
// CHECK-NEXT:    linalg.yield %[[A]], %[[B]]
// CHECK-DAG:   %[[QX:.+]] = tensor.extract_slice %[[QUERY]][0, 0] [4, 64] [1, 1]
// CHECK-DAG:   %[[QY:.+]] = tensor.extract_slice %[[QUERY]][0, 64] [4, 64] [1, 1]
// CHECK:       %[[S1:.+]] = linalg.generic {{.*}} ins(%[[QX]], %[[T]]#0 :
// CHECK:       linalg.generic {{.*}} ins(%[[QY]], %[[T]]#1 : {{.*}}) outs(%[[S1]] :

// Scales of keys do not pass RoPE.
// FOLD-LABEL:  func @half(
// FOLD:          kvq.dequantize
// FOLD:          %[[T:.+]]:2 = linalg.generic
// FOLD:          linalg.generic {{.*}} ins(%{{.+}}, %[[T]]#0 : tensor<4x64xf32>, tensor<?x64xf32>)
// FOLD:          linalg.generic {{.*}} ins(%{{.+}}, %[[T]]#1 : tensor<4x64xf32>, tensor<?x64xf32>)
func.func @half(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %b: index, %h: index, %lo: index, %hi: index,
    %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>,
    %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc) at [%b, %h] tokens [%lo to %hi]
      flushed [%b, %b] rope(%cos, %sin : tensor<?x64xf32>, tensor<?x64xf32>)
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>, tile = 64 : i64}
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Pairs of neighbours are read by maps, and the query's are brought together. Exact
// keys are turned as they are loaded; channels beyond the pairs have a contraction
// of their own.

#k = #kvq.format<codes = i8, group = [1, 32], scale = f16, rope = pre>
#v = #kvq.format<codes = none>
!kc = !kvq.cache<1x8x?x64xf16, #k, exact_first = 4>
!vc = !kvq.cache<1x8x?x64xf16, #v>

// CHECK-DAG: #[[$TJ:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$EVEN:.+]] = affine_map<(d0, d1) -> (d0, d1 * 2)>
// CHECK-DAG: #[[$ODD:.+]] = affine_map<(d0, d1) -> (d0, d1 * 2 + 1)>
// CHECK-LABEL: func @interleaved(
// CHECK-SAME:  %[[QUERY:[^:]+]]: tensor<4x64xf32>,
// CHECK:       %[[KEYS:.+]] = kvq.load_tile {{.*}} <first> {{.*}} -> tensor<?x64xf16>
// CHECK:       %[[PAIRS:.+]] = tensor.extract_slice %[[KEYS]][0, 0] [%{{.+}}, 40] [1, 1]
// CHECK:       %[[T:.+]]:2 = linalg.generic {indexing_maps = [#[[$EVEN]], #[[$ODD]], #[[$TJ]], #[[$TJ]], #[[$TJ]], #[[$TJ]]], {{.*}} ins(%[[PAIRS]], %[[PAIRS]], %{{.+}}, %{{.+}} : tensor<?x40xf16>, tensor<?x40xf16>, tensor<?x20xf32>, tensor<?x20xf32>)
// CHECK:         arith.extf
// CHECK:       %[[QP:.+]] = tensor.extract_slice %[[QUERY]][0, 0] [4, 40] [1, 1]
// CHECK:       %[[QX:.+]] = linalg.generic {indexing_maps = [#[[$EVEN]], #[[$TJ]]], {{.*}} ins(%[[QP]] : tensor<4x40xf32>)
// CHECK:       %[[QY:.+]] = linalg.generic {indexing_maps = [#[[$ODD]], #[[$TJ]]], {{.*}} ins(%[[QP]] : tensor<4x40xf32>)
// CHECK:       %[[QR:.+]] = tensor.extract_slice %[[QUERY]][0, 40] [4, 24] [1, 1]
// CHECK:       %[[REST:.+]] = tensor.extract_slice %[[KEYS]][0, 40] [%{{.+}}, 24] [1, 1]
// CHECK:       linalg.generic {{.*}} ins(%[[QX]], %[[T]]#0 :
// CHECK:       linalg.generic {{.*}} ins(%[[QY]], %[[T]]#1 :
// CHECK:       linalg.generic {{.*}} ins(%[[QR]], %[[REST]] : tensor<4x24xf32>, tensor<?x24xf16>)
func.func @interleaved(%q: tensor<4x64xf32>, %k: !kc, %v: !vc, %b: index, %h: index, %lo: index, %hi: index,
    %cos: tensor<?x20xf32>, %sin: tensor<?x20xf32>,
    %acc: tensor<4x64xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x64xf32>, !kc, !vc) at [%b, %h] tokens [%lo to %hi]
      flushed [%b, %b] rope(%cos, %sin : tensor<?x20xf32>, tensor<?x20xf32>)
      outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_region = #kvq.region<first>, value_region = #kvq.region<codes>, tile = 64 : i64,
       rope_style = #kvq.rope_style<interleaved>}
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Of a row with segments, only those before RoPE are turned.

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
#r = #kvq.format<codes = none, rope = pre>
!kc = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #a, [512:576] = #r>>
!vc = !kvq.cache<1x1x?x64xbf16, #kvq.format<codes = none>>

// CHECK-LABEL: func @segments(
// CHECK-SAME:  %[[QUERY:[^:]+]]: tensor<4x576xf32>,
// CHECK:       %[[LATENT:.+]] = kvq.dequantize {{.*}} -> tensor<?x512xf32>
// CHECK:       %[[EXACT:.+]] = kvq.load_tile {{.*}} -> tensor<?x64xbf16>
// CHECK:       %[[QL:.+]] = tensor.extract_slice %[[QUERY]][0, 0] [4, 512] [1, 1]
// CHECK:       linalg.generic {{.*}} ins(%[[QL]], %[[LATENT]] :
// CHECK:       tensor.extract_slice %[[EXACT]][0, 32] [%{{.+}}, 32] [1, 1]
// CHECK:       %[[T:.+]]:2 = linalg.generic
// CHECK:       %[[QR:.+]] = tensor.extract_slice %[[QUERY]][0, 512] [4, 64] [1, 1]
// CHECK:       %[[QX:.+]] = tensor.extract_slice %[[QR]][0, 0] [4, 32] [1, 1]
// CHECK:       %[[QY:.+]] = tensor.extract_slice %[[QR]][0, 32] [4, 32] [1, 1]
// CHECK:       linalg.generic {{.*}} ins(%[[QX]], %[[T]]#0 :
// CHECK:       linalg.generic {{.*}} ins(%[[QY]], %[[T]]#1 :
func.func @segments(%q: tensor<4x576xf32>, %k: !kc, %v: !vc, %b: index, %h: index, %lo: index, %hi: index,
    %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>,
    %acc: tensor<4x64xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x576xf32>, !kc, !vc) at [%b, %h] tokens [%lo to %hi]
      flushed [%b, %b] rope(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>)
      outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>, tile = 64 : i64}
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
}
