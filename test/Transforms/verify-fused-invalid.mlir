// RUN: kvq-opt %s --kvq-verify-fused -split-input-file -verify-diagnostics

#f = #kvq.format<codes = i8, group = [1, *], scale = f32>

// Half of the tokens are still a cache's worth.
func.func @half_length(%codes: tensor<?x64xi8>, %scales: tensor<?x1xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %codes, %c0 : tensor<?x64xi8>
  %half = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%n)
  %c = tensor.extract_slice %codes[0, 0] [%half, 64] [1, 1] : tensor<?x64xi8> to tensor<?x64xi8>
  %s = tensor.extract_slice %scales[0, 0] [%half, 1] [1, 1] : tensor<?x1xf32> to tensor<?x1xf32>
  %init = tensor.empty(%half) : tensor<?x64xf32>
  // expected-error @below {{'kvq.dequantize' op makes float values from the codes of an unbounded number of tokens at once, expected at most a tile of 64}}
  %x = kvq.dequantize #f ins(%c, %s : tensor<?x64xi8>, tensor<?x1xf32>)
      outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f32>

// Tokens of all heads count.
func.func @all_heads(%codes: tensor<1x4x32x64xi8>, %scales: tensor<1x4x32x1xf32>,
                     %init: tensor<1x4x32x64xf32>) -> tensor<1x4x32x64xf32> {
  // expected-error @below {{'kvq.dequantize' op makes float values from the codes of 128 tokens at once, expected at most a tile of 64}}
  %x = kvq.dequantize #f ins(%codes, %scales : tensor<1x4x32x64xi8>, tensor<1x4x32x1xf32>)
      outs(%init : tensor<1x4x32x64xf32>) -> tensor<1x4x32x64xf32>
  return %x : tensor<1x4x32x64xf32>
}

// -----

// Scores of all tokens at once, over codes that were cut out and widened
// before; a token group as an axis of its own is tokens too.
func.func @scores(%query: memref<64xf32>, %codes: memref<1x2x128x64xi8>,
                  %wide: memref<128x64xi32>, %scores: memref<4x32xf32>) {
  %part = memref.subview %codes[0, 1, 0, 0] [1, 1, 128, 64] [1, 1, 1, 1]
      : memref<1x2x128x64xi8> to memref<128x64xi8, strided<[64, 1], offset: 8192>>
  linalg.generic {
      indexing_maps = [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%part : memref<128x64xi8, strided<[64, 1], offset: 8192>>)
      outs(%wide : memref<128x64xi32>) {
  ^bb0(%code: i8, %out: i32):
    %x = arith.extsi %code : i8 to i32
    linalg.yield %x : i32
  }
  %groups = memref.expand_shape %wide [[0, 1], [2]] output_shape [4, 32, 64]
      : memref<128x64xi32> into memref<4x32x64xi32>
  // expected-error @below {{'linalg.generic' op makes float values from the codes of 128 tokens at once, expected at most a tile of 64}}
  linalg.generic {
      indexing_maps = [affine_map<(n, t, c) -> (c)>, affine_map<(n, t, c) -> (n, t, c)>,
                       affine_map<(n, t, c) -> (n, t)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%query, %groups : memref<64xf32>, memref<4x32x64xi32>)
      outs(%scores : memref<4x32xf32>) {
  ^bb0(%q: f32, %code: i32, %out: f32):
    %x = arith.sitofp %code : i32 to f32
    %y = arith.mulf %q, %x : f32
    %z = arith.addf %out, %y : f32
    linalg.yield %z : f32
  }
  return
}

// -----

// Tile by tile, but into a buffer for all tokens.
func.func @gathered(%codes: memref<4096x64xi8>, %values: memref<4096x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  scf.for %t = %c0 to %c4096 step %c64 {
    %c = memref.subview %codes[%t, 0] [64, 64] [1, 1]
        : memref<4096x64xi8> to memref<64x64xi8, strided<[64, 1], offset: ?>>
    %v = memref.subview %values[%t, 0] [64, 64] [1, 1]
        : memref<4096x64xf32> to memref<64x64xf32, strided<[64, 1], offset: ?>>
    // expected-error @below {{'linalg.generic' op gathers float values from codes, token by token, in 'memref<4096x64xf32>' of 1048576 bytes, expected at most 262144 for a tile}}
    linalg.generic {
        indexing_maps = [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%c : memref<64x64xi8, strided<[64, 1], offset: ?>>)
        outs(%v : memref<64x64xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%code: i8, %out: f32):
      %x = arith.sitofp %code : i8 to f32
      linalg.yield %x : f32
    }
  }
  return
}

// -----

// Sizes that follow from a length, from the extent of codes; a static one.
func.func @allocations(%codes: memref<?x64xi8>, %lengths: memref<1xi64>) {
  %c0 = arith.constant 0 : index
  %length = memref.load %lengths[%c0] : memref<1xi64>
  %n = arith.index_cast %length : i64 to index
  // expected-error @below {{'memref.alloc' op allocates 'memref<?xf32>' of an unbounded number of bytes, expected at most 262144}}
  %scores = memref.alloc(%n) : memref<?xf32>
  %tokens = memref.dim %codes, %c0 : memref<?x64xi8>
  // expected-error @below {{'memref.alloc' op allocates 'memref<?x64xf32>' of an unbounded number of bytes, expected at most 262144}}
  %values = memref.alloc(%tokens) : memref<?x64xf32>
  // expected-error @below {{'memref.alloca' op allocates 'memref<8192x64xi8>' of 524288 bytes, expected at most 262144}}
  %unpacked = memref.alloca() : memref<8192x64xi8>
  %c0_i8 = arith.constant 0 : i8
  linalg.fill ins(%c0_i8 : i8) outs(%unpacked : memref<8192x64xi8>)
  return
}

// -----

// Not a workspace: the parts are found by a loop over tokens.
func.func @tokens_as_work_items(%query: memref<?x64xf32>, %zero: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %query, %c0 : memref<?x64xf32>
  // expected-error @below {{'memref.alloc' op allocates 'memref<?x64xf32>'}}
  %values = memref.alloc(%n) : memref<?x64xf32>
  scf.for %t = %c0 to %n step %c1 {
    %row = memref.subview %values[%t, 0] [1, 64] [1, 1]
        : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%row : memref<64xf32, strided<[1], offset: ?>>)
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A cache's codes, too, lie in the buffer that rounded floats do.
func.func @rounded_beside_codes(%query: memref<72x32xf32>, %cache: memref<1024x32xi8>, %out: memref<72x32xf32>) {
  %codes = memref.alloca() : memref<72x32xi8>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%query : memref<72x32xf32>) outs(%codes : memref<72x32xi8>) {
  ^bb0(%x: f32, %old: i8):
    %y = arith.fptosi %x : f32 to i8
    linalg.yield %y : i8
  }
  %tile = memref.subview %cache[0, 0] [72, 32] [1, 1] : memref<1024x32xi8> to memref<72x32xi8, strided<[32, 1]>>
  memref.copy %tile, %codes : memref<72x32xi8, strided<[32, 1]>> to memref<72x32xi8>
  // expected-error @below {{'linalg.generic' op makes float values from the codes of 72 tokens at once, expected at most a tile of 64}}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%codes : memref<72x32xi8>) outs(%out : memref<72x32xf32>) {
  ^bb0(%code: i8, %old: f32):
    %x = arith.sitofp %code : i8 to f32
    linalg.yield %x : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Each op that copies.
func.func @copies(%a: memref<?x64xf16>, %b: memref<?x64xf16>, %c: memref<4096x64xf32>,
                  %d: memref<4096x64xf32>) {
  // expected-error @below {{'memref.copy' op copies an unbounded number of bytes, expected at most 262144: is an old value of a cache read after an append?}}
  memref.copy %a, %b : memref<?x64xf16> to memref<?x64xf16>
  // expected-error @below {{'bufferization.clone' op copies an unbounded number of bytes}}
  %clone = bufferization.clone %a : memref<?x64xf16> to memref<?x64xf16>
  // expected-error @below {{'linalg.copy' op copies 1048576 bytes, expected at most 262144}}
  linalg.copy ins(%c : memref<4096x64xf32>) outs(%d : memref<4096x64xf32>)
  // expected-error @below {{'linalg.generic' op copies 1048576 bytes, expected at most 262144}}
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<4096x64xf32>) outs(%d : memref<4096x64xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  }
  return
}
