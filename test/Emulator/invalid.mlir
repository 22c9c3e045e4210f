// What cannot run at all, and is said before it does.
// RUN: not kvq-emulate %s --kernel=nothing 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: kvq-emulate: error: the module has no kernel 'nothing'
// RUN: not kvq-emulate %s --kernel=kernel --arg=i32:1 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// ARGUMENTS: kernel 'kernel': expected 2 arguments, got 1
// RUN: not kvq-emulate %s --kernel=kernel --arg=i32:1 --arg=i32:2 --block=33,32 2>&1 | FileCheck %s --check-prefix=BLOCK
// BLOCK: kernel 'kernel': expected a block of 1 to 1024 threads, at most 64 along z, got 33 x 32 x 1
// RUN: not kvq-emulate %s --kernel=bounded --block=65 2>&1 | FileCheck %s --check-prefix=BOUNDED
// BOUNDED: kernel 'bounded': expected at most 64 threads in a block, by its launch bounds, got 65
// RUN: not kvq-emulate %s --kernel=bounded --grid=1,65536 2>&1 | FileCheck %s --check-prefix=GRID
// GRID: kernel 'bounded': expected a grid of at least one block, at most 65535 along y and z, got 1 x 65536 x 1
// RUN: not kvq-emulate %s --kernel=bounded --shared=232449 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: kernel 'bounded': expected at most 232448 bytes of shared memory, got 0 static and 232449 dynamic
// RUN: not kvq-emulate %s 2>&1 | FileCheck %s --check-prefix=SEVERAL
// SEVERAL: expected --kernel, as there are several
// RUN: not kvq-emulate %s --kernel=bounded --grid=1,2,3,4 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: --grid: expected x, x,y or x,y,z, got '1,2,3,4'
// RUN: not kvq-emulate %s --kernel=bounded --arg=f31:0 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: --arg f31:0: expected TYPE:NUMBER, zeros:BYTES
// RUN: not kvq-emulate %s --kernel=bounded --arg=i32:x 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: --arg i32:x: expected a number of type i32, got 'x'
// RUN: not kvq-emulate %s --kernel=kernel --arg=i32:1 --arg=zeros:4 --print=1:f32:2 2>&1 | FileCheck %s --check-prefix=PRINT
// PRINT: --print 1:f32:2: expected at most 1 elements, got 2

gpu.module @kernels {
  llvm.func @kernel(%a: i32, %b: i64) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
  llvm.func @bounded() attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 64, 1, 1>} {
    llvm.return
  }
}
