// RUN: kvq-opt %s -split-input-file -verify-diagnostics -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector))'
// RUN: not kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector{vector-width=6}))' 2>&1 | FileCheck %s

// CHECK: error: expected a power of two as vector-width, found 6

func.func @tensors(%a: tensor<4xf32>, %value: f32) -> tensor<4xf32> {
  // expected-error @+1 {{expected buffers as operands, found tensors; bufferize before this pass}}
  %0 = linalg.fill ins(%value : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
