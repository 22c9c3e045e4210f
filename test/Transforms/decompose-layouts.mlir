// RUN: kvq-opt %s -kvq-decompose-values -canonicalize -cse -split-input-file | FileCheck %s
// RUN: kvq-opt %s -kvq-decompose-values -canonicalize -cse -kvq-bufferize-pipeline -split-input-file \
// RUN:   | FileCheck %s --check-prefix=BUFFER

// A record for each group: its fields are slices of an axis of their own. Codes
// are planar within the group; the scale comes from two bytes.

// CHECK-DAG: #[[BYTE0:.*]] = affine_map<(d0, d1) -> (d0, d1, 0)>
// CHECK-DAG: #[[BYTE1:.*]] = affine_map<(d0, d1) -> (d0, d1, 1)>
// CHECK-LABEL: func.func @unpack_blocks
// CHECK: %[[RECORDS:.*]] = tensor.expand_shape %arg0 {{\[}}[0], [1, 2]] {{.*}} : tensor<?x36xi8> into tensor<?x2x18xi8>
// CHECK: %[[S:.*]] = tensor.extract_slice %[[RECORDS]][0, 0, 0] [%{{.*}}, 2, 2] [1, 1, 1]
// CHECK: linalg.generic {indexing_maps = [#[[BYTE0]], #[[BYTE1]], #{{.*}}], {{.*}} ins(%[[S]], %[[S]] : {{.*}}) outs(%arg2 : tensor<?x2xf16>)
// CHECK: arith.extui %in : i8 to i16
// CHECK: arith.extui %in_{{.*}} : i8 to i16
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK: arith.bitcast %{{.*}} : i16 to f16
// CHECK: %[[B:.*]] = tensor.extract_slice %[[RECORDS]][0, 0, 2] [%{{.*}}, 2, 16] [1, 1, 1]
// CHECK: %[[CODES:.*]] = tensor.expand_shape %arg1 {{\[}}[0], [1, 2]] {{.*}} into tensor<?x2x32xi8>
// CHECK: %[[LOW:.*]] = tensor.extract_slice %[[CODES]][0, 0, 0] [%{{.*}}, 2, 16]
// CHECK: linalg.generic {{.*}} ins(%[[B]] : {{.*}}) outs(%[[LOW]] :
// CHECK: arith.andi
// CHECK-NEXT: arith.subi
// CHECK: tensor.insert_slice
// CHECK: tensor.collapse_shape
// BUFFER-LABEL: func.func @unpack_blocks
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
#q4 = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<bias, record = [scale, codes]>>
func.func @unpack_blocks(%r: tensor<?x36xi8>, %c: tensor<?x64xi8>, %s: tensor<?x2xf16>)
    -> (tensor<?x64xi8>, tensor<?x2xf16>) {
  %0:2 = kvq.unpack #q4 ins(%r : tensor<?x36xi8>) outs(%c, %s : tensor<?x64xi8>, tensor<?x2xf16>)
      -> tensor<?x64xi8>, tensor<?x2xf16>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<?x2xf16>
}

// -----

// A byte of metadata for each point.

// CHECK-LABEL: func.func @pack_blocks
// CHECK: linalg.generic {{.*}} ins(%arg1 : tensor<?x2xf16>) outs(%{{.*}} : tensor<?x2x2xi8>)
// CHECK: %[[BITS:.*]] = arith.bitcast %in : f16 to i16
// CHECK: linalg.index 2
// CHECK: arith.shrui %[[BITS]]
// CHECK: arith.trunci %{{.*}} : i16 to i8
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x2x16xi8>)
// CHECK: tensor.collapse_shape %{{.*}} : tensor<?x2x18xi8> into tensor<?x36xi8>
// BUFFER-LABEL: func.func @pack_blocks
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
#q4 = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<bias, record = [scale, codes]>>
func.func @pack_blocks(%c: tensor<?x64xi8>, %s: tensor<?x2xf16>, %r: tensor<?x36xi8>) -> tensor<?x36xi8> {
  %0 = kvq.pack #q4 ins(%c, %s : tensor<?x64xi8>, tensor<?x2xf16>) outs(%r : tensor<?x36xi8>) -> tensor<?x36xi8>
  return %0 : tensor<?x36xi8>
}

// -----

// In other orders a round of codes is an axis: two codes of one byte here.

// CHECK-DAG: #[[BYTES:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[CODES:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @unpack_stream
// CHECK: linalg.generic {indexing_maps = [#[[BYTES]], #[[CODES]]], {{.*}} ins(%arg0 : tensor<?x32xi8>) outs(%{{.*}} : tensor<?x32x2xi8>)
// CHECK: linalg.index 2
// BUFFER-LABEL: func.func @unpack_stream
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<codes = stream>>
func.func @unpack_stream(%b: tensor<?x32xi8>, %c: tensor<?x64xi8>) -> tensor<?x64xi8> {
  %r = kvq.unpack #f ins(%b : tensor<?x32xi8>) outs(%c : tensor<?x64xi8>) -> tensor<?x64xi8>
  return %r : tensor<?x64xi8>
}

// -----

// Eight codes of three bits in three bytes: of a code, the bytes with its first
// and its last bit; of a byte, the codes with its bits 0, 3, 6 and 7.

// CHECK-DAG: #[[FIRST:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, (d2 * 3) floordiv 8)>
// CHECK-DAG: #[[LAST:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, (d2 * 3 + 2) floordiv 8)>
// CHECK-LABEL: func.func @unpack_three_bits
// CHECK: linalg.generic {indexing_maps = [#[[FIRST]], #[[LAST]], #{{.*}}], {{.*}} outs(%{{.*}} : tensor<?x8x8xi8>)
// BUFFER-LABEL: func.func @unpack_three_bits
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i3, group = [1, 32], scale = f16, layout = #kvq.layout<codes = stream>>
func.func @unpack_three_bits(%b: tensor<?x24xi8>, %c: tensor<?x64xi8>) -> tensor<?x64xi8> {
  %r = kvq.unpack #f ins(%b : tensor<?x24xi8>) outs(%c : tensor<?x64xi8>) -> tensor<?x64xi8>
  return %r : tensor<?x64xi8>
}

// -----

// CHECK-DAG: #[[BIT0:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, (d2 * 8) floordiv 3)>
// CHECK-DAG: #[[BIT7:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, (d2 * 8 + 7) floordiv 3)>
// CHECK-LABEL: func.func @pack_three_bits
// CHECK: linalg.generic {indexing_maps = [#[[BIT0]], #{{.*}}, #{{.*}}, #[[BIT7]], #{{.*}}], {{.*}} outs(%{{.*}} : tensor<?x8x3xi8>)
// BUFFER-LABEL: func.func @pack_three_bits
// BUFFER-NOT: memref.alloc
#f = #kvq.format<codes = i3, group = [1, 32], scale = f16, layout = #kvq.layout<codes = stream>>
func.func @pack_three_bits(%c: tensor<?x64xi8>, %b: tensor<?x24xi8>) -> tensor<?x24xi8> {
  %r = kvq.pack #f ins(%c : tensor<?x64xi8>) outs(%b : tensor<?x24xi8>) -> tensor<?x24xi8>
  return %r : tensor<?x24xi8>
}

// -----

// The strided order of TurboMind, in the map alone: element 2a + b is in nibble
// 4b + a.

// CHECK-DAG: #[[BYTES:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, {{.*}}d2 mod 2{{.*}}d2 floordiv 2{{.*}} floordiv 8)>
// CHECK-LABEL: func.func @unpack_strided
// CHECK: linalg.generic {indexing_maps = [#[[BYTES]], #{{.*}}], {{.*}} outs(%{{.*}} : tensor<?x8x8xi8>)
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, layout = #kvq.layout<codes = stream<8, 2>>>
func.func @unpack_strided(%b: tensor<?x32xi8>, %c: tensor<?x64xi8>) -> tensor<?x64xi8> {
  %r = kvq.unpack #f ins(%b : tensor<?x32xi8>) outs(%c : tensor<?x64xi8>) -> tensor<?x64xi8>
  return %r : tensor<?x64xi8>
}

// -----

// With a plane of high bits in another order, these are or'ed into the codes.

// CHECK-LABEL: func.func @unpack_cut
// CHECK: %[[LOW:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?x2x16xi8>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x2x4x8xi8>) {
// CHECK-NEXT: ^bb0(%[[HIGH:.*]]: i8, %[[CODE:.*]]: i8):
// CHECK: arith.ori %[[CODE]], %{{.*}}
// CHECK-NEXT: arith.subi
// BUFFER-LABEL: func.func @unpack_cut
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
#q5 = #kvq.format<codes = i5, group = [1, 32], scale = f16,
                  layout = #kvq.layout<high = stream, bias, record = [scale, high, codes]>>
func.func @unpack_cut(%r: tensor<?x44xi8>, %c: tensor<?x64xi8>, %s: tensor<?x2xf16>)
    -> (tensor<?x64xi8>, tensor<?x2xf16>) {
  %0:2 = kvq.unpack #q5 ins(%r : tensor<?x44xi8>) outs(%c, %s : tensor<?x64xi8>, tensor<?x2xf16>)
      -> tensor<?x64xi8>, tensor<?x2xf16>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<?x2xf16>
}

// -----

// A zero point in the lowest bits of a scale: each from the same four bytes.

// CHECK-LABEL: func.func @scale_and_zero
// CHECK: linalg.generic {{.*}} outs(%arg2 : tensor<?x1xf32>)
// CHECK: arith.andi %{{.*}}, %c-16_i32
// CHECK: arith.bitcast
// CHECK: linalg.generic {{.*}} outs(%arg3 : tensor<?x1xi8>)
// CHECK: arith.trunci
#f = #kvq.format<codes = ui4, group = [1, *], scale = f32, zero = point i8,
                 layout = #kvq.layout<codes = stream, record = [codes, scale_zero]>>
func.func @scale_and_zero(%r: tensor<?x36xi8>, %c: tensor<?x64xi8>, %s: tensor<?x1xf32>, %z: tensor<?x1xi8>)
    -> (tensor<?x64xi8>, tensor<?x1xf32>, tensor<?x1xi8>) {
  %0:3 = kvq.unpack #f ins(%r : tensor<?x36xi8>) outs(%c, %s, %z : tensor<?x64xi8>, tensor<?x1xf32>, tensor<?x1xi8>)
      -> tensor<?x64xi8>, tensor<?x1xf32>, tensor<?x1xi8>
  return %0#0, %0#1, %0#2 : tensor<?x64xi8>, tensor<?x1xf32>, tensor<?x1xi8>
}

// -----

// Words of tokens: codes are put in the order of channels, 16 tokens each, and
// packed as any row is; a group's bytes are static.

// CHECK-DAG: #[[READ:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// BUFFER-LABEL: func.func @pack_words_of_tokens
// CHECK-LABEL: func.func @pack_words_of_tokens
// CHECK-SAME: %[[C:.*]]: tensor<32x64xi8>, %[[B:.*]]: tensor<2x256xi8>
// CHECK: %[[SPLIT:.*]] = tensor.expand_shape %[[C]] {{\[}}[0, 1], [2]] output_shape [2, 16, 64]
// CHECK: %[[SCRATCH:.*]] = tensor.empty() : tensor<2x64x16xi8>
// CHECK: %[[ORDERED:.*]] = linalg.generic {indexing_maps = [#[[READ]], #{{.*}}], {{.*}} ins(%[[SPLIT]] : {{.*}}) outs(%[[SCRATCH]] :
// CHECK: %[[ELEMENTS:.*]] = tensor.collapse_shape %[[ORDERED]] {{\[}}[0], [1, 2]] : tensor<2x64x16xi8> into tensor<2x1024xi8>
// CHECK: linalg.generic {{.*}} outs(%[[B]] : tensor<2x256xi8>)
#f = #kvq.format<codes = ui2, group = [32, 1], scale = f16, zero = min f16, layout = #kvq.layout<codes = stream, block = [16, 1]>>
func.func @pack_words_of_tokens(%c: tensor<32x64xi8>, %b: tensor<2x256xi8>) -> tensor<2x256xi8> {
  %r = kvq.pack #f ins(%c : tensor<32x64xi8>) outs(%b : tensor<2x256xi8>) -> tensor<2x256xi8>
  return %r : tensor<2x256xi8>
}

// -----

// Whole rows of tokens, one after the other, are a view.

// CHECK-LABEL: func.func @unpack_rows_of_tokens
// CHECK-SAME: %[[R:.*]]: tensor<1x2560xi8>, %[[C:.*]]: tensor<32x64xi8>
// CHECK: tensor.extract_slice %[[R]][0, 512] [1, 2048] [1, 1]
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2]] : tensor<1x32x64xi8> into tensor<1x2048xi8>
// CHECK-NOT: tensor.empty
// CHECK: return
// BUFFER-LABEL: func.func @unpack_rows_of_tokens
// BUFFER-NOT: memref.alloc
#g = #kvq.format<codes = ui8, group = [32, 1], scale = f32, zero = point f32,
                 layout = #kvq.layout<block = [32, *], row = [scale, zero, codes]>>
func.func @unpack_rows_of_tokens(%r: tensor<1x2560xi8>, %c: tensor<32x64xi8>, %s: tensor<1x64xf32>, %z: tensor<1x64xf32>)
    -> (tensor<32x64xi8>, tensor<1x64xf32>, tensor<1x64xf32>) {
  %0:3 = kvq.unpack #g ins(%r : tensor<1x2560xi8>) outs(%c, %s, %z : tensor<32x64xi8>, tensor<1x64xf32>, tensor<1x64xf32>)
      -> tensor<32x64xi8>, tensor<1x64xf32>, tensor<1x64xf32>
  return %0#0, %0#1, %0#2 : tensor<32x64xi8>, tensor<1x64xf32>, tensor<1x64xf32>
}

// -----

// Exact elements in a record, whose other bytes are not touched.

// CHECK-LABEL: func.func @pack_values
// CHECK-SAME: %[[V:.*]]: tensor<?x32xbf16>, %[[R:.*]]: tensor<?x132xi8>
// CHECK: %[[FIELD:.*]] = tensor.extract_slice %[[R]][0, 68] [%{{.*}}, 64] [1, 1]
// CHECK: linalg.generic {{.*}} ins(%[[V]] : tensor<?x32xbf16>) outs(%{{.*}} : tensor<?x32x2xi8>)
// CHECK: arith.bitcast %{{.*}} : bf16 to i16
// CHECK: tensor.insert_slice %{{.*}} into %[[R]][0, 68] [%{{.*}}, 64] [1, 1]
#v = #kvq.format<codes = none, layout = #kvq.layout<row = [skip<68>, values]>>
func.func @pack_values(%v: tensor<?x32xbf16>, %r: tensor<?x132xi8>) -> tensor<?x132xi8> {
  %0 = kvq.pack #v ins(%v : tensor<?x32xbf16>) outs(%r : tensor<?x132xi8>) -> tensor<?x132xi8>
  return %0 : tensor<?x132xi8>
}

// -----

// Scales of groups 0, 2, then 1, 3, in the map alone.

// CHECK-DAG: #[[BYTE:.*]] = affine_map<(d0, d1) -> (d0, {{.*}}d1 mod 2{{.*}}d1 floordiv 2{{.*}})>
// CHECK-LABEL: func.func @unpack_strided_scales
// CHECK: linalg.generic {indexing_maps = [#[[BYTE]], #{{.*}}], {{.*}} outs(%{{.*}} : tensor<?x4xf8E4M3FN>)
#s = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN, layout = #kvq.layout<codes = stream, row = [codes, scale<2>]>>
func.func @unpack_strided_scales(%r: tensor<?x36xi8>, %c: tensor<?x64xi8>, %s: tensor<?x4xf8E4M3FN>)
    -> (tensor<?x64xi8>, tensor<?x4xf8E4M3FN>) {
  %0:2 = kvq.unpack #s ins(%r : tensor<?x36xi8>) outs(%c, %s : tensor<?x64xi8>, tensor<?x4xf8E4M3FN>)
      -> tensor<?x64xi8>, tensor<?x4xf8E4M3FN>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<?x4xf8E4M3FN>
}
