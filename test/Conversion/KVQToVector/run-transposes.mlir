// Rows that become columns, in registers, are those that upstream's scalar loops
// write: rows that do not fill vectors, units of one and of two elements, columns
// that are no power of two, groups that lie apart in a row.

// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' > %t.scalar
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=4}),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' | diff %t.scalar -
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=8}),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' | diff %t.scalar -
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=16}),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' | diff %t.scalar -
// RUN: FileCheck %s < %t.scalar

// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=16}))' | FileCheck %s --check-prefix=IR
// IR-LABEL: func.func @floats
// IR:         scf.for {{.*}} step %c16
// IR:           vector.shuffle
// IR:         scf.for {{.*}} step %c1
// IR-LABEL: func.func @records
// IR:         vector.shuffle {{.*}} : vector<16xi16>, vector<16xi16>
// IR:         vector.shuffle {{.*}} : vector<32xi16>, vector<32xi16>

// CHECK: sizes = [20, 37]
// CHECK: sizes = [3, 16, 37, 2]

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

func.func @floats(%in: memref<?x20xf32>, %out: memref<20x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(c, t) -> (t, c)>, affine_map<(c, t) -> (c, t)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%in : memref<?x20xf32>) outs(%out : memref<20x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  return
}

// The codes of three groups, two bytes of metadata in front of each.
func.func @records(%all: memref<?x3x34xi8>, %n: index, %out: memref<3x16x?x2xi8>) {
  %codes = memref.subview %all[0, 0, 2] [%n, 3, 32] [1, 1, 1]
      : memref<?x3x34xi8> to memref<?x3x32xi8, strided<[102, 34, 1], offset: 2>>
  %in = memref.expand_shape %codes [[0], [1], [2, 3]] output_shape [%n, 3, 16, 2]
      : memref<?x3x32xi8, strided<[102, 34, 1], offset: 2>> into memref<?x3x16x2xi8, strided<[102, 34, 2, 1], offset: 2>>
  linalg.generic {indexing_maps = [affine_map<(g, c, t, p) -> (t, g, c, p)>, affine_map<(g, c, t, p) -> (g, c, t, p)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%in : memref<?x3x16x2xi8, strided<[102, 34, 2, 1], offset: 2>>) outs(%out : memref<3x16x?x2xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  }
  return
}

func.func @main() {
  %n = arith.constant 37 : index
  %c0 = arith.constant 0.0 : f32

  %f = memref.alloc(%n) : memref<?x20xf32>
  linalg.generic {indexing_maps = [affine_map<(t, c) -> (t, c)>], iterator_types = ["parallel", "parallel"]}
      outs(%f : memref<?x20xf32>) {
  ^bb0(%o: f32):
    %t = linalg.index 0 : index
    %c = linalg.index 1 : index
    %c100 = arith.constant 100 : index
    %0 = arith.muli %t, %c100 : index
    %1 = arith.addi %0, %c : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.sitofp %2 : i32 to f32
    linalg.yield %3 : f32
  }
  %ft = memref.alloc(%n) : memref<20x?xf32>
  linalg.fill ins(%c0 : f32) outs(%ft : memref<20x?xf32>)
  call @floats(%f, %ft) : (memref<?x20xf32>, memref<20x?xf32>) -> ()
  %fu = memref.cast %ft : memref<20x?xf32> to memref<*xf32>
  call @printMemrefF32(%fu) : (memref<*xf32>) -> ()

  %r = memref.alloc(%n) : memref<?x3x34xi8>
  linalg.generic {indexing_maps = [affine_map<(t, g, c) -> (t, g, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%r : memref<?x3x34xi8>) {
  ^bb0(%o: i8):
    %t = linalg.index 0 : index
    %g = linalg.index 1 : index
    %c = linalg.index 2 : index
    %c7 = arith.constant 7 : index
    %c41 = arith.constant 41 : index
    %0 = arith.muli %t, %c7 : index
    %1 = arith.muli %g, %c41 : index
    %2 = arith.addi %0, %1 : index
    %3 = arith.addi %2, %c : index
    %4 = arith.index_cast %3 : index to i8
    linalg.yield %4 : i8
  }
  %rt = memref.alloc(%n) : memref<3x16x?x2xi8>
  call @records(%r, %n, %rt) : (memref<?x3x34xi8>, index, memref<3x16x?x2xi8>) -> ()
  %rf = memref.alloc(%n) : memref<3x16x?x2xf32>
  linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%rt : memref<3x16x?x2xi8>) outs(%rf : memref<3x16x?x2xf32>) {
  ^bb0(%a: i8, %o: f32):
    %0 = arith.sitofp %a : i8 to f32
    linalg.yield %0 : f32
  }
  %ru = memref.cast %rf : memref<3x16x?x2xf32> to memref<*xf32>
  call @printMemrefF32(%ru) : (memref<*xf32>) -> ()
  return
}
