// RUN: kvq-opt %s --kvq-launches-to-llvm -split-input-file -verify-diagnostics

func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error@+1 {{failed to legalize operation 'gpu.memcpy'}}
  gpu.memcpy %x, %y : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+2 {{expected contiguous memory of the device, without tokens}}
  // expected-error@+1 {{failed to legalize operation 'gpu.alloc'}}
  %x = gpu.alloc host_shared () : memref<4xf32>
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f(%n: index) {
    // expected-error@+2 {{expected launches without clusters}}
    // expected-error@+1 {{failed to legalize operation 'gpu.launch_func'}}
    gpu.launch_func @kernels::@k clusters in (%n, %n, %n) blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
}

// -----

// expected-error@+1 {{expected no function called 'kvq_allocate', which is the run-time library's}}
func.func private @kvq_allocate(i32)
