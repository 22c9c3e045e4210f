// RUN: kvq-opt %s -canonicalize -split-input-file | FileCheck %s
// RUN: kvq-opt %s -canonicalize -kvq-bufferize-pipeline -split-input-file | FileCheck %s --check-prefix=BUFFER

// Items write rows that a table names: in place, whichever comes first. A tensor
// that is only read is none that they write; the only place along an axis is 0, and
// the axis stays.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x4xf32>, %[[TABLE:[^:]*]]: tensor<3xi64>, %[[ONES:[^:]*]]: tensor<4xf32>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK:         %[[R:.*]] = kvq.forall (%[[I:[a-z0-9]*]], %{{[a-z0-9]*}}) in (%[[C3]], %[[C1]]) inits(%[[ALL:.*]] = %[[X]] : tensor<?x4xf32>) {
// CHECK:           tensor.extract %[[TABLE]][%[[I]]]
// CHECK:           tensor.extract %[[ONES]][%[[C0]]]
// CHECK:           %[[NEW:.*]] = tensor.insert %{{.*}} into %[[ALL]][%{{.*}}, %[[C0]]]
// CHECK:           kvq.yield %[[NEW]] : tensor<?x4xf32>
// CHECK:         return %[[R]], %[[ONES]]

// BUFFER-LABEL: func.func @rows(
// BUFFER-SAME:    %[[X:[^:]*]]: memref<?x4xf32>, %[[TABLE:[^:]*]]: memref<3xi64>, %[[ONES:[^:]*]]: memref<4xf32>)
// BUFFER-NOT:     memref.alloc
// BUFFER-NOT:     memref.copy
// BUFFER:         scf.forall (%[[I:.*]], %{{.*}}) in (3, 1) {
// BUFFER:           memref.load %[[TABLE]][%[[I]]]
// BUFFER:           memref.store %{{.*}}, %[[X]][
// BUFFER:         } {mapping = [#kvq.work_item<0>, #kvq.work_item<1>]}
func.func @rows(%x: tensor<?x4xf32>, %table: tensor<3xi64>, %ones: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = kvq.forall (%i, %j) in (%c3, %c1) inits(%a = %x, %b = %ones : tensor<?x4xf32>, tensor<4xf32>) {
    %entry = tensor.extract %table[%i] : tensor<3xi64>
    %row = arith.index_cast %entry : i64 to index
    %one = tensor.extract %b[%j] : tensor<4xf32>
    %c = tensor.insert %one into %a[%row, %j] : tensor<?x4xf32>
    kvq.yield %c, %b : tensor<?x4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<?x4xf32>, tensor<4xf32>
}

// -----

// The number of items along an axis may be known at run time alone. Scratch is an
// item's own.

// BUFFER-LABEL: func.func @scratch(
// BUFFER-SAME:    %[[N:[^:]*]]: index, %[[X:[^:]*]]: memref<?x4xf32>)
// BUFFER:         scf.forall (%[[I:.*]]) in (%[[N]]) {
// BUFFER:           %[[OWN:.*]] = memref.alloca() {{.*}} : memref<4xf32>
// BUFFER:           linalg.fill {{.*}} outs(%[[OWN]] :
// BUFFER:           memref.subview %[[X]][%[[I]], 0] [1, 4] [1, 1]
func.func @scratch(%n: index, %x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %zero = arith.constant 0.0 : f32
  %r = kvq.forall (%i) in (%n) inits(%a = %x : tensor<?x4xf32>) {
    %empty = tensor.empty() : tensor<4xf32>
    %own = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
    %row = tensor.extract_slice %a[%i, 0] [1, 4] [1, 1] : tensor<?x4xf32> to tensor<4xf32>
    %sum = linalg.add ins(%row, %own : tensor<4xf32>, tensor<4xf32>) outs(%row : tensor<4xf32>) -> tensor<4xf32>
    %b = tensor.insert_slice %sum into %a[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<?x4xf32>
    kvq.yield %b : tensor<?x4xf32>
  }
  return %r : tensor<?x4xf32>
}

// -----

// What is read as it was before is copied, once, outside.

// BUFFER-LABEL: func.func @old(
// BUFFER:         %[[COPY:.*]] = memref.alloc
// BUFFER:         memref.copy %{{.*}}, %[[COPY]]
// BUFFER:         scf.forall
// BUFFER:           memref.store %{{.*}}, %[[COPY]][
// BUFFER-NOT:       memref.copy
// BUFFER:         }
func.func @old(%n: index, %x: tensor<4xf32>) -> (tensor<4xf32>, f32) {
  %zero = arith.constant 0.0 : f32
  %r = kvq.forall (%i) in (%n) inits(%a = %x : tensor<4xf32>) {
    %b = tensor.insert %zero into %a[%i] : tensor<4xf32>
    kvq.yield %b : tensor<4xf32>
  }
  %old = tensor.extract %x[%n] : tensor<4xf32>
  return %r, %old : tensor<4xf32>, f32
}
