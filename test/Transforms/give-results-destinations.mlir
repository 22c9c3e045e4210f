// RUN: kvq-opt %s --kvq-give-results-destinations | FileCheck %s

#map = affine_map<(d0) -> (d0)>

// What is computed gets a place; what it is computed from is only read.
// CHECK-LABEL: func @double
// CHECK-SAME:    %[[X:.+]]: tensor<4xf32> {bufferization.writable = false}, %[[OUT:.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK:       %[[Y:.+]] = arith.addf
// CHECK:       %[[R:.+]] = bufferization.materialize_in_destination %[[Y]] in %[[OUT]]
// CHECK:       return %[[R]]
func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// What takes the place of an argument already stays there, and so do caches and
// numbers. An argument that is returned twice has one place.
// CHECK-LABEL: func @in_place
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32>, %[[N:[a-z0-9]+]]: tensor<2xi64> {bufferization.writable = false}
// CHECK-SAME:    %[[C:[a-z0-9]+]]: !{{[a-z0-9]+}}, %[[I:[a-z0-9]+]]: index, %[[OUT:[a-z0-9]+]]: tensor<4xf32>)
// CHECK:       %[[Y:.+]] = linalg.generic
// CHECK-SAME:  outs(%[[X]]
// CHECK:       %[[R:.+]] = bufferization.materialize_in_destination %[[Y]] in %[[OUT]]
// CHECK:       return %[[Y]], %[[R]], %[[C]], %[[I]]
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @in_place(%x: tensor<4xf32>, %n: tensor<2xi64>, %c: !c, %i: index)
    -> (tensor<4xf32>, tensor<4xf32>, !c, index) {
  %y = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  } -> tensor<4xf32>
  return %y, %y, %c, %i : tensor<4xf32>, tensor<4xf32>, !c, index
}

// A function that is called keeps its signature, and so does one that nobody
// outside can call.
// CHECK-LABEL: func @called
// CHECK-SAME:    (%{{.+}}: tensor<4xf32>) -> tensor<4xf32>
func.func @called(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func private @caller
// CHECK-SAME:    (%{{.+}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @caller(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @called(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
