// What the emulator does not know is named, with its place.
// RUN: split-file %s %t
// RUN: not kvq-emulate %t/intrinsic.mlir 2>&1 | FileCheck %s --check-prefix=INTRINSIC
// RUN: not kvq-emulate %t/assembly.mlir 2>&1 | FileCheck %s --check-prefix=ASSEMBLY
// RUN: not kvq-emulate %t/frame.mlir 2>&1 | FileCheck %s --check-prefix=FRAME

//--- intrinsic.mlir
// INTRINSIC: kvq-emulate: error: the emulator does not know 'llvm.nvvm.activemask' in 'kernel' at intrinsic.mlir:[[#]]:[[#]], 'llvm.nvvm.fns' in 'kernel' at intrinsic.mlir:[[#]]:[[#]]{{$}}
gpu.module @kernels {
  llvm.func @kernel(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    %mask = llvm.call_intrinsic "llvm.nvvm.activemask"() : () -> i32
    %nth = llvm.call_intrinsic "llvm.nvvm.fns"(%mask, %mask, %mask) : (i32, i32, i32) -> i32
    llvm.store %nth, %out : i32, !llvm.ptr<1>
    llvm.return
  }
}

//--- assembly.mlir
// ASSEMBLY: kvq-emulate: error: the emulator does not know inline assembly 'brev.b32 $0, $1;' in 'kernel' at assembly.mlir:[[#]]:[[#]]
gpu.module @kernels {
  llvm.func @kernel(%out: !llvm.ptr<1>, %bits: i32) attributes {gpu.kernel, nvvm.kernel} {
    %reversed = llvm.inline_asm "brev.b32 $0, $1;", "=r,r" %bits : (i32) -> i32
    llvm.store %reversed, %out : i32, !llvm.ptr<1>
    llvm.return
  }
}

//--- frame.mlir
// FRAME: kvq-emulate: error: function 'kernel': expected at most 131072 bytes of local variables, got 400000
gpu.module @kernels {
  llvm.func @kernel(%out: !llvm.ptr<1>, %index: i32) attributes {gpu.kernel, nvvm.kernel} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %array = llvm.alloca %c1 x !llvm.array<100000 x i32> : (i32) -> !llvm.ptr
    %to = llvm.getelementptr %array[%index] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    llvm.store volatile %c1, %to : i32, !llvm.ptr
    llvm.return
  }
}
