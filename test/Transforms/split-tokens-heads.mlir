// RUN: kvq-opt %s -kvq-split-tokens | FileCheck %s --check-prefix=SPLIT
// RUN: kvq-opt %s "-kvq-assign-schedule=l2-bytes=4194304" | FileCheck %s --check-prefix=SCHEDULE
// RUN: kvq-opt %s -kvq-assign-schedule | FileCheck %s --check-prefix=SMALL

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!r = !kvq.cache<2x8x?x128xf16, #f, token_major>

// A work item of a sequence and a query token: 128 tokens at a time, and all
// heads in turn, each with its rows of query and state.
// SPLIT: func.func @inside
// SPLIT: scf.forall (%[[B:.*]], %{{.*}}, %[[I:.*]]) in (2, 1, 1)
// SPLIT: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<32x128xf32>)
// SPLIT: %[[ALL:.*]]:3 = scf.for %[[T:.*]] = %{{.*}} to %[[END:.*]] step %{{.*}} iter_args({{.*}}) -> (tensor<32x128xf32>, tensor<32xf32>, tensor<32xf32>)
// SPLIT:   %[[NEXT:.*]] = arith.addi %[[T]]
// SPLIT:   %[[TO:.*]] = arith.minsi %[[NEXT]], %[[END]]
// SPLIT:   scf.for %[[H:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = {{.*}}, %[[MAX:.*]] = {{.*}}, %[[SUM:.*]] = {{.*}})
// SPLIT:     %[[FIRST:.*]] = arith.muli %[[H]]
// SPLIT:     %[[Q:.*]] = tensor.extract_slice %[[ROWS]][%[[FIRST]], 0] [4, 128] [1, 1]
// SPLIT:     %[[A:.*]] = tensor.extract_slice %[[ACC]][%[[FIRST]], 0] [4, 128] [1, 1]
// SPLIT:     %[[NEW:.*]], %{{.*}}, %{{.*}} = kvq.partial_attention ins(%[[Q]], {{.*}} at[%[[B]], %[[H]]] tokens[%{{.*}} to %[[TO]]]
// SPLIT:     tensor.insert_slice %[[NEW]] into %[[ACC]][%[[FIRST]], 0] [4, 128] [1, 1]

// As many tokens as a sixteenth of the second cache holds of all heads.
// SCHEDULE: func.func @inside
// SCHEDULE: schedule = #kvq.schedule<tile = 32, splits = 1, heads_inside = 128, prefetch = 1>
// SCHEDULE: func.func @chosen
// SCHEDULE: schedule = #kvq.schedule<tile = 32, splits = 1, heads_inside = 96, prefetch = 1>
// SMALL: func.func @chosen
// SMALL: heads_inside = 32,
func.func @inside(%q: tensor<2x32x1x128xf32>, %r: !r, %n: tensor<2xi64>) -> tensor<2x32x1x128xf32> {
  %o = kvq.attention ins(%q, %r, %r : tensor<2x32x1x128xf32>, !r, !r) lengths(%n : tensor<2xi64>)
      outs(%q : tensor<2x32x1x128xf32>) {scale = 1.0 : f32, schedule = #kvq.schedule<heads_inside = 128>}
      -> tensor<2x32x1x128xf32>
  return %o : tensor<2x32x1x128xf32>
}

func.func @chosen(%q: tensor<2x32x1x128xf32>, %r: !r, %n: tensor<2xi64>) -> tensor<2x32x1x128xf32> {
  %o = kvq.attention ins(%q, %r, %r : tensor<2x32x1x128xf32>, !r, !r) lengths(%n : tensor<2xi64>)
      outs(%q : tensor<2x32x1x128xf32>) {scale = 1.0 : f32} -> tensor<2x32x1x128xf32>
  return %o : tensor<2x32x1x128xf32>
}
