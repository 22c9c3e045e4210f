// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// Groups of 32 tokens: the ring keeps the first 10 tokens (two of them exact), one
// group, and the newest 90, three groups. So row r is r or 32 + (r - 32) mod 96.

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x3x?x64xf16, #f, exact_first = 2, recent = 64, ring = 100, keep_first = 10>

// CHECK-LABEL: func.func @append(
// CHECK-SAME:    tensor<2x3x128x32xi8>, %{{[^:]*}}: tensor<2x3x4x64xf16>, %{{[^:]*}}: tensor<2x3x4x64xf16>, %{{[^:]*}}: tensor<2x3x2x64xf16>, %{{[^:]*}}: tensor<2x3x95x64xf16>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C96:.*]] = arith.constant 96 : index
// CHECK:         kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]]) in
// CHECK:             scf.for %[[ROW:.*]] = %{{.*}} step %[[C32]] iter_args(%[[CODES:[a-z0-9]*]] =
// CHECK:               %[[OVER:.*]] = arith.subi %[[ROW]], %[[C32]]
// CHECK:               %[[BEYOND:.*]] = arith.maxsi %[[OVER]], %[[C0]]
// CHECK:               %[[ROUND:.*]] = arith.remui %[[BEYOND]], %[[C96]]
// CHECK:               %[[SLOT:.*]] = arith.addi %[[ROUND]], %[[C32]]
// CHECK:               %[[PLACE:.*]] = arith.minsi %[[ROW]], %[[SLOT]]
// CHECK:               tensor.extract_slice %[[CODES]][%[[B]], %[[H]], %[[PLACE]], 0] [1, 1, 32, 32]
func.func @append(%x: tensor<2x3x?x64xf16>, %n: tensor<2xi64>, %f: tensor<2xi64>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<2x3x?x64xf16>) lengths(%n : tensor<2xi64>) flushed(%f : tensor<2xi64>)
      into(%c : !k) -> !k
  return %0 : !k
}

// The groups that stay, and the newest ones.

// CHECK-LABEL: func.func @reorder(
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C96:.*]] = arith.constant 96 : index
// CHECK:         kvq.forall
// CHECK:             %[[KEPT:.*]] = arith.minsi %[[FLUSHED:.*]], %[[C32]]
// CHECK:             scf.for %{{.*}} to %[[KEPT]] step %[[C32]]
// CHECK:             %[[OLDEST:.*]] = arith.subi %[[FLUSHED]], %[[C96]]
// CHECK:             %[[BEGIN:.*]] = arith.maxsi %[[OLDEST]], %[[C32]]
// CHECK:             scf.for %{{.*}} = %[[BEGIN]] to %[[FLUSHED]] step %[[C32]]
func.func @reorder(%c: !k, %d: !k, %i: tensor<2xi64>, %n: tensor<2xi64>, %f: tensor<2xi64>) -> !k {
  %0 = kvq.reorder ins(%c : !k) sources(%i : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      flushed(%f : tensor<2xi64>) into(%d : !k) -> !k
  return %0 : !k
}

// -----

// A ring of 8 values of which two stay: a tile in runs that end behind row 2 + 6 k.

!v = !kvq.cache<2x3x?x64xf16, #kvq.format<codes = none>, ring = 8, keep_first = 2>

// CHECK-LABEL: func.func @load(
// CHECK-SAME:    %[[VALUES:[^:]*]]: tensor<2x3x8x64xf16>,
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C6:.*]] = arith.constant 6 : index
// CHECK:         scf.for %[[TURN:.*]] = %{{.*}} iter_args
// CHECK:           %[[ROUND:.*]] = arith.muli %[[TURN]], %[[C6]]
// CHECK:           %[[BORDER:.*]] = arith.subi %[[ROUND]], %[[C4]]
// CHECK:           %[[FIRST:.*]] = arith.maxsi %{{.*}}, %[[BORDER]]
// CHECK:           %[[PLACE:.*]] = arith.minsi %[[FIRST]], %{{.*}}
// CHECK:           tensor.extract_slice %[[VALUES]][%{{.*}}, %{{.*}}, %[[PLACE]], 0]
func.func @load(%c: !v, %i: index, %lo: index, %hi: index) -> tensor<?x64xf16> {
  %0 = kvq.load_tile %c <codes> at [%i, %i] tokens [%lo to %hi] {tile = 64} : !v -> tensor<?x64xf16>
  return %0 : tensor<?x64xf16>
}

// -----

// In pages of 16 tokens the ring is one page of first tokens and two of others:
// pages are numbered round the ring before their table is read.

!p = !kvq.cache<2x3x?x64xf16, #kvq.format<codes = none>, page = 16, ring = 30, keep_first = 2>

// CHECK-LABEL: func.func @pages(
// CHECK-SAME:    %[[POOL:[^:]*]]: tensor<?x3x16x64xf16>, %[[I:[^:]*]]: index, {{.*}}, %[[TABLE:[^:]*]]: tensor<2x3xi64>
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         scf.for %[[TURN:.*]] = %{{.*}} iter_args
// CHECK:           %[[PAGE:.*]] = arith.divui %[[FIRST:.*]], %[[C16]]
// CHECK:           %[[OVER:.*]] = arith.subi %[[PAGE]], %[[C1]]
// CHECK:           %[[BEYOND:.*]] = arith.maxsi %[[OVER]], %[[C0]]
// CHECK:           %[[ROUND:.*]] = arith.remui %[[BEYOND]], %[[C2]]
// CHECK:           %[[SLOT:.*]] = arith.addi %[[ROUND]], %[[C1]]
// CHECK:           %[[ENTRY:.*]] = arith.minsi %[[PAGE]], %[[SLOT]]
// CHECK:           tensor.extract %[[TABLE]][%[[I]], %[[ENTRY]]]
// CHECK:           %[[ROW:.*]] = arith.remui %[[FIRST]], %[[C16]]
// CHECK:           tensor.extract_slice %[[POOL]][%{{.*}}, %{{.*}}, %[[ROW]], 0]
func.func @pages(%c: !p, %i: index, %lo: index, %hi: index, %t: tensor<2x3xi64>) -> tensor<?x64xf16> {
  %0 = kvq.load_tile %c <codes> at [%i, %i] tokens [%lo to %hi] pages(%t : tensor<2x3xi64>) {tile = 64}
      : !p -> tensor<?x64xf16>
  return %0 : tensor<?x64xf16>
}
