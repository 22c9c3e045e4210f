// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// What a sequence holds, from its place in one cache to the same place in another
// sequence of the other: token groups with their metadata, windows row by row.

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!c = !kvq.cache<2x3x?x64xf16, #f, exact_first = 4, recent = 64>
!d = !kvq.cache<5x3x256x64xf16, #f, exact_first = 4, recent = 64>

// CHECK-LABEL: func.func @windows(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<2x3x?x32xi8>, %[[SCALES:[^:]*]]: tensor<2x3x?x64xf16>, %[[ZEROS:[^:]*]]: tensor<2x3x?x64xf16>, %[[FIRST:[^:]*]]: tensor<2x3x4x64xf16>, %[[RECENT:[^:]*]]: tensor<2x3x95x64xf16>,
// CHECK-SAME:    %[[CODES0:[^:]*]]: tensor<5x3x160x32xi8>, %{{[^:]*}}: tensor<5x3x5x64xf16>, %{{[^:]*}}: tensor<5x3x5x64xf16>, %{{[^:]*}}: tensor<5x3x4x64xf16>, %{{[^:]*}}: tensor<5x3x95x64xf16>,
// CHECK-SAME:    %[[SOURCES:[^:]*]]: tensor<5xi64>, %[[LENGTHS:[^:]*]]: tensor<2xi64>, %[[FLUSHED:[^:]*]]: tensor<2xi64>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C5:.*]] = arith.constant 5 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C95:.*]] = arith.constant 95 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK:         kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]]) in (%[[C5]], %[[C3]]) inits(%{{.*}} = %[[CODES0]],

// A sequence without a source copies no rows.
// CHECK:           %[[SOURCE64:.*]] = tensor.extract %[[SOURCES]][%[[B]]]
// CHECK:           %[[SOURCE0:.*]] = arith.index_cast %[[SOURCE64]]
// CHECK:           %[[COPIED:.*]] = arith.cmpi sge, %[[SOURCE0]], %[[C0]]
// CHECK:           %[[SOURCE:.*]] = arith.maxsi %[[SOURCE0]], %[[C0]]
// CHECK:           tensor.extract %[[LENGTHS]][%[[SOURCE]]]
// CHECK:           %[[LENGTH:.*]] = arith.select %[[COPIED]], %{{.*}}, %[[C0]]
// CHECK:           tensor.extract %[[FLUSHED]][%[[SOURCE]]]
// CHECK:           %[[QUANTIZED:.*]] = arith.select %[[COPIED]], %{{.*}}, %[[C0]]
// CHECK:             scf.for %[[ROW:.*]] = %[[C0]] to %[[QUANTIZED]] step %[[C32]] iter_args(%[[TO:.*]] = %{{[^,]*}}, %[[TO_SCALES:.*]] = %{{.*}}, %[[TO_ZEROS:.*]] =
// CHECK:               %[[FROM_ROWS:.*]] = tensor.extract_slice %[[CODES]][%[[SOURCE]], %[[H]], %[[ROW]], 0] [1, 1, 32, 32]
// CHECK:               %[[TO_ROWS:.*]] = tensor.extract_slice %[[TO]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 32]
// CHECK:               %[[COPY:.*]] = linalg.copy ins(%[[FROM_ROWS]] : {{.*}}) outs(%[[TO_ROWS]] :
// CHECK:               tensor.insert_slice %[[COPY]] into %[[TO]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 32]
// CHECK:               %[[GROUP:.*]] = arith.divui %[[ROW]], %[[C32]]
// CHECK:               tensor.extract_slice %[[SCALES]][%[[SOURCE]], %[[H]], %[[GROUP]], 0] [1, 1, 1, 64]
// CHECK:               tensor.insert_slice %{{.*}} into %[[TO_SCALES]][%[[B]], %[[H]], %[[GROUP]], 0] [1, 1, 1, 64]
// CHECK:               tensor.extract_slice %[[ZEROS]][
// CHECK:               tensor.insert_slice %{{.*}} into %[[TO_ZEROS]][
// CHECK:             %[[FIRSTS:.*]] = arith.minsi %[[LENGTH]], %[[C4]]
// CHECK:             scf.for %{{.*}} = %[[C0]] to %[[FIRSTS]]
// CHECK:               tensor.extract_slice %[[FIRST]][
// CHECK:             %[[TAIL:.*]] = arith.addi %[[QUANTIZED]], %[[C4]]
// CHECK:             scf.for %[[TOKEN:.*]] = %[[TAIL]] to %[[LENGTH]]
// CHECK:               %[[OFFSET:.*]] = arith.subi %[[TOKEN]], %[[C4]]
// CHECK:               %[[SLOT:.*]] = arith.remui %[[OFFSET]], %[[C95]]
// CHECK:               tensor.extract_slice %[[RECENT]][%[[SOURCE]], %[[H]], %[[SLOT]], 0]
// CHECK:               tensor.insert_slice %{{.*}} into %{{.*}}[%[[B]], %[[H]], %[[SLOT]], 0]
func.func @windows(%c: !c, %d: !d, %i: tensor<5xi64>, %n: tensor<2xi64>, %f: tensor<2xi64>) -> !d {
  %0 = kvq.reorder ins(%c : !c) sources(%i : tensor<5xi64>) lengths(%n : tensor<2xi64>)
      flushed(%f : tensor<2xi64>) into(%d : !d) -> !d
  return %0 : !d
}

// -----

!c = !kvq.cache<2x3x?x64xf16, #kvq.format<codes = none>>

// CHECK-LABEL: func.func @exact(
// CHECK-SAME:    %[[FROM:[^:]*]]: tensor<2x3x?x64xf16>, %{{[^:]*}}: tensor<2x3x?x64xf16>,
// CHECK:         %[[LENGTH:.*]] = arith.select
// CHECK:         %[[ROWS:.*]] = arith.maxsi %[[LENGTH]],
// CHECK:         scf.for %{{.*}} to %[[ROWS]]
// CHECK:           tensor.extract_slice %[[FROM]][
func.func @exact(%c: !c, %d: !c, %i: tensor<2xi64>, %n: tensor<2xi64>) -> !c {
  %0 = kvq.reorder ins(%c : !c) sources(%i : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      into(%d : !c) -> !c
  return %0 : !c
}
