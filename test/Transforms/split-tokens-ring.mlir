// RUN: kvq-opt %s -kvq-split-tokens | FileCheck %s
// RUN: kvq-opt %s -kvq-split-tokens=splits=3 | FileCheck %s --check-prefix=SPLIT

// A ring that keeps 10 tokens of 4 first ones: two ranges, one after the other.
// Each split has its part of both.

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x?x64xf16, #f, ring = 10, keep_first = 4>

// CHECK-DAG: #[[VISIBLE:.*]] = affine_map<(d0, d1) -> (d0 + d1 - 2, 0)>
// CHECK-DAG: #[[NEWEST:.*]] = affine_map<(d0) -> (d0 - 6, 4)>
// CHECK-LABEL: func.func @ring(
// CHECK:         scf.forall
// CHECK:           %[[SEEN:.*]] = affine.max #[[VISIBLE]](
// CHECK:           %[[OLDEST:.*]] = affine.max #[[NEWEST]](%
// CHECK:           %[[C4:.*]] = arith.constant 4 : index
// CHECK:           %[[END:.*]] = arith.minsi %[[C4]], %[[SEEN]]
// CHECK:           scf.for %[[RANGE:.*]] = %[[C0:.*]] to %{{.*}} step %{{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}, %[[S:.*]] = %
// CHECK:             %[[FIRST:.*]] = arith.cmpi eq, %[[RANGE]],
// CHECK:             %[[FROM:.*]] = arith.select %[[FIRST]], %{{.*}}, %[[OLDEST]]
// CHECK:             %[[TO:.*]] = arith.select %[[FIRST]], %[[END]], %[[SEEN]]
// CHECK:             kvq.partial_attention {{.*}} tokens[%[[FROM]] to %[[TO]]] {{.*}} outs(%[[A]], %[[M]], %[[S]] :

// SPLIT-LABEL: func.func @ring(
// SPLIT:         scf.forall {{.*}}, %[[SPLIT:[a-z0-9]*]]) in
// SPLIT:           affine.max
// SPLIT:           %[[BEGIN:.*]] = affine.max
// SPLIT:           %[[END:.*]] = arith.minsi
// SPLIT:           arith.muli %[[SPLIT]]
// SPLIT:           %[[EXTENT:.*]] = affine.max #{{.*}}(%[[BEGIN]], %
// SPLIT:           %[[OFFSET:.*]] = arith.muli %[[SPLIT]], %[[EXTENT]]
// SPLIT:           arith.addi %[[BEGIN]], %[[OFFSET]]
// SPLIT:           scf.for
// SPLIT:             kvq.partial_attention
// SPLIT:         kvq.merge_partials
func.func @ring(%q: tensor<2x4x3x64xf32>, %k: !c, %v: !c, %n: tensor<2xi64>, %o: tensor<2x4x3x64xf32>) -> tensor<2x4x3x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<2x4x3x64xf32>, !c, !c) lengths(%n : tensor<2xi64>)
      outs(%o : tensor<2x4x3x64xf32>) {scale = 1.0 : f32, causal} -> tensor<2x4x3x64xf32>
  return %0 : tensor<2x4x3x64xf32>
}
