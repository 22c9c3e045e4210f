// RUN: kvq-opt %s --kvq-split-segments -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-split-segments --kvq-expand-caches --canonicalize -split-input-file | FileCheck %s --check-prefix=EXPAND

// An append is one of each segment, on its channels; an exact one needs no
// flushed counts, and nothing in it saturates.

// CHECK-LABEL: func.func @append
// CHECK-SAME: %[[X:.*]]: tensor<2x1x?x96xf16>, %[[C:.*]]: !{{.*}}, %[[N:.*]]: tensor<2xi64>, %[[F:.*]]: tensor<2xi64>, %[[S:.*]]: tensor<2x1xi64>
// CHECK: %[[PARTS:.*]]:2 = kvq.split_segments %[[C]]
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [2, 1, %{{.*}}, 64] [1, 1, 1, 1] : tensor<2x1x?x96xf16> to tensor<2x1x?x64xf16>
// CHECK: %[[A:.*]], %[[SATURATED:.*]] = kvq.append ins(%[[X0]] : {{.*}}) lengths(%[[N]] : {{.*}}) flushed(%[[F]] : {{.*}}) counts(%[[N]] : {{.*}}) saturated(%[[S]] : {{.*}}) into(%[[PARTS]]#0
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 64] [2, 1, %{{.*}}, 32] [1, 1, 1, 1] : tensor<2x1x?x96xf16> to tensor<2x1x?x32xf16>
// CHECK: %[[B:.*]] = kvq.append ins(%[[X1]] : {{.*}}) lengths(%[[N]] : {{.*}}) counts(%[[N]] : {{.*}}) into(%[[PARTS]]#1
// CHECK: %[[JOINED:.*]] = kvq.join_segments %[[A]], %[[B]]
// CHECK: return %[[JOINED]], %[[SATURATED]]
// EXPAND-LABEL: func.func @append
// EXPAND-NOT: kvq.split_segments
// EXPAND: kvq.quantize
// EXPAND: return
#f = #kvq.format<codes = i8, group = [1, 32], scale = f16, range = clip<0.9>>
!c = !kvq.cache<2x1x?x96xf16, #kvq.segments<[0:64] = #f, [64:96] = none>, recent = 8>
func.func @append(%x: tensor<2x1x?x96xf16>, %c: !c, %n: tensor<2xi64>, %f: tensor<2xi64>,
    %s: tensor<2x1xi64>) -> (!c, tensor<2x1xi64>) {
  %r:2 = kvq.append ins(%x : tensor<2x1x?x96xf16>) lengths(%n : tensor<2xi64>) flushed(%f : tensor<2xi64>)
      counts(%n : tensor<2xi64>) saturated(%s : tensor<2x1xi64>) into(%c : !c) -> !c, tensor<2x1xi64>
  return %r#0, %r#1 : !c, tensor<2x1xi64>
}

// -----

// CHECK-DAG: ![[CODED_CACHE:[a-z0-9]+]] = !kvq.cache<2x1x?x64xf16, #{{.*}}, recent = 8>
// CHECK-DAG: ![[EXACT_CACHE:[a-z0-9]+]] = !kvq.cache<2x1x?x32xf16, #{{.*}}>
// CHECK-LABEL: func.func @empty_and_reorder
// CHECK: %[[CODED:.*]] = kvq.empty(%{{.*}}) : ![[CODED_CACHE]]
// CHECK: %[[EXACT:.*]] = kvq.empty(%{{.*}}) : ![[EXACT_CACHE]]
// CHECK: kvq.join_segments %[[CODED]], %[[EXACT]]
// CHECK: kvq.reorder ins(%{{.*}}#0 : {{.*}}) sources(%{{.*}}) lengths(%{{.*}}) flushed(%{{.*}}) into(
// CHECK: kvq.reorder ins(%{{.*}}#1 : {{.*}}) sources(%{{.*}}) lengths(%{{.*}} : tensor<2xi64>) into(
// EXPAND-LABEL: func.func @empty_and_reorder
#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<2x1x?x96xf16, #kvq.segments<[0:64] = #f, [64:96] = none>, recent = 8>
func.func @empty_and_reorder(%c: !c, %size: index, %n: tensor<2xi64>) -> !c {
  %empty = kvq.empty(%size) : !c
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      into(%empty : !c) -> !c
  return %r : !c
}
