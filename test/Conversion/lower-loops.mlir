// RUN: kvq-opt %s -kvq-lower-loops | FileCheck %s

// An iteration tests at its end whether there is another one; before the first
// one there is a test too.
//
// CHECK-LABEL: func @sum(
// CHECK-SAME:    %[[M:.+]]: memref<?xf32>, %[[N:.+]]: index, %[[ZERO:.+]]: vector<8xf32>)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C8:.+]] = arith.constant 8 : index
// CHECK:         %[[ANY:.+]] = arith.cmpi slt, %[[C0]], %[[N]] : index
// CHECK-NEXT:    cf.cond_br %[[ANY]], ^[[BODY:.+]](%[[C0]], %[[ZERO]] : index, vector<8xf32>), ^[[EXIT:.+]](%[[ZERO]] : vector<8xf32>)
// CHECK-NEXT:  ^[[BODY]](%[[I:.+]]: index, %[[S:.+]]: vector<8xf32>):
// CHECK-NEXT:    %[[V:.+]] = vector.load %[[M]][%[[I]]]
// CHECK-NEXT:    %[[T:.+]] = arith.addf %[[S]], %[[V]]
// CHECK-NEXT:    %[[NEXT:.+]] = arith.addi %[[I]], %[[C8]] overflow<nsw> : index
// CHECK-NEXT:    %[[MORE:.+]] = arith.cmpi slt, %[[NEXT]], %[[N]] : index
// CHECK-NEXT:    cf.cond_br %[[MORE]], ^[[BODY]](%[[NEXT]], %[[T]] : index, vector<8xf32>), ^[[EXIT]](%[[T]] : vector<8xf32>)
// CHECK-NEXT:  ^[[EXIT]](%[[SUM:.+]]: vector<8xf32>):
// CHECK:         return %[[SUM]]
func.func @sum(%m: memref<?xf32>, %n: index, %zero: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %sum = scf.for %i = %c0 to %n step %c8 iter_args(%s = %zero) -> (vector<8xf32>) {
    %v = vector.load %m[%i] : memref<?xf32>, vector<8xf32>
    %t = arith.addf %s, %v : vector<8xf32>
    scf.yield %t : vector<8xf32>
  }
  return %sum : vector<8xf32>
}

// Loops in loops and in branches; unsigned numbers of iterations.
//
// CHECK-LABEL: func @nest(
// CHECK-NOT:     scf.
// CHECK:         arith.cmpi slt
// CHECK:         arith.cmpi ult
// CHECK:         memref.store
// CHECK:         arith.cmpi ult
// CHECK:         arith.cmpi slt
// CHECK-NOT:     arith.cmpi
// CHECK:         return
func.func @nest(%m: memref<?x?xf32>, %rows: index, %columns: index, %zero: f32, %some: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %rows step %c1 {
    scf.if %some {
      scf.for unsigned %j = %c0 to %columns step %c1 {
        memref.store %zero, %m[%i, %j] : memref<?x?xf32>
      }
    }
  }
  return
}
