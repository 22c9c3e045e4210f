// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// Keys are turned on their way: of a token the rows of the tables that its position
// names, one channel of each pair after the other, rounded to elements; then the
// channels that no pair has. Products, differences and sums are not contracted.

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!k = !kvq.cache<1x2x?x64xf16, #f>

// CHECK-LABEL: func.func @tokens(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x2x?x64xf16>, {{.*}} %[[COS:[^:]*]]: tensor<?x24xf32>, %[[SIN:[^:]*]]: tensor<?x24xf32>)
// CHECK:         kvq.forall
// CHECK:           scf.for %[[TOKEN:[a-z0-9]*]] =
// CHECK:             arith.subi %[[TOKEN]], %{{.*}}
// CHECK:             %[[ROW:.*]] = arith.addi
// CHECK:             %[[NEW:.*]] = tensor.extract_slice %[[X]][0, %{{.*}}, %[[ROW]], 0] [1, 1, 1, 64]
// CHECK:             %[[A:.*]] = tensor.extract_slice %[[NEW]][0, 0] [1, 24] [1, 1]
// CHECK:             %[[B:.*]] = tensor.extract_slice %[[NEW]][0, 24] [1, 24] [1, 1]
// CHECK:             %[[C:.*]] = tensor.extract_slice %[[COS]][%[[TOKEN]], 0] [1, 24] [1, 1]
// CHECK:             %[[S:.*]] = tensor.extract_slice %[[SIN]][%[[TOKEN]], 0] [1, 24] [1, 1]
// CHECK:             linalg.generic {{.*}} ins(%[[A]], %[[B]], %[[C]], %[[S]] : {{.*}}) outs(%{{.*}} : tensor<1x24xf16>)
// CHECK-NOT:           arith.negf
// CHECK:               %[[AC:.*]] = arith.mulf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK:               %[[BS:.*]] = arith.mulf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK:               arith.subf %[[AC]], %[[BS]] : f32
// CHECK:               arith.truncf
// CHECK:             linalg.generic {{.*}} ins(%[[A]], %[[B]], %[[C]], %[[S]] : {{.*}}) outs(%{{.*}} : tensor<1x24xf16>)
// CHECK:               arith.addf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK:             tensor.extract_slice %[[NEW]][0, 48] [1, 16] [1, 1]
// CHECK:             kvq.quantize
// CHECK:             kvq.pack
func.func @tokens(%x: tensor<1x2x?x64xf16>, %c: !k, %n: tensor<1xi64>, %cos: tensor<?x24xf32>, %sin: tensor<?x24xf32>) -> !k {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>)
      rope(%cos, %sin : tensor<?x24xf32>, tensor<?x24xf32>) into(%c : !k) -> !k
  return %0 : !k
}

// -----

// Many rows of an exact cache at once, each by a row of the tables; neighbours are
// pairs.

!k = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// CHECK-DAG:   #[[EVEN:.*]] = affine_map<(d0, d1) -> (d0, d1 * 2)>
// CHECK-DAG:   #[[ODD:.*]] = affine_map<(d0, d1) -> (d0, d1 * 2 + 1)>
// CHECK-DAG:   #[[ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @exact(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x2x?x64xf32>, {{.*}} %[[COS:[^:]*]]: tensor<?x32xf32>, %[[SIN:[^:]*]]: tensor<?x32xf32>)
// CHECK:         %[[NEW:.*]] = tensor.extract_slice %[[X]]{{.*}} [1, 1, %[[COUNT:.*]], 64] [1, 1, 1, 1]
// CHECK:         %[[C:.*]] = tensor.extract_slice %[[COS]][%[[POSITION:.*]], 0] [%[[COUNT]], 32] [1, 1]
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[SIN]][%[[POSITION]], 0] [%[[COUNT]], 32] [1, 1]
// CHECK:         %[[FIRST:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 32] [1, 2]
// CHECK:         linalg.generic {indexing_maps = [#[[EVEN]], #[[ODD]], #[[ROWS]], #[[ROWS]], #[[ROWS]]]{{.*}} ins(%[[NEW]], %[[NEW]], %[[C]], %[[S]] : {{.*}}) outs(%[[FIRST]] :
// CHECK:         %[[SECOND:.*]] = tensor.extract_slice %{{.*}}[0, 1] [%{{.*}}, 32] [1, 2]
// CHECK:         linalg.generic {{.*}} ins(%[[NEW]], %[[NEW]], %[[C]], %[[S]] : {{.*}}) outs(%[[SECOND]] :
func.func @exact(%x: tensor<1x2x?x64xf32>, %c: !k, %n: tensor<1xi64>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>) -> !k {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf32>) lengths(%n : tensor<1xi64>)
      rope(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !k) {rope_style = #kvq.rope_style<interleaved>} -> !k
  return %0 : !k
}

// -----

// Tokens with slots have their positions beside them, which are read where a token is
// stored.

#f = #kvq.format<codes = i8, group = [1, *], scale = f32>
!k = !kvq.cache<2x2x?x64xf16, #f, page = 16>

// CHECK-LABEL: func.func @slots(
// CHECK-SAME:    %[[SLOTS:[^:]*]]: tensor<?xi64>, %[[POSITIONS:[^:]*]]: tensor<?xi64>, %[[T:[^:]*]]: tensor<?x32xf32>)
// CHECK:         kvq.forall (%[[TOKEN:[a-z0-9]*]], %{{.*}}) in
// CHECK:           tensor.extract %[[SLOTS]][%[[TOKEN]]]
// CHECK:           scf.for
// CHECK:             %[[AT:.*]] = tensor.extract %[[POSITIONS]][%[[TOKEN]]]
// CHECK:             %[[POSITION:.*]] = arith.index_cast %[[AT]]
// CHECK:             tensor.extract_slice %[[T]][%[[POSITION]], 0] [1, 32]
func.func @slots(%x: tensor<?x2x64xf16>, %c: !k, %s: tensor<?xi64>, %p: tensor<?xi64>, %t: tensor<?x32xf32>) -> !k {
  %0 = kvq.append ins(%x : tensor<?x2x64xf16>) slots(%s : tensor<?xi64>) positions(%p : tensor<?xi64>)
      rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !k) -> !k
  return %0 : !k
}

// -----

// Of a group that leaves the window, tokens of the ring are turned already.

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<1x2x?x64xf16, #f, recent = 32>

// CHECK-LABEL: func.func @window(
// CHECK-SAME:    %[[T:[^:]*]]: tensor<?x32xf32>)
// CHECK:         scf.for %[[FIRST:.*]] = %{{.*}} step %c32
// CHECK:           scf.for
// CHECK-NOT:         tensor.extract_slice %[[T]]
// CHECK:             linalg.copy
// CHECK:           scf.for %[[I:[a-z0-9]*]] =
// CHECK:             %[[POSITION:.*]] = arith.addi %[[FIRST]], %[[I]]
// CHECK:             tensor.extract_slice %[[T]][%[[POSITION]], 0] [1, 32]
// CHECK:           kvq.quantize
// CHECK:         scf.for %[[TOKEN:[a-z0-9]*]] =
// CHECK:           tensor.extract_slice %[[T]][%[[TOKEN]], 0] [1, 32]
func.func @window(%x: tensor<1x2x?x64xf16>, %c: !k, %n: tensor<1xi64>, %f: tensor<1xi64>, %t: tensor<?x32xf32>) -> !k {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>) flushed(%f : tensor<1xi64>)
      rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !k) -> !k
  return %0 : !k
}
