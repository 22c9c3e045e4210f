// RUN: kvq-opt %s --kvq-check-capabilities -split-input-file -verify-diagnostics

// Each instruction that some chips lack, on the chips that have it, as an op, as
// an intrinsic and as inline assembly.
gpu.module @conversions [#nvvm.target<chip = "sm_89", features = "+ptx81">,
                         #nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @f(%x: vector<2xi8>, %y: i16) {
    %0 = nvvm.convert.f8x2.to.f16x2 %x : vector<2xi8> (f8E4M3FN) -> vector<2xf16>
    %1 = llvm.call_intrinsic "llvm.nvvm.e5m2x2.to.f16x2.rn"(%y) : (i16) -> vector<2xf16>
    %2 = llvm.inline_asm "cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h" %y : (i16) -> i32
    llvm.return
  }
}

// -----

// A launch may ask for as much shared memory as a block can have.
module attributes {gpu.container_module} {
  gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx78">] {
    llvm.mlir.global internal @static() {addr_space = 3 : i32} : !llvm.array<12288 x i32>
    llvm.mlir.global external @dynamic() {addr_space = 3 : i32} : !llvm.array<0 x i8>
    llvm.func @k(%x: i32) attributes {gpu.kernel, nvvm.kernel} {
      %0 = llvm.inline_asm "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r" %x : (i32) -> i32
      llvm.return
    }
  }
  func.func @f(%x: i32) {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 166912 : i32
    gpu.launch_func @m::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      dynamic_shared_memory_size %bytes args(%x : i32)
    return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx90">] {
  llvm.func @f(%x: vector<2xi8>) {
    // expected-error@+1 {{expected a chip with fp8 conversions (sm_89, sm_90a, sm_100a, sm_120a), found sm_80}}
    %0 = nvvm.convert.f8x2.to.f16x2 %x : vector<2xi8> (f8E4M3FN) -> vector<2xf16>
    llvm.return
  }
}

// -----

// Every target counts.
gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx84">,
               #nvvm.target<chip = "sm_89", features = "+ptx81">] {
  llvm.func @f(%a: i32, %c: f32) {
    // expected-error@+1 {{expected PTX 8.4 or later for fp8 matrix products on sm_89, found 8.1}}
    %0 = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"(%a, %a, %a, %a, %a, %a, %c, %c, %c, %c) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    llvm.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx70">] {
  llvm.func @f(%x: i32) {
    // expected-error@+1 {{expected PTX 7.8 or later for transposes of matrices on sm_80, found 7.0}}
    %0 = llvm.inline_asm "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r" %x : (i32) -> i32
    llvm.return
  }
}

// -----

gpu.module @m [#nvvm.target<chip = "sm_89", features = "+ptx90">] {
  llvm.func @f(%to: !llvm.ptr<3>, %barrier: !llvm.ptr<3>, %from: !llvm.ptr<1>, %n: i32) {
    // expected-error@+1 {{expected a chip with bulk copies (sm_90a, sm_100a, sm_120a), found sm_89}}
    llvm.inline_asm has_side_effects "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];", "r,l,r,r" %to, %from, %n, %barrier : (!llvm.ptr<3>, !llvm.ptr<1>, i32, !llvm.ptr<3>) -> ()
    llvm.return
  }
}

// -----

// Scales of e8m0 are as new as fp4.
gpu.module @m [#nvvm.target<chip = "sm_90a", features = "+ptx90">] {
  llvm.func @f(%x: vector<2xi8>) {
    // expected-error@+1 {{expected a chip with fp4 conversions (sm_100a, sm_120a), found sm_90a}}
    %0 = nvvm.convert.f8x2.to.bf16x2 %x : vector<2xi8> (f8E8M0FNU) -> vector<2xbf16>
    llvm.return
  }
}

// -----

// expected-error@+1 {{expected a gpu.module with targets, found none}}
gpu.module @m {
}

// -----

// expected-error@+1 {{expected a PTX version such as "+ptx80" as the features of an #nvvm.target, found ""}}
gpu.module @m [#nvvm.target<chip = "sm_80", features = "">] {
}

// -----

// Each kernel has its own.
gpu.module @m [#nvvm.target<chip = "sm_80", features = "+ptx78">] {
  llvm.mlir.global internal @a() {addr_space = 3 : i32} : !llvm.array<12288 x i32>
  llvm.mlir.global internal @b() {addr_space = 3 : i32} : i32
  llvm.func @one() attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.addressof @a : !llvm.ptr<3>
    %1 = llvm.mlir.addressof @a : !llvm.ptr<3>
    llvm.return
  }
  // expected-error@+1 {{expected at most 49152 bytes of shared memory that is not dynamic, found 49156}}
  llvm.func @both() attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.addressof @a : !llvm.ptr<3>
    %1 = llvm.mlir.addressof @b : !llvm.ptr<3>
    llvm.return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m [#nvvm.target<chip = "sm_89", features = "+ptx78">] {
    llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f() {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 101377 : i32
    // expected-error@+1 {{expected at most 101376 bytes of shared memory on sm_89, found 101377}}
    gpu.launch_func @m::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      dynamic_shared_memory_size %bytes
    return
  }
}
