// RUN: kvq-opt %s -pass-pipeline='builtin.module(gpu.module(kvq-externalize-shared-memory))' | FileCheck %s

// CHECK: llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.mlir.global internal @scratch() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<16 x f32>
gpu.module @kernels {
  llvm.mlir.global internal @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal @scratch() {addr_space = 3 : i32} : !llvm.array<16 x f32>
}
