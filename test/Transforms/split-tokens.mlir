// RUN: kvq-opt %s --kvq-split-tokens --canonicalize --cse --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-split-tokens=splits=4 --canonicalize --cse --split-input-file | kvq-opt --split-input-file | FileCheck %s --check-prefix=SPLIT

#k = #kvq.format<codes = i8, group = [1, 32], scale = f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!kc = !kvq.cache<2x8x?x128xf16, #k, exact_first = 4>
!vc = !kvq.cache<2x8x?x64xf16, #v>

// One item a sequence, KV head and query token, with the four query heads that
// share a KV head as its rows; a causal query sees the tokens up to its own.
//
// CHECK-DAG: #[[$HEAD:.+]] = affine_map<(d0) -> (d0 * 4)>
// CHECK-DAG: #[[$VISIBLE:.+]] = affine_map<(d0, d1) -> (0, d0 + d1 - 2)>
// CHECK-DAG: #[[$FLUSHED:.+]] = affine_map<(d0) -> (0, d0 - 4)>
// CHECK-LABEL: func @decode(
// CHECK-SAME: %[[Q:.+]]: tensor<2x32x3x128xf32>, %[[K:.+]]: !cache, %[[V:.+]]: !cache1, %[[LENGTHS:.+]]: tensor<2xi64>, %[[OUT:.+]]: tensor<2x32x3x64xf32>)
// CHECK: scf.forall (%[[B:.+]], %[[H:.+]], %[[I:.+]]) in (2, 8, 3) shared_outs(%[[O:.+]] = %[[OUT]])
// CHECK: %[[ROW:.+]] = affine.apply #[[$HEAD]](%[[H]])
// CHECK: %[[N64:.+]] = tensor.extract %[[LENGTHS]][%[[B]]]
// CHECK: %[[N:.+]] = arith.index_cast %[[N64]] : i64 to index
// CHECK: %[[END:.+]] = affine.max #[[$VISIBLE]](%[[N]], %[[I]])
// CHECK: tensor.extract_slice %[[Q]][%[[B]], %[[ROW]], %[[I]], 0] [1, 4, 1, 128] [1, 1, 1, 1] : tensor<2x32x3x128xf32> to tensor<4x128xf32>
// 0.125 * log2(e)
// CHECK: arith.mulf %{{.*}}, %{{cst.*}} fastmath<contract>
// CHECK: %[[KF:.+]] = affine.max #[[$FLUSHED]](%[[N]])
// CHECK: kvq.partial_attention ins(%{{.+}}, %[[K]], %[[V]] : tensor<4x128xf32>, !cache, !cache1) at[%[[B]], %[[H]]] tokens[%c0 to %[[END]]] flushed[%[[KF]], %{{.+}}]
// A row that saw no token gives 0.
// CHECK: arith.cmpf oeq
// CHECK: arith.divf
// CHECK: arith.select
// CHECK: tensor.parallel_insert_slice %{{.+}} into %[[O]][%[[B]], %[[ROW]], %[[I]], 0] [1, 4, 1, 64]
// CHECK-NOT: kvq.merge_partials
// CHECK-NOT: kvq.attention

// With splits, the partial states go to a workspace first, and are merged in
// order after.
//
// SPLIT-DAG: #[[$EXTENT:.+]] = affine_map<(d0) -> (d0 ceildiv 4, 0)>
// SPLIT-LABEL: func @decode(
// SPLIT-DAG: %[[ACC:.+]] = tensor.empty() : tensor<4x2x8x3x4x64xf32>
// SPLIT-DAG: %[[ROWS:.+]] = tensor.empty() : tensor<4x2x8x3x4xf32>
// SPLIT: %[[PARTS:.+]]:3 = scf.forall (%[[B:.+]], %[[H:.+]], %[[I:.+]], %[[S:.+]]) in (2, 8, 3, 4) shared_outs(%{{.+}} = %[[ACC]], %{{.+}} = %[[ROWS]], %{{.+}} = %[[ROWS]])
// SPLIT: %[[N:.+]] = affine.max
// SPLIT: %[[EXTENT:.+]] = affine.max #[[$EXTENT]](%[[N]])
// SPLIT: %[[LO:.+]] = arith.muli %[[S]], %[[EXTENT]]
// SPLIT: %[[HI:.+]] = arith.addi %[[LO]], %[[EXTENT]]
// SPLIT: %[[END:.+]] = arith.minsi %[[N]], %[[HI]]
// SPLIT: kvq.partial_attention {{.*}} tokens[%[[LO]] to %[[END]]]
// SPLIT: tensor.parallel_insert_slice %{{.+}} into %{{.+}}[%[[S]], %[[B]], %[[H]], %[[I]], 0, 0] [1, 1, 1, 1, 4, 64]
// SPLIT: scf.forall (%{{.+}}, %{{.+}}, %{{.+}}) in (2, 8, 3)
// SPLIT: kvq.merge_partials ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<4x4x64xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
func.func @decode(%q: tensor<2x32x3x128xf32>, %k: !kc, %v: !vc,
                  %n: tensor<2xi64>, %out: tensor<2x32x3x64xf32>)
    -> tensor<2x32x3x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<2x32x3x128xf32>, !kc, !vc)
      lengths(%n : tensor<2xi64>) outs(%out : tensor<2x32x3x64xf32>)
      {scale = 0.125 : f32, causal} -> tensor<2x32x3x64xf32>
  return %r : tensor<2x32x3x64xf32>
}

// -----

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!kc = !kvq.cache<1x2x?x64xf16, #k, recent = 32>

// Without `causal` every query sees all tokens; flushed counts are the host's.
//
// CHECK-LABEL: func @all_visible(
// CHECK-SAME: %[[LENGTHS:[a-z0-9]+]]: tensor<1xi64>, %[[KF:[a-z0-9]+]]: tensor<1xi64>, %[[VF:[a-z0-9]+]]: tensor<1xi64>
// CHECK: scf.forall (%{{.+}}, %[[H:.+]], %[[I:.+]]) in (1, 2, %{{.+}})
// CHECK: %[[N64:.+]] = tensor.extract %[[LENGTHS]]
// CHECK: %[[N:.+]] = arith.index_cast %[[N64]]
// CHECK: %[[KF64:.+]] = tensor.extract %[[KF]]
// CHECK: %[[KFI:.+]] = arith.index_cast %[[KF64]]
// CHECK: %[[VF64:.+]] = tensor.extract %[[VF]]
// CHECK: %[[VFI:.+]] = arith.index_cast %[[VF64]]
// CHECK: kvq.partial_attention {{.*}} tokens[%c0 to %[[N]]] flushed[%[[KFI]], %[[VFI]]]
func.func @all_visible(%q: tensor<1x2x?x64xf16>, %k: !kc, %v: !kc,
                       %n: tensor<1xi64>, %kf: tensor<1xi64>,
                       %vf: tensor<1xi64>, %out: tensor<1x2x?x64xf16>)
    -> tensor<1x2x?x64xf16> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x2x?x64xf16>, !kc, !kc)
      lengths(%n : tensor<1xi64>) key_flushed(%kf : tensor<1xi64>)
      value_flushed(%vf : tensor<1xi64>) outs(%out : tensor<1x2x?x64xf16>)
      {scale = 0.125 : f32} -> tensor<1x2x?x64xf16>
  return %r : tensor<1x2x?x64xf16>
}
