// RUN: kvq-opt %s -kvq-align-shared-memory | FileCheck %s

gpu.module @kernels {
  // CHECK: llvm.mlir.global internal @scratch() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x f32>
  llvm.mlir.global internal @scratch() {addr_space = 3 : i32} : !llvm.array<64 x f32>
  // CHECK: @aligned() {addr_space = 3 : i32, alignment = 128 : i64}
  llvm.mlir.global internal @aligned() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<64 x f32>
  // CHECK: @elsewhere() {addr_space = 1 : i32} :
  llvm.mlir.global internal @elsewhere() {addr_space = 1 : i32} : !llvm.array<64 x f32>
}
