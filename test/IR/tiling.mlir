// RUN: kvq-opt %s --transform-interpreter --canonicalize --cse -split-input-file | FileCheck %s

// The tiling interface of the value-level ops, through the upstream transform
// dialect.

// One token in a group: a tile of 16 steps is 16 tokens of codes and metadata.

// CHECK-LABEL: func.func @quantize
// CHECK: scf.for %[[B:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for %[[T:.*]] = %c0 to %c64 step %c16
// CHECK-DAG: tensor.extract_slice %arg0[%[[B]], %[[T]], 0] [1, 16, 128] [1, 1, 1] : tensor<2x64x128xf16> to tensor<1x16x128xf16>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[B]], %[[T]], 0] [1, 16, 128] [1, 1, 1] : tensor<2x64x128xi8> to tensor<1x16x128xi8>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[B]], %[[T]], 0] [1, 16, 4] [1, 1, 1] : tensor<2x64x4xf16> to tensor<1x16x4xf16>
// CHECK: %[[R:.*]]:2 = kvq.quantize {{.*}} -> tensor<1x16x128xi8>, tensor<1x16x4xf16>
// CHECK-DAG: tensor.insert_slice %[[R]]#0 into %{{.*}}[%[[B]], %[[T]], 0] [1, 16, 128] [1, 1, 1]
// CHECK-DAG: tensor.insert_slice %[[R]]#1 into %{{.*}}[%[[B]], %[[T]], 0] [1, 16, 4] [1, 1, 1]
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @quantize(%x: tensor<2x64x128xf16>, %c: tensor<2x64x128xi8>,
    %s: tensor<2x64x4xf16>) -> (tensor<2x64x128xi8>, tensor<2x64x4xf16>) {
  %r:2 = kvq.quantize #f ins(%x : tensor<2x64x128xf16>)
      outs(%c, %s : tensor<2x64x128xi8>, tensor<2x64x4xf16>)
      -> tensor<2x64x128xi8>, tensor<2x64x4xf16>
  return %r#0, %r#1 : tensor<2x64x128xi8>, tensor<2x64x4xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tiled, %loops:2 = transform.structured.tile_using_for %op tile_sizes [1, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Groups of 32 tokens: a step is a group.

// CHECK-DAG: #[[$TOKENS:.*]] = affine_map<(d0) -> (d0 * 32)>
// CHECK-LABEL: func.func @quantize_token_groups
// CHECK: scf.for %[[G:.*]] = %c0 to %c4 step %c1
// CHECK-DAG: %[[T:.*]] = affine.apply #[[$TOKENS]](%[[G]])
// CHECK-DAG: tensor.extract_slice %arg0[%[[T]], 0] [32, 128] [1, 1] : tensor<128x128xf16> to tensor<32x128xf16>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[T]], 0] [32, 128] [1, 1] : tensor<128x128xi8> to tensor<32x128xi8>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[G]], 0] [1, 128] [1, 1] : tensor<4x128xf16> to tensor<1x128xf16>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[G]], 0] [1, 128] [1, 1] : tensor<4x128xf32> to tensor<1x128xf32>
// CHECK: kvq.quantize {{.*}} -> tensor<32x128xi8>, tensor<1x128xf16>, tensor<1x128xf32>
#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f32>
func.func @quantize_token_groups(%x: tensor<128x128xf16>, %c: tensor<128x128xi8>,
    %s: tensor<4x128xf16>, %z: tensor<4x128xf32>)
    -> (tensor<128x128xi8>, tensor<4x128xf16>, tensor<4x128xf32>) {
  %r:3 = kvq.quantize #f ins(%x : tensor<128x128xf16>)
      outs(%c, %s, %z : tensor<128x128xi8>, tensor<4x128xf16>, tensor<4x128xf32>)
      -> tensor<128x128xi8>, tensor<4x128xf16>, tensor<4x128xf32>
  return %r#0, %r#1, %r#2 : tensor<128x128xi8>, tensor<4x128xf16>, tensor<4x128xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.quantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Of the last group some tokens are missing: 72 tokens are two groups of 32 and
// one of 8.

// CHECK-DAG: #[[$SIZE:.*]] = affine_map<(d0) -> (d0 * -32 + 72, 32)>
// CHECK-DAG: #[[$TOKENS:.*]] = affine_map<(d0) -> (d0 * 32)>
// CHECK-LABEL: func.func @dequantize_partial_group
// CHECK: scf.for %[[G:.*]] = %c0 to %c3 step %c1
// CHECK-DAG: %[[T:.*]] = affine.apply #[[$TOKENS]](%[[G]])
// CHECK-DAG: %[[N:.*]] = affine.min #[[$SIZE]](%[[G]])
// CHECK-DAG: tensor.extract_slice %arg0[%[[T]], 0] [%[[N]], 128] [1, 1] : tensor<72x128xi8> to tensor<?x128xi8>
// CHECK-DAG: tensor.extract_slice %arg1[%[[G]], 0] [1, 128] [1, 1] : tensor<3x128xf16> to tensor<1x128xf16>
// CHECK: %[[R:.*]] = kvq.dequantize {{.*}} -> tensor<?x128xf32>
// CHECK: tensor.insert_slice %[[R]] into %{{.*}}[%[[T]], 0] [%[[N]], 128] [1, 1]
#f = #kvq.format<codes = i8, group = [32, 1], scale = f16>
func.func @dequantize_partial_group(%c: tensor<72x128xi8>, %s: tensor<3x128xf16>,
    %y: tensor<72x128xf32>) -> tensor<72x128xf32> {
  %r = kvq.dequantize #f ins(%c, %s : tensor<72x128xi8>, tensor<3x128xf16>)
      outs(%y : tensor<72x128xf32>) -> tensor<72x128xf32>
  return %r : tensor<72x128xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.dequantize"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %tiled, %loop = transform.structured.tile_using_for %op tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Packing treats each token by itself, whatever the group.

// CHECK-LABEL: func.func @pack_unpack
// CHECK: scf.for %[[T:.*]] = %c0 to %{{.*}} step %c8
// CHECK: %[[N:.*]] = affine.min
// CHECK-DAG: tensor.extract_slice %arg0[%[[T]], 0] [%[[N]], 128] [1, 1] : tensor<?x128xi8> to tensor<?x128xi8>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[T]], 0] [%[[N]], 64] [1, 1] : tensor<?x64xi8> to tensor<?x64xi8>
// CHECK: kvq.pack {{.*}} ins(%{{.*}} : tensor<?x128xi8>) outs(%{{.*}} : tensor<?x64xi8>)
// CHECK: scf.for
// CHECK: kvq.unpack {{.*}} ins(%{{.*}} : tensor<?x64xi8>) outs(%{{.*}} : tensor<?x128xi8>)
#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
func.func @pack_unpack(%c: tensor<?x128xi8>, %b: tensor<?x64xi8>) -> tensor<?x128xi8> {
  %p = kvq.pack #f ins(%c : tensor<?x128xi8>) outs(%b : tensor<?x64xi8>)
      -> tensor<?x64xi8>
  %u = kvq.unpack #f ins(%p : tensor<?x64xi8>) outs(%c : tensor<?x128xi8>)
      -> tensor<?x128xi8>
  return %u : tensor<?x128xi8>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %pack = transform.structured.match ops{["kvq.pack"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %p, %loop = transform.structured.tile_using_for %pack tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %unpack = transform.structured.match ops{["kvq.unpack"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %u, %loop2 = transform.structured.tile_using_for %unpack tile_sizes [8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// With records of metadata, a step is a group of tokens and a row of records.

// CHECK-LABEL: func.func @pack_records
// CHECK: scf.for %[[T:.*]] = %c0 to %c2 step %c1
// CHECK: %[[FIRST:.*]] = affine.apply #{{.*}}(%[[T]])
// CHECK-DAG: tensor.extract_slice %arg0[%[[FIRST]], 0] [32, 16] [1, 1] : tensor<64x16xi8> to tensor<32x16xi8>
// CHECK-DAG: tensor.extract_slice %arg1[%[[T]], 0] [1, 16] [1, 1] : tensor<2x16xf16> to tensor<1x16xf16>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[FIRST]], 0] [32, 8] [1, 1] : tensor<64x8xi8> to tensor<32x8xi8>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[T]], 0] [1, 64] [1, 1] : tensor<2x64xi8> to tensor<1x64xi8>
// CHECK: kvq.pack {{.*}} -> tensor<32x8xi8>, tensor<1x64xi8>
#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16,
                 layout = #kvq.layout<record = [scale, zero]>>
func.func @pack_records(%c: tensor<64x16xi8>, %s: tensor<2x16xf16>, %z: tensor<2x16xf16>, %b: tensor<64x8xi8>,
                        %r: tensor<2x64xi8>) -> (tensor<64x8xi8>, tensor<2x64xi8>) {
  %p:2 = kvq.pack #f ins(%c, %s, %z : tensor<64x16xi8>, tensor<2x16xf16>, tensor<2x16xf16>)
      outs(%b, %r : tensor<64x8xi8>, tensor<2x64xi8>) -> tensor<64x8xi8>, tensor<2x64xi8>
  return %p#0, %p#1 : tensor<64x8xi8>, tensor<2x64xi8>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %pack = transform.structured.match ops{["kvq.pack"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %p, %loop = transform.structured.tile_using_for %pack tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Words of 16 tokens: a step is a row of words.

// CHECK-LABEL: func.func @unpack_words_of_tokens
// CHECK: scf.for %[[T:.*]] = %c0 to %c4 step %c1
// CHECK: tensor.extract_slice %arg0[%[[T]], 0] [1, 64] [1, 1] : tensor<4x64xi8> to tensor<1x64xi8>
// CHECK: %[[FIRST:.*]] = affine.apply #{{.*}}(%[[T]])
// CHECK: tensor.extract_slice %{{.*}}[%[[FIRST]], 0] [16, 16] [1, 1] : tensor<64x16xi8> to tensor<16x16xi8>
// CHECK: kvq.unpack {{.*}} -> tensor<16x16xi8>
#f = #kvq.format<codes = ui2, group = [32, 1], scale = f16, zero = min f16,
                 layout = #kvq.layout<codes = stream, block = [16, 1]>>
func.func @unpack_words_of_tokens(%b: tensor<4x64xi8>, %c: tensor<64x16xi8>) -> tensor<64x16xi8> {
  %p = kvq.unpack #f ins(%b : tensor<4x64xi8>) outs(%c : tensor<64x16xi8>) -> tensor<64x16xi8>
  return %p : tensor<64x16xi8>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %unpack = transform.structured.match ops{["kvq.unpack"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %p, %loop = transform.structured.tile_using_for %unpack tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Words of tokens beside records of metadata: a step is a group, two rows of
// words and a record.

// CHECK-LABEL: func.func @pack_words_and_records
// CHECK: scf.for %[[T:.*]] = %c0 to %c2 step %c1
// CHECK-DAG: tensor.extract_slice %arg0[%{{.*}}, 0] [32, 16] [1, 1] : tensor<64x16xi8> to tensor<32x16xi8>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [2, 64] [1, 1] : tensor<4x64xi8> to tensor<2x64xi8>
// CHECK-DAG: tensor.extract_slice %{{.*}}[%[[T]], 0] [1, 64] [1, 1] : tensor<2x64xi8> to tensor<1x64xi8>
// CHECK: kvq.pack {{.*}} -> tensor<2x64xi8>, tensor<1x64xi8>
#f = #kvq.format<codes = ui2, group = [32, 1], scale = f16, zero = min f16,
                 layout = #kvq.layout<codes = stream, block = [16, 1], record = [scale, zero]>>
func.func @pack_words_and_records(%c: tensor<64x16xi8>, %s: tensor<2x16xf16>, %z: tensor<2x16xf16>, %b: tensor<4x64xi8>,
                                  %r: tensor<2x64xi8>) -> (tensor<4x64xi8>, tensor<2x64xi8>) {
  %p:2 = kvq.pack #f ins(%c, %s, %z : tensor<64x16xi8>, tensor<2x16xf16>, tensor<2x16xf16>)
      outs(%b, %r : tensor<4x64xi8>, tensor<2x64xi8>) -> tensor<4x64xi8>, tensor<2x64xi8>
  return %p#0, %p#1 : tensor<4x64xi8>, tensor<2x64xi8>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %pack = transform.structured.match ops{["kvq.pack"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %p, %loop = transform.structured.tile_using_for %pack tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
