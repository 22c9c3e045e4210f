// Lane 0 copies 128 bytes in bulk, all lanes wait for the mbarrier and read.
// RUN: kvq-emulate %s --chip=sm_90a --kernel=copy --arg=const-iota:i32:32 --arg=zeros:128 --print=1:i32:6 | FileCheck %s
// RUN: kvq-emulate %s --chip=sm_90a --kernel=copy --arg=const-iota:i32:32 --arg=zeros:128 --print=1:i32:6 --order=reverse | FileCheck %s
// RUN: kvq-emulate %s --chip=sm_90a --kernel=copy --arg=const-iota:i32:32 --arg=zeros:128 --print=1:i32:6 --order=random | FileCheck %s
// RUN: kvq-emulate %s --chip=sm_90a --kernel=copy_in_loop --arg=const-iota:i32:32 --arg=zeros:128 --print=1:i32:6 --order=random | FileCheck %s
// CHECK: {{^}}0, 1, 2, 3, 4, 5{{$}}

// RUN: not kvq-emulate %s --chip=sm_90a --kernel=no_wait --arg=const-iota:i32:32 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: load of 4 bytes in 'no_wait' at mbarriers.mlir:[[#]]:[[#]]: unawaited copy: shared memory at [[#]] is the target of an asynchronous copy
// Lane 0 waits for all, the others only for lane 0 at a shuffle.
// RUN: not kvq-emulate %s --chip=sm_90a --kernel=one_waits --arg=const-iota:i32:32 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not kvq-emulate %s --chip=sm_90a --kernel=one_waits --arg=const-iota:i32:32 --arg=zeros:128 --order=random 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: load of 4 bytes in 'one_waits' at mbarriers.mlir:[[#]]:[[#]]: race: nothing orders it after the write of shared memory at [[#]] by thread (0, 0, 0), llvm.nvvm.cp.async.bulk.global.to.shared.cta
// RUN: not kvq-emulate %s --chip=sm_90a --kernel=no_arrival --arg=const-iota:i32:32 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=ARRIVAL
// ARRIVAL: deadlock: thread (0, 0, 0) waits at {{.*}}mbarrier.try_wait.parity
// RUN: not kvq-emulate %s --chip=sm_90a --kernel=no_init --arg=const-iota:i32:32 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=INIT
// INIT: llvm.nvvm.mbarrier.arrive.shared in 'no_init' at {{.*}}: unwritten: nobody has written shared memory at
// RUN: not kvq-emulate %s --chip=sm_90a --kernel=racy_init --arg=const-iota:i32:32 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=RACY
// RACY: llvm.nvvm.mbarrier.arrive.shared in 'racy_init' at {{.*}}: race: nothing orders it after the write of shared memory at {{[0-9]+}} by thread (0, 0, 0), llvm.nvvm.mbarrier.init.shared
// RUN: not kvq-emulate %s --chip=sm_90a --kernel=too_many --arg=const-iota:i32:32 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: kernel 'too_many', block (0, 0, 0), deadlock: thread (0, 0, 0) waits at inline assembly '{ .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity

// 64 threads of which the first half produces and the second consumes, twice,
// with an mbarrier for each direction.
// RUN: kvq-emulate %s --chip=sm_90a --kernel=pipeline --block=64 --arg=zeros:256 --print=0:i32 | FileCheck %s --check-prefix=PIPELINE
// RUN: kvq-emulate %s --chip=sm_90a --kernel=pipeline --block=64 --arg=zeros:256 --print=0:i32 --order=reverse | FileCheck %s --check-prefix=PIPELINE
// RUN: kvq-emulate %s --chip=sm_90a --kernel=pipeline --block=64 --arg=zeros:256 --print=0:i32 --order=random --seed=1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: {{^}}0, 1, 2, {{.*}}, 30, 31, 100, 101, 102, {{.*}}, 131{{$}}
// RUN: not kvq-emulate %s --chip=sm_90a --kernel=one_way --block=64 --arg=zeros:256 2>&1 | FileCheck %s --check-prefix=ONEWAY
// ONEWAY: {{deadlock: thread|race: nothing orders it after|unwritten: nobody has written}}

gpu.module @kernels {
  llvm.mlir.global internal @barriers() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.mlir.global internal @buffer() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x i32>

  // What begins each kernel: lane 0 initializes, copies, and arrives.
  llvm.func @begin(%in: !llvm.ptr<1>) attributes {passthrough = ["alwaysinline"]} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %hint = llvm.mlir.constant(0 : i64) : i64
    %false = llvm.mlir.constant(false) : i1
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %isFirst = llvm.icmp "eq" %lane, %c0 : i32
    llvm.cond_br %isFirst, ^first, ^end
  ^first:
    nvvm.mbarrier.init %barrier, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.arrive.expect_tx %barrier, %c128 : !llvm.ptr<3>, i32
    llvm.call_intrinsic "llvm.nvvm.cp.async.bulk.global.to.shared.cta"(%buffer, %barrier, %in, %c128, %hint, %false) : (!llvm.ptr<3>, !llvm.ptr<3>, !llvm.ptr<1>, i32, i64, i1) -> ()
    llvm.br ^end
  ^end:
    nvvm.bar.warp.sync %all : i32
    llvm.return
  }

  llvm.func @end(%out: !llvm.ptr<1>) attributes {passthrough = ["alwaysinline"]} {
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %own = llvm.getelementptr %buffer[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %value = llvm.load %own : !llvm.ptr<3> -> i32
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @copy(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %time = llvm.mlir.constant(1000 : i32) : i32
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    llvm.call @begin(%in) : (!llvm.ptr<1>) -> ()
    nvvm.mbarrier.try_wait.parity %barrier, %c0, %time : !llvm.ptr<3>, i32, i32
    llvm.call @end(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @copy_in_loop(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    llvm.call @begin(%in) : (!llvm.ptr<1>) -> ()
    llvm.br ^wait
  ^wait:
    %done = llvm.call_intrinsic "llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta"(%barrier, %c0) : (!llvm.ptr<3>, i32) -> i1
    llvm.cond_br %done, ^end, ^wait
  ^end:
    llvm.call @end(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @no_wait(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    llvm.call @begin(%in) : (!llvm.ptr<1>) -> ()
    llvm.call @end(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @one_waits(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %time = llvm.mlir.constant(1000 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    llvm.call @begin(%in) : (!llvm.ptr<1>) -> ()
    %isFirst = llvm.icmp "eq" %lane, %c0 : i32
    llvm.cond_br %isFirst, ^first, ^end
  ^first:
    nvvm.mbarrier.try_wait.parity %barrier, %c0, %time : !llvm.ptr<3>, i32, i32
    llvm.br ^end
  ^end:
    %sum = nvvm.redux.sync add %lane, %all : i32 -> i32
    llvm.call @end(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @no_arrival(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %time = llvm.mlir.constant(1000 : i32) : i32
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    llvm.call @begin(%in) : (!llvm.ptr<1>) -> ()
    // The next phase, at which nobody arrives, behind the first.
    %c0 = llvm.mlir.constant(0 : i32) : i32
    nvvm.mbarrier.try_wait.parity %barrier, %c0, %time : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.try_wait.parity %barrier, %c1, %time : !llvm.ptr<3>, i32, i32
    llvm.call @end(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @no_init(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %barrier : !llvm.ptr<3> -> i64
    llvm.return
  }

  llvm.func @racy_init(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %isFirst = llvm.icmp "eq" %lane, %c0 : i32
    llvm.cond_br %isFirst, ^first, ^end
  ^first:
    nvvm.mbarrier.init %barrier, %c32 : !llvm.ptr<3>, i32
    llvm.br ^end
  ^end:
    %state = nvvm.mbarrier.arrive %barrier : !llvm.ptr<3> -> i64
    llvm.return
  }

  // More bytes expected than come.
  llvm.func @too_many(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %time = llvm.mlir.constant(1000 : i32) : i32
    %barrier = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    llvm.call @begin(%in) : (!llvm.ptr<1>) -> ()
    llvm.call_intrinsic "llvm.nvvm.mbarrier.expect.tx.scope.cta.space.cta"(%barrier, %c16) : (!llvm.ptr<3>, i32) -> ()
    nvvm.mbarrier.try_wait.parity %barrier, %c0, %time : !llvm.ptr<3>, i32, i32
    llvm.return
  }

  llvm.func @rounds(%out: !llvm.ptr<1>, %waitsForEmpty: i1) attributes {passthrough = ["alwaysinline"]} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c100 = llvm.mlir.constant(100 : i32) : i32
    %time = llvm.mlir.constant(1000 : i32) : i32
    %full = llvm.mlir.addressof @barriers : !llvm.ptr<3>
    %empty = llvm.getelementptr %full[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %own = llvm.getelementptr %buffer[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %isFirst = llvm.icmp "eq" %thread, %c0 : i32
    llvm.cond_br %isFirst, ^first, ^begin
  ^first:
    nvvm.mbarrier.init %full, %c32 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty, %c32 : !llvm.ptr<3>, i32
    llvm.br ^begin
  ^begin:
    nvvm.barrier0
    %produces = llvm.icmp "ult" %thread, %c32 : i32
    llvm.cond_br %produces, ^produce(%c0 : i32), ^consume(%c0 : i32)
  ^produce(%i: i32):
    // The other phase of the empty buffer is complete from the beginning.
    %parity = llvm.xor %i, %c1 : i32
    llvm.cond_br %waitsForEmpty, ^wait, ^write
  ^wait:
    nvvm.mbarrier.try_wait.parity %empty, %parity, %time : !llvm.ptr<3>, i32, i32
    llvm.br ^write
  ^write:
    %base = llvm.mul %i, %c100 : i32
    %value = llvm.add %base, %lane : i32
    llvm.store %value, %own : i32, !llvm.ptr<3>
    %state = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64
    %next = llvm.add %i, %c1 : i32
    %again = llvm.icmp "ult" %next, %c2 : i32
    llvm.cond_br %again, ^produce(%next : i32), ^end
  ^consume(%j: i32):
    nvvm.mbarrier.try_wait.parity %full, %j, %time : !llvm.ptr<3>, i32, i32
    %read = llvm.load %own : !llvm.ptr<3> -> i32
    %row = llvm.mul %j, %c32 : i32
    %index = llvm.add %row, %lane : i32
    %to = llvm.getelementptr %out[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %read, %to : i32, !llvm.ptr<1>
    %state2 = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64
    %following = llvm.add %j, %c1 : i32
    %more = llvm.icmp "ult" %following, %c2 : i32
    llvm.cond_br %more, ^consume(%following : i32), ^end
  ^end:
    llvm.return
  }

  llvm.func @pipeline(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %true = llvm.mlir.constant(true) : i1
    llvm.call @rounds(%out, %true) : (!llvm.ptr<1>, i1) -> ()
    llvm.return
  }

  llvm.func @one_way(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %false = llvm.mlir.constant(false) : i1
    llvm.call @rounds(%out, %false) : (!llvm.ptr<1>, i1) -> ()
    llvm.return
  }
}
