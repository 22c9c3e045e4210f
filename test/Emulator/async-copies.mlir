// Lanes copy 16 bytes each, and read what another lane has copied. Lane 3 copies
// 4 bytes, the others of its target become zero.
// RUN: kvq-emulate %s --kernel=copy --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 --print=1:i32:16 | FileCheck %s
// RUN: kvq-emulate %s --kernel=copy --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 --print=1:i32:16 --order=reverse | FileCheck %s
// RUN: kvq-emulate %s --kernel=copy --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 --print=1:i32:16 --order=random | FileCheck %s
// CHECK: {{^}}4, 5, 6, 7, 0, 1, 2, 3, 12, 0, 0, 0, 8, 9, 10, 11{{$}}

// RUN: not kvq-emulate %s --kernel=no_wait --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 2>&1 | FileCheck %s --check-prefix=WAIT
// RUN: not kvq-emulate %s --kernel=no_wait --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 --order=reverse 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: load of 16 bytes in 'no_wait' at async-copies.mlir:[[#]]:[[#]]: unawaited copy: shared memory at {{[0-9]+}} is the target of an asynchronous copy that nobody has waited for

// A wait is for the thread's own copies, and for all groups but as many as it says.
// RUN: not kvq-emulate %s --kernel=no_sync --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 --order=reverse 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: not kvq-emulate %s --kernel=no_sync --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 --order=random 2>&1 | FileCheck %s --check-prefix=SYNC
// SYNC: load of 16 bytes in 'no_sync' {{.*}}: {{race: nothing orders it after the write of shared memory at [0-9]+ by thread|unwritten}}
// RUN: not kvq-emulate %s --kernel=short_wait --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 2>&1 | FileCheck %s --check-prefix=WAIT-SHORT
// WAIT-SHORT: load of 16 bytes in 'short_wait' {{.*}}: unawaited copy

// A copy to where others still read.
// RUN: not kvq-emulate %s --kernel=overwrite --shared=512 --arg=const-iota:i32:128 --arg=zeros:512 2>&1 | FileCheck %s --check-prefix=OVERWRITE
// OVERWRITE: llvm.nvvm.cp.async.cg.shared.global.16 in 'overwrite' at {{.*}}: race: nothing orders it after the read of shared memory at

// What the copies read and write is checked.
// RUN: not kvq-emulate %s --kernel=copy --shared=496 --arg=const-iota:i32:128 --arg=zeros:512 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: thread (31, 0, 0), llvm.nvvm.cp.async{{.*}}: out of bounds: 16 bytes of shared memory at 496, of 496
// RUN: not kvq-emulate %s --kernel=copy --shared=512 --arg=const-iota:i32:120 --arg=zeros:512 2>&1 | FileCheck %s --check-prefix=SOURCE
// SOURCE: thread (30, 0, 0), llvm.nvvm.cp.async{{.*}}: out of bounds: 16 bytes at offset 480 of 480 bytes of global memory

gpu.module @kernels {
  llvm.mlir.global external @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>

  llvm.func @copy(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %shared = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %partner = llvm.xor %lane, %c1 : i32
    %from = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    %own = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %other = llvm.getelementptr %shared[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    %isThird = llvm.icmp "eq" %lane, %c3 : i32
    %bytes = llvm.select %isThird, %c4, %c16 : i1, i32
    nvvm.cp.async.shared.global %own, %from, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.bar.warp.sync %all : i32
    %value = llvm.load %other {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    llvm.store %value, %to {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @no_wait(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %all = llvm.mlir.constant(-1 : i32) : i32
    %shared = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %from = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    %own = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    nvvm.cp.async.shared.global %own, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.bar.warp.sync %all : i32
    %value = llvm.load %own {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    llvm.store %value, %to {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @no_sync(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %all = llvm.mlir.constant(-1 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %shared = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %partner = llvm.xor %lane, %c1 : i32
    %from = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    %own = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %other = llvm.getelementptr %shared[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    nvvm.cp.async.shared.global %own, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.call_intrinsic "llvm.nvvm.cp.async.wait.all"() : () -> ()
    // All lanes come here, but no memory is ordered by it.
    %sum = nvvm.redux.sync add %lane, %all : i32 -> i32
    %value = llvm.load %other {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    llvm.store %value, %to {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    llvm.return
  }

  // The last group is the one that it does not wait for.
  llvm.func @short_wait(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %shared = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %from = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    %own = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    nvvm.cp.async.commit.group
    nvvm.cp.async.shared.global %own, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
    %value = llvm.load %own {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    llvm.store %value, %to {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @overwrite(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %shared = llvm.mlir.addressof @dynamic : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %partner = llvm.xor %lane, %c1 : i32
    %from = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    %own = llvm.getelementptr %shared[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %other = llvm.getelementptr %shared[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xi32>
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xi32>
    nvvm.cp.async.shared.global %own, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.call_intrinsic "llvm.nvvm.cp.async.wait.all"() : () -> ()
    nvvm.bar.warp.sync %all : i32
    %value = llvm.load %other {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
    llvm.store %value, %to {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    // All have read, but no memory is ordered by it.
    %sum = nvvm.redux.sync add %lane, %all : i32 -> i32
    nvvm.cp.async.shared.global %own, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.return
  }
}
