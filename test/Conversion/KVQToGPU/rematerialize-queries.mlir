// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-gpu))' | FileCheck %s
// RUN: sed s/232448/166912/ %s | kvq-opt -pass-pipeline='builtin.module(func.func(convert-kvq-to-gpu))' | FileCheck %s --check-prefix=A100

// The rows of the query for the exact tokens are made anew where otherwise their
// 4 KiB would keep scales of keys by channel out of the rings: with them two
// blocks have 113 KiB each of an H200. An A100 has room for one either way, so
// that they stay beside the rings. The sums of the first op lie where the rings of the
// second one do not.

#k = #kvq.format<codes = ui8, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i8, group = [1, *], scale = f16>
!k = !kvq.cache<8x8x?x128xf16, #k, recent = 32, page = 64>
!v = !kvq.cache<8x8x?x128xf16, #v, page = 64>

// CHECK-LABEL: func.func @decode(
// CHECK:         gpu.launch {{.*}} dynamic_shared_memory_size %c114160_i32 {{.*}} function(@decode_kernel)
// CHECK-SAME:      workgroup(%{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>, %{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK:           memref.view %{{.*}}[%c50160{{.*}}][] : {{.*}} to memref<8x128xf32, #gpu.address_space<workgroup>>
// CHECK:           memref.view %{{.*}}[%c4096{{.*}}][] : {{.*}} to memref<8x128xf32, #gpu.address_space<workgroup>>
// CHECK:           memref.view %{{.*}}[%c0{{.*}}][] : {{.*}} to memref<8x128xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-2:   memref.load %arg0[
// CHECK-NOT:       memref.load %arg0[
// A100-LABEL: func.func @decode(
// A100:         gpu.launch {{.*}} function(@decode_kernel)
// A100-SAME:      workgroup(%{{.*}} : memref<8x128xf32, #gpu.address_space<workgroup>>, %
// A100:           memref.load %arg0[
// A100-NOT:       memref.load %arg0[
func.func @decode(%q: memref<8x128xf32>, %codes: memref<?x8x64x128xi8>, %scales: memref<?x8x2x128xf16>,
                  %zeros: memref<?x8x2x128xf16>, %recent: memref<8x8x63x128xf16>, %values: memref<?x8x64x128xi8>,
                  %s: memref<?x8x64x1xf16>, %pages: memref<8x?xi64>, %i: index, %n: index,
                  %out: memref<8x128xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (2) {
    %query = memref.alloca() : memref<8x128xf32>
    %acc = memref.alloca() : memref<8x128xf32>
    %max = memref.alloca() : memref<8xf32>
    %sum = memref.alloca() : memref<8xf32>
    linalg.fill ins(%zero : f32) outs(%max : memref<8xf32>)
    linalg.fill ins(%zero : f32) outs(%sum : memref<8xf32>)
    linalg.copy ins(%q : memref<8x128xf32>) outs(%query : memref<8x128xf32>)
    kvq.block_attention ins(%query : memref<8x128xf32>)
        keys(%codes, %scales, %zeros, %recent
             : memref<?x8x64x128xi8>, memref<?x8x2x128xf16>, memref<?x8x2x128xf16>, memref<8x8x63x128xf16>)
        values(%values, %s : memref<?x8x64x128xi8>, memref<?x8x64x1xf16>)
        at [%i, %i] tokens [%i to %n] key_pages(%pages : memref<8x?xi64>) value_pages(%pages : memref<8x?xi64>)
        outs(%acc, %max, %sum : memref<8x128xf32>, memref<8xf32>, memref<8xf32>)
        {key_type = !k, value_type = !v, key_region = #kvq.region<codes>, value_region = #kvq.region<codes>,
         shared_bytes = 232448, overwrites}
    kvq.block_attention ins(%query : memref<8x128xf32>)
        keys(%codes, %scales, %zeros, %recent
             : memref<?x8x64x128xi8>, memref<?x8x2x128xf16>, memref<?x8x2x128xf16>, memref<8x8x63x128xf16>)
        values(%values, %s : memref<?x8x64x128xi8>, memref<?x8x64x1xf16>)
        at [%i, %i] tokens [%n to %n] key_pages(%pages : memref<8x?xi64>) value_pages(%pages : memref<8x?xi64>)
        outs(%acc, %max, %sum : memref<8x128xf32>, memref<8xf32>, memref<8xf32>)
        {key_type = !k, value_type = !v, key_region = #kvq.region<recent>, value_region = #kvq.region<codes>,
         shared_bytes = 232448}
    memref.copy %acc, %out : memref<8x128xf32> to memref<8x128xf32>
  }
  return
}
