// The loops compute what upstream's scalar loops compute. All data are small
// integers, so that sums are exact in any order and outputs can be compared as
// text. Extents leave remainders in every axis.

// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' > %t.vector
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-linalg-to-loops),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' > %t.scalar
// RUN: diff %t.scalar %t.vector
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=4}),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' | diff %t.scalar -
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=16}),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' | diff %t.scalar -
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=1}),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | sed 's/^Unranked.*rank/rank/' | diff %t.scalar -
// RUN: FileCheck %s < %t.vector

// CHECK: sizes = [7, 11, 5]
// CHECK-NEXT: {{\[\[\[}}376, 356, 386, 367, 376]

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

// Fills with ((7 i + 3 j + 5 k) mod 11) - 5.
func.func @pattern(%m: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%m : memref<?x?x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = linalg.index 2 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c11 = arith.constant 11 : index
    %0 = arith.muli %i, %c7 : index
    %1 = arith.muli %j, %c3 : index
    %2 = arith.muli %k, %c5 : index
    %3 = arith.addi %0, %1 : index
    %4 = arith.addi %3, %2 : index
    %5 = arith.remui %4, %c11 : index
    %6 = arith.subi %5, %c5 : index
    %7 = arith.index_cast %6 : index to i32
    %8 = arith.sitofp %7 : i32 to f32
    linalg.yield %8 : f32
  }
  return
}

func.func @toCodes(%m: memref<?x?x?xf32>, %codes: memref<?x?x?xi8>, %half: memref<?x?x?xf16>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>,
                                   affine_map<(i, j, k) -> (i, j, k)>,
                                   affine_map<(i, j, k) -> (i, j, k)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%m : memref<?x?x?xf32>)
      outs(%codes, %half : memref<?x?x?xi8>, memref<?x?x?xf16>) {
  ^bb0(%a: f32, %c: i8, %h: f16):
    %0 = arith.fptosi %a : f32 to i32
    %1 = arith.trunci %0 : i32 to i8
    %2 = arith.truncf %a : f32 to f16
    linalg.yield %1, %2 : i8, f16
  }
  return
}

// Reduction over lanes, with results in runs over g and blocks over r and t.
func.func @scores(%q: memref<?x?x?xf32>, %codes: memref<?x?x?xi8>, %out: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, g, c) -> (r, g, c)>,
                                   affine_map<(r, t, g, c) -> (t, g, c)>,
                                   affine_map<(r, t, g, c) -> (r, t, g)>],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %codes : memref<?x?x?xf32>, memref<?x?x?xi8>) outs(%out : memref<?x?x?xf32>) {
  ^bb0(%a: f32, %b: i8, %o: f32):
    %0 = arith.sitofp %b : i8 to f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  }
  return
}

func.func @scoresStatic(%q: memref<7x5x36xf32>, %codes: memref<?x5x36xi8>, %out: memref<7x?x5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, g, c) -> (r, g, c)>,
                                   affine_map<(r, t, g, c) -> (t, g, c)>,
                                   affine_map<(r, t, g, c) -> (r, t, g)>],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %codes : memref<7x5x36xf32>, memref<?x5x36xi8>) outs(%out : memref<7x?x5xf32>) {
  ^bb0(%a: f32, %b: i8, %o: f32):
    %0 = arith.sitofp %b : i8 to f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  }
  return
}

// The same with a whole number of vectors: results in runs.
func.func @scoresRuns(%q: memref<7x7x32xf32>, %codes: memref<?x7x32xi8>, %out: memref<7x?x7xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, g, c) -> (r, g, c)>,
                                   affine_map<(r, t, g, c) -> (t, g, c)>,
                                   affine_map<(r, t, g, c) -> (r, t, g)>],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %codes : memref<7x7x32xf32>, memref<?x7x32xi8>) outs(%out : memref<7x?x7xf32>) {
  ^bb0(%a: f32, %b: i8, %o: f32):
    %0 = arith.sitofp %b : i8 to f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  }
  return
}

// Parallel lanes, several reduced axes, one operand that is broadcast.
func.func @values(%p: memref<?x?x?xf32>, %v: memref<?x?x?xf16>, %out: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c, t, g) -> (r, t, g)>,
                                   affine_map<(r, c, t, g) -> (t, g, c)>,
                                   affine_map<(r, c, t, g) -> (r, c)>],
                  iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %v : memref<?x?x?xf32>, memref<?x?x?xf16>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f16, %o: f32):
    %0 = arith.extf %b : f16 to f32
    %1 = arith.mulf %a, %0 : f32
    %2 = arith.addf %1, %o : f32
    linalg.yield %2 : f32
  }
  return
}

// Two results with different combiners; lanes are reduced, and so is t.
func.func @extremes(%m: memref<?x?x?xf32>, %most: memref<?xf32>, %least: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, c) -> (r, t, c)>,
                                   affine_map<(r, t, c) -> (r)>,
                                   affine_map<(r, t, c) -> (r)>],
                  iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%m : memref<?x?x?xf32>) outs(%most, %least : memref<?xf32>, memref<?xf32>) {
  ^bb0(%a: f32, %most0: f32, %least0: f32):
    %0 = arith.maximumf %a, %most0 : f32
    %1 = arith.minimumf %least0, %a : f32
    linalg.yield %0, %1 : f32, f32
  }
  return
}

// Not contiguous in any common axis: scalar loops. And a strided copy.
func.func @transposeAndCopy(%m: memref<?x?xf32>, %out: memref<?x?xf32>, %copy: memref<?x?xf32>) {
  linalg.transpose ins(%m : memref<?x?xf32>) outs(%out : memref<?x?xf32>) permutation = [1, 0]
  memref.copy %m, %copy : memref<?x?xf32> to memref<?x?xf32>
  return
}

// The accumulator is used twice: no combiner, so the lanes are not reduced.
func.func @horner(%m: memref<?x?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t) -> (r, t)>, affine_map<(r, t) -> (r)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%m : memref<?x?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %half = arith.constant -0.5 : f32
    %0 = arith.mulf %o, %half : f32
    %1 = arith.addf %0, %a : f32
    linalg.yield %1 : f32
  }
  return
}

// Both planes of a byte, from the index of an axis; comparisons and selects.
func.func @unpack(%codes: memref<?x?xi8>, %out: memref<?x2x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(t, p, b) -> (t, b)>, affine_map<(t, p, b) -> (t, p, b)>],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%codes : memref<?x?xi8>) outs(%out : memref<?x2x?xf32>) {
  ^bb0(%a: i8, %o: f32):
    %plane = linalg.index 1 : index
    %p = arith.index_cast %plane : index to i8
    %c1 = arith.constant 1 : i8
    %c4 = arith.constant 4 : i8
    %c15 = arith.constant 15 : i8
    %c8 = arith.constant 8 : i8
    %shift = arith.muli %p, %c4 : i8
    %0 = arith.shrui %a, %shift : i8
    %1 = arith.andi %0, %c15 : i8
    %2 = arith.xori %1, %c8 : i8
    %3 = arith.subi %2, %c8 : i8
    %isOdd = arith.trunci %3 : i8 to i1
    %4 = arith.sitofp %3 : i8 to f32
    %5 = arith.uitofp %a : i8 to f32
    %6 = arith.select %isOdd, %4, %5 : f32
    linalg.yield %6 : f32
  }
  return
}

// A contraction over values from a table, as codebooks have them.
memref.global constant @table : memref<16xf32> = dense<
    [0.0, 1.0, 3.0, -2.0, 7.0, 5.0, -4.0, 2.0, 9.0, -8.0, 6.0, 4.0, -1.0, -3.0, -5.0, 8.0]>

func.func @codebook(%p: memref<?x?xf32>, %codes: memref<?x?xi8>, %out: memref<?x?xf32>) {
  %table = memref.get_global @table : memref<16xf32>
  linalg.generic {indexing_maps = [affine_map<(r, t, c) -> (r, c)>, affine_map<(r, t, c) -> (t, c)>,
                                   affine_map<(r, t, c) -> (r, t)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %codes : memref<?x?xf32>, memref<?x?xi8>) outs(%out : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: i8, %o: f32):
    %c15 = arith.constant 15 : i8
    %0 = arith.andi %b, %c15 : i8
    %1 = arith.index_castui %0 : i8 to index
    %2 = memref.load %table[%1] : memref<16xf32>
    %3 = arith.mulf %a, %2 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  }
  return
}

func.func @main() {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c11 = arith.constant 11 : index
  %c37 = arith.constant 37 : index
  %zero = arith.constant 0.0 : f32

  %q = memref.alloc(%c7, %c5, %c37) : memref<?x?x?xf32>
  %k = memref.alloc(%c11, %c5, %c37) : memref<?x?x?xf32>
  %kc = memref.alloc(%c11, %c5, %c37) : memref<?x?x?xi8>
  %kh = memref.alloc(%c11, %c5, %c37) : memref<?x?x?xf16>
  call @pattern(%q) : (memref<?x?x?xf32>) -> ()
  call @pattern(%k) : (memref<?x?x?xf32>) -> ()
  call @toCodes(%k, %kc, %kh) : (memref<?x?x?xf32>, memref<?x?x?xi8>, memref<?x?x?xf16>) -> ()
  %s = memref.alloc(%c7, %c11, %c5) : memref<?x?x?xf32>
  call @pattern(%s) : (memref<?x?x?xf32>) -> ()
  call @scores(%q, %kc, %s) : (memref<?x?x?xf32>, memref<?x?x?xi8>, memref<?x?x?xf32>) -> ()
  %su = memref.cast %s : memref<?x?x?xf32> to memref<*xf32>
  call @printMemrefF32(%su) : (memref<*xf32>) -> ()

  %o = memref.alloc(%c7, %c37) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%o : memref<?x?xf32>)
  call @values(%s, %kh, %o) : (memref<?x?x?xf32>, memref<?x?x?xf16>, memref<?x?xf32>) -> ()
  %ou = memref.cast %o : memref<?x?xf32> to memref<*xf32>
  call @printMemrefF32(%ou) : (memref<*xf32>) -> ()

  %q36 = memref.alloc() : memref<7x5x36xf32>
  %k36 = memref.alloc(%c11) : memref<?x5x36xf32>
  %kc36 = memref.alloc(%c11) : memref<?x5x36xi8>
  %kh36 = memref.alloc(%c11) : memref<?x5x36xf16>
  %q36d = memref.cast %q36 : memref<7x5x36xf32> to memref<?x?x?xf32>
  %k36d = memref.cast %k36 : memref<?x5x36xf32> to memref<?x?x?xf32>
  %kc36d = memref.cast %kc36 : memref<?x5x36xi8> to memref<?x?x?xi8>
  %kh36d = memref.cast %kh36 : memref<?x5x36xf16> to memref<?x?x?xf16>
  call @pattern(%q36d) : (memref<?x?x?xf32>) -> ()
  call @pattern(%k36d) : (memref<?x?x?xf32>) -> ()
  call @toCodes(%k36d, %kc36d, %kh36d) : (memref<?x?x?xf32>, memref<?x?x?xi8>, memref<?x?x?xf16>) -> ()
  %s36 = memref.alloc(%c11) : memref<7x?x5xf32>
  %s36d = memref.cast %s36 : memref<7x?x5xf32> to memref<?x?x?xf32>
  call @pattern(%s36d) : (memref<?x?x?xf32>) -> ()
  call @scoresStatic(%q36, %kc36, %s36) : (memref<7x5x36xf32>, memref<?x5x36xi8>, memref<7x?x5xf32>) -> ()
  %s36u = memref.cast %s36 : memref<7x?x5xf32> to memref<*xf32>
  call @printMemrefF32(%s36u) : (memref<*xf32>) -> ()

  %q32 = memref.alloc() : memref<7x7x32xf32>
  %k32 = memref.alloc(%c11) : memref<?x7x32xf32>
  %kc32 = memref.alloc(%c11) : memref<?x7x32xi8>
  %kh32 = memref.alloc(%c11) : memref<?x7x32xf16>
  %q32d = memref.cast %q32 : memref<7x7x32xf32> to memref<?x?x?xf32>
  %k32d = memref.cast %k32 : memref<?x7x32xf32> to memref<?x?x?xf32>
  %kc32d = memref.cast %kc32 : memref<?x7x32xi8> to memref<?x?x?xi8>
  %kh32d = memref.cast %kh32 : memref<?x7x32xf16> to memref<?x?x?xf16>
  call @pattern(%q32d) : (memref<?x?x?xf32>) -> ()
  call @pattern(%k32d) : (memref<?x?x?xf32>) -> ()
  call @toCodes(%k32d, %kc32d, %kh32d) : (memref<?x?x?xf32>, memref<?x?x?xi8>, memref<?x?x?xf16>) -> ()
  %s32 = memref.alloc(%c11) : memref<7x?x7xf32>
  %s32d = memref.cast %s32 : memref<7x?x7xf32> to memref<?x?x?xf32>
  call @pattern(%s32d) : (memref<?x?x?xf32>) -> ()
  call @scoresRuns(%q32, %kc32, %s32) : (memref<7x7x32xf32>, memref<?x7x32xi8>, memref<7x?x7xf32>) -> ()
  %s32u = memref.cast %s32 : memref<7x?x7xf32> to memref<*xf32>
  call @printMemrefF32(%s32u) : (memref<*xf32>) -> ()

  %most = memref.alloc(%c7) : memref<?xf32>
  %least = memref.alloc(%c7) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%most : memref<?xf32>)
  linalg.fill ins(%zero : f32) outs(%least : memref<?xf32>)
  %nan = arith.constant 0x7FC00000 : f32
  // A NaN in row 2 shows in both results.
  // CHECK: [386, 381, nan, 382, 383, 386, 380]
  // CHECK: [-196, -193, nan, -197, -199, -196, -195]
  memref.store %nan, %s[%c2, %c7, %c3] : memref<?x?x?xf32>
  call @extremes(%s, %most, %least) : (memref<?x?x?xf32>, memref<?xf32>, memref<?xf32>) -> ()
  %mostu = memref.cast %most : memref<?xf32> to memref<*xf32>
  %leastu = memref.cast %least : memref<?xf32> to memref<*xf32>
  call @printMemrefF32(%mostu) : (memref<*xf32>) -> ()
  call @printMemrefF32(%leastu) : (memref<*xf32>) -> ()

  %tr = memref.alloc(%c37, %c7) : memref<?x?xf32>
  %cp = memref.alloc(%c7, %c37) : memref<?x?xf32>
  call @transposeAndCopy(%o, %tr, %cp) : (memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>) -> ()
  %tru = memref.cast %tr : memref<?x?xf32> to memref<*xf32>
  %cpu = memref.cast %cp : memref<?x?xf32> to memref<*xf32>
  call @printMemrefF32(%tru) : (memref<*xf32>) -> ()
  call @printMemrefF32(%cpu) : (memref<*xf32>) -> ()

  %ho = memref.alloc(%c7) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%ho : memref<?xf32>)
  %few = memref.subview %cp[0, 0] [7, 9] [1, 1] : memref<?x?xf32> to memref<7x9xf32, strided<[?, 1]>>
  %fewCopy = memref.alloc() : memref<7x9xf32>
  memref.copy %few, %fewCopy : memref<7x9xf32, strided<[?, 1]>> to memref<7x9xf32>
  %fewd = memref.cast %fewCopy : memref<7x9xf32> to memref<?x?xf32>
  call @horner(%fewd, %ho) : (memref<?x?xf32>, memref<?xf32>) -> ()
  %hou = memref.cast %ho : memref<?xf32> to memref<*xf32>
  call @printMemrefF32(%hou) : (memref<*xf32>) -> ()

  %bytes = memref.collapse_shape %kc [[0], [1, 2]] : memref<?x?x?xi8> into memref<?x?xi8>
  %c185 = arith.constant 185 : index
  %up = memref.alloc(%c11, %c185) : memref<?x2x?xf32>
  call @unpack(%bytes, %up) : (memref<?x?xi8>, memref<?x2x?xf32>) -> ()
  %upu = memref.cast %up : memref<?x2x?xf32> to memref<*xf32>
  call @printMemrefF32(%upu) : (memref<*xf32>) -> ()

  %qflat = memref.collapse_shape %q [[0], [1, 2]] : memref<?x?x?xf32> into memref<?x?xf32>
  %cb = memref.alloc(%c7, %c11) : memref<?x?xf32>
  linalg.fill ins(%zero : f32) outs(%cb : memref<?x?xf32>)
  call @codebook(%qflat, %bytes, %cb) : (memref<?x?xf32>, memref<?x?xi8>, memref<?x?xf32>) -> ()
  %cbu = memref.cast %cb : memref<?x?xf32> to memref<*xf32>
  call @printMemrefF32(%cbu) : (memref<*xf32>) -> ()
  return
}
