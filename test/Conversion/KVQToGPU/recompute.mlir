// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-gpu))' | FileCheck %s

// What follows from a block's work item is computed anew behind block
// attention, from the block's number as the hardware has it: index arithmetic,
// and loads of what the kernel only reads. What it may have written is loaded
// once.

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

// CHECK-LABEL: func.func @again(
// CHECK-SAME:    %[[LENGTHS:[^ ]+]]: memref<2xindex>, %[[COUNTS:[^ ]+]]: memref<2xindex>, %[[OUT:[^ ]+]]: memref<3x8xf32>
// CHECK:         gpu.launch blocks(%[[BLOCK:[^,]+]],
// CHECK:           %[[NUMBER:.+]] = arith.index_cast %[[BLOCK]] : index to i32
// CHECK:           arith.remui %[[NUMBER]]
// CHECK:           memref.load %[[LENGTHS]]
// CHECK:           %[[COUNT:.+]] = memref.load %[[COUNTS]]
// CHECK:           nvvm.mma.sync
// CHECK:           %[[AGAIN:.+]] = llvm.inline_asm {{.*}} "mov.u32 $0, %ctaid.x;"
// CHECK:           %[[H32:.+]] = arith.remui %[[AGAIN]]
// CHECK:           %[[B32:.+]] = arith.divui %[[AGAIN]]
// CHECK-DAG:       %[[H:.+]] = arith.index_cast %[[H32]] : i32 to index
// CHECK-DAG:       %[[B:.+]] = arith.index_cast %[[B32]] : i32 to index
// CHECK:           %[[LENGTH:.+]] = memref.load %[[LENGTHS]][%[[B]]]
// CHECK:           %[[ROW:.+]] = arith.addi %[[LENGTH]], %[[H]]
// CHECK-NOT:       memref.load %[[COUNTS]]
// CHECK:           memref.subview %[[OUT]][%[[ROW]], %[[COUNT]]]
func.func @again(%lengths: memref<2xindex>, %counts: memref<2xindex>, %out: memref<3x8xf32>, %q: memref<4x64xf32>,
                 %c: memref<1x2x128x64xi8>, %s: memref<1x2x128x1xf16>, %m: memref<4xf32>, %i: index) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%b, %h) in (2, 3) {
    %length = memref.load %lengths[%b] : memref<2xindex>
    %row = arith.addi %length, %h : index
    %count = memref.load %counts[%b] : memref<2xindex>
    kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>)
        values(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>) at [%i, %i] tokens [%i to %row]
        outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
        {key_type = !c, value_type = !c, key_region = #kvq.region<codes>, value_region = #kvq.region<codes>,
         shared_bytes = 101376}
    %one = memref.subview %out[%row, %count] [1, 1] [1, 1] : memref<3x8xf32> to memref<f32, strided<[], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%one : memref<f32, strided<[], offset: ?>>)
    memref.store %row, %counts[%b] : memref<2xindex>
  }
  return
}
