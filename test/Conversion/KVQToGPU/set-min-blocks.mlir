// RUN: kvq-opt %s -kvq-attach-nvvm-target=chip=sm_90a -kvq-set-min-blocks | FileCheck %s
// RUN: kvq-opt %s -kvq-attach-nvvm-target=chip=sm_80 -kvq-set-min-blocks | FileCheck %s --check-prefix=SM80

module attributes {gpu.container_module} {
  // The kernels' bytes: dynamic ones, and those of their own buffers.
  func.func @launches(%n: index) {
    %c98304 = arith.constant 98304 : i32
    %c16384 = arith.constant 16384 : i32
    gpu.launch_func @kernels::@large blocks in (%n, %n, %n) threads in (%n, %n, %n)
        dynamic_shared_memory_size %c98304
    gpu.launch_func @kernels::@small blocks in (%n, %n, %n) threads in (%n, %n, %n)
        dynamic_shared_memory_size %c16384
    gpu.launch_func @kernels::@none blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
  gpu.module @kernels {
    // CHECK:      gpu.func @large() workgroup({{.*}}) kernel {
    // SM80:       gpu.func @large() workgroup({{.*}}) kernel attributes {nvvm.minctasm = 1 : i32}
    gpu.func @large() workgroup(%rows: memref<1024xf32, #gpu.address_space<workgroup>>) kernel {
      gpu.return
    }
    // CHECK:      gpu.func @small() kernel {
    gpu.func @small() kernel {
      gpu.return
    }
    // CHECK:      gpu.func @none() kernel {
    gpu.func @none() kernel {
      gpu.return
    }
  }
}
