// RUN: kvq-opt %s -kvq-attach-nvvm-target=chip=sm_90a -kvq-set-min-blocks | FileCheck %s
// RUN: kvq-opt %s -kvq-attach-nvvm-target=chip=sm_80 -kvq-set-min-blocks | FileCheck %s --check-prefix=SM80

module attributes {gpu.container_module} {
  // The kernels' bytes: dynamic ones, and those of their own buffers.
  func.func @launches(%n: index) {
    %c98304 = arith.constant 98304 : i32
    %c16384 = arith.constant 16384 : i32
    gpu.launch_func @kernels::@large blocks in (%n, %n, %n) threads in (%n, %n, %n)
        dynamic_shared_memory_size %c98304
    gpu.launch_func @kernels::@narrow blocks in (%n, %n, %n) threads in (%n, %n, %n)
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
      %i = arith.constant 1 : index
      %z = arith.constant 0.0 : f32
      %r:65 = scf.for %k = %i to %i step %i
          iter_args(%v0 = %z, %v1 = %z, %v2 = %z, %v3 = %z, %v4 = %z, %v5 = %z, %v6 = %z, %v7 = %z, %v8 = %z, %v9 = %z, %v10 = %z, %v11 = %z, %v12 = %z, %v13 = %z, %v14 = %z, %v15 = %z, %v16 = %z, %v17 = %z, %v18 = %z, %v19 = %z, %v20 = %z, %v21 = %z, %v22 = %z, %v23 = %z, %v24 = %z, %v25 = %z, %v26 = %z, %v27 = %z, %v28 = %z, %v29 = %z, %v30 = %z, %v31 = %z, %v32 = %z, %v33 = %z, %v34 = %z, %v35 = %z, %v36 = %z, %v37 = %z, %v38 = %z, %v39 = %z, %v40 = %z, %v41 = %z, %v42 = %z, %v43 = %z, %v44 = %z, %v45 = %z, %v46 = %z, %v47 = %z, %v48 = %z, %v49 = %z, %v50 = %z, %v51 = %z, %v52 = %z, %v53 = %z, %v54 = %z, %v55 = %z, %v56 = %z, %v57 = %z, %v58 = %z, %v59 = %z, %v60 = %z, %v61 = %z, %v62 = %z, %v63 = %z, %v64 = %z)
          -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
        scf.yield %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7, %v8, %v9, %v10, %v11, %v12, %v13, %v14, %v15, %v16, %v17, %v18, %v19, %v20, %v21, %v22, %v23, %v24, %v25, %v26, %v27, %v28, %v29, %v30, %v31, %v32, %v33, %v34, %v35, %v36, %v37, %v38, %v39, %v40, %v41, %v42, %v43, %v44, %v45, %v46, %v47, %v48, %v49, %v50, %v51, %v52, %v53, %v54, %v55, %v56, %v57, %v58, %v59, %v60, %v61, %v62, %v63, %v64 : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
      }
      gpu.return
    }
    // Few values in loops, so that registers suffice for more.
    //
    // CHECK:      gpu.func @narrow() workgroup({{.*}}) kernel {
    // SM80:       gpu.func @narrow() workgroup({{.*}}) kernel {
    gpu.func @narrow() workgroup(%rows: memref<1024xf32, #gpu.address_space<workgroup>>) kernel {
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
