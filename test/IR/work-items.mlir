// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --mlir-print-op-generic %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

// CHECK-LABEL: func.func @items(
// CHECK-SAME:    %[[N:.*]]: index, %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<4xi8>)
// CHECK:         %[[R:.*]]:2 = kvq.forall (%[[I:.*]], %[[J:.*]]) in (%[[N]], %[[N]]) inits(%[[A:.*]] = %[[X]], %[[B:.*]] = %[[Y]] : tensor<?xf32>, tensor<4xi8>) {
// CHECK:           %[[C:.*]] = tensor.insert %{{.*}} into %[[A]][%[[I]]]
// CHECK:           kvq.yield %[[C]], %[[B]] : tensor<?xf32>, tensor<4xi8>
// CHECK:         } {test.note = "kept"}
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @items(%n: index, %x: tensor<?xf32>, %y: tensor<4xi8>) -> (tensor<?xf32>, tensor<4xi8>) {
  %zero = arith.constant 0.0 : f32
  %r:2 = kvq.forall (%i, %j) in (%n, %n) inits(%a = %x, %b = %y : tensor<?xf32>, tensor<4xi8>) {
    %c = tensor.insert %zero into %a[%i] : tensor<?xf32>
    kvq.yield %c, %b : tensor<?xf32>, tensor<4xi8>
  } {test.note = "kept"}
  return %r#0, %r#1 : tensor<?xf32>, tensor<4xi8>
}

// CHECK-LABEL: func.func @no_tensor(
// CHECK:         kvq.forall (%{{.*}}) in (%{{.*}}) {
// CHECK-NEXT:      kvq.yield
// CHECK-NEXT:    }
func.func @no_tensor(%n: index) {
  kvq.forall (%i) in (%n) {
    kvq.yield
  }
  return
}
