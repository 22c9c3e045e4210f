// RUN: kvq-opt %s -pass-pipeline='builtin.module(kvq-expand-caches,func.func(kvq-decompose-values),canonicalize,kvq-bufferize-pipeline)' -split-input-file | FileCheck %s

// An append writes its cache where it lies: nothing is allocated but scratch on
// the stack, nothing copied, nothing returned.

#format = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x3x?x64xf16, #format, exact_first = 4, recent = 64>

// CHECK-LABEL: func.func @append(
// CHECK-SAME:    memref<2x3x?x64xf32>, %{{.*}}: memref<2xi64>, %{{.*}}: memref<2xi64>,
// CHECK-SAME:    %[[CODES:[^:]*]]: memref<2x3x?x32xi8>, %[[SCALES:[^:]*]]: memref<2x3x?x64xf16>, %[[ZEROS:[^:]*]]: memref<2x3x?x64xf16>, %[[FIRST:[^:]*]]: memref<2x3x4x64xf16>, %[[RECENT:[^:]*]]: memref<2x3x95x64xf16>) {
// CHECK-DAG:     memref.alloca() {{.*}} : memref<32x64xf16>
// CHECK-DAG:     memref.alloca() {{.*}} : memref<32x64xi8>
// CHECK-NOT:     memref.alloc(
// CHECK-NOT:     memref.copy
// CHECK:         scf.for
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK-NOT:     iter_args
// CHECK-NOT:     bufferization.
// CHECK:         return{{$}}
func.func @append(%x: tensor<2x3x?x64xf32>, %lengths: tensor<2xi64>, %flushed: tensor<2xi64>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<2x3x?x64xf32>) lengths(%lengths : tensor<2xi64>)
      flushed(%flushed : tensor<2xi64>) into(%c : !k) -> !k
  return %0 : !k
}

// -----

// So do a caller and its two appends; it reads what they stored.

!v = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// CHECK-LABEL: func.func private @step(
// CHECK-SAME:    %{{[^:]*}}: memref<1x2x?x2xf16>) {
// CHECK-NOT:     memref.alloc(
// CHECK-NOT:     memref.copy
// CHECK:         return{{$}}
func.func private @step(%x: tensor<1x2x1x64xf16>, %lengths: tensor<1xi64>, %c: !v) -> !v {
  %0 = kvq.append ins(%x : tensor<1x2x1x64xf16>) lengths(%lengths : tensor<1xi64>) into(%c : !v) -> !v
  return %0 : !v
}

// CHECK-LABEL: func.func @steps(
// CHECK-SAME:    %[[X:[^:]*]]: memref<1x2x1x64xf16>, %[[LENGTHS:[^:]*]]: memref<1xi64>, %[[NEXT:[^:]*]]: memref<1xi64>, %[[CODES:[^:]*]]: memref<1x2x?x64xi8>, %[[SCALES:[^:]*]]: memref<1x2x?x2xf16>, %[[P:[^:]*]]: index) -> i8 {
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         call @step(%[[X]], %[[LENGTHS]], %[[CODES]], %[[SCALES]])
// CHECK-NEXT:    call @step(%[[X]], %[[NEXT]], %[[CODES]], %[[SCALES]])
// CHECK-NOT:     memref.copy
// CHECK:         memref.subview %[[CODES]]
func.func @steps(%x: tensor<1x2x1x64xf16>, %lengths: tensor<1xi64>, %next: tensor<1xi64>, %c: !v, %p: index) -> (!v, i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = call @step(%x, %lengths, %c) : (tensor<1x2x1x64xf16>, tensor<1xi64>, !v) -> !v
  %1 = call @step(%x, %next, %0) : (tensor<1x2x1x64xf16>, tensor<1xi64>, !v) -> !v
  %end = arith.addi %p, %c1 : index
  %2:2 = kvq.load_tile %1 <codes> at [%c0, %c0] tokens [%p to %end] {tile = 1} : !v -> tensor<?x64xi8>, tensor<?x2xf16>
  %3 = tensor.extract %2#0[%c0, %c0] : tensor<?x64xi8>
  return %1, %3 : !v, i8
}

// -----

// A cache that is read as it was before an append has to be copied: this is what
// kvq-verify-fused reports.

!v = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// CHECK-LABEL: func.func @reads_old(
// CHECK:         memref.alloc({{.*}} : memref<1x2x?x64xi8>
// CHECK:         memref.copy
func.func @reads_old(%x: tensor<1x2x1x64xf16>, %lengths: tensor<1xi64>, %c: !v, %p: index) -> (!v, i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = kvq.append ins(%x : tensor<1x2x1x64xf16>) lengths(%lengths : tensor<1xi64>) into(%c : !v) -> !v
  %end = arith.addi %p, %c1 : index
  %1:2 = kvq.load_tile %c <codes> at [%c0, %c0] tokens [%p to %end] {tile = 1} : !v -> tensor<?x64xi8>, tensor<?x2xf16>
  %2 = tensor.extract %1#0[%c0, %c0] : tensor<?x64xi8>
  return %0, %2 : !v, i8
}

// -----

// Scratch of a tile is allocated once per parallel iteration, not per tile, and
// the result is computed where it belongs.

#format = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!v = !kvq.cache<1x3x?x64xf16, #format>
#matrix = affine_map<(t, c) -> (t, c)>
#row = affine_map<(t, c) -> (c)>

// CHECK-LABEL: func.func @tiles(
// CHECK-SAME:    %[[CODES:[^:]*]]: memref<1x3x?x32xi8>, %{{[^:]*}}: memref<1x3x?x2xf16>, %{{[^:]*}}: index, %[[OUT:[^:]*]]: memref<3x64xi32>) {
// CHECK:         scf.forall (%[[H:.*]]) in (3) {
// CHECK:           %[[SCRATCH:.*]] = memref.alloca() {{.*}} : memref<64x64xi8>
// CHECK:           %[[SUM:.*]] = memref.subview %[[OUT]][%[[H]], 0]
// CHECK:           scf.for
// CHECK-NOT:         memref.alloc
// CHECK:             memref.subview %[[SCRATCH]]
// CHECK:             linalg.generic {{.*}} outs(%[[SUM]] :
// CHECK-NOT:       memref.copy
func.func @tiles(%c: !v, %n: index, %out: tensor<3x64xi32>) -> tensor<3x64xi32> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %0 = scf.forall (%h) in (3) shared_outs(%o = %out) -> tensor<3x64xi32> {
    %empty = tensor.empty() : tensor<64xi32>
    %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<64xi32>) -> tensor<64xi32>
    %sum = scf.for %t = %c0 to %n step %c64 iter_args(%acc = %init) -> tensor<64xi32> {
      %next = arith.addi %t, %c64 : index
      %end = arith.minsi %next, %n : index
      %tile:2 = kvq.load_tile %c <codes> at [%c0, %h] tokens [%t to %end] {tile = 64} : !v -> tensor<?x64xi8>, tensor<?x2xf16>
      %1 = linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["reduction", "parallel"]}
          ins(%tile#0 : tensor<?x64xi8>) outs(%acc : tensor<64xi32>) {
      ^bb0(%code: i8, %a: i32):
        %wide = arith.extsi %code : i8 to i32
        %b = arith.addi %a, %wide : i32
        linalg.yield %b : i32
      } -> tensor<64xi32>
      scf.yield %1 : tensor<64xi32>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %sum into %o[%h, 0] [1, 64] [1, 1] : tensor<64xi32> into tensor<3x64xi32>
    }
  }
  return %0 : tensor<3x64xi32>
}

// -----

// Two sides of one format unpack into scratch of their own, and gather into it.

#format = #kvq.format<codes = i4, group = [32, 1], scale = f16>
!c = !kvq.cache<1x3x?x64xf16, #format, recent = 32>

// CHECK-LABEL: func.func @two_sides(
// CHECK-NOT:     memref.alloc(
// CHECK-NOT:     memref.copy
// CHECK-COUNT-2: memref.alloca() {{.*}} : memref<32x64xi8>
// CHECK-COUNT-2: memref.alloca() {{.*}} : memref<32x64xf16>
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         scf.for
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         return{{$}}
func.func @two_sides(%k: !c, %v: !c, %n: index, %out: tensor<64xf32>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %0 = scf.for %t = %c0 to %n step %c32 iter_args(%acc = %out) -> tensor<64xf32> {
    %next = arith.addi %t, %c32 : index
    %end = arith.minsi %next, %n : index
    %kc:2 = kvq.load_tile %k <codes> at [%c0, %c0] tokens [%t to %end] {tile = 32} : !c -> tensor<?x64xi8>, tensor<1x64xf16>
    %vc:2 = kvq.load_tile %v <codes> at [%c0, %c0] tokens [%t to %end] {tile = 32} : !c -> tensor<?x64xi8>, tensor<1x64xf16>
    %kr = kvq.load_tile %k <recent> at [%c0, %c0] tokens [%t to %end] {tile = 32} : !c -> tensor<?x64xf16>
    %vr = kvq.load_tile %v <recent> at [%c0, %c0] tokens [%t to %end] {tile = 32} : !c -> tensor<?x64xf16>
    %1 = linalg.generic {indexing_maps = [
        affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>,
        affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (c)>], iterator_types = ["reduction", "parallel"]}
        ins(%kc#0, %vc#0, %kr, %vr : tensor<?x64xi8>, tensor<?x64xi8>, tensor<?x64xf16>, tensor<?x64xf16>)
        outs(%acc : tensor<64xf32>) {
    ^bb0(%a: i8, %b: i8, %c: f16, %d: f16, %sum: f32):
      %ab = arith.muli %a, %b : i8
      %cd = arith.mulf %c, %d : f16
      %ab32 = arith.sitofp %ab : i8 to f32
      %cd32 = arith.extf %cd : f16 to f32
      %2 = arith.addf %ab32, %cd32 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<64xf32>
    scf.yield %1 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// -----

// What an empty cache is stored in is the caller's once it is returned, and
// freed otherwise.

!v = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// CHECK-LABEL: func.func @fresh(
// CHECK:         %[[CODES:.*]] = memref.alloc({{.*}} : memref<1x2x?x64xi8>
// CHECK:         %[[SCALES:.*]] = memref.alloc({{.*}} : memref<1x2x?x2xf16>
// CHECK-NOT:     memref.copy
// CHECK-NOT:     memref.dealloc
// CHECK:         return %[[CODES]], %[[SCALES]]
func.func @fresh(%x: tensor<1x2x?x64xf16>, %lengths: tensor<1xi64>, %n: index) -> !v {
  %0 = kvq.empty(%n) : !v
  %1 = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%lengths : tensor<1xi64>) into(%0 : !v) -> !v
  return %1 : !v
}

// CHECK-LABEL: func.func @local(
// CHECK:         %[[CODES:.*]] = memref.alloc({{.*}} : memref<1x2x?x64xi8>
// CHECK:         %[[SCALES:.*]] = memref.alloc({{.*}} : memref<1x2x?x2xf16>
// CHECK-NOT:     memref.copy
// CHECK-DAG:     memref.dealloc %[[CODES]]
// CHECK-DAG:     memref.dealloc %[[SCALES]]
func.func @local(%x: tensor<1x2x?x64xf16>, %lengths: tensor<1xi64>, %n: index) -> i8 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = kvq.empty(%n) : !v
  %1 = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%lengths : tensor<1xi64>) into(%0 : !v) -> !v
  %2:2 = kvq.load_tile %1 <codes> at [%c0, %c0] tokens [%c0 to %c1] {tile = 1} : !v -> tensor<?x64xi8>, tensor<?x2xf16>
  %3 = tensor.extract %2#0[%c0, %c0] : tensor<?x64xi8>
  return %3 : i8
}

// -----

// Keys that RoPE turns go through scratch of one token, or straight to where exact
// ones lie.

!k = !kvq.cache<1x2x256x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>
!e = !kvq.cache<1x2x256x64xf16, #kvq.format<codes = none>>

// CHECK-LABEL: func.func @turned(
// CHECK:         memref.alloca() {{.*}} : memref<1x64xf16>
// CHECK-NOT:     memref.alloc(
// CHECK-NOT:     memref.copy
// CHECK-NOT:     iter_args
// CHECK:         return{{$}}
func.func @turned(%x: tensor<1x2x?x64xf32>, %n: tensor<1xi64>, %cos: tensor<256x32xf32>, %sin: tensor<256x32xf32>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf32>) lengths(%n : tensor<1xi64>)
      rope(%cos, %sin : tensor<256x32xf32>, tensor<256x32xf32>) into(%c : !k) -> !k
  return %0 : !k
}

// CHECK-LABEL: func.func @turned_exact(
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         return{{$}}
func.func @turned_exact(%x: tensor<1x2x?x64xf32>, %n: tensor<1xi64>, %cos: tensor<256x20xf32>, %sin: tensor<256x20xf32>, %c: !e) -> !e {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf32>) lengths(%n : tensor<1xi64>)
      rope(%cos, %sin : tensor<256x20xf32>, tensor<256x20xf32>) into(%c : !e) {rope_style = #kvq.rope_style<interleaved>} -> !e
  return %0 : !e
}
