// What goes wrong in kernels, found where they are compiled.
// RUN: kvq-opt %s -split-input-file -verify-diagnostics -o /dev/null --pass-pipeline='builtin.module( \
// RUN:   func.func(kvq-split-tokens{splits=4},kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales), \
// RUN:   kvq-expand-caches,func.func(kvq-decompose-values),canonicalize, \
// RUN:   kvq-bufferize-pipeline,kvq-verify-fused)'

#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!vc = !kvq.cache<1x2x?x64xf16, #v>

// The attention reads the cache as it was before the append, which so cannot be
// in place: codes and scales are copied.
func.func @old_cache(%q: tensor<1x4x1x64xf32>, %cache: !vc, %x: tensor<1x2x1x64xf32>,
    %n: tensor<1xi64>, %init: tensor<1x4x1x64xf32>) -> (tensor<1x4x1x64xf32>, !vc) {
  // expected-error @below {{'memref.alloc' op allocates 'memref<1x2x?x32xi8>'}}
  // expected-error @below {{'memref.copy' op copies an unbounded number of bytes}}
  // expected-error @below {{'memref.alloc' op allocates 'memref<1x2x?x2xf16>'}}
  %new = kvq.append ins(%x : tensor<1x2x1x64xf32>) lengths(%n : tensor<1xi64>)
      into(%cache : !vc) -> !vc
  %o = kvq.attention ins(%q, %cache, %cache : tensor<1x4x1x64xf32>, !vc, !vc)
      lengths(%n : tensor<1xi64>) outs(%init : tensor<1x4x1x64xf32>)
      {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
  return %o, %new : tensor<1x4x1x64xf32>, !vc
}

// -----

#k = #kvq.format<codes = ui8, group = [32, 1], scale = f16, zero = min f16>

// Half of the tokens dequantized for a contraction: the whole token groups at
// once, and what is left of the last one into the same buffer.
func.func @half_length(%q: tensor<64xf32>, %codes: tensor<?x64xi8>, %scales: tensor<?x64xf16>,
    %zeros: tensor<?x64xf16>, %scores: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %codes, %c0 : tensor<?x64xi8>
  %half = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%n)
  %groups = affine.apply affine_map<(d0) -> (d0 floordiv 64)>(%n)
  %c = tensor.extract_slice %codes[0, 0] [%half, 64] [1, 1] : tensor<?x64xi8> to tensor<?x64xi8>
  %s = tensor.extract_slice %scales[0, 0] [%groups, 64] [1, 1] : tensor<?x64xf16> to tensor<?x64xf16>
  %z = tensor.extract_slice %zeros[0, 0] [%groups, 64] [1, 1] : tensor<?x64xf16> to tensor<?x64xf16>
  // expected-error @below {{'memref.alloc' op allocates 'memref<?x64xf32>'}}
  %init = tensor.empty(%half) : tensor<?x64xf32>
  // expected-error @below {{'linalg.generic' op makes float values from the codes of an unbounded number of tokens at once, expected at most a tile of 64}}
  // expected-error @below {{'linalg.generic' op gathers float values from codes, token by token, in 'memref<?x64xf32>'}}
  %x = kvq.dequantize #k ins(%c, %s, %z : tensor<?x64xi8>, tensor<?x64xf16>, tensor<?x64xf16>)
      outs(%init : tensor<?x64xf32>) -> tensor<?x64xf32>
  %o = linalg.matvec ins(%x, %q : tensor<?x64xf32>, tensor<64xf32>)
      outs(%scores : tensor<?xf32>) -> tensor<?xf32>
  return %o : tensor<?xf32>
}
