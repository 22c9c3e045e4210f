// What kvq-verify-fused accepts, on tensors and on buffers.
// RUN: kvq-opt %s --kvq-verify-fused | FileCheck %s

#f = #kvq.format<codes = i8, group = [1, *], scale = f32>

// A tile: the extent is dynamic, its bound follows from affine.min.
// CHECK-LABEL: func @tile
func.func @tile(%codes: tensor<1x2x?x64xi8>, %scales: tensor<1x2x?x1xf32>,
                %begin: index, %end: index) -> tensor<?x64xf32> {
  %n = affine.min affine_map<(d0, d1) -> (d1 - d0, 64)>(%begin, %end)
  %c = tensor.extract_slice %codes[0, 1, %begin, 0] [1, 1, %n, 64] [1, 1, 1, 1]
      : tensor<1x2x?x64xi8> to tensor<?x64xi8>
  %s = tensor.extract_slice %scales[0, 1, %begin, 0] [1, 1, %n, 1] [1, 1, 1, 1]
      : tensor<1x2x?x1xf32> to tensor<?x1xf32>
  %scratch = tensor.empty() : tensor<64x64xf32>
  %init = tensor.extract_slice %scratch[0, 0] [%n, 64] [1, 1]
      : tensor<64x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #f ins(%c, %s : tensor<?x64xi8>, tensor<?x1xf32>)
      outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// The sum over all tokens spans none; 64 groups of 32 channels are one row, not
// 64 x 64 tokens.
// CHECK-LABEL: func @sum_over_tokens
func.func @sum_over_tokens(%p: memref<?xf32>, %codes: memref<?x2048xi8>,
                           %acc: memref<64x32xf32>, %tokens: index) {
  %c = memref.expand_shape %codes [[0], [1, 2]] output_shape [%tokens, 64, 32]
      : memref<?x2048xi8> into memref<?x64x32xi8>
  linalg.generic {
      indexing_maps = [affine_map<(t, g, c) -> (t)>,
                       affine_map<(t, g, c) -> (t, g, c)>,
                       affine_map<(t, g, c) -> (g, c)>],
      iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%p, %c : memref<?xf32>, memref<?x64x32xi8>) outs(%acc : memref<64x32xf32>) {
  ^bb0(%w: f32, %code: i8, %out: f32):
    %x = arith.sitofp %code : i8 to f32
    %y = arith.mulf %w, %x : f32
    %z = arith.addf %out, %y : f32
    linalg.yield %z : f32
  }
  return
}

// Codes of a query, by row and group, are no cache's.
// CHECK-LABEL: func @query_codes
func.func @query_codes(%query: memref<24x18x32xf32>, %sums: memref<24x18xf32>) {
  %codes = memref.alloca() : memref<24x18x32xi8>
  linalg.generic {
      indexing_maps = [affine_map<(r, g, c) -> (r, g, c)>, affine_map<(r, g, c) -> (r, g, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%query : memref<24x18x32xf32>) outs(%codes : memref<24x18x32xi8>) {
  ^bb0(%x: f32, %out: i8):
    %y = arith.fptosi %x : f32 to i8
    linalg.yield %y : i8
  }
  linalg.generic {
      indexing_maps = [affine_map<(r, g, c) -> (r, g, c)>, affine_map<(r, g, c) -> (r, g)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%codes : memref<24x18x32xi8>) outs(%sums : memref<24x18xf32>) {
  ^bb0(%code: i8, %out: f32):
    %x = arith.sitofp %code : i8 to f32
    %y = arith.addf %out, %x : f32
    linalg.yield %y : f32
  }
  return
}

// A workspace: one part for each work item, as many as there are query tokens.
// CHECK-LABEL: func @workspace
func.func @workspace(%query: memref<1x8x?x128xf32>, %zero: f32) -> memref<8x?x128xf32> {
  %c2 = arith.constant 2 : index
  %n = memref.dim %query, %c2 : memref<1x8x?x128xf32>
  %w = memref.alloc(%n) : memref<8x?x128xf32>
  scf.forall (%h, %i) in (4, %n) {
    %first = affine.apply affine_map<(d0) -> (d0 * 2)>(%h)
    %part = memref.subview %w[%first, %i, 0] [2, 1, 128] [1, 1, 1]
        : memref<8x?x128xf32> to memref<2x128xf32, strided<[?, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%part : memref<2x128xf32, strided<[?, 1], offset: ?>>)
  }
  return %w : memref<8x?x128xf32>
}

// Who merges splits takes a row of 64 heads of each of 16 at once.
// CHECK-LABEL: func @merge
func.func @merge(%query: memref<?x64x128xf32>, %zero: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %query, %c0 : memref<?x64x128xf32>
  %w = memref.alloc(%n) : memref<16x?x64x128xf32>
  scf.forall (%i) in (%n) {
    %part = memref.subview %w[0, %i, 0, 0] [16, 1, 64, 128] [1, 1, 1, 1]
        : memref<16x?x64x128xf32> to memref<16x64x128xf32, strided<[?, 128, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%part : memref<16x64x128xf32, strided<[?, 128, 1], offset: ?>>)
  }
  return
}

// Copies of a tile, and copies in place, which are none.
// CHECK-LABEL: func @copies
func.func @copies(%codes: memref<?x64xi8>, %n: index) {
  %tile = memref.alloca() : memref<64x64xi8>
  %bound = affine.min affine_map<(d0) -> (d0, 64)>(%n)
  %part = memref.subview %codes[0, 0] [%bound, 64] [1, 1]
      : memref<?x64xi8> to memref<?x64xi8, strided<[64, 1]>>
  %scratch = memref.subview %tile[0, 0] [%bound, 64] [1, 1]
      : memref<64x64xi8> to memref<?x64xi8, strided<[64, 1]>>
  memref.copy %part, %scratch
      : memref<?x64xi8, strided<[64, 1]>> to memref<?x64xi8, strided<[64, 1]>>
  memref.copy %codes, %codes : memref<?x64xi8> to memref<?x64xi8>
  return
}

// The recent window of a cache whose tokens are all quantized: nothing is in it.
// CHECK-LABEL: func @never_written
func.func @never_written(%tile: memref<64xf16>, %row: index) {
  %ring = memref.alloc() : memref<8192x64xf16>
  %slot = memref.subview %ring[%row, 0] [1, 64] [1, 1]
      : memref<8192x64xf16> to memref<64xf16, strided<[1], offset: ?>>
  linalg.copy ins(%slot : memref<64xf16, strided<[1], offset: ?>>)
      outs(%tile : memref<64xf16>)
  memref.dealloc %ring : memref<8192x64xf16>
  return
}

// A function that is asked to dequantize everything.
// CHECK-LABEL: func @unfused
// CHECK-SAME:    attributes {kvq.unfused}
func.func @unfused(%codes: tensor<2x?x64xi8>, %scales: tensor<2x?x1xf32>,
                   %init: tensor<2x?x64xf32>) -> tensor<2x?x64xf32>
    attributes {kvq.unfused} {
  %x = kvq.dequantize #f ins(%codes, %scales : tensor<2x?x64xi8>, tensor<2x?x1xf32>)
      outs(%init : tensor<2x?x64xf32>) -> tensor<2x?x64xf32>
  return %x : tensor<2x?x64xf32>
}
