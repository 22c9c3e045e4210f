// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-gpu))' | FileCheck %s

// Rings have what scratch leaves of shared_bytes: 48 KiB are for steps of 64
// tokens, 24 KiB for 32.

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

// Scratch of other times lies where the rings are.
//
// CHECK-LABEL: func.func @before(
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %c65536_i32
func.func @before(%q: memref<4x64xf32>, %c: memref<1x2x128x64xi8>, %s: memref<1x2x128x1xf16>, %m: memref<4xf32>,
                  %i: index, %out: memref<128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (2) {
    %scratch = memref.alloca() : memref<128x128xf32>
    linalg.fill ins(%zero : f32) outs(%scratch : memref<128x128xf32>)
    memref.copy %scratch, %out : memref<128x128xf32> to memref<128x128xf32>
    kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>)
        values(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>) at [%i, %i] tokens [%i to %i]
        outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
        {key_type = !c, value_type = !c, key_region = #kvq.region<codes>, value_region = #kvq.region<codes>,
         shared_bytes = 101376}
  }
  return
}

// CHECK-LABEL: func.func @meanwhile(
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %c91696_i32
func.func @meanwhile(%q: memref<4x64xf32>, %c: memref<1x2x128x64xi8>, %s: memref<1x2x128x1xf16>, %m: memref<4xf32>,
                     %i: index, %out: memref<128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (2) {
    %scratch = memref.alloca() : memref<128x128xf32>
    linalg.fill ins(%zero : f32) outs(%scratch : memref<128x128xf32>)
    kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>)
        values(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>) at [%i, %i] tokens [%i to %i]
        outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
        {key_type = !c, value_type = !c, key_region = #kvq.region<codes>, value_region = #kvq.region<codes>,
         shared_bytes = 101376}
    memref.copy %scratch, %out : memref<128x128xf32> to memref<128x128xf32>
  }
  return
}

// The query is read before the first copy, and the accumulator, which is not
// read, written after the last one: both lie in the rings, behind what merges
// the warps. An accumulator that is read is not.
//
// CHECK-LABEL: func.func @around(
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %c50736_i32 {{.*}} function(@around_kernel) {
// CHECK:         memref.view {{.*}}[%c8704][] : {{.*}} to memref<4x64xf32, #gpu.address_space<workgroup>>
// CHECK:         memref.view {{.*}}[%c0{{.*}}][] : {{.*}} to memref<4x64xf32, #gpu.address_space<workgroup>>
// CHECK-LABEL: func.func @read(
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %c50736_i32 {{.*}} function(@read_kernel)
// CHECK-SAME:      workgroup(%{{.*}} : memref<4x64xf32, #gpu.address_space<workgroup>>)
// CHECK:         memref.view {{.*}}[%c0{{.*}}][] : {{.*}} to memref<4x64xf32, #gpu.address_space<workgroup>>
// CHECK-NOT:     memref.view
func.func @around(%q: memref<4x64xf32>, %c: memref<1x2x128x64xi8>, %s: memref<1x2x128x1xf16>, %m: memref<4xf32>,
                  %i: index, %out: memref<4x64xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (2) {
    %query = memref.alloca() : memref<4x64xf32>
    %acc = memref.alloca() : memref<4x64xf32>
    memref.copy %q, %query : memref<4x64xf32> to memref<4x64xf32>
    kvq.block_attention ins(%query : memref<4x64xf32>) keys(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>)
        values(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>) at [%i, %i] tokens [%i to %i]
        outs(%acc, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
        {key_type = !c, value_type = !c, key_region = #kvq.region<codes>, value_region = #kvq.region<codes>,
         shared_bytes = 101376, overwrites}
    memref.copy %acc, %out : memref<4x64xf32> to memref<4x64xf32>
  }
  return
}

func.func @read(%q: memref<4x64xf32>, %c: memref<1x2x128x64xi8>, %s: memref<1x2x128x1xf16>, %m: memref<4xf32>,
                %i: index, %out: memref<4x64xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (2) {
    %query = memref.alloca() : memref<4x64xf32>
    %acc = memref.alloca() : memref<4x64xf32>
    memref.copy %q, %query : memref<4x64xf32> to memref<4x64xf32>
    linalg.fill ins(%zero : f32) outs(%acc : memref<4x64xf32>)
    kvq.block_attention ins(%query : memref<4x64xf32>) keys(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>)
        values(%c, %s : memref<1x2x128x64xi8>, memref<1x2x128x1xf16>) at [%i, %i] tokens [%i to %i]
        outs(%acc, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
        {key_type = !c, value_type = !c, key_region = #kvq.region<codes>, value_region = #kvq.region<codes>,
         shared_bytes = 101376}
    memref.copy %acc, %out : memref<4x64xf32> to memref<4x64xf32>
  }
  return
}

// Steps of few bytes are copied two ahead, where a block's memory has room for
// five slots in a third of it: waits leave three groups of copies.

#i2 = #kvq.format<codes = i2, group = [1, *], scale = f16>
!narrow = !kvq.cache<1x2x128x128xf16, #i2>

// CHECK-LABEL: func.func @two_ahead(
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size
// CHECK:         nvvm.cp.async.wait.group 3
// CHECK-LABEL: func.func @one_ahead(
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size
// CHECK:         nvvm.cp.async.wait.group 1
func.func @two_ahead(%q: memref<4x128xf32>, %c: memref<1x2x128x32xi8>, %s: memref<1x2x128x1xf16>, %m: memref<4xf32>,
                     %i: index) {
  scf.forall (%b) in (2) {
    kvq.block_attention ins(%q : memref<4x128xf32>) keys(%c, %s : memref<1x2x128x32xi8>, memref<1x2x128x1xf16>)
        values(%c, %s : memref<1x2x128x32xi8>, memref<1x2x128x1xf16>) at [%i, %i] tokens [%i to %i]
        outs(%q, %m, %m : memref<4x128xf32>, memref<4xf32>, memref<4xf32>)
        {key_type = !narrow, value_type = !narrow, key_region = #kvq.region<codes>,
         value_region = #kvq.region<codes>, shared_bytes = 166912}
  }
  return
}

func.func @one_ahead(%q: memref<4x128xf32>, %c: memref<1x2x128x32xi8>, %s: memref<1x2x128x1xf16>, %m: memref<4xf32>,
                     %i: index) {
  scf.forall (%b) in (2) {
    kvq.block_attention ins(%q : memref<4x128xf32>) keys(%c, %s : memref<1x2x128x32xi8>, memref<1x2x128x1xf16>)
        values(%c, %s : memref<1x2x128x32xi8>, memref<1x2x128x1xf16>) at [%i, %i] tokens [%i to %i]
        outs(%q, %m, %m : memref<4x128xf32>, memref<4xf32>, memref<4xf32>)
        {key_type = !narrow, value_type = !narrow, key_region = #kvq.region<codes>,
         value_region = #kvq.region<codes>, shared_bytes = 101376}
  }
  return
}
