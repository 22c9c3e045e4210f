// RUN: kvq-opt %s -allow-unregistered-dialect -pass-pipeline='builtin.module(func.func(kvq-prefetch-tiles))' | FileCheck %s

// What the next tile takes of a buffer from outside is prefetched, in lines of
// 64 bytes, and nothing where there is no next tile.

// CHECK-LABEL: func @tiles(
// CHECK-SAME:  %[[C:.*]]: memref<1x2x?x128xi8>, %{{.*}}: memref<1x2x?x128xi8>, %[[H:.*]]: index, %[[N:.*]]: index)
// CHECK:       scf.for %[[T:.*]] = %c0 to %[[N]] step %c32 {
// CHECK:         %[[NEXT:.*]] = arith.addi %[[T]], %c32
// CHECK:         %[[LEFT:.*]] = arith.subi %[[N]], %[[NEXT]]
// CHECK:         %[[ROWS:.*]] = arith.minsi %[[LEFT]], %c32
// CHECK:         %[[END:.*]] = arith.muli %[[ROWS]], %c128
// CHECK:         %[[FLAT:.*]] = memref.collapse_shape %[[C]] {{\[\[}}0], [1], [2, 3]]
// CHECK:         %[[ROW:.*]] = arith.addi %[[T]], %c32
// CHECK:         %[[FIRST:.*]] = arith.muli %[[ROW]], %c128
// CHECK:         scf.for %[[B:.*]] = %{{.*}} to %[[END]] step %{{.*}} {
// CHECK:           %[[AT:.*]] = arith.addi %[[FIRST]], %[[B]]
// CHECK:           memref.prefetch %[[FLAT]][%{{.*}}, %[[H]], %[[AT]]], read, locality<3>, data
// CHECK:         memref.subview %[[C]]
// A part of each row, and rows that do not follow the tiles, are left alone.
// CHECK-NOT:     memref.prefetch
// CHECK:       return
func.func @tiles(%c: memref<1x2x?x128xi8>, %d: memref<1x2x?x128xi8>, %h: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  scf.for %t = %c0 to %n step %c32 {
    %left = arith.subi %n, %t : index
    %count = arith.minsi %left, %c32 : index
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

// A tile of a layout: the number of the tile advances. 8 KiB or more come to the
// second cache.

// CHECK-LABEL: func @layout(
// CHECK-SAME:  %[[C:.*]]: memref<1x2x?x64x64x2xi8>, %[[H:.*]]: index, %[[N:.*]]: index)
// CHECK:         %[[TILE:.*]] = arith.divui %{{.*}}, %c64
// CHECK:         %[[ONE:.*]] = arith.minsi %{{.*}}, %c1
// CHECK:         %[[END:.*]] = arith.muli %[[ONE]], %c8192
// CHECK:         %[[FLAT:.*]] = memref.collapse_shape %[[C]] {{\[\[}}0], [1], [2, 3, 4, 5]]
// CHECK:         %[[NEXT:.*]] = arith.addi %[[TILE]], %c1
// CHECK:         arith.muli %[[NEXT]], %c8192
// CHECK:           memref.prefetch %[[FLAT]][{{.*}}], read, locality<2>, data
func.func @layout(%c: memref<1x2x?x64x64x2xi8>, %h: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.for %t = %c0 to %n step %c64 {
    %tile = arith.divui %t, %c64 : index
    %codes = memref.subview %c[0, %h, %tile, 0, 0, 0] [1, 1, 1, 64, 64, 2] [1, 1, 1, 1, 1, 1]
        : memref<1x2x?x64x64x2xi8> to memref<64x64x2xi8, strided<[128, 2, 1], offset: ?>>
    "test.use"(%codes) : (memref<64x64x2xi8, strided<[128, 2, 1], offset: ?>>) -> ()
  }
  return
}

// Where the tile is read in loops, each iteration of all but the innermost one
// prefetches its share: 8192 bytes in 16 iterations.

// CHECK-LABEL: func @dealt_out(
// CHECK:         %[[END:.*]] = arith.muli %{{.*}}, %c8192
// CHECK:         memref.subview
// CHECK:         scf.for %[[G:.*]] = %c0 to %c16 step %c1 {
// CHECK:           %[[TRIP:.*]] = arith.divui %{{.*}}, %c1
// CHECK:           %[[SHARE:.*]] = arith.muli %[[TRIP]], %c512
// CHECK:           %[[BEGIN:.*]] = arith.addi %{{.*}}, %[[SHARE]]
// CHECK:           %[[NEXT:.*]] = arith.addi %[[BEGIN]], %c512
// CHECK:           %[[LAST:.*]] = arith.minsi %[[NEXT]], %[[END]]
// CHECK:           scf.for %{{.*}} = %[[BEGIN]] to %[[LAST]] step
// CHECK:             memref.prefetch
// CHECK:           scf.for
// CHECK-NOT:         memref.prefetch
func.func @dealt_out(%c: memref<1x2x?x64x64x2xi8>, %h: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %t = %c0 to %n step %c64 {
    %tile = arith.divui %t, %c64 : index
    %codes = memref.subview %c[0, %h, %tile, 0, 0, 0] [1, 1, 1, 64, 64, 2] [1, 1, 1, 1, 1, 1]
        : memref<1x2x?x64x64x2xi8> to memref<64x64x2xi8, strided<[128, 2, 1], offset: ?>>
    scf.for %g = %c0 to %c16 step %c1 {
      scf.for %i = %c0 to %c4 step %c1 {
        %0 = memref.load %codes[%g, %i, %c0] : memref<64x64x2xi8, strided<[128, 2, 1], offset: ?>>
        "test.use"(%0) : (i8) -> ()
      }
    }
  }
  return
}

// Where that would be many lines at once, also the innermost one: here two.

// CHECK-LABEL: func @dealt_out_to_all(
// CHECK:         scf.for %{{.*}} = %c0 to %c4 step %c1 {
// CHECK-NOT:       memref.prefetch
// CHECK:           scf.for %{{.*}} = %c0 to %c16 step %c1 {
// CHECK-COUNT-2:     memref.prefetch
// CHECK-NOT:         memref.prefetch
func.func @dealt_out_to_all(%c: memref<1x2x?x64x64x2xi8>, %h: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %t = %c0 to %n step %c64 {
    %tile = arith.divui %t, %c64 : index
    %codes = memref.subview %c[0, %h, %tile, 0, 0, 0] [1, 1, 1, 64, 64, 2] [1, 1, 1, 1, 1, 1]
        : memref<1x2x?x64x64x2xi8> to memref<64x64x2xi8, strided<[128, 2, 1], offset: ?>>
    scf.for %g = %c0 to %c4 step %c1 {
      scf.for %i = %c0 to %c16 step %c1 {
        %0 = memref.load %codes[%i, %g, %c0] : memref<64x64x2xi8, strided<[128, 2, 1], offset: ?>>
        "test.use"(%0) : (i8) -> ()
      }
    }
  }
  return
}

// Where the other loops have few iterations, each of the innermost one over tokens
// prefetches what it reads a part of: two lines, of a row of four.

// CHECK-LABEL: func @dealt_out_to_tokens(
// CHECK:         scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK-NOT:       memref.prefetch
// CHECK:           scf.for %[[R:.*]] = %c0 to %{{.*}} step %c1 {
// CHECK:             %[[TOKEN:.*]] = arith.muli %{{.*}}, %c128{{.*}} : index
// CHECK:             %[[HALF:.*]] = arith.muli %{{.*}}, %c64{{.*}} : index
// CHECK-COUNT-2:     memref.prefetch
// CHECK-NOT:         memref.prefetch
func.func @dealt_out_to_tokens(%c: memref<1x2x?x128xf16>, %h: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  scf.for %t = %c0 to %n step %c64 {
    %left = arith.subi %n, %t : index
    %count = arith.minsi %left, %c64 : index
    %rows = memref.subview %c[0, %h, %t, 0] [1, 1, %count, 128] [1, 1, 1, 1]
        : memref<1x2x?x128xf16> to memref<?x128xf16, strided<[128, 1], offset: ?>>
    scf.for %half = %c0 to %c128 step %c64 {
      scf.for %r = %c0 to %count step %c1 {
        %0 = memref.load %rows[%r, %half] : memref<?x128xf16, strided<[128, 1], offset: ?>>
        "test.use"(%0) : (f16) -> ()
      }
    }
  }
  return
}

// Rows of a token's heads beside each other, and a loop over heads in the one
// over tokens: head 3 prefetches the fourth of eight equal parts of what all
// heads read next, into the second cache.
// CHECK-LABEL: func.func @heads_inside(
// CHECK-SAME: %[[C:.*]]: memref<1x?x8x64xi8>, %[[N:[^:]*]]: index
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %[[N]]
// CHECK:   scf.for %[[H:.*]] = %{{.*}} to %c8
// CHECK:     scf.for %[[S:.*]] = %[[T]] to
// CHECK:       %[[NEXT:.*]] = arith.addi %[[S]], %[[AHEAD:.*]] : index
// CHECK:       %[[LEFT:.*]] = arith.subi %[[N]], %[[NEXT]]
// CHECK:       %[[MOST:.*]] = arith.minsi %[[LEFT]]
// CHECK:       %[[ROWS:.*]] = arith.maxsi %[[MOST]]
// CHECK:       %[[BYTES:.*]] = arith.muli %[[ROWS]]
// CHECK:       %[[FLAT:.*]] = memref.collapse_shape %[[C]] {{\[\[}}0], [1, 2, 3]]
// CHECK:       %[[ROW:.*]] = arith.addi %[[S]], %[[AHEAD]]
// CHECK:       %[[SHARE:.*]] = arith.muli %[[H]], %[[BYTES]]
// CHECK:       %[[ALL:.*]] = arith.muli %[[ROW]]
// CHECK:       %[[FIRST:.*]] = arith.addi %[[ALL]], %[[SHARE]]
// CHECK:       memref.prefetch %[[FLAT]][%{{.*}}, %{{.*}}], read, locality<2>, data
func.func @heads_inside(%c: memref<1x?x8x64xi8>, %n: index, %out: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %t = %c0 to %n step %c64 {
    %next = arith.addi %t, %c64 : index
    %end = arith.minsi %next, %n : index
    scf.for %h = %c0 to %c8 step %c1 {
      scf.for %s = %t to %end step %c32 {
        %left = arith.subi %end, %s : index
        %count = arith.minsi %left, %c32 : index
        %rows = memref.subview %c[0, %s, %h, 0] [1, %count, 1, 64] [1, 1, 1, 1]
            : memref<1x?x8x64xi8> to memref<?x64xi8, strided<[512, 1], offset: ?>>
        %v = vector.load %rows[%c0, %c0] : memref<?x64xi8, strided<[512, 1], offset: ?>>, vector<64xi8>
        vector.store %v, %out[%c0] : memref<64xi8>, vector<64xi8>
      }
    }
  }
  return
}

// Rows of pages: the page of the next tile is looked up, behind the last token
// that of the last one.
// CHECK-LABEL: func.func @pages(
// CHECK-SAME: %[[C:.*]]: memref<?x2x64x128xi8>, %[[TABLE:.*]]: memref<1x?xi64>, %[[N:[^:]*]]: index
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %[[N]]
// CHECK:   %[[LAST:.*]] = arith.subi %[[N]], %c1{{.*}} : index
// CHECK:   %[[AHEAD:.*]] = arith.addi %[[T]], %{{.*}} : index
// CHECK:   %[[NEXT:.*]] = arith.minsi %[[AHEAD]], %[[LAST]] : index
// CHECK:   %[[ENTRY:.*]] = arith.divui %[[NEXT]], %{{.*}} : index
// CHECK:   %[[LOADED:.*]] = memref.load %[[TABLE]][%{{.*}}, %[[ENTRY]]]
// CHECK:   %[[PAGE:.*]] = arith.index_cast %[[LOADED]]
// CHECK:   %[[ROW:.*]] = arith.remui %[[NEXT]], %{{.*}} : index
// CHECK:   %[[FLAT:.*]] = memref.collapse_shape %[[C]] {{\[\[}}0], [1], [2, 3]]
// CHECK:   %[[FIRST:.*]] = arith.muli %[[ROW]]
// CHECK:   memref.prefetch %[[FLAT]][%[[PAGE]], %{{.*}}, %{{.*}}], read, locality<3>, data
func.func @pages(%c: memref<?x2x64x128xi8>, %table: memref<1x?xi64>, %n: index, %h: index, %out: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.for %t = %c0 to %n step %c32 {
    %left = arith.subi %n, %t : index
    %count = arith.minsi %left, %c32 : index
    %entry = arith.divui %t, %c64 : index
    %loaded = memref.load %table[%c0, %entry] : memref<1x?xi64>
    %page = arith.index_cast %loaded : i64 to index
    %row = arith.remui %t, %c64 : index
    %rows = memref.subview %c[%page, %h, %row, 0] [1, 1, %count, 128] [1, 1, 1, 1]
        : memref<?x2x64x128xi8> to memref<?x128xi8, strided<[128, 1], offset: ?>>
    %v = vector.load %rows[%c0, %c0] : memref<?x128xi8, strided<[128, 1], offset: ?>>, vector<64xi8>
    vector.store %v, %out[%c0] : memref<64xi8>, vector<64xi8>
  }
  return
}
