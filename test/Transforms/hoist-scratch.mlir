// RUN: kvq-opt %s -allow-unregistered-dialect -pass-pipeline='builtin.module(func.func(kvq-hoist-scratch))' -split-input-file | FileCheck %s

// Out of sequential loops and branches, to the start of the function.

// CHECK-LABEL: func.func @sequential(
// CHECK-NEXT:    %[[A:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:    %[[B:.*]] = memref.alloca() : memref<8xf32>
// CHECK-NEXT:    arith.constant
// CHECK-NOT:     memref.alloca
// CHECK:         "test.use"(%[[A]], %[[B]])
func.func @sequential(%n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloca() : memref<4xf32>
    scf.if %p {
      scf.for %j = %c0 to %n step %c1 {
        %b = memref.alloca() : memref<8xf32>
        "test.use"(%a, %b) : (memref<4xf32>, memref<8xf32>) -> ()
      }
    }
  }
  return
}

// -----

// Iterations that may run at once have scratch of their own.

// CHECK-LABEL: func.func @parallel(
// CHECK:         scf.forall
// CHECK-NEXT:      %[[A:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        "test.use"(%[[A]])
// CHECK:         scf.parallel
// CHECK-NEXT:      %[[B:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        "test.use"(%[[B]])
func.func @parallel(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) in (%n) {
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.alloca() : memref<4xf32>
      "test.use"(%a) : (memref<4xf32>) -> ()
    }
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.alloca() : memref<4xf32>
      "test.use"(%a) : (memref<4xf32>) -> ()
    }
  }
  return
}

// -----

// A size that the loop computes stays there; so does what lies under an op that
// is no structured control flow.

// CHECK-LABEL: func.func @stays(
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      memref.alloca(%[[I]])
// CHECK:         test.region
// CHECK:           memref.alloca() : memref<4xf32>
func.func @stays(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloca(%i) : memref<?xf32>
    "test.use"(%a) : (memref<?xf32>) -> ()
  }
  "test.region"() ({
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.alloca() : memref<4xf32>
      "test.use"(%a) : (memref<4xf32>) -> ()
    }
    "test.end"() : () -> ()
  }) : () -> ()
  return
}

// -----

// Once for each thread of OpenMP.

// CHECK-LABEL: func.func @team(
// CHECK:         omp.parallel {
// CHECK-NEXT:      %[[A:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:      omp.wsloop
// CHECK:               "test.use"(%[[A]])
func.func @team(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  omp.parallel {
    omp.wsloop {
      omp.loop_nest (%i) : index = (%c0) to (%n) step (%c1) {
        memref.alloca_scope {
          %a = memref.alloca() : memref<4xf32>
          "test.use"(%a) : (memref<4xf32>) -> ()
        }
        omp.yield
      }
    }
    omp.terminator
  }
  return
}
