// What lanes of a warp must not do at a collective.

// RUN: not kvq-emulate %s --kernel=not_in_mask --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: kernel 'not_in_mask', block (0, 0, 0), thread (16, 0, 0), llvm.nvvm.redux.sync.add in 'not_in_mask' at divergent.mlir:[[#]]:[[#]]: divergent: lane 16 is not part of its own mask 0xffff

// RUN: not kvq-emulate %s --kernel=two_masks --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=MASKS
// MASKS: thread (16, 0, 0), {{.*}}: divergent: lane 0 of the warp waits at llvm.nvvm.redux.sync.add at divergent.mlir:[[#]]:[[#]] with mask 0xffffffff, this one is at llvm.nvvm.redux.sync.add at divergent.mlir:[[#]]:[[#]] with mask 0xffff0000

// RUN: not kvq-emulate %s --kernel=two_operations --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=OPERATIONS
// RUN: not kvq-emulate %s --kernel=two_operations --arg=zeros:128 --order=reverse 2>&1 | FileCheck %s --check-prefix=REVERSED
// OPERATIONS: thread (16, 0, 0), {{.*}}: divergent: lane 0 of the warp waits at llvm.nvvm.redux.sync.add {{.*}}, this one is at llvm.nvvm.redux.sync.max
// REVERSED: thread (15, 0, 0), {{.*}}: divergent: lane 16 of the warp waits at llvm.nvvm.redux.sync.max {{.*}}, this one is at llvm.nvvm.redux.sync.add

// RUN: not kvq-emulate %s --kernel=absent_lane --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: thread (12, 0, 0), {{.*}}: divergent: lane 12 reads lane 16, which does not take part

// RUN: not kvq-emulate %s --kernel=small_block --block=16 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: divergent: mask 0xffffffff has lanes that the block does not have, 0xffff0000

// An instruction that all lanes must be at, for lanes that branch apart, and
// after some have gone.
// RUN: not kvq-emulate %s --kernel=two_products --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=ALIGNED
// ALIGNED: thread (16, 0, 0), llvm.nvvm.mma{{.*}}: divergent: lane 0 of the warp waits at llvm.nvvm.mma
// RUN: not kvq-emulate %s --kernel=product_of_some --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=EXITED
// EXITED: divergent: all 32 lanes of the warp have to execute it, lanes 0xffff0000 have exited

// A collective that others never come to.
// RUN: not kvq-emulate %s --kernel=never --block=64 --arg=zeros:128 2>&1 | FileCheck %s --check-prefix=NEVER
// NEVER: kernel 'never', block (0, 0, 0), deadlock: thread (0, 0, 0) waits at llvm.nvvm.redux.sync.add in 'never' at divergent.mlir:[[#]]:[[#]]; thread (16, 0, 0) waits at llvm.nvvm.barrier.cta.sync.aligned.all in 'never' at divergent.mlir:[[#]]:[[#]]{{$}}

// And their twins.
// RUN: kvq-emulate %s --kernel=right --arg=zeros:128 --print=0:i32:1 | FileCheck %s
// RUN: kvq-emulate %s --kernel=right --arg=zeros:128 --print=0:i32:1 --order=reverse | FileCheck %s
// CHECK: {{^}}496{{$}}

gpu.module @kernels {
  llvm.func @not_in_mask(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %low = llvm.mlir.constant(0xffff : i32) : i32
    %sum = nvvm.redux.sync add %lane, %low : i32 -> i32
    llvm.store %sum, %out : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @two_masks(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %high = llvm.mlir.constant(0xffff0000 : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    %mask = llvm.select %isLow, %all, %high : i1, i32
    %sum = nvvm.redux.sync add %lane, %mask : i32 -> i32
    llvm.store %sum, %out : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @two_operations(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^high
  ^low:
    %a = nvvm.redux.sync add %lane, %all : i32 -> i32
    llvm.br ^end(%a : i32)
  ^high:
    %b = nvvm.redux.sync max %lane, %all : i32 -> i32
    llvm.br ^end(%b : i32)
  ^end(%sum: i32):
    llvm.store %sum, %out : i32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @absent_lane(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %low = llvm.mlir.constant(0xffff : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^end
  ^low:
    %value = nvvm.shfl.sync down %low, %lane, %c4, %c31 : i32 -> i32
    llvm.store %value, %out : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  }

  llvm.func @small_block(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %all = llvm.mlir.constant(-1 : i32) : i32
    nvvm.bar.warp.sync %all : i32
    llvm.return
  }

  llvm.func @two_products(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %one = llvm.mlir.constant(1.0 : f32) : f32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %ones = llvm.mlir.constant(dense<1.0> : vector<2xf16>) : vector<2xf16>
    %twos = llvm.mlir.constant(dense<2.0> : vector<2xf16>) : vector<2xf16>
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^high
  ^low:
    %a = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.f32.f32"(%ones, %ones, %ones, %zero, %zero, %zero, %zero) : (vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %a0 = llvm.extractvalue %a[0] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store %a0, %out : f32, !llvm.ptr<1>
    llvm.return
  ^high:
    %b = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.f32.f32"(%twos, %twos, %twos, %one, %one, %one, %one) : (vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %b1 = llvm.extractvalue %b[1] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store %b1, %out : f32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @product_of_some(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %ones = llvm.mlir.constant(dense<1.0> : vector<2xf16>) : vector<2xf16>
    %low = llvm.mlir.constant(0xffff : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^end
  ^low:
    nvvm.bar.warp.sync %low : i32
    %a = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.f32.f32"(%ones, %ones, %ones, %zero, %zero, %zero, %zero) : (vector<2xf16>, vector<2xf16>, vector<2xf16>, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %a0 = llvm.extractvalue %a[0] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store %a0, %out : f32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    llvm.return
  }

  llvm.func @never(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^end
  ^low:
    %sum = nvvm.redux.sync add %lane, %all : i32 -> i32
    llvm.store %sum, %out : i32, !llvm.ptr<1>
    llvm.br ^end
  ^end:
    nvvm.barrier0
    llvm.return
  }

  llvm.func @right(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %lane = nvvm.read.ptx.sreg.laneid : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %isLow = llvm.icmp "ult" %lane, %c16 : i32
    llvm.cond_br %isLow, ^low, ^high
  // Two instructions of the same operation are one collective, unless it is an
  // aligned one.
  ^low:
    %a = nvvm.redux.sync add %lane, %all : i32 -> i32
    llvm.store %a, %out : i32, !llvm.ptr<1>
    llvm.br ^end
  ^high:
    %b = nvvm.redux.sync add %lane, %all : i32 -> i32
    llvm.br ^end
  ^end:
    llvm.return
  }
}
