// RUN: kvq-opt %s --kvq-split-segments -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-split-segments --kvq-expand-caches --canonicalize -split-input-file | FileCheck %s --check-prefix=EXPAND

// An append is one of each segment, on its channels; an exact one needs no
// flushed counts, and nothing in it saturates.

// CHECK-LABEL: func.func @append
// CHECK-SAME: %[[X:.*]]: tensor<2x1x?x96xf16>, %[[C:.*]]: !{{.*}}, %[[N:.*]]: tensor<2xi64>, %[[F:.*]]: tensor<2xi64>, %[[S:.*]]: tensor<2x1xi64>
// CHECK: %[[PART0:.*]] = kvq.extract_segment %[[C]][0]
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [2, 1, %{{.*}}, 64] [1, 1, 1, 1] : tensor<2x1x?x96xf16> to tensor<2x1x?x64xf16>
// CHECK: %[[A:.*]], %[[SATURATED:.*]] = kvq.append ins(%[[X0]] : {{.*}}) lengths(%[[N]] : {{.*}}) flushed(%[[F]] : {{.*}}) counts(%[[N]] : {{.*}}) saturated(%[[S]] : {{.*}}) into(%[[PART0]] :
// CHECK: %[[C0:.*]] = kvq.insert_segment %[[A]] into %[[C]][0]
// CHECK: %[[PART1:.*]] = kvq.extract_segment %[[C0]][1]
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 64] [2, 1, %{{.*}}, 32] [1, 1, 1, 1] : tensor<2x1x?x96xf16> to tensor<2x1x?x32xf16>
// CHECK: %[[B:.*]] = kvq.append ins(%[[X1]] : {{.*}}) lengths(%[[N]] : {{.*}}) counts(%[[N]] : {{.*}}) into(%[[PART1]] :
// CHECK: %[[C1:.*]] = kvq.insert_segment %[[B]] into %[[C0]][1]
// CHECK: return %[[C1]], %[[SATURATED]]
// EXPAND-LABEL: func.func @append
// EXPAND-NOT: segment
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

// CHECK-LABEL: func.func @empty_and_reorder
// CHECK-SAME: %[[C:.*]]: !{{.*}}, %{{.*}}: index
// CHECK: %[[EMPTY:.*]] = kvq.empty(
// CHECK: %[[TO0:.*]] = kvq.extract_segment %[[EMPTY]][0]
// CHECK: %[[FROM0:.*]] = kvq.extract_segment %[[C]][0]
// CHECK: kvq.reorder ins(%[[FROM0]] : {{.*}}) sources(%{{.*}}) lengths(%{{.*}}) flushed(%{{.*}}) into(%[[TO0]] :
// CHECK: %[[TO1:.*]] = kvq.extract_segment %{{.*}}[1]
// CHECK: %[[FROM1:.*]] = kvq.extract_segment %[[C]][1]
// CHECK: kvq.reorder ins(%[[FROM1]] : {{.*}}) sources(%{{.*}}) lengths(%{{.*}} : tensor<2xi64>) into(%[[TO1]] :
// EXPAND-LABEL: func.func @empty_and_reorder
#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<2x1x?x96xf16, #kvq.segments<[0:64] = #f, [64:96] = none>, recent = 8>
func.func @empty_and_reorder(%c: !c, %size: index, %n: tensor<2xi64>) -> !c {
  %empty = kvq.empty(%size) : !c
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      into(%empty : !c) -> !c
  return %r : !c
}

// -----

// A row of all segments is one component. Each segment is appended to its bytes
// of it; it is moved once.

// CHECK-LABEL: func.func @row
// CHECK: kvq.append {{.*}} into(
// CHECK: kvq.insert_segment
// CHECK: kvq.append {{.*}} into(
// CHECK: kvq.insert_segment
// CHECK: kvq.shift
// CHECK-NOT: kvq.shift
// EXPAND-LABEL: func.func @row
// EXPAND-SAME: %[[X:.*]]: tensor<1x1x?x96xf16>, %[[R:.*]]: tensor<1x1x?x132xi8>, %{{.*}}: tensor<1xi64>
// EXPAND: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [1, 1, %{{.*}}, 64]
// EXPAND: %[[R0:.*]] = kvq.forall {{.*}} inits(%[[ALL0:.*]] = %[[R]] :
// EXPAND: scf.for {{.*}} iter_args(%[[IN0:.*]] = %[[ALL0]])
// EXPAND: tensor.extract_slice %[[X0]][0, 0, %{{.*}}, 0] [1, 1, 1, 64]
// EXPAND: tensor.extract_slice %[[IN0]][0, 0, %{{.*}}, 0] [1, 1, 1, 132]
// EXPAND: kvq.pack #{{.*}} ins(%{{.*}} : tensor<1x64xi8>, tensor<1x1xf32>) outs(%{{.*}} : tensor<1x132xi8>)
// EXPAND: %[[X1:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 64] [1, 1, %{{.*}}, 32]
// EXPAND: %[[R1:.*]] = kvq.forall {{.*}} inits(%[[ALL1:.*]] = %[[R0]] :
// EXPAND: scf.for {{.*}} iter_args(%[[IN1:.*]] = %[[ALL1]])
// EXPAND: tensor.extract_slice %[[X1]][0, 0, %{{.*}}, 0] [1, 1, 1, 32]
// EXPAND: tensor.extract_slice %[[IN1]][0, 0, %{{.*}}, 0] [1, 1, 1, 132]
// EXPAND: kvq.pack #{{.*}} ins(%{{.*}} : tensor<1x32xf16>) outs(%{{.*}} : tensor<1x132xi8>)
// EXPAND: kvq.forall {{.*}} inits(%{{.*}} = %[[R1]] :
// EXPAND-NOT: kvq.forall
#f = #kvq.format<codes = i8, group = [1, *], scale = f32>
!c = !kvq.cache<1x1x?x96xf16, #kvq.segments<[0:64] = #f, [64:96] = none, row = [codes.0, scale.0, values.1]>>
func.func @row(%x: tensor<1x1x?x96xf16>, %c: !c, %n: tensor<1xi64>) -> !c {
  %r = kvq.append ins(%x : tensor<1x1x?x96xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  %s = kvq.shift drop(%n, %n : tensor<1xi64>, tensor<1xi64>) lengths(%n : tensor<1xi64>) into(%r : !c) -> !c
  return %s : !c
}

// -----

// RoPE turns the channels of one segment.

// CHECK-LABEL: func.func @turned
// CHECK: kvq.append
// CHECK-NOT: rope
// CHECK: kvq.insert_segment
// CHECK: kvq.append ins(%{{.*}} : tensor<?x1x32xf16>) slots(%{{.*}}) positions(%[[P:.*]] : tensor<?xi64>) rope(%[[T:.*]], %[[T]] : tensor<?x16xf32>, tensor<?x16xf32>) into(%{{.*}}) {rope_style = #kvq.rope_style<interleaved>}
// CHECK-NOT: rope_segment
// EXPAND-LABEL: func.func @turned
// EXPAND: kvq.quantize
// EXPAND: arith.mulf
#f = #kvq.format<codes = i8, group = [1, *], scale = f32>
!c = !kvq.cache<1x1x?x96xf16, #kvq.segments<[0:64] = #f, [64:96] = none>, page = 16>
func.func @turned(%x: tensor<?x1x96xf16>, %c: !c, %s: tensor<?xi64>, %p: tensor<?xi64>, %t: tensor<?x16xf32>) -> !c {
  %r = kvq.append ins(%x : tensor<?x1x96xf16>) slots(%s : tensor<?xi64>) positions(%p : tensor<?xi64>)
      rope(%t, %t : tensor<?x16xf32>, tensor<?x16xf32>) into(%c : !c)
      {rope_segment = 1 : i64, rope_style = #kvq.rope_style<interleaved>} -> !c
  return %r : !c
}
