// What upstream makes of vector.contract for tensor cores computes what it
// computes without them.
// REQUIRES: python
// RUN: %python -c "import numpy, sys; r = numpy.random.default_rng(); \
// RUN:   r.integers(-64, 64, 256).astype(numpy.float16).tofile(sys.argv[1] + '.a16'); \
// RUN:   r.integers(-64, 64, 128).astype(numpy.float16).tofile(sys.argv[1] + '.b16'); \
// RUN:   r.integers(-128, 128, 512).astype(numpy.int8).tofile(sys.argv[1] + '.a8'); \
// RUN:   r.integers(-128, 128, 256).astype(numpy.int8).tofile(sys.argv[1] + '.b8')" %t

// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(convert-vector-to-gpu{use-nvgpu=true},canonicalize,cse)),convert-nvgpu-to-nvvm,gpu.module(expand-strided-metadata,lower-affine,convert-vector-to-scf,convert-scf-to-cf,convert-vector-to-llvm,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},reconcile-unrealized-casts))' \
// RUN:   -o %t.tensor-cores.mlir
// RUN: FileCheck %s --input-file=%t.tensor-cores.mlir
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu.module(convert-vector-to-scf,expand-strided-metadata,lower-affine,convert-scf-to-cf,convert-vector-to-llvm{vector-contract-lowering=outerproduct},convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},reconcile-unrealized-casts))' \
// RUN:   -o %t.plain.mlir

// CHECK-LABEL: llvm.func @halves
// CHECK:       nvvm.mma.sync
// CHECK-LABEL: llvm.func @bytes
// CHECK:       nvvm.mma.sync

// RUN: kvq-emulate %t.tensor-cores.mlir --kernel=halves --arg=file:%t.a16 --arg=file:%t.b16 --arg=zeros:512 --print=2:f32 > %t.1
// RUN: kvq-emulate %t.plain.mlir --kernel=halves --block=1 --arg=file:%t.a16 --arg=file:%t.b16 --arg=zeros:512 --print=2:f32 > %t.2
// RUN: diff %t.1 %t.2
// RUN: kvq-emulate %t.tensor-cores.mlir --kernel=bytes --arg=file:%t.a8 --arg=file:%t.b8 --arg=zeros:512 --print=2:i32 --order=reverse > %t.3
// RUN: kvq-emulate %t.plain.mlir --kernel=bytes --block=1 --arg=file:%t.a8 --arg=file:%t.b8 --arg=zeros:512 --print=2:i32 > %t.4
// RUN: diff %t.3 %t.4

#transposed = affine_map<(d0, d1) -> (d1, d0)>
#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#acc = affine_map<(d0, d1, d2) -> (d0, d1)>
gpu.module @kernels {
  gpu.func @halves(%a: memref<16x16xf16>, %b: memref<16x8xf16>, %c: memref<16x8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f16
    %zero32 = arith.constant 0.0 : f32
    %A = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>
    %B = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true], permutation_map = #transposed} : memref<16x8xf16>, vector<8x16xf16>
    %C = vector.transfer_read %c[%c0, %c0], %zero32 {in_bounds = [true, true]} : memref<16x8xf32>, vector<16x8xf32>
    %D = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %A, %B, %C : vector<16x16xf16>, vector<8x16xf16> into vector<16x8xf32>
    vector.transfer_write %D, %c[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    gpu.return
  }

  gpu.func @bytes(%a: memref<16x32xi8>, %b: memref<32x8xi8>, %c: memref<16x8xi32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i8
    %zero32 = arith.constant 0 : i32
    %A = vector.transfer_read %a[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x32xi8>, vector<16x32xi8>
    %B = vector.transfer_read %b[%c0, %c0], %zero {in_bounds = [true, true], permutation_map = #transposed} : memref<32x8xi8>, vector<8x32xi8>
    %C = vector.transfer_read %c[%c0, %c0], %zero32 {in_bounds = [true, true]} : memref<16x8xi32>, vector<16x8xi32>
    %D = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %A, %B, %C : vector<16x32xi8>, vector<8x32xi8> into vector<16x8xi32>
    vector.transfer_write %D, %c[%c0, %c0] {in_bounds = [true, true]} : vector<16x8xi32>, memref<16x8xi32>
    gpu.return
  }
}
