// Bulk copies write by another proxy than stores do: behind a fence, to what
// nobody reads any more, 16 bytes or a multiple of them.
// DEFINE: %{run} = kvq-emulate %s --chip=sm_90a --arg=const-iota:i32:32 --arg=zeros:128

// The fence is that of who has written, or that of who copies.
// RUN: %{run} --kernel=writers_fence --print=1:i32:3 | FileCheck %s
// RUN: %{run} --kernel=writers_fence --print=1:i32:3 --order=reverse | FileCheck %s
// RUN: %{run} --kernel=writers_fence --print=1:i32:3 --order=random | FileCheck %s
// RUN: %{run} --kernel=copier_fences --print=1:i32:3 | FileCheck %s
// RUN: %{run} --kernel=copier_fences --print=1:i32:3 --order=random | FileCheck %s
// CHECK: {{^}}0, 1, 2{{$}}
// A second copy comes after the first without one.
// RUN: %{run} --kernel=copy_twice --print=1:i32:3 | FileCheck %s

// RUN: not %{run} --kernel=no_fence 2>&1 | FileCheck %s --check-prefix=FENCE
// RUN: not %{run} --kernel=no_fence --order=reverse 2>&1 | FileCheck %s --check-prefix=FENCE
// RUN: not %{run} --kernel=fence_before 2>&1 | FileCheck %s --check-prefix=FENCE
// RUN: not %{run} --kernel=fence_before --order=random 2>&1 | FileCheck %s --check-prefix=FENCE
// FENCE: llvm.nvvm.cp.async.bulk.global.to.shared.cluster in '{{no_fence|fence_before}}' at bulk-copies.mlir:[[#]]:[[#]]: unfenced: no fence.proxy.async orders it after the write of shared memory at [[#]] by thread ([[#]], 0, 0), store of 4 bytes

// RUN: not %{run} --kernel=others_read 2>&1 | FileCheck %s --check-prefix=READ
// RUN: not %{run} --kernel=others_read --order=random 2>&1 | FileCheck %s --check-prefix=READ
// READ: {{race: nothing orders it after the read of shared memory|unawaited copy}}
// RUN: not %{run} --kernel=narrow 2>&1 | FileCheck %s --check-prefix=NARROW
// NARROW: llvm.nvvm.cp.async.bulk.global.to.shared.cluster in 'narrow' at {{.*}}: expected a multiple of 16 bytes, got 100
// RUN: not %{run} --kernel=shifted 2>&1 | FileCheck %s --check-prefix=SHIFTED
// SHIFTED: llvm.nvvm.cp.async.bulk.global.to.shared.cluster in 'shifted' at {{.*}}: misaligned: shared memory at {{[0-9]+}}, expected a multiple of 16
// RUN: not %{run} --kernel=too_long 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: llvm.nvvm.cp.async.bulk.global.to.shared.cluster in 'too_long' at {{.*}}: out of bounds: 144 bytes

gpu.module @kernels {
  llvm.mlir.global internal @barrier() {addr_space = 3 : i32, alignment = 8 : i64} : i64
  llvm.mlir.global internal @buffer() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i32>

  llvm.func @init() attributes {passthrough = ["alwaysinline"]} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>
    %isFirst = nvvm.elect.sync -> i1
    llvm.cond_br %isFirst, ^first, ^end
  ^first:
    nvvm.mbarrier.init %barrier, %c1 : !llvm.ptr<3>, i32
    llvm.br ^end
  ^end:
    nvvm.bar.warp.sync %all : i32
    llvm.return
  }

  // One lane copies.
  llvm.func @copy(%in: !llvm.ptr<1>, %bytes: i32, %shift: i32) attributes {passthrough = ["alwaysinline"]} {
    %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %to = llvm.getelementptr %buffer[%shift] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %target = llvm.addrspacecast %to : !llvm.ptr<3> to !llvm.ptr<7>
    %isFirst = nvvm.elect.sync -> i1
    llvm.cond_br %isFirst, ^first, ^end
  ^first:
    nvvm.mbarrier.arrive.expect_tx %barrier, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %target, %in, %barrier, %bytes : !llvm.ptr<7>, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  }

  llvm.func @wait(%parity: i32) attributes {passthrough = ["alwaysinline"]} {
    %time = llvm.mlir.constant(1000 : i32) : i32
    %barrier = llvm.mlir.addressof @barrier : !llvm.ptr<3>
    nvvm.mbarrier.try_wait.parity %barrier, %parity, %time : !llvm.ptr<3>, i32, i32
    llvm.return
  }

  llvm.func @write() attributes {passthrough = ["alwaysinline"]} {
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %own = llvm.getelementptr %buffer[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store volatile %lane, %own : i32, !llvm.ptr<3>
    llvm.return
  }

  llvm.func @read(%out: !llvm.ptr<1>) attributes {passthrough = ["alwaysinline"]} {
    %buffer = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %own = llvm.getelementptr %buffer[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    %value = llvm.load volatile %own : !llvm.ptr<3> -> i32
    %to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @writers_fence(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    llvm.call @write() : () -> ()
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.call @read(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @copier_fences(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    llvm.call @write() : () -> ()
    llvm.call @init() : () -> ()
    %isFirst = nvvm.elect.sync -> i1
    llvm.cond_br %isFirst, ^first, ^end
  ^first:
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
    llvm.br ^end
  ^end:
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.call @read(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @copy_twice(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.call @read(%out) : (!llvm.ptr<1>) -> ()
    nvvm.bar.warp.sync %all : i32
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c1) : (i32) -> ()
    llvm.call @read(%out) : (!llvm.ptr<1>) -> ()
    llvm.return
  }

  llvm.func @no_fence(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    llvm.call @write() : () -> ()
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.return
  }

  llvm.func @fence_before(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    llvm.call @write() : () -> ()
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.return
  }

  // The first copy has come and lanes read it; nothing says that they have.
  llvm.func @others_read(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.call @read(%out) : (!llvm.ptr<1>) -> ()
    llvm.call @copy(%in, %c128, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c1) : (i32) -> ()
    llvm.return
  }

  llvm.func @narrow(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c100 = llvm.mlir.constant(100 : i32) : i32
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c100, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.return
  }

  llvm.func @shifted(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c8 = llvm.mlir.constant(8 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c64, %c8) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.return
  }

  llvm.func @too_long(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c144 = llvm.mlir.constant(144 : i32) : i32
    llvm.call @init() : () -> ()
    llvm.call @copy(%in, %c144, %c0) : (!llvm.ptr<1>, i32, i32) -> ()
    llvm.call @wait(%c0) : (i32) -> ()
    llvm.return
  }
}
