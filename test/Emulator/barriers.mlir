// Warps 0 and 1 meet at barrier 1, the other two at barrier 2, and sum what the
// other one has.
// RUN: kvq-emulate %s --kernel=named --block=128 --arg=zeros:512 --print=0:i32 | FileCheck %s
// RUN: kvq-emulate %s --kernel=named --block=128 --arg=zeros:512 --print=0:i32 --order=reverse | FileCheck %s
// RUN: kvq-emulate %s --kernel=named --block=128 --arg=zeros:512 --print=0:i32 --order=random --seed=9 | FileCheck %s
// CHECK: {{^}}32, 33, {{.*}}, 62, 63, 0, 1, {{.*}}, 30, 31, 96, 97, {{.*}}, 126, 127, 64, 65, {{.*}}, 94, 95{{$}}

// The wrong two: nothing orders the accesses.
// RUN: not kvq-emulate %s --kernel=wrong_pairs --block=128 --arg=zeros:512 2>&1 | FileCheck %s --check-prefix=PAIRS
// PAIRS: load of 4 bytes {{.*}}: {{race: nothing orders it after the write|unwritten: nobody has written}}

// A producer arrives and goes on, consumers wait.
// RUN: kvq-emulate %s --kernel=producer --block=64 --arg=zeros:128 --print=0:i32:4 | FileCheck %s --check-prefix=PRODUCER
// RUN: kvq-emulate %s --kernel=producer --block=64 --arg=zeros:128 --print=0:i32:4 --order=reverse | FileCheck %s --check-prefix=PRODUCER
// PRODUCER: {{^}}0, 1, 2, 3{{$}}
// What it writes afterwards is not before the barrier.
// RUN: not kvq-emulate %s --kernel=late_producer --block=64 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=LATE
// RUN: not kvq-emulate %s --kernel=late_producer --block=64 --arg=zeros:128 --order=reverse 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: {{race: nothing orders it after the write|unwritten: nobody has written}}

// Reductions.
// RUN: kvq-emulate %s --kernel=reductions --block=64 --arg=zeros:12 --print=0:i32 | FileCheck %s --check-prefix=REDUCTIONS
// REDUCTIONS: {{^}}40, 0, 1{{$}}

// Barriers that do not end.
// RUN: not kvq-emulate %s --kernel=exited --block=64 2>&1 | FileCheck %s --check-prefix=EXITED
// EXITED: kernel 'exited', block (0, 0, 0), deadlock: thread (0, 0, 0) waits at llvm.nvvm.barrier.cta.sync.aligned.all in 'exited' at barriers.mlir:[[#]]:[[#]]; thread (40, 0, 0) has exited{{$}}
// RUN: not kvq-emulate %s --kernel=other_barrier --block=64 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: deadlock: thread (0, 0, 0) waits at llvm.nvvm.barrier.cta.sync.aligned.all {{.*}}; thread (32, 0, 0) waits at llvm.nvvm.barrier.cta.sync.aligned.all
// RUN: not kvq-emulate %s --kernel=other_place --block=64 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: thread (16, 0, 0), {{.*}}: divergent: other lanes of the warp are at another barrier, llvm.nvvm.barrier.cta.sync.aligned.all at barriers.mlir:[[#]]:[[#]]
// RUN: not kvq-emulate %s --kernel=other_count --block=64 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: divergent: barrier 1 of 32 threads, where others wait for it with 64

gpu.module @kernels {
  llvm.mlir.global internal @buffer() {addr_space = 3 : i32, alignment = 4 : i64} : !llvm.array<128 x i32>

  llvm.func @exchange(%out: !llvm.ptr<1>, %barrier: i32, %distance: i32) attributes {passthrough = ["alwaysinline"]} {
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %own = llvm.getelementptr %buffer[%thread] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %thread, %own : i32, !llvm.ptr<3>
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%barrier, %c64) : (i32, i32) -> ()
    %partner = llvm.xor %thread, %distance : i32
    %other = llvm.getelementptr %buffer[%partner] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %value = llvm.load %other : !llvm.ptr<3> -> i32
    %to = llvm.getelementptr %out[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @named(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %pair = llvm.udiv %thread, %c64 : i32
    %barrier = llvm.add %pair, %c1 : i32
    llvm.call @exchange(%out, %barrier, %c32) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.return
  }

  llvm.func @wrong_pairs(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %pair = llvm.udiv %thread, %c64 : i32
    %barrier = llvm.add %pair, %c1 : i32
    llvm.call @exchange(%out, %barrier, %c64) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.return
  }

  llvm.func @producer(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %own = llvm.getelementptr %buffer[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %produces = llvm.icmp "ult" %thread, %c32 : i32
    llvm.cond_br %produces, ^produce, ^consume
  ^produce:
    llvm.store %lane, %own : i32, !llvm.ptr<3>
    nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    llvm.return
  ^consume:
    nvvm.barrier id = %c1 number_of_threads = %c64
    %value = llvm.load %own : !llvm.ptr<3> -> i32
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @late_producer(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %own = llvm.getelementptr %buffer[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %produces = llvm.icmp "ult" %thread, %c32 : i32
    llvm.cond_br %produces, ^produce, ^consume
  ^produce:
    nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    llvm.store %lane, %own : i32, !llvm.ptr<3>
    llvm.return
  ^consume:
    nvvm.barrier id = %c1 number_of_threads = %c64
    %value = llvm.load %own : !llvm.ptr<3> -> i32
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @reductions(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c40 = llvm.mlir.constant(40 : i32) : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %isLow = llvm.icmp "ult" %thread, %c40 : i32
    %count = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.popc.aligned.all"(%c0, %isLow) : (i32, i1) -> i32
    %and = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.and.aligned.all"(%c0, %isLow) : (i32, i1) -> i1
    %or = llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.or.aligned.all"(%c0, %isLow) : (i32, i1) -> i1
    %and32 = llvm.zext %and : i1 to i32
    %or32 = llvm.zext %or : i1 to i32
    %second = llvm.getelementptr %out[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %third = llvm.getelementptr %out[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    llvm.store %count, %out : i32, !llvm.ptr<1>
    llvm.store %and32, %second : i32, !llvm.ptr<1>
    llvm.store %or32, %third : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @exited() attributes {gpu.kernel, nvvm.kernel} {
    %c40 = llvm.mlir.constant(40 : i32) : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %stays = llvm.icmp "ult" %thread, %c40 : i32
    llvm.cond_br %stays, ^stay, ^end
  ^stay:
    nvvm.barrier0
    llvm.br ^end
  ^end:
    llvm.return
  }

  llvm.func @other_barrier() attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %isLow = llvm.icmp "ult" %thread, %c32 : i32
    llvm.cond_br %isLow, ^low, ^high
  ^low:
    nvvm.barrier0
    llvm.br ^end
  ^high:
    nvvm.barrier id = %c1
    llvm.br ^end
  ^end:
    llvm.return
  }

  // Two instructions, though the same barrier.
  llvm.func @other_place() attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^high
  ^low:
    nvvm.barrier0
    llvm.br ^end
  ^high:
    nvvm.barrier id = %c0 number_of_threads = %c64
    llvm.br ^end
  ^end:
    llvm.return
  }

  llvm.func @other_count() attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %isLow = llvm.icmp "ult" %thread, %c32 : i32
    %count = llvm.select %isLow, %c64, %c32 : i1, i32
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.count"(%c1, %count) : (i32, i32) -> ()
    llvm.return
  }
}
