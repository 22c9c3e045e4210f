// RUN: kvq-opt %s --kvq-split-tokens=query-tile=4 --canonicalize --cse --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-split-tokens="query-tile=4 splits=3" --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=SPLIT
// RUN: kvq-opt %s --kvq-split-tokens=query-tile=0 --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=AUTO

!c = !kvq.cache<2x8x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// Rows are the four query tokens of the first head, then those of the next. The
// tokens up to the last one's position are attended to; which of them a row does
// not see follows from the position of the first query.
//
// CHECK-DAG: #[[$HEAD:.+]] = affine_map<(d0) -> (d0 * 3)>
// CHECK-DAG: #[[$TOKEN:.+]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-DAG: #[[$LAST:.+]] = affine_map<(d0, d1) -> (0, d0 + d1 * 4 - 4)>
// CHECK-DAG: #[[$POSITION:.+]] = affine_map<(d0, d1) -> (d0 + d1 * 4 - 8)>
// CHECK-LABEL: func @causal(
// CHECK-SAME:  %[[Q:.+]]: tensor<2x24x8x64xf32>, %{{.+}}: !cache, %{{.+}}: !cache, %{{.+}}: tensor<2xi64>, %[[OUT:.+]]: tensor<2x24x8x64xf32>)
// CHECK:       scf.forall (%[[B:.+]], %[[H:.+]], %[[I:.+]]) in (2, 8, 2) shared_outs(%[[O:.+]] = %[[OUT]])
// CHECK-DAG:     %[[ROW:.+]] = affine.apply #[[$HEAD]](%[[H]])
// CHECK-DAG:     %[[TOKEN:.+]] = affine.apply #[[$TOKEN]](%[[I]])
// CHECK:         %[[END:.+]] = affine.max #[[$LAST]](%[[N:.+]], %[[I]])
// CHECK:         %[[SLICE:.+]] = tensor.extract_slice %[[Q]][%[[B]], %[[ROW]], %[[TOKEN]], 0] [1, 3, 4, 64] [1, 1, 1, 1] : tensor<2x24x8x64xf32> to tensor<3x4x64xf32>
// CHECK:         %[[SCALED:.+]] = linalg.generic {{.*}} ins(%[[SLICE]] : tensor<3x4x64xf32>)
// CHECK:         %[[ROWS:.+]] = tensor.collapse_shape %[[SCALED]] {{\[\[}}0, 1], [2]]
// CHECK:         %[[P:.+]] = affine.apply #[[$POSITION]](%[[N]], %[[I]])
// CHECK:         %[[ACC:[^,]+]], %{{.+}}, %[[SUM:.+]] = kvq.partial_attention ins(%[[ROWS]], {{.*}}) at[%[[B]], %[[H]]] tokens[%c0 to %[[END]]] {{.*}} position[%[[P]]]
// CHECK-SAME:      {causal, query_tokens = 4 : i64}
// CHECK-NOT:     kvq.partial_attention
// CHECK:         %[[A:.+]] = tensor.expand_shape %[[ACC]] {{\[\[}}0, 1], [2]]
// CHECK:         %[[S:.+]] = tensor.expand_shape %[[SUM]] {{\[\[}}0, 1]]
// CHECK:         linalg.generic {{.*}} ins(%[[A]], %[[S]] :
// CHECK:         tensor.parallel_insert_slice %{{.+}} into %[[O]][%[[B]], %[[ROW]], %[[TOKEN]], 0] [1, 3, 4, 64]

// SPLIT-LABEL: func @causal(
// SPLIT-DAG:   tensor.empty() : tensor<3x2x8x2x12x64xf32>
// SPLIT:       scf.forall (%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) in (2, 8, 2, 3)
// SPLIT:       kvq.partial_attention {{.*}} {causal, query_tokens = 4 : i64}
// SPLIT:       scf.forall (%{{.+}}, %{{.+}}, %{{.+}}) in (2, 8, 2)
// SPLIT:       kvq.merge_partials ins(%{{.+}} : tensor<3x12x64xf32>, tensor<3x12xf32>, tensor<3x12xf32>)
// SPLIT:       tensor.parallel_insert_slice {{.*}} [1, 3, 4, 64]

// All eight query tokens fit into one item.
// AUTO-LABEL:  func @causal(
// AUTO:        scf.forall (%{{.+}}, %{{.+}}, %{{.+}}) in (2, 8, 1)
// AUTO:        query_tokens = 8 : i64
func.func @causal(%q: tensor<2x24x8x64xf32>, %k: !c, %v: !c, %n: tensor<2xi64>,
                  %out: tensor<2x24x8x64xf32>) -> tensor<2x24x8x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<2x24x8x64xf32>, !c, !c)
      lengths(%n : tensor<2xi64>) outs(%out : tensor<2x24x8x64xf32>)
      {scale = 0.125 : f32, causal} -> tensor<2x24x8x64xf32>
  return %r : tensor<2x24x8x64xf32>
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// The last of some number of query tokens may leave rows without one: zeros, of
// which nothing is stored. Masks and log-sum-exps are those of the others.
//
// CHECK-DAG: #[[$ITEMS:.+]] = affine_map<()[s0] -> (s0 ceildiv 4)>
// CHECK-DAG: #[[$LEFT:.+]] = affine_map<(d0)[s0] -> (d0 * -4 + s0, 4)>
// CHECK-LABEL: func @padded(
// CHECK:       affine.apply #[[$ITEMS]]()[%[[TOKENS:.+]]]
// CHECK:       scf.forall (%{{.+}}, %{{.+}}, %[[I:.+]]) in (1, 2, %{{.+}})
// CHECK:         %[[COUNT:.+]] = affine.min #[[$LEFT]](%[[I]])[%[[TOKENS]]]
// CHECK:         %[[SLICE:.+]] = tensor.extract_slice %{{.+}} [1, 2, %[[COUNT]], 64] [1, 1, 1, 1] : tensor<1x4x?x64xf32> to tensor<2x?x64xf32>
// CHECK:         %[[ZEROS:.+]] = linalg.fill {{.*}} -> tensor<2x4x64xf32>
// CHECK:         %[[PLACE:.+]] = tensor.extract_slice %[[ZEROS]][0, 0, 0] [2, %[[COUNT]], 64]
// CHECK:         %[[SCALED:.+]] = linalg.generic {{.*}} ins(%[[SLICE]] : {{.*}}) outs(%[[PLACE]] :
// CHECK:         tensor.insert_slice %[[SCALED]] into %[[ZEROS]][0, 0, 0] [2, %[[COUNT]], 64]
// CHECK:         %[[MASK:.+]] = tensor.extract_slice %{{.+}} [1, 1, %[[COUNT]], %{{.+}}] [1, 1, 1, 1] : tensor<1x1x?x?xi8> to tensor<1x?x?xi8>
// CHECK:         kvq.partial_attention {{.*}} mask(%[[MASK]] : tensor<1x?x?xi8>) {{.*}} {query_tokens = 4 : i64}
// CHECK:         tensor.parallel_insert_slice {{.*}} [1, 2, %[[COUNT]], 64]
// CHECK:         tensor.parallel_insert_slice {{.*}} [1, 2, %[[COUNT]]]

// One query token an item where their number is not known.
// AUTO-LABEL:  func @padded(
// AUTO:        scf.forall (%{{.+}}, %{{.+}}, %{{.+}}) in (1, 2, %{{.+}})
// AUTO-NOT:    query_tokens
func.func @padded(%q: tensor<1x4x?x64xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %m: tensor<1x1x?x?xi8>,
                  %out: tensor<1x4x?x64xf32>, %lse: tensor<1x4x?xf32>)
    -> (tensor<1x4x?x64xf32>, tensor<1x4x?xf32>) {
  %r:2 = kvq.attention ins(%q, %k, %v : tensor<1x4x?x64xf32>, !c, !c)
      lengths(%n : tensor<1xi64>) mask(%m : tensor<1x1x?x?xi8>)
      outs(%out, %lse : tensor<1x4x?x64xf32>, tensor<1x4x?xf32>)
      {scale = 0.125 : f32} -> tensor<1x4x?x64xf32>, tensor<1x4x?xf32>
  return %r#0, %r#1 : tensor<1x4x?x64xf32>, tensor<1x4x?xf32>
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>, ring = 80, keep_first = 8>

// Three ranges: the first tokens of the window, those from there to the first of
// the ring, the newest. A window hides tokens by position as well, from its first
// ones on; what of the ring is gone is so for all queries.
//
// AUTO-LABEL:  func @window(
// CHECK-LABEL: func @window(
// CHECK:       %[[RING:.+]] = affine.max
// CHECK:       %[[WINDOW:.+]] = affine.max
// CHECK:       %[[NEWEST:.+]] = arith.maxsi %[[WINDOW]], %[[RING]]
// CHECK:       scf.for %[[RANGE:.+]] = %c0 to %c3 step %c1
// CHECK:         %[[SECOND:.+]] = arith.select %{{.+}}, %[[WINDOW]], %[[NEWEST]]
// CHECK:         %[[FROM:.+]] = arith.select %{{.+}}, %c0, %[[SECOND]]
// CHECK:         kvq.partial_attention {{.*}} tokens[%[[FROM]] to %{{.+}}] {{.*}} {causal, query_tokens = 4 : i64, window = 16 : i64, window_first = 2 : i64}
func.func @window(%q: tensor<1x4x4x64xf32>, %k: !c, %v: !c, %n: tensor<1xi64>,
                  %out: tensor<1x4x4x64xf32>) -> tensor<1x4x4x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x4x64xf32>, !c, !c)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x4x4x64xf32>)
      {scale = 0.125 : f32, causal, window = 16 : i64, window_first = 2 : i64} -> tensor<1x4x4x64xf32>
  return %r : tensor<1x4x4x64xf32>
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// 96 query heads share a KV head: an item has 48 of them, and is of the KV head
// that two items have.
//
// CHECK-DAG: #[[$ROW:.+]] = affine_map<(d0) -> (d0 * 48)>
// CHECK-DAG: #[[$HEAD:.+]] = affine_map<(d0) -> (d0 floordiv 2)>
// CHECK-LABEL: func @heads(
// CHECK:       scf.forall (%{{.+}}, %[[PART:.+]], %{{.+}}) in (1, 4, 1)
// CHECK-DAG:     %[[ROW:.+]] = affine.apply #[[$ROW]](%[[PART]])
// CHECK-DAG:     %[[HEAD:.+]] = affine.apply #[[$HEAD]](%[[PART]])
// CHECK:         tensor.extract_slice %{{.+}}[0, %[[ROW]], 0, 0] [1, 48, 4, 64]
// CHECK:         kvq.partial_attention {{.*}} at[%{{.+}}, %[[HEAD]]]
func.func @heads(%q: tensor<1x192x4x64xf32>, %k: !c, %v: !c, %n: tensor<1xi64>,
                 %out: tensor<1x192x4x64xf32>) -> tensor<1x192x4x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x192x4x64xf32>, !c, !c)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x192x4x64xf32>)
      {scale = 0.125 : f32} -> tensor<1x192x4x64xf32>
  return %r : tensor<1x192x4x64xf32>
}
