// RUN: kvq-emulate %s --kernel=reverse --grid=2 --block=64 --arg=const-iota:f32:128 \
// RUN:   --arg=zeros:512 --print=1:f32 | FileCheck %s
// RUN: kvq-emulate %s --kernel=reverse --grid=2 --block=64 --arg=const-iota:f32:128 \
// RUN:   --arg=zeros:512 --print=1:f32 --order=reverse --workers=1 | FileCheck %s
// RUN: kvq-emulate %s --kernel=reverse --grid=2 --block=64 --arg=const-iota:f32:128 \
// RUN:   --arg=zeros:512 --print=1:f32 --order=random --seed=3 | FileCheck %s
// CHECK: {{^}}63, 62, 61, {{.*}}, 2, 1, 0, 127, 126, {{.*}}, 65, 64{{$}}

// Without the barrier something is wrong in every order. What it is depends on
// the order, and is where the instruction is.
// RUN: not kvq-emulate %s --kernel=no_barrier --block=64 --arg=const-iota:f32:64 \
// RUN:   --arg=zeros:256 2>&1 | FileCheck %s --check-prefix=UNWRITTEN
// RUN: not kvq-emulate %s --kernel=no_barrier --block=64 --arg=const-iota:f32:64 \
// RUN:   --arg=zeros:256 --order=reverse 2>&1 | FileCheck %s --check-prefix=REVERSE
// UNWRITTEN: kvq-emulate: error: kernel 'no_barrier', block (0, 0, 0), thread (0, 0, 0), load of 4 bytes in 'no_barrier' at shared-memory.mlir:[[#]]:[[#]]: unwritten: nobody has written shared memory at 252
// REVERSE: thread (63, 0, 0), load of 4 bytes {{.*}}: unwritten: nobody has written shared memory at 0

// A write over what others still read.
// RUN: not kvq-emulate %s --kernel=write_after_read --block=64 --arg=const-iota:f32:64 \
// RUN:   --arg=zeros:256 2>&1 | FileCheck %s --check-prefix=RACE
// RACE: thread (0, 0, 0), load of 4 bytes in 'write_after_read' at shared-memory.mlir:[[#]]:[[#]]: race: nothing orders it after the write of shared memory at 252 by thread (63, 0, 0), store of 4 bytes at shared-memory.mlir:[[#]]:[[#]]

// Out of bounds of what the launch has, and of what nobody has.
// RUN: not kvq-emulate %s --kernel=reverse --block=65 --arg=const-iota:f32:128 \
// RUN:   --arg=zeros:512 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: thread (64, 0, 0), store of 4 bytes {{.*}}: out of bounds: 4 bytes of shared memory at 256, of 256
// RUN: not kvq-emulate %s --kernel=reverse --grid=2 --block=64 --arg=const-iota:f32:128 \
// RUN:   --arg=zeros:508 2>&1 | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: block (1, 0, 0), thread (63, 0, 0), store of 4 bytes {{.*}}: out of bounds: 4 bytes at offset 508 of 508 bytes of global memory
// RUN: not kvq-emulate %s --kernel=reverse --grid=2 --block=64 --arg=const-iota:f32:128 \
// RUN:   --arg=i64:12 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: out of bounds: 4 bytes at address 0x{{[0-9A-F]+}}, which no allocation is near
// RUN: not kvq-emulate %s --kernel=reverse --grid=2 --block=64 --arg=const-iota:f32:128 \
// RUN:   --arg=const-zeros:512 2>&1 | FileCheck %s --check-prefix=CONST
// CONST: write to read-only memory: 4 bytes at offset 252 of 512 bytes

gpu.module @kernels {
  gpu.func @reverse(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
      workgroup(%buffer: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %size = gpu.block_dim x
    %index = gpu.global_id x
    %index64 = arith.index_cast %index : index to i64
    %from = llvm.getelementptr %in[%index64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %from : !llvm.ptr<1> -> f32
    memref.store %value, %buffer[%thread] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %last = arith.subi %size, %c1 : index
    %other = arith.subi %last, %thread : index
    %reversed = memref.load %buffer[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    %to = llvm.getelementptr %out[%index64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %reversed, %to : f32, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @no_barrier(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
      workgroup(%buffer: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %size = gpu.block_dim x
    %index64 = arith.index_cast %thread : index to i64
    %from = llvm.getelementptr %in[%index64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %from : !llvm.ptr<1> -> f32
    memref.store %value, %buffer[%thread] : memref<64xf32, #gpu.address_space<workgroup>>
    %last = arith.subi %size, %c1 : index
    %other = arith.subi %last, %thread : index
    %reversed = memref.load %buffer[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    %to = llvm.getelementptr %out[%index64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %reversed, %to : f32, !llvm.ptr<1>
    gpu.return
  }

  gpu.func @write_after_read(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
      workgroup(%buffer: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %size = gpu.block_dim x
    %index64 = arith.index_cast %thread : index to i64
    %from = llvm.getelementptr %in[%index64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %value = llvm.load %from : !llvm.ptr<1> -> f32
    memref.store %value, %buffer[%thread] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %last = arith.subi %size, %c1 : index
    %other = arith.subi %last, %thread : index
    %reversed = memref.load %buffer[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %reversed, %buffer[%thread] : memref<64xf32, #gpu.address_space<workgroup>>
    %to = llvm.getelementptr %out[%index64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %reversed, %to : f32, !llvm.ptr<1>
    gpu.return
  }
}
