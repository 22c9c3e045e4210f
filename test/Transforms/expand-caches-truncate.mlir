// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -split-input-file | FileCheck %s

// Counts become the least of what they were and what is asked for.

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!c = !kvq.cache<3x2x?x64xf16, #f, exact_first = 4, recent = 64>

// CHECK-LABEL: func.func @window(
// CHECK-SAME:    %[[LENGTHS:.*]]: tensor<3xi64>, %[[FLUSHED:.*]]: tensor<3xi64>, %[[TO:.*]]: tensor<3xi64>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-DAG:     %[[E:.*]] = arith.constant 4 : i64
// CHECK-DAG:     %[[B:.*]] = arith.constant 3 : index
// CHECK:         %[[R:.*]]:2 = kvq.forall (%[[I:[a-z0-9]+]]) in (%[[B]]) inits(%[[N:.*]] = %[[LENGTHS]], %[[F:.*]] = %[[FLUSHED]] :
// CHECK:           %[[T:.*]] = tensor.extract %[[TO]][%[[I]]]
// CHECK:           %[[OLD_N:.*]] = tensor.extract %[[N]][%[[I]]]
// CHECK:           %[[NEW_N:.*]] = arith.minsi %[[OLD_N]], %[[T]]
// CHECK:           %[[N1:.*]] = tensor.insert %[[NEW_N]] into %[[N]][%[[I]]]
// CHECK:           %[[BEYOND:.*]] = arith.subi %[[T]], %[[E]]
// CHECK:           %[[BOUND:.*]] = arith.maxsi %[[BEYOND]], %[[ZERO]]
// CHECK:           %[[OLD_F:.*]] = tensor.extract %[[F]][%[[I]]]
// CHECK:           %[[NEW_F:.*]] = arith.minsi %[[OLD_F]], %[[BOUND]]
// CHECK:           %[[F1:.*]] = tensor.insert %[[NEW_F]] into %[[F]][%[[I]]]
// CHECK:           kvq.yield %[[N1]], %[[F1]]
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @window(%n: tensor<3xi64>, %f: tensor<3xi64>, %to: tensor<3xi64>)
    -> (tensor<3xi64>, tensor<3xi64>) {
  %0, %1 = kvq.truncate !c lengths(%n : tensor<3xi64>) flushed(%f : tensor<3xi64>)
      to(%to : tensor<3xi64>) -> tensor<3xi64>, tensor<3xi64>
  return %0, %1 : tensor<3xi64>, tensor<3xi64>
}

// -----

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #f, exact_first = 4>

// CHECK-LABEL: func.func @plain(
// CHECK:         arith.minsi
// CHECK-NOT:     arith.subi
// CHECK:         return
func.func @plain(%n: tensor<1xi64>, %to: tensor<1xi64>) -> tensor<1xi64> {
  %0 = kvq.truncate !c lengths(%n : tensor<1xi64>) to(%to : tensor<1xi64>) -> tensor<1xi64>
  return %0 : tensor<1xi64>
}
