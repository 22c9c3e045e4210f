// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,cse)' -split-input-file | FileCheck %s
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,cse,one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},canonicalize,cse,canonicalize)' -split-input-file | FileCheck %s --check-prefix=BUFFER

// CHECK-NOT: kvq.
// Results are written into the inits: no copy, and no allocation but the one
// of the groups' statistics.
// BUFFER-NOT: memref.copy

// Groups of channels: the reduction is innermost.

// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$GROUPS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @channel_groups
// CHECK-SAME: %[[X:.*]]: tensor<2x?x128xf16>, %[[C:.*]]: tensor<2x?x128xi8>, %[[S:.*]]: tensor<2x?x4xf16>
// CHECK: %[[XG:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1], [2, 3]] output_shape [2, %{{.*}}, 4, 32]
// CHECK: %[[INIT:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2x?x4xf32>)
// CHECK: %[[MAX:.*]] = linalg.generic {indexing_maps = [#[[$ROWS]], #[[$GROUPS]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[XG]] : {{.*}}) outs(%[[INIT]] : {{.*}})
// CHECK: arith.extf
// Infinite elements are clamped to the largest f16.
// CHECK: arith.cmpf olt, %cst{{.*}} : f32
// CHECK: arith.cmpf ogt, %cst{{.*}} : f32
// CHECK: math.absf
// CHECK: arith.maximumf %out
// CHECK: %[[SCALES:.*]] = linalg.generic {{.*}} ins(%[[MAX]] : tensor<2x?x4xf32>) outs(%[[S]] : tensor<2x?x4xf16>)
// CHECK: arith.divf
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: %[[CG:.*]] = tensor.expand_shape %[[C]]
// CHECK: %[[CODES:.*]] = linalg.generic {indexing_maps = [#[[$ROWS]], #[[$GROUPS]], #[[$ROWS]]], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%[[XG]], %[[SCALES]] : {{.*}}) outs(%[[CG]] : {{.*}})
// Scales that are 0 or NaN give code 0 before anything is rounded.
// CHECK: %[[Q:.*]] = arith.divf
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %[[Q]], %cst
// CHECK-NEXT: math.roundeven %[[SAFE]]
// CHECK: arith.fptosi
// CHECK: %[[JOINED:.*]] = tensor.collapse_shape %[[CODES]] {{\[\[}}0], [1], [2, 3]]
// CHECK: return %[[JOINED]], %[[SCALES]]
// BUFFER-LABEL: func.func @channel_groups
// BUFFER-COUNT-1: memref.alloc
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @channel_groups(%x: tensor<2x?x128xf16>, %c: tensor<2x?x128xi8>,
    %s: tensor<2x?x4xf16>) -> (tensor<2x?x128xi8>, tensor<2x?x4xf16>) {
  %r:2 = kvq.quantize #f ins(%x : tensor<2x?x128xf16>)
      outs(%c, %s : tensor<2x?x128xi8>, tensor<2x?x4xf16>)
      -> tensor<2x?x128xi8>, tensor<2x?x4xf16>
  return %r#0, %r#1 : tensor<2x?x128xi8>, tensor<2x?x4xf16>
}

// -----

// Groups of tokens with a minimum: one pass gives both ends of the range.

// CHECK-DAG: #[[$GROUPS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$TOKENS:.*]] = affine_map<()[s0] -> (s0 floordiv 32)>
// CHECK-LABEL: func.func @token_groups
// CHECK: %[[G:.*]] = affine.apply #[[$TOKENS]]()[%{{.*}}]
// CHECK: %[[XG:.*]] = tensor.expand_shape %arg0 {{\[\[}}0, 1], [2]] output_shape [%[[G]], 32, 64]
// CHECK: %[[RANGE:.*]]:2 = linalg.generic {indexing_maps = [#{{.*}}, #[[$GROUPS]], #[[$GROUPS]]], iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[XG]] : {{.*}})
// CHECK: arith.minimumf
// CHECK: arith.maximumf
// CHECK: %[[META:.*]]:2 = linalg.generic {{.*}} ins(%[[RANGE]]#0, %[[RANGE]]#1 : {{.*}}) outs(%arg2, %arg3 : tensor<?x64xf16>, tensor<?x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[XG]], %[[META]]#0, %[[META]]#1 : {{.*}})
// CHECK: arith.subf
// BUFFER-LABEL: func.func @token_groups
// BUFFER-COUNT-2: memref.alloc
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f32>
func.func @token_groups(%x: tensor<?x64xf16>, %c: tensor<?x64xi8>,
    %s: tensor<?x64xf16>, %z: tensor<?x64xf32>)
    -> (tensor<?x64xi8>, tensor<?x64xf16>, tensor<?x64xf32>) {
  %r:3 = kvq.quantize #f ins(%x : tensor<?x64xf16>)
      outs(%c, %s, %z : tensor<?x64xi8>, tensor<?x64xf16>, tensor<?x64xf32>)
      -> tensor<?x64xi8>, tensor<?x64xf16>, tensor<?x64xf32>
  return %r#0, %r#1, %r#2 : tensor<?x64xi8>, tensor<?x64xf16>, tensor<?x64xf32>
}

// -----

// A whole row is a group.

// CHECK-LABEL: func.func @dequantize_rows
// CHECK: tensor.expand_shape %arg0 {{\[\[}}0], [1, 2]] output_shape [%{{.*}}, 1, 64]
// CHECK: linalg.generic
// CHECK: arith.uitofp
// CHECK: arith.mulf
// CHECK: arith.addf
// An output of another type is rounded, finite values to finite ones.
// CHECK: arith.select
// CHECK: arith.select
// CHECK: arith.truncf %{{.*}} : f32 to f16
// BUFFER-LABEL: func.func @dequantize_rows
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = ui8, group = [1, *], scale = f32, zero = min f32>
func.func @dequantize_rows(%c: tensor<?x64xi8>, %s: tensor<?x1xf32>,
    %z: tensor<?x1xf32>, %y: tensor<?x64xf16>) -> tensor<?x64xf16> {
  %r = kvq.dequantize #f
      ins(%c, %s, %z : tensor<?x64xi8>, tensor<?x1xf32>, tensor<?x1xf32>)
      outs(%y : tensor<?x64xf16>) -> tensor<?x64xf16>
  return %r : tensor<?x64xf16>
}

// -----

// A tile within one group of tokens: its row of metadata serves all of them.

// CHECK-DAG: #[[$ROWS:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ONE:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @dequantize_tile
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {indexing_maps = [#[[$ROWS]], #[[$ONE]], #[[$ROWS]]], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<?x64xi8>, tensor<1x64xf16>) outs(%arg2 : tensor<?x64xf32>)
// BUFFER-LABEL: func.func @dequantize_tile
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i4, group = [32, 1], scale = f16>
func.func @dequantize_tile(%c: tensor<?x64xi8>, %s: tensor<1x64xf16>,
    %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %r = kvq.dequantize #f ins(%c, %s : tensor<?x64xi8>, tensor<1x64xf16>)
      outs(%y : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

// 72 tokens in groups of 32: full groups first, then the 8 tokens that are there
// of the last one.

// CHECK-LABEL: func.func @dequantize_partial_group
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [2, 32, 64] : tensor<64x64xi8>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x32x64xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %arg2[0, 0] [64, 64] [1, 1]
// CHECK: tensor.extract_slice %arg1[2, 0] [1, 64] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<8x64xf32>)
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[64, 0] [8, 64] [1, 1]
// BUFFER-LABEL: func.func @dequantize_partial_group
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i4, group = [32, 1], scale = f16>
func.func @dequantize_partial_group(%c: tensor<72x64xi8>, %s: tensor<3x64xf16>,
    %y: tensor<72x64xf32>) -> tensor<72x64xf32> {
  %r = kvq.dequantize #f ins(%c, %s : tensor<72x64xi8>, tensor<3x64xf16>)
      outs(%y : tensor<72x64xf32>) -> tensor<72x64xf32>
  return %r : tensor<72x64xf32>
}

// -----

// Planes are slices of a row; shifts are constants.

// CHECK-LABEL: func.func @pack
// CHECK-DAG: %[[P0:.*]] = tensor.extract_slice %arg0[0, 0] [%{{.*}}, 32] [1, 1]
// CHECK-DAG: %[[P1:.*]] = tensor.extract_slice %arg0[0, 32] [%{{.*}}, 32] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[P0]], %[[P1]] : {{.*}}) outs(%arg1 : tensor<?x32xi8>)
// CHECK: arith.shli %{{.*}}, %c4_i8
// CHECK: arith.ori
// BUFFER-LABEL: func.func @pack
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @pack(%c: tensor<?x64xi8>, %b: tensor<?x32xi8>) -> tensor<?x32xi8> {
  %r = kvq.pack #f ins(%c : tensor<?x64xi8>) outs(%b : tensor<?x32xi8>) -> tensor<?x32xi8>
  return %r : tensor<?x32xi8>
}

// -----

// CHECK-LABEL: func.func @unpack
// CHECK-DAG: %[[SIGN:.*]] = arith.constant 2 : i8
// CHECK-DAG: %[[MASK:.*]] = arith.constant 3 : i8
// CHECK: arith.andi %in, %[[MASK]]
// CHECK-NEXT: arith.xori %{{.*}}, %[[SIGN]]
// CHECK-NEXT: arith.subi %{{.*}}, %[[SIGN]]
// CHECK: tensor.insert_slice %{{.*}} into %arg1[0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: arith.shrui %in, %c2_i8
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 16] [%{{.*}}, 16] [1, 1]
// CHECK: arith.shrui %in, %c4_i8
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 32] [%{{.*}}, 16] [1, 1]
// CHECK: arith.shrui %in, %c6_i8
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 48] [%{{.*}}, 16] [1, 1]
// BUFFER-LABEL: func.func @unpack
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i2, group = [1, 32], scale = f16>
func.func @unpack(%b: tensor<?x16xi8>, %c: tensor<?x64xi8>) -> tensor<?x64xi8> {
  %r = kvq.unpack #f ins(%b : tensor<?x16xi8>) outs(%c : tensor<?x64xi8>) -> tensor<?x64xi8>
  return %r : tensor<?x64xi8>
}

// -----

// With 8 bits the bytes are the codes; the destination is written all the same.

// CHECK-LABEL: func.func @bytes
// CHECK-NEXT: %[[P:.+]] = linalg.copy ins(%arg0 : {{.*}}) outs(%arg1
// CHECK-NEXT: %[[U:.+]] = linalg.copy ins(%[[P]] : {{.*}}) outs(%arg1
// CHECK-NEXT: return %[[U]]
#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
func.func @bytes(%c: tensor<?x64xi8>, %b: tensor<?x64xi8>) -> tensor<?x64xi8> {
  %p = kvq.pack #f ins(%c : tensor<?x64xi8>) outs(%b : tensor<?x64xi8>) -> tensor<?x64xi8>
  %u = kvq.unpack #f ins(%p : tensor<?x64xi8>) outs(%b : tensor<?x64xi8>) -> tensor<?x64xi8>
  return %u : tensor<?x64xi8>
}

// -----

// 3 bits: the low two of all codes, then the third ones.

// CHECK-LABEL: func.func @pack_two_parts
// CHECK: %[[LOW:.*]] = tensor.extract_slice %arg1[0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: tensor.extract_slice %arg0[0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: tensor.extract_slice %arg0[0, 48] [%{{.*}}, 16] [1, 1]
// CHECK: %[[L:.*]] = linalg.generic {{.*}} outs(%[[LOW]] :
// CHECK: %[[B:.*]] = tensor.insert_slice %[[L]] into %arg1[0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: %[[HIGH:.*]] = tensor.extract_slice %[[B]][0, 16] [%{{.*}}, 8] [1, 1]
// CHECK: tensor.extract_slice %arg0[0, 56] [%{{.*}}, 8] [1, 1]
// CHECK: %[[H:.*]] = linalg.generic {{.*}} outs(%[[HIGH]] :
// CHECK: arith.shrui %in, %c2_i8
// CHECK: tensor.insert_slice %[[H]] into %[[B]][0, 16] [%{{.*}}, 8] [1, 1]
// BUFFER-LABEL: func.func @pack_two_parts
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i3, group = [1, 32], scale = f16>
func.func @pack_two_parts(%c: tensor<?x64xi8>, %b: tensor<?x24xi8>) -> tensor<?x24xi8> {
  %r = kvq.pack #f ins(%c : tensor<?x64xi8>) outs(%b : tensor<?x24xi8>) -> tensor<?x24xi8>
  return %r : tensor<?x24xi8>
}

// -----

// 6 bits: elements 16 to 31 have their low nibbles in the second half of the
// first plane, and their upper bits in the second plane of pairs.

// CHECK-LABEL: func.func @unpack_two_parts
// CHECK-DAG: %[[SIGN:.*]] = arith.constant 32 : i8
// CHECK: %[[LOW:.*]] = tensor.extract_slice %arg0[0, 0] [%{{.*}}, 32] [1, 1]
// CHECK: %[[HIGH:.*]] = tensor.extract_slice %arg0[0, 32] [%{{.*}}, 16] [1, 1]
// CHECK: %[[L0:.*]] = tensor.extract_slice %[[LOW]][0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[L0]], %[[HIGH]] :
// CHECK: tensor.insert_slice %{{.*}} into %arg1[0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: %[[L1:.*]] = tensor.extract_slice %[[LOW]][0, 16] [%{{.*}}, 16] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[L1]], %[[HIGH]] :
// CHECK: arith.andi %in, %c15_i8
// CHECK-NEXT: arith.shrui %{{.*}}, %c2_i8
// CHECK-NEXT: arith.andi %{{.*}}, %c3_i8
// CHECK-NEXT: arith.shli %{{.*}}, %c4_i8
// CHECK-NEXT: arith.ori
// CHECK-NEXT: arith.xori %{{.*}}, %[[SIGN]]
// CHECK-NEXT: arith.subi %{{.*}}, %[[SIGN]]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 16] [%{{.*}}, 16] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 48] [%{{.*}}, 16] [1, 1]
// BUFFER-LABEL: func.func @unpack_two_parts
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i6, group = [1, 32], scale = f16>
func.func @unpack_two_parts(%b: tensor<?x48xi8>, %c: tensor<?x64xi8>) -> tensor<?x64xi8> {
  %r = kvq.unpack #f ins(%b : tensor<?x48xi8>) outs(%c : tensor<?x64xi8>) -> tensor<?x64xi8>
  return %r : tensor<?x64xi8>
}
