// RUN: kvq-opt %s --kvq-expand-powers | FileCheck %s

// CHECK-LABEL: func @cube
// CHECK-SAME:    %[[X:.+]]: f32
// CHECK:       %[[SQUARE:.+]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK:       %[[CUBE:.+]] = arith.mulf %[[SQUARE]], %[[X]] : f32
// CHECK-NOT:   fpowi
// CHECK:       return %[[CUBE]]
func.func @cube(%x: f32) -> f32 {
  %c3 = arith.constant 3 : i64
  %y = math.fpowi %x, %c3 : f32, i64
  return %y : f32
}

// In the bodies of structured ops; what is not constant stays.
// CHECK-LABEL: func @body
// CHECK:       %[[SQUARE:.+]] = arith.mulf %[[IN:.+]], %[[IN]] : f32
// CHECK:       math.powf %[[SQUARE]], %{{.+}} : f32
func.func @body(%x: tensor<4xf32>, %p: f32) -> tensor<4xf32> {
  %c2 = arith.constant 2 : i64
  %empty = tensor.empty() : tensor<4xf32>
  %y = linalg.map ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>)
    (%in: f32, %out: f32) {
      %0 = math.fpowi %in, %c2 : f32, i64
      %1 = math.powf %0, %p : f32
      linalg.yield %1 : f32
    }
  return %y : tensor<4xf32>
}
