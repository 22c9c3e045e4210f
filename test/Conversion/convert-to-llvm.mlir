// RUN: kvq-opt %s -kvq-convert-to-llvm -reconcile-unrealized-casts | FileCheck %s

// What LLVM has an op for becomes that op, whatever expansions or functions of
// the C library there are for it too: maxima keep the sign of zero.
//
// CHECK-LABEL: llvm.func @lanes(
// CHECK:         llvm.intr.maximum(
// CHECK:         llvm.intr.exp2(
// CHECK:         llvm.intr.fabs(
// CHECK-COUNT-4: llvm.call @erff(
// CHECK-NOT:     unrealized_conversion_cast
// CHECK:         llvm.return
func.func @lanes(%x: vector<4xf32>, %y: vector<4xf32>) -> vector<4xf32> {
  %max = arith.maximumf %x, %y : vector<4xf32>
  %exp = math.exp2 %max : vector<4xf32>
  %abs = math.absf %exp : vector<4xf32>
  %erf = math.erf %abs : vector<4xf32>
  return %erf : vector<4xf32>
}

// CHECK-LABEL: llvm.func @quotients(
// CHECK-COUNT-2: llvm.sdiv
// CHECK-NOT:     arith.
// CHECK:         llvm.return
func.func @quotients(%a: index, %b: index) -> (index, index) {
  %floor = arith.floordivsi %a, %b : index
  %ceil = arith.ceildivsi %a, %b : index
  return %floor, %ceil : index, index
}

// Vectors of several axes, and what moves their elements.
//
// CHECK-LABEL: llvm.func @axes(
// CHECK-NOT:     vector.
// CHECK:         llvm.return
func.func @axes(%m: memref<?xf32>, %i: index, %x: vector<2x4xf32>) -> vector<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %steps = vector.step : vector<4xindex>
  %row = vector.transfer_read %m[%i], %zero : memref<?xf32>, vector<4xf32>
  %rows = vector.broadcast %row : vector<4xf32> to vector<2x4xf32>
  %sum = arith.addf %rows, %x : vector<2x4xf32>
  %flat = vector.shape_cast %sum : vector<2x4xf32> to vector<8xf32>
  vector.store %flat, %m[%i] : memref<?xf32>, vector<8xf32>
  %turned = vector.transpose %sum, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
  return %turned : vector<4x2xf32>
}

// Blocks in regions of OpenMP.
//
// CHECK-LABEL: llvm.func @threads(
// CHECK:         omp.parallel
// CHECK:           llvm.store
// CHECK:           llvm.cond_br
// CHECK:         llvm.return
func.func @threads(%m: memref<4xf32>, %x: f32, %some: i1) {
  %c0 = arith.constant 0 : index
  omp.parallel {
    memref.store %x, %m[%c0] : memref<4xf32>
    cf.cond_br %some, ^bb1, ^bb2
  ^bb1:
    cf.br ^bb2
  ^bb2:
    omp.terminator
  }
  return
}
