// RUN: kvq-opt %s --convert-kvq-to-gpu --canonicalize --cse | FileCheck %s
// RUN: kvq-opt %s --convert-kvq-to-gpu=block-size=64 --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefix=SMALL

// One block for each work item, along x; the item's indices come from the
// block's, of 32 bits. The reduction runs in one thread, its sum in a register.
// CHECK-LABEL: func.func @row_sums(
// CHECK-SAME:    %[[X:.+]]: memref<2x3x4x64xf32>, %[[SUMS:.+]]: memref<2x3x4xf32>)
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : index
// CHECK-DAG:     %[[ITEMS:.+]] = arith.constant 6 : index
// CHECK-DAG:     %[[THREE:.+]] = arith.constant 3 : i32
// CHECK-DAG:     %[[ROWS:.+]] = arith.constant 64 : index
// CHECK-DAG:     %[[THREADS:.+]] = arith.constant 128 : index
// CHECK:         gpu.launch
// CHECK-SAME:      blocks(%[[BLOCK:[^,]+]], {{.*}} in (%{{[^ ]+}} = %[[ITEMS]], %{{[^ ]+}} = %[[C1]], %{{[^ ]+}} = %[[C1]])
// CHECK-SAME:      threads(%[[THREAD:[^,]+]], {{.*}} in (%{{.+}} = %[[THREADS]], %{{.+}} = %[[C1]], %{{.+}} = %[[C1]])
// CHECK-SAME:      module(@kernels) function(@row_sums_kernel)
// CHECK-NEXT:      %[[NUMBER:.+]] = arith.index_cast %[[BLOCK]] : index to i32
// CHECK-NEXT:      %[[H32:.+]] = arith.remui %[[NUMBER]], %[[THREE]]
// CHECK-NEXT:      %[[B32:.+]] = arith.divui %[[NUMBER]], %[[THREE]]
// CHECK-NEXT:      %[[H:.+]] = arith.index_cast %[[H32]] : i32 to index
// CHECK-NEXT:      %[[B:.+]] = arith.index_cast %[[B32]] : i32 to index
// CHECK-NEXT:      %[[ROW:.+]] = memref.subview %[[X]][%[[B]], %[[H]], 0, 0]
// CHECK-NEXT:      %[[SUM:.+]] = memref.subview %[[SUMS]][%[[B]], %[[H]], 0]
// CHECK-NEXT:      scf.for %[[I:.+]] = %[[THREAD]] to %[[C4]] step %[[THREADS]] {
// CHECK-NEXT:        %[[INIT:.+]] = memref.load %[[SUM]][%[[I]]]
// CHECK-NEXT:        %[[TOTAL:.+]] = scf.for %[[C:.+]] = %[[C0]] to %[[ROWS]] step %[[C1]] iter_args(%[[ACC:.+]] = %[[INIT]])
// CHECK-NEXT:          %[[ELEMENT:.+]] = memref.load %[[ROW]][%[[I]], %[[C]]]
// CHECK-NEXT:          %[[NEXT:.+]] = arith.addf %[[ACC]], %[[ELEMENT]] fastmath<contract>
// CHECK-NEXT:          scf.yield %[[NEXT]]
// CHECK-NEXT:        }
// CHECK-NEXT:        memref.store %[[TOTAL]], %[[SUM]][%[[I]]]
// CHECK-NEXT:      }
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      gpu.terminator
// SMALL-LABEL: func.func @row_sums(
// SMALL:         %[[THREADS:.+]] = arith.constant 64 : index
// SMALL:         threads({{.*}} in (%{{.+}} = %[[THREADS]],
func.func @row_sums(%x: memref<2x3x4x64xf32>, %sums: memref<2x3x4xf32>) {
  scf.forall (%b, %h) in (2, 3) {
    %row = memref.subview %x[%b, %h, 0, 0] [1, 1, 4, 64] [1, 1, 1, 1]
      : memref<2x3x4x64xf32> to memref<4x64xf32, strided<[64, 1], offset: ?>>
    %sum = memref.subview %sums[%b, %h, 0] [1, 1, 4] [1, 1, 1]
      : memref<2x3x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    linalg.generic {
        indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%row : memref<4x64xf32, strided<[64, 1], offset: ?>>)
        outs(%sum : memref<4xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in fastmath<contract> : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// Scratch and what views it are in workgroup memory; a barrier after each
// access, also the one that all threads make alike. Scratch of a bounded size
// has room for the bound.
// CHECK-LABEL: func.func @scratch(
// CHECK-SAME:    %[[X:.+]]: memref<?x64xf32>, %[[LENGTHS:.+]]: memref<?xi64>)
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]+]],
// CHECK-SAME:      workgroup(%[[TILE:[^ ]+]] : memref<8x64xf32, #gpu.address_space<workgroup>>, %[[FLAT:[^ ]+]] : memref<512xf32, #gpu.address_space<workgroup>>)
// CHECK-NEXT:      %[[LENGTH:.+]] = memref.load %[[LENGTHS]][%[[BLOCK]]]
// CHECK-NEXT:      gpu.barrier
// CHECK:           scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} {
// CHECK-NEXT:        %[[N:.+]] = affine.min
// CHECK-NEXT:        %[[SOURCE:.+]] = memref.subview %[[X]]
// CHECK-NEXT:        %[[TARGET:.+]] = memref.subview %[[TILE]][0, 0] [%[[N]], 64] [1, 1] : memref<8x64xf32, #gpu.address_space<workgroup>> to memref<?x64xf32, strided<[64, 1]>, #gpu.address_space<workgroup>>
// CHECK:             scf.for
// CHECK:               memref.load %[[SOURCE]]
// CHECK-NEXT:          memref.store %{{.+}}, %[[TARGET]]
// CHECK:             gpu.barrier
// CHECK-NEXT:        %[[OTHER:.+]] = memref.reinterpret_cast %[[FLAT]] to offset: [0], sizes: [%[[N]], 64], strides: [64, 1] : memref<512xf32, #gpu.address_space<workgroup>> to memref<?x64xf32, #gpu.address_space<workgroup>>
// CHECK:             scf.for
// CHECK:               memref.store %{{.+}}, %[[OTHER]]
// CHECK:             gpu.barrier
// CHECK-NOT:         dealloc
func.func @scratch(%x: memref<?x64xf32>, %lengths: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sequences = memref.dim %lengths, %c0 : memref<?xi64>
  scf.forall (%b) in (%sequences) {
    %tile = memref.alloca() : memref<8x64xf32>
    %length64 = memref.load %lengths[%b] : memref<?xi64>
    %length = arith.index_cast %length64 : i64 to index
    scf.for %t = %c0 to %length step %c8 {
      %n = affine.min affine_map<(t)[length] -> (length - t, 8)>(%t)[%length]
      %source = memref.subview %x[%t, 0] [%n, 64] [1, 1]
        : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
      %target = memref.subview %tile[0, 0] [%n, 64] [1, 1]
        : memref<8x64xf32> to memref<?x64xf32, strided<[64, 1]>>
      memref.copy %source, %target : memref<?x64xf32, strided<[64, 1], offset: ?>>
        to memref<?x64xf32, strided<[64, 1]>>
      %other = memref.alloc(%n) : memref<?x64xf32>
      linalg.fill ins(%zero : f32) outs(%other : memref<?x64xf32>)
      memref.dealloc %other : memref<?x64xf32>
    }
  }
  return
}

// A store that all threads reach is left to the first. Each launch of a
// function has a name of its own.
// CHECK-LABEL: func.func @stores(
// CHECK:         gpu.launch {{.*}} threads(%[[THREAD:[^,]+]], {{.*}} function(@stores_kernel)
// CHECK:           %[[FIRST:.+]] = arith.cmpi eq, %[[THREAD]], %{{.+}} : index
// CHECK-NEXT:      scf.if %[[FIRST]] {
// CHECK-NEXT:        memref.store
// CHECK-NEXT:      }
// CHECK-NEXT:      gpu.barrier
// CHECK:         gpu.launch {{.*}} function(@stores_kernel_1)
func.func @stores(%x: memref<4xf32>, %y: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    memref.store %zero, %x[%i] : memref<4xf32>
  }
  scf.forall (%i) in (4) {
    memref.store %zero, %y[%i] : memref<4xf32>
  }
  return
}

// What one kernel hands to the next is in the GPU's memory, and its lifetime
// the function's.
// CHECK-LABEL: func.func @handed_on(
// CHECK:         %[[STACK:.+]] = gpu.alloc () : memref<4xf32>
// CHECK:         %[[HEAP:.+]] = gpu.alloc (%{{.+}}) : memref<?xf32>
// CHECK:         gpu.launch
// CHECK:           memref.store %{{.+}}, %[[STACK]]
// CHECK:         gpu.launch
// CHECK:           memref.load %[[STACK]]
// CHECK:           memref.store %{{.+}}, %[[HEAP]]
// CHECK:         gpu.dealloc %[[HEAP]]
// CHECK-NEXT:    gpu.dealloc %[[STACK]]
// CHECK-NEXT:    return
func.func @handed_on(%n: index) {
  %zero = arith.constant 0.0 : f32
  %stack = memref.alloca() : memref<4xf32>
  %heap = memref.alloc(%n) : memref<?xf32>
  scf.forall (%i) in (4) {
    memref.store %zero, %stack[%i] : memref<4xf32>
  }
  scf.forall (%i) in (%n) {
    %0 = memref.load %stack[%i] : memref<4xf32>
    memref.store %0, %heap[%i] : memref<?xf32>
  }
  memref.dealloc %heap : memref<?xf32>
  return
}

// Loop indices in the body, and outputs whose old values are not read.
// CHECK-LABEL: func.func @indices(
// CHECK-SAME:    %[[X:.+]]: memref<2x4x8xindex>
// CHECK:           scf.for %[[I:.+]] = %{{.+}} to %{{.+}} step
// CHECK-NEXT:        %[[POINT:.+]]:2 = affine.delinearize_index %[[I]] into (4, 8)
// CHECK-NOT:         memref.load
// CHECK:             %[[SUM:.+]] = arith.addi %[[POINT]]#0, %[[POINT]]#1
// CHECK-NEXT:        memref.store %[[SUM]]
func.func @indices(%x: memref<2x4x8xindex>) {
  scf.forall (%b) in (2) {
    %out = memref.subview %x[%b, 0, 0] [1, 4, 8] [1, 1, 1]
      : memref<2x4x8xindex> to memref<4x8xindex, strided<[8, 1], offset: ?>>
    linalg.generic {
        indexing_maps = [affine_map<(r, c) -> (r, c)>],
        iterator_types = ["parallel", "parallel"]}
        outs(%out : memref<4x8xindex, strided<[8, 1], offset: ?>>) {
    ^bb0(%old: index):
      %r = linalg.index 0 : index
      %c = linalg.index 1 : index
      %0 = arith.addi %r, %c : index
      linalg.yield %0 : index
    }
  }
  return
}

// Scratch that does not fit side by side shares memory where its uses do not
// meet; here both are 40000 bytes, the second one at most.
// CHECK-LABEL: func.func @shared(
// CHECK:         gpu.launch
// CHECK-SAME:      workgroup(%[[MEMORY:.*]] : memref<10000xf32, #gpu.address_space<workgroup>>)
// CHECK:         %[[ONE:.*]] = memref.reinterpret_cast %[[MEMORY]]
// CHECK:         %[[TWO:.*]] = memref.reinterpret_cast %[[MEMORY]]
// CHECK:         memref.load %[[ONE]]
// CHECK-NOT:     memref.load %[[ONE]]
// CHECK:         memref.load %[[TWO]]
func.func @shared(%x: memref<2x100x100xf32>, %n: index) {
  scf.forall (%b) in (2) {
    %c1 = arith.constant 1 : index
    %c100 = arith.constant 100 : index
    %rows = affine.min affine_map<()[n] -> (n, 100)>()[%n]
    %one = memref.alloca() : memref<100x100xf32>
    %two = memref.alloca(%rows) : memref<?x100xf32>
    %all = memref.subview %x[%b, 0, 0] [1, 100, 100] [1, 1, 1] : memref<2x100x100xf32> to memref<100x100xf32, strided<[100, 1], offset: ?>>
    memref.copy %all, %one : memref<100x100xf32, strided<[100, 1], offset: ?>> to memref<100x100xf32>
    memref.copy %one, %all : memref<100x100xf32> to memref<100x100xf32, strided<[100, 1], offset: ?>>
    %some = memref.subview %x[%b, 0, 0] [1, %rows, 100] [1, 1, 1] : memref<2x100x100xf32> to memref<?x100xf32, strided<[100, 1], offset: ?>>
    memref.copy %some, %two : memref<?x100xf32, strided<[100, 1], offset: ?>> to memref<?x100xf32>
    memref.copy %two, %some : memref<?x100xf32> to memref<?x100xf32, strided<[100, 1], offset: ?>>
  }
  return
}

// What does not fit then lies in dynamic memory, the largest first.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         gpu.launch
// CHECK-SAME:      dynamic_shared_memory_size %c40000_i32
// CHECK-SAME:      workgroup(%[[REST:.*]] : memref<100x50xf32, #gpu.address_space<workgroup>>)
// CHECK:         %[[MEMORY:.*]] = gpu.dynamic_shared_memory
// CHECK:         %[[LARGE:.*]] = memref.view %[[MEMORY]][%c0{{.*}}][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<100x100xf32, #gpu.address_space<workgroup>>
// CHECK:         memref.store %{{.*}}, %[[LARGE]]
// CHECK:         memref.store %{{.*}}, %[[REST]]
func.func @dynamic(%x: f32) {
  scf.forall (%b) in (2) {
    %one = memref.alloca() : memref<100x50xf32>
    %two = memref.alloca() : memref<100x100xf32>
    linalg.fill ins(%x : f32) outs(%two : memref<100x100xf32>)
    linalg.fill ins(%x : f32) outs(%one : memref<100x50xf32>)
    %some = memref.subview %two[0, 0] [100, 50] [1, 1] : memref<100x100xf32> to memref<100x50xf32, strided<[100, 1]>>
    memref.copy %one, %some : memref<100x50xf32> to memref<100x50xf32, strided<[100, 1]>>
  }
  return
}
