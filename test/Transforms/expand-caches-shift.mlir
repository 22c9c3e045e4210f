// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// The groups behind the gap move through scratch, in order; then the window's slots
// rotate, by three reversals.

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x3x?x64xf16, #f, exact_first = 4, recent = 64>

// CHECK-LABEL: func.func @windows(
// CHECK-SAME:    %[[BEGIN:[^:]*]]: tensor<2xi64>, %[[COUNT:[^:]*]]: tensor<2xi64>, %{{[^:]*}}: tensor<2xi64>, %[[FLUSHED:[^:]*]]: tensor<2xi64>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C95:.*]] = arith.constant 95 : index
// CHECK:         scf.for %[[B:.*]] = %[[C0]] to %{{.*}} iter_args
// CHECK:           tensor.extract %[[COUNT]][%[[B]]]
// CHECK:           %[[N:.*]] = arith.index_cast
// CHECK:           tensor.extract %[[BEGIN]][%[[B]]]
// CHECK:           tensor.extract %[[FLUSHED]][%[[B]]]
// CHECK:           %[[STORED:.*]] = arith.index_cast
// CHECK:           %[[NOTHING:.*]] = arith.cmpi eq, %[[N]], %[[C0]]
// CHECK:           %[[END:.*]] = arith.select %[[NOTHING]], %[[STORED]], %{{.*}}
// CHECK:           scf.for %[[H:.*]] = %[[C0]] to %{{.*}} step %[[C1]] iter_args
// CHECK:             scf.for %[[ROW:.*]] = %[[END]] to %[[STORED]] step %[[C32]] iter_args(%[[CODES:[a-z0-9]*]] =
// CHECK:               %[[TO:.*]] = arith.subi %[[ROW]], %[[N]]
// CHECK:               %[[GROUP:.*]] = tensor.extract_slice %[[CODES]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 32]
// CHECK:               %[[SCRATCH:.*]] = linalg.copy ins(%[[GROUP]] :
// CHECK:               %[[PLACE:.*]] = tensor.extract_slice %[[CODES]][%[[B]], %[[H]], %[[TO]], 0] [1, 1, 32, 32]
// CHECK:               linalg.copy ins(%[[SCRATCH]] : {{.*}}) outs(%[[PLACE]] :
// CHECK:           scf.for %{{.*}} = %[[C0]] to %{{.*}} step %[[C1]] iter_args
// CHECK:             %[[TURN:.*]] = arith.remui %[[N]], %[[C95]]
// CHECK:             %[[HALF:.*]] = arith.divui %[[TURN]], %[[C2]]
// CHECK:             scf.for %{{.*}} = %[[C0]] to %[[HALF]]
// CHECK:             %[[REST:.*]] = arith.subi %[[C95]], %[[TURN]]
// CHECK:             scf.for %{{.*}} = %[[TURN]] to
// CHECK:             scf.for %{{.*}} = %[[C0]] to
func.func @windows(%c: !k, %i: tensor<2xi64>, %k: tensor<2xi64>, %n: tensor<2xi64>, %f: tensor<2xi64>) -> !k {
  %0 = kvq.shift drop(%i, %k : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      flushed(%f : tensor<2xi64>) into(%c : !k) -> !k
  return %0 : !k
}

// -----

// Metadata that heads share moves once.

#f = #kvq.format<codes = i8, group = [1, *], heads = *, scale = f32>
!c = !kvq.cache<2x3x?x64xf16, #f, page = 16>

// CHECK-LABEL: func.func @shared(
// CHECK-SAME:    %{{[^:]*}}: tensor<?x3x16x64xi8>, %{{[^:]*}}: tensor<?x1x16x1xf32>,
// CHECK:           tensor.extract_slice %{{.*}}[%[[PAGE:.*]], 0, %[[ROW:.*]], 0] [1, 3, 1, 64] [1, 1, 1, 1] : tensor<?x3x16x64xi8> to tensor<3x1x64xi8>
// CHECK:           tensor.extract_slice %{{.*}}[%[[PAGE]], 0, %[[ROW]], 0] [1, 1, 1, 1]
func.func @shared(%c: !c, %i: tensor<2xi64>, %k: tensor<2xi64>, %n: tensor<2xi64>, %t: tensor<2x?xi64>) -> !c {
  %0 = kvq.shift drop(%i, %k : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) into(%c : !c) -> !c
  return %0 : !c
}
