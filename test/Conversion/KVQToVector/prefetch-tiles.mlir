// RUN: kvq-opt %s -allow-unregistered-dialect -pass-pipeline='builtin.module(func.func(kvq-prefetch-tiles))' | FileCheck %s

// What the next tile takes of a buffer from outside is prefetched, in lines of
// 64 bytes, and nothing where there is no next tile.

// CHECK-LABEL: func @tiles(
// CHECK-SAME:  %[[C:.*]]: memref<1x2x?x128xi8>, %{{.*}}: memref<1x2x?x128xi8>, %[[H:.*]]: index, %[[N:.*]]: index)
// CHECK:       scf.for %[[T:.*]] = %c0 to %[[N]] step %c64 {
// CHECK:         %[[NEXT:.*]] = arith.addi %[[T]], %c64
// CHECK:         %[[LEFT:.*]] = arith.subi %[[N]], %[[NEXT]]
// CHECK:         %[[ROWS:.*]] = arith.minsi %[[LEFT]], %c64
// CHECK:         %[[END:.*]] = arith.muli %[[ROWS]], %c128
// CHECK:         scf.for %[[B:.*]] = %{{.*}} to %[[END]] step %{{.*}} {
// CHECK:           %[[R:.*]] = arith.divui %[[B]], %c128
// CHECK:           %[[R1:.*]] = arith.addi %[[R]], %c64
// CHECK:           %[[ROW:.*]] = arith.addi %[[T]], %[[R1]]
// CHECK:           %[[COLUMN:.*]] = arith.remui %[[B]], %c128
// CHECK:           memref.prefetch %[[C]][%{{.*}}, %[[H]], %[[ROW]], %[[COLUMN]]], read, locality<3>, data
// CHECK:         memref.subview %[[C]]
// A part of each row, and rows that do not follow the tiles, are left alone.
// CHECK-NOT:     memref.prefetch
// CHECK:       return
func.func @tiles(%c: memref<1x2x?x128xi8>, %d: memref<1x2x?x128xi8>, %h: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  scf.for %t = %c0 to %n step %c64 {
    %left = arith.subi %n, %t : index
    %count = arith.minsi %left, %c64 : index
    %rows = memref.subview %c[0, %h, %t, 0] [1, 1, %count, 128] [1, 1, 1, 1]
        : memref<1x2x?x128xi8> to memref<?x128xi8, strided<[128, 1], offset: ?>>
    "test.use"(%rows) : (memref<?x128xi8, strided<[128, 1], offset: ?>>) -> ()
    %half = memref.subview %d[0, %h, %t, 0] [1, 1, %count, 64] [1, 1, 1, 1]
        : memref<1x2x?x128xi8> to memref<?x64xi8, strided<[128, 1], offset: ?>>
    "test.use"(%half) : (memref<?x64xi8, strided<[128, 1], offset: ?>>) -> ()
    %twice = arith.muli %t, %c2 : index
    %other = memref.subview %d[0, %h, %twice, 0] [1, 1, %count, 128] [1, 1, 1, 1]
        : memref<1x2x?x128xi8> to memref<?x128xi8, strided<[128, 1], offset: ?>>
    "test.use"(%other) : (memref<?x128xi8, strided<[128, 1], offset: ?>>) -> ()
  }
  return
}
