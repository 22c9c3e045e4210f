// A vector load at 4 bytes from where it may be, and at a multiple of its size.
// RUN: not kvq-emulate %s --kernel=vector_load --block=1 --arg=const-iota:i32:16 --arg=zeros:16 --arg=i32:1 2>&1 | FileCheck %s --check-prefix=VECTOR
// RUN: kvq-emulate %s --kernel=vector_load --block=1 --arg=const-iota:i32:16 --arg=zeros:16 --arg=i32:4 --print=1:i32 | FileCheck %s --check-prefix=ALIGNED
// VECTOR: load of 16 bytes in 'vector_load' at accesses.mlir:[[#]]:[[#]]: misaligned: address 0x{{[0-9a-f]+}}, expected a multiple of 16
// ALIGNED: {{^}}4, 5, 6, 7{{$}}
// RUN: not kvq-emulate %s --kernel=shared_load --block=1 --arg=zeros:16 --arg=i32:1 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: kvq-emulate %s --kernel=shared_load --block=1 --arg=zeros:16 --arg=i32:2 --print=0:i32 | FileCheck %s --check-prefix=SHARED-ALIGNED
// SHARED: load of 8 bytes in 'shared_load' at accesses.mlir:[[#]]:[[#]]: misaligned: shared memory at 4, expected a multiple of 8
// SHARED-ALIGNED: {{^}}2, 3, 0, 0{{$}}

// Local variables.
// RUN: kvq-emulate %s --kernel=local --block=4 --arg=zeros:16 --arg=i32:0 --print=0:i32 | FileCheck %s --check-prefix=LOCAL
// RUN: not kvq-emulate %s --kernel=local --block=5 --arg=zeros:20 --arg=i32:0 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// LOCAL: {{^}}10, 20, 30, 40{{$}}
// OUTSIDE: thread (4, 0, 0), load of 4 bytes in 'local' at accesses.mlir:[[#]]:[[#]]: out of bounds of a local variable

// Generic pointers, to all of these.
// RUN: kvq-emulate %s --kernel=generic --block=3 --arg=iota:i32:4 --arg=zeros:12 --print=1:i32 | FileCheck %s --check-prefix=GENERIC
// RUN: kvq-emulate %s --kernel=generic --block=3 --arg=iota:i32:4 --arg=zeros:12 --print=1:i32 --races=false | FileCheck %s --check-prefix=GENERIC
// GENERIC: {{^}}0, 11, 22{{$}}
// RUN: not kvq-emulate %s --kernel=generic --block=4 --arg=iota:i32:4 --arg=zeros:16 2>&1 | FileCheck %s --check-prefix=NULL
// NULL: thread (3, 0, 0), load of 4 bytes {{.*}}: out of bounds: 4 bytes at address 0x0, which no allocation is near
// RUN: not kvq-emulate %s --kernel=null --block=1 2>&1 | FileCheck %s --check-prefix=SHARED-NULL
// SHARED-NULL: out of bounds: 4 bytes of shared memory at -1024, of 0

// A constant may be read, in its bounds, and a variable of the module be written.
// RUN: kvq-emulate %s --kernel=constants --block=4 --arg=zeros:16 --print=0:i32 | FileCheck %s --check-prefix=CONSTANT
// RUN: not kvq-emulate %s --kernel=constants --block=5 --arg=zeros:20 2>&1 | FileCheck %s --check-prefix=PAST
// CONSTANT: {{^}}7, 9, 11, 13{{$}}
// PAST: thread (4, 0, 0), {{.*}}: out of bounds: 4 bytes at offset 16 of 16 bytes of global memory

// Copies of ranges.
// RUN: kvq-emulate %s --kernel=ranges --block=1 --arg=iota:i32:4 --arg=zeros:16 --arg=i64:12 --print=1:i32 | FileCheck %s --check-prefix=RANGE
// RUN: not kvq-emulate %s --kernel=ranges --block=1 --arg=iota:i32:4 --arg=zeros:16 --arg=i64:20 2>&1 | FileCheck %s --check-prefix=LONG
// RANGE: {{^}}0, 1, 2, 0{{$}}
// LONG: read by llvm.memcpy{{.*}}: out of bounds: 20 bytes at offset 0 of 16 bytes of global memory

// Atomics: every thread counts, in global and in shared memory.
// RUN: kvq-emulate %s --kernel=count --grid=7 --block=96 --arg=zeros:4 --arg=zeros:28 --print=0:i32 --print=1:i32 --order=random | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}672{{$}}
// COUNT: {{^}}96, 96, 96, 96, 96, 96, 96{{$}}

// What ends a process on a CPU.
// RUN: not kvq-emulate %s --kernel=divide --block=4 --arg=i32:3 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: kvq-emulate %s --kernel=divide --block=3 --arg=i32:3
// DIVIDE: thread (3, 0, 0), {{[su]}}div in 'divide' at accesses.mlir:[[#]]:[[#]]: division by zero, or of the lowest number by -1
// RUN: not kvq-emulate %s --kernel=trap --block=1 2>&1 | FileCheck %s --check-prefix=TRAP
// TRAP: kernel 'trap', block (0, 0, 0), thread (0, 0, 0), trap in 'trap' at accesses.mlir:[[#]]:[[#]]: the kernel ends itself

gpu.module @kernels {
  llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<4 x i32>
  llvm.mlir.global internal @counter() {addr_space = 3 : i32, alignment = 4 : i64} : i32
  llvm.mlir.global internal constant @table(dense<[7, 8, 9, 10]> : tensor<4xi32>) {addr_space = 4 : i32} : !llvm.array<4 x i32>
  llvm.mlir.global internal @state(dense<0> : tensor<4xi32>) {addr_space = 1 : i32} : !llvm.array<4 x i32>

  llvm.func @vector_load(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %offset: i32) attributes {gpu.kernel, nvvm.kernel} {
    %from = llvm.getelementptr %in[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    %value = llvm.load %from {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    llvm.store %value, %out {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @shared_load(%out: !llvm.ptr<1>, %offset: i32) attributes {gpu.kernel, nvvm.kernel} {
    %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %values = llvm.mlir.constant(dense<[0, 1, 2, 3]> : vector<4xi32>) : vector<4xi32>
    llvm.store volatile %values, %shared {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
    %from = llvm.getelementptr %shared[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %value = llvm.load %from {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
    llvm.store %value, %out {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @local(%out: !llvm.ptr<1>, %start: i32) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %array = llvm.alloca %c1 x !llvm.array<4 x i32> : (i32) -> !llvm.ptr
    %values = llvm.mlir.constant(dense<[10, 20, 30, 40]> : vector<4xi32>) : vector<4xi32>
    llvm.store volatile %values, %array {alignment = 4 : i64} : vector<4xi32>, !llvm.ptr
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %index = llvm.add %thread, %start : i32
    %from = llvm.getelementptr %array[%index] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    %value = llvm.load %from : !llvm.ptr -> i32
    %to = llvm.getelementptr %out[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  // Thread 0 reads global memory, 1 shared, 2 local, 3 none.
  llvm.func @generic(%in: !llvm.ptr, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c11 = llvm.mlir.constant(11 : i32) : i32
    %c22 = llvm.mlir.constant(22 : i32) : i32
    %null = llvm.mlir.zero : !llvm.ptr
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %isFirst = llvm.icmp "eq" %thread, %c0 : i32
    %isSecond = llvm.icmp "eq" %thread, %c1 : i32
    %isThird = llvm.icmp "eq" %thread, %c2 : i32
    llvm.cond_br %isFirst, ^store, ^begin
  ^store:
    llvm.store %c11, %shared : i32, !llvm.ptr<3>
    llvm.br ^begin
  ^begin:
    nvvm.barrier0
    %local = llvm.alloca %c1 x i32 : (i32) -> !llvm.ptr
    llvm.store volatile %c22, %local : i32, !llvm.ptr
    %generic = llvm.addrspacecast %shared : !llvm.ptr<3> to !llvm.ptr
    %third = llvm.select %isThird, %local, %null : i1, !llvm.ptr
    %second = llvm.select %isSecond, %generic, %third : i1, !llvm.ptr
    %from = llvm.select %isFirst, %in, %second : i1, !llvm.ptr
    %value = llvm.load volatile %from : !llvm.ptr -> i32
    %to = llvm.getelementptr %out[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @null() attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %null = llvm.inttoptr %c0 : i32 to !llvm.ptr<3>
    llvm.store volatile %c0, %null : i32, !llvm.ptr<3>
    llvm.return
  }

  llvm.func @constants(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %table = llvm.mlir.addressof @table : !llvm.ptr<4>
    %state = llvm.mlir.addressof @state : !llvm.ptr<1>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %entry = llvm.getelementptr %table[%thread] : (!llvm.ptr<4>, i32) -> !llvm.ptr<4>, i32
    %value = llvm.load %entry : !llvm.ptr<4> -> i32
    %place = llvm.getelementptr %state[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store volatile %thread, %place : i32, !llvm.ptr<1>
    %stored = llvm.load volatile %place : !llvm.ptr<1> -> i32
    %sum = llvm.add %value, %stored : i32
    %to = llvm.getelementptr %out[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %sum, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @ranges(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>, %bytes: i64) attributes {gpu.kernel, nvvm.kernel} {
    "llvm.intr.memcpy"(%out, %in, %bytes) <{isVolatile = false}> : (!llvm.ptr<1>, !llvm.ptr<1>, i64) -> ()
    llvm.return
  }

  llvm.func @count(%total: !llvm.ptr<1>, %totals: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %counter = llvm.mlir.addressof @counter : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %block = nvvm.read.ptx.sreg.ctaid.x : i32
    %isFirst = llvm.icmp "eq" %thread, %c0 : i32
    llvm.cond_br %isFirst, ^first, ^begin
  ^first:
    llvm.store %c0, %counter : i32, !llvm.ptr<3>
    llvm.br ^begin
  ^begin:
    nvvm.barrier0
    %old = llvm.atomicrmw add %total, %c1 syncscope("device") acq_rel : !llvm.ptr<1>, i32
    %old2 = llvm.atomicrmw add %counter, %c1 syncscope("block") monotonic : !llvm.ptr<3>, i32
    nvvm.barrier0
    llvm.cond_br %isFirst, ^last, ^end
  ^last:
    %sum = llvm.load %counter : !llvm.ptr<3> -> i32
    %to = llvm.getelementptr %totals[%block] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %sum, %to : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  }

  llvm.func @divide(%n: i32) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %state = llvm.mlir.addressof @state : !llvm.ptr<1>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %divisor = llvm.sub %n, %thread : i32
    %quotient = llvm.sdiv %thread, %divisor : i32
    llvm.store volatile %quotient, %state : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @trap() attributes {gpu.kernel, nvvm.kernel} {
    "llvm.intr.trap"() : () -> ()
    llvm.return
  }
}
