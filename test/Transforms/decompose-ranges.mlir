// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,cse)' -split-input-file | FileCheck %s
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,kvq-bufferize-pipeline)' -split-input-file | FileCheck %s --check-prefix=BUFFER

// CHECK-NOT: kvq.
// Scratch is that of a row of groups, on the stack, and nothing is copied.
// BUFFER-NOT: memref.alloc(
// BUFFER-NOT: memref.copy

// Sums of squares: a level of the tree is an op that adds neighbours, and no
// reduction.

// CHECK-DAG: #[[$EVEN:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3 * 2)>
// CHECK-DAG: #[[$ODD:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3 * 2 + 1)>
// CHECK-LABEL: func.func @rms
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x1x4x8xf32>)
// CHECK: arith.mulf %[[E:.*]], %[[E]] : f32
// CHECK: %[[PAIRS:.*]] = linalg.generic {indexing_maps = [#[[$EVEN]], #[[$ODD]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%[[SQUARES]], %[[SQUARES]] : {{.*}}) outs(%{{.*}} : tensor<1x1x4x4xf32>)
// CHECK: arith.addf %in, %in_{{.*}} : f32
// CHECK: linalg.generic {{.*}} ins(%[[PAIRS]], %[[PAIRS]] : {{.*}}) outs(%{{.*}} : tensor<1x1x4x2xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x1x4x1xf32>)
// CHECK-NOT: "reduction"
// CHECK: arith.divf %in, %cst{{.*}} : f32
// CHECK: math.sqrt
// BUFFER-LABEL: func.func @rms
#f = #kvq.format<codes = #kvq.codebook<lloyd_max = 2>, group = [1, 8], scale = f16, range = rms>
func.func @rms(%x: tensor<2x?x32xf16> {bufferization.writable = false}, %c: tensor<2x?x32xi8>,
    %s: tensor<2x?x4xf16>) -> (tensor<2x?x32xi8>, tensor<2x?x4xf16>) {
  %r:2 = kvq.quantize #f ins(%x : tensor<2x?x32xf16>)
      outs(%c, %s : tensor<2x?x32xi8>, tensor<2x?x4xf16>)
      -> tensor<2x?x32xi8>, tensor<2x?x4xf16>
  return %r#0, %r#1 : tensor<2x?x32xi8>, tensor<2x?x4xf16>
}

// -----

// Channels before tokens, both padded with zeros to a power of two.

// CHECK-LABEL: func.func @search
// CHECK: %[[RANGE:.*]]:2 = linalg.generic {{.*}}"reduction"
// CHECK: scf.for %[[I:.*]] = %c0 to %c5 step %c1 iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<1x4xf32>, tensor<1x4xf16>, tensor<1x4xf16>)
// CHECK-DAG: %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0
// CHECK-DAG: %[[NUMBER:.*]] = arith.sitofp
// CHECK: %[[META:.*]]:2 = linalg.generic {{.*}} ins(%[[RANGE]]#0, %[[RANGE]]#1 :
// CHECK: arith.divf %[[NUMBER]], %cst{{.*}} : f32
// The error, from codes that are not stored.
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x3x4x6xf32>)
// CHECK: math.roundeven
// CHECK: arith.uitofp
// CHECK: tensor.insert_slice %{{.*}} : tensor<1x3x4x6xf32> into tensor<1x3x4x8xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x3x4x4xf32>)
// CHECK: tensor.insert_slice %{{.*}} : tensor<1x3x4xf32> into tensor<1x4x4xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x2x4xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x1x4xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[ERROR:.*]], %[[LEAST:.*]], %[[META]]#0 :
// CHECK: %[[LESS:.*]] = arith.cmpf olt
// CHECK: arith.ori %[[FIRST]], %[[LESS]]
// CHECK: arith.select
// CHECK: linalg.generic {{.*}} ins(%[[ERROR]], %[[LEAST]], %[[META]]#1 :
// CHECK: linalg.generic {{.*}} ins(%[[ERROR]], %[[LEAST]]
// BUFFER-LABEL: func.func @search
#f = #kvq.format<codes = ui4, group = [3, 6], scale = f16, zero = min f16, range = search<5>>
func.func @search(%x: tensor<?x24xf32> {bufferization.writable = false}, %c: tensor<?x24xi8>,
    %s: tensor<?x4xf16>, %z: tensor<?x4xf16>) -> (tensor<?x24xi8>, tensor<?x4xf16>, tensor<?x4xf16>) {
  %r:3 = kvq.quantize #f ins(%x : tensor<?x24xf32>)
      outs(%c, %s, %z : tensor<?x24xi8>, tensor<?x4xf16>, tensor<?x4xf16>)
      -> tensor<?x24xi8>, tensor<?x4xf16>, tensor<?x4xf16>
  return %r#0, %r#1, %r#2 : tensor<?x24xi8>, tensor<?x4xf16>, tensor<?x4xf16>
}

// -----

// Counts of all tokens and channels of a row, whatever group they are in.

// CHECK-LABEL: func.func @count
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "reduction", "reduction", "reduction"]} {{.*}} outs(%{{.*}} : tensor<2xi64>)
// CHECK: %[[Q:.*]] = arith.divf
// CHECK: arith.cmpf olt, %[[Q]], %[[LOW:.*]] : f32
// CHECK: arith.cmpf ogt, %[[Q]], %[[HIGH:.*]] : f32
// CHECK: arith.extui %{{.*}} : i1 to i64
// CHECK: arith.addi %out
// BUFFER-LABEL: func.func @count
#f = #kvq.format<codes = i4, group = [2, 8], scale = f16, range = clip<0.5>>
func.func @count(%x: tensor<2x?x32xf16>, %s: tensor<2x?x4xf16>, %n: tensor<2xi64>) -> tensor<2xi64> {
  %r = kvq.count_saturated #f ins(%x, %s : tensor<2x?x32xf16>, tensor<2x?x4xf16>)
      outs(%n : tensor<2xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}
