// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector))' | FileCheck %s --check-prefix=IR
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),kvq-vector-to-llvm-pipeline)' \
// RUN:   | mlir-runner -e main -entry-point-result=void -shared-libs=%runner_libs | FileCheck %s

func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

memref.global constant @inputs : memref<11xf32> = dense<
    [0.0, -1.0, 127.0, -126.0, 0xFF800000, -150.0, -126.5, 0x7F800000, 128.0, 0x7FC00000, 0.5]>

// IR-LABEL: func @powers
// IR-NOT:   math.exp2
// IR-COUNT-6: math.fma {{.*}} : vector<8xf32>
// IR-COUNT-6: math.fma {{.*}} : f32
// IR-NOT:   math.exp2
// IR:       return
func.func @powers(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = math.exp2 %a fastmath<contract> : f32
    linalg.yield %0 : f32
  }
  return
}

// Other types are not touched.
// IR-LABEL: func @double
// IR:       math.exp2 %{{.*}} : f64
func.func @double(%x: f64) -> f64 {
  %0 = math.exp2 %x : f64
  return %0 : f64
}

// Eight in vectors, three in scalars: whole powers are exact, results below
// 2^-126 are 0, infinities and NaN as they should be.
// CHECK: [1, 0.5, 1.70141e+38, 1.17549e-38, 0, 0, 0, inf, inf, nan, 1.41421]
// The same once more, all in scalars.
// CHECK: [0.5, 1.70141e+38, 1.17549e-38, 0, 0, 0, inf]
func.func @main() {
  %c0 = arith.constant 0 : index
  %0 = memref.get_global @inputs : memref<11xf32>
  %x = memref.cast %0 : memref<11xf32> to memref<?xf32>
  %out = memref.alloc() : memref<11xf32>
  %y = memref.cast %out : memref<11xf32> to memref<?xf32>
  call @powers(%x, %y) : (memref<?xf32>, memref<?xf32>) -> ()
  %printed = memref.cast %out : memref<11xf32> to memref<*xf32>
  call @printMemrefF32(%printed) : (memref<*xf32>) -> ()
  %few = memref.alloc() : memref<7xf32>
  %part = memref.subview %0[1] [7] [1] : memref<11xf32> to memref<7xf32, strided<[1], offset: 1>>
  memref.copy %part, %few : memref<7xf32, strided<[1], offset: 1>> to memref<7xf32>
  %fewd = memref.cast %few : memref<7xf32> to memref<?xf32>
  call @powers(%fewd, %fewd) : (memref<?xf32>, memref<?xf32>) -> ()
  %fewPrinted = memref.cast %few : memref<7xf32> to memref<*xf32>
  call @printMemrefF32(%fewPrinted) : (memref<*xf32>) -> ()
  return
}
