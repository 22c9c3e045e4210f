// RUN: kvq-opt %s -kvq-drop-returned-arguments | FileCheck %s

// A public function is public afterwards, and returns what is no argument.

// CHECK-LABEL: func.func @public(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<4xf32>) -> (index, memref<4xf32>) {
// CHECK:         %[[NEW:.*]] = memref.alloc
// CHECK:         return %{{.*}}, %[[NEW]] : index, memref<4xf32>
func.func @public(%a: memref<?xf32>, %b: memref<4xf32>) -> (memref<?xf32>, index, memref<4xf32>, memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %new = memref.alloc() : memref<4xf32>
  %cast = memref.cast %b : memref<4xf32> to memref<?xf32>
  return %a, %c0, %new, %cast : memref<?xf32>, index, memref<4xf32>, memref<?xf32>
}

// CHECK-LABEL: func.func private @private(
// CHECK-SAME:    %{{.*}}: memref<?xf32>) {
func.func private @private(%a: memref<?xf32>) -> memref<?xf32> {
  return %a : memref<?xf32>
}

// Callers go on with what they passed.

// CHECK-LABEL: func.func @caller(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32>, %[[I:.*]]: index) -> f32 {
// CHECK:         call @private(%[[A]]) : (memref<?xf32>) -> ()
// CHECK:         memref.load %[[A]][%[[I]]]
func.func @caller(%a: memref<?xf32>, %i: index) -> f32 {
  %0 = call @private(%a) : (memref<?xf32>) -> memref<?xf32>
  %1 = memref.load %0[%i] : memref<?xf32>
  return %1 : f32
}

// A declaration says nothing about what is returned.

// CHECK: func.func private @external(memref<?xf32>) -> memref<?xf32>
func.func private @external(memref<?xf32>) -> memref<?xf32>
