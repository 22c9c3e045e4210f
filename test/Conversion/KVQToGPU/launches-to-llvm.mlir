// RUN: kvq-opt %s --kvq-launches-to-llvm | FileCheck %s
// RUN: kvq-opt %s --kvq-launches-to-llvm-pipeline \
// RUN:   | FileCheck %s --check-prefix=ALL

// The arguments are those of the kernel: a memref is two pointers, offset, sizes
// and strides. What calls another function hands the call on.

// CHECK-DAG:   llvm.func @kvq_allocate(!llvm.ptr, i64) -> !llvm.ptr
// CHECK-DAG:   llvm.func @kvq_free(!llvm.ptr, !llvm.ptr)
// CHECK-DAG:   llvm.func @kvq_launch(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr, i64)
// CHECK-DAG:   llvm.mlir.global internal constant @kvq_name_k("k\00")
// CHECK-NOT:   gpu.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[CALL:[a-z0-9]+]]: !llvm.ptr, %[[X:[a-z0-9]+]]: memref<?xf32>, %[[N:[a-z0-9]+]]: index)
// CHECK:         %[[STORAGE:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, ptr, i64, i64, i64, i64)>
// CHECK:         %[[ADDRESSES:.*]] = llvm.alloca %{{.*}} x !llvm.array<6 x ptr>
// CHECK:         %[[MEMORY:.*]] = llvm.call @kvq_allocate(%[[CALL]], %{{.*}})
// CHECK:         scf.for
// CHECK:           %[[LAST:.*]] = llvm.getelementptr %[[STORAGE]][0, 5]
// CHECK:           llvm.store %{{.*}}, %[[LAST]] : i64
// CHECK:           %[[SLOT:.*]] = llvm.getelementptr %[[ADDRESSES]][0, 5]
// CHECK:           llvm.store %[[LAST]], %[[SLOT]]
// CHECK:           %[[COUNT:.*]] = llvm.mlir.constant(6 : i64)
// CHECK:           %[[NAME:.*]] = llvm.mlir.addressof @kvq_name_k
// CHECK:           llvm.call @kvq_launch(%[[CALL]], %[[NAME]], %{{.*}}, %[[ADDRESSES]], %[[COUNT]])
// CHECK:         call @g(%[[CALL]], %[[X]])
// CHECK:         llvm.call @kvq_free(%[[CALL]], %{{.*}})
// CHECK:       func.func private @g(%{{.*}}: !llvm.ptr, %{{.*}}: memref<?xf32>)

// ALL-NOT:     unrealized
// ALL:         llvm.func @f(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// ALL:           llvm.call @kvq_launch
// ALL:         llvm.func @g
module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx78">] {
    llvm.func @k(%a: !llvm.ptr, %b: !llvm.ptr, %o: i64, %s: i64, %t: i64, %n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @f(%x: memref<?xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %bytes = arith.constant 65536 : i32
    %scratch = gpu.alloc (%n) : memref<?x4xf32>
    scf.for %i = %c0 to %n step %c1 {
      gpu.launch_func @kernels::@k blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%x : memref<?xf32>, %i : index)
    }
    func.call @g(%x) : (memref<?xf32>) -> ()
    gpu.dealloc %scratch : memref<?x4xf32>
    return
  }
  func.func private @g(%x: memref<?xf32>) {
    return
  }
}
