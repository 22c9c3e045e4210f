// Kernels as they are compiled are clean, on tensors and on buffers.
// RUN: kvq-opt %s -split-input-file -o /dev/null --pass-pipeline='builtin.module( \
// RUN:   func.func(kvq-fuse-dequantize,kvq-split-tokens{splits=4},kvq-split-regions,kvq-tile-attention, \
// RUN:     kvq-decompose-attention,kvq-verify-fused,kvq-fold-scales,kvq-verify-fused), \
// RUN:   kvq-expand-caches,kvq-verify-fused, \
// RUN:   func.func(kvq-decompose-values),canonicalize,cse,kvq-verify-fused)'
// RUN: kvq-opt %s -split-input-file -o /dev/null --pass-pipeline='builtin.module( \
// RUN:   func.func(kvq-fuse-dequantize,kvq-split-tokens{splits=4},kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales), \
// RUN:   kvq-expand-caches,func.func(kvq-decompose-values),canonicalize, \
// RUN:   kvq-bufferize-pipeline,kvq-verify-fused)'

#k = #kvq.format<codes = i4, group = [1, 32], scale = f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x2x?x64xf16, #k>
!vc = !kvq.cache<1x2x?x64xf16, #v>

// 4-bit keys and values, one token in a group; append, then attention with any
// number of query tokens.
func.func @append_and_attend(%q: tensor<1x4x?x64xf32>, %k: !kc, %v: !vc,
    %x: tensor<1x2x?x64xf32>, %n: tensor<1xi64>, %m: tensor<1xi64>,
    %init: tensor<1x4x?x64xf32>) -> (tensor<1x4x?x64xf32>, !kc, !vc) {
  %k1 = kvq.append ins(%x : tensor<1x2x?x64xf32>) lengths(%n : tensor<1xi64>)
      into(%k : !kc) -> !kc
  %v1 = kvq.append ins(%x : tensor<1x2x?x64xf32>) lengths(%n : tensor<1xi64>)
      into(%v : !vc) -> !vc
  %o = kvq.attention ins(%q, %k1, %v1 : tensor<1x4x?x64xf32>, !kc, !vc)
      lengths(%m : tensor<1xi64>) outs(%init : tensor<1x4x?x64xf32>)
      {scale = 0.125 : f32, causal} -> tensor<1x4x?x64xf32>
  return %o, %k1, %v1 : tensor<1x4x?x64xf32>, !kc, !vc
}

// -----

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = ui4, group = [1, *], scale = f32, zero = min f32>
!kc = !kvq.cache<2x2x4096x128xf16, #k, recent = 32>
!vc = !kvq.cache<2x2x4096x128xf16, #v, exact_first = 4>

// Token groups with a window, exact first tokens, static capacities.
func.func @windows(%q: tensor<2x8x512x128xf32>, %k: !kc, %v: !vc,
    %x: tensor<2x2x1x128xf32>, %n: tensor<2xi64>, %m: tensor<2xi64>,
    %f: tensor<2xi64>, %init: tensor<2x8x512x128xf32>)
    -> (tensor<2x8x512x128xf32>, !kc, !vc) {
  %k1 = kvq.append ins(%x : tensor<2x2x1x128xf32>) lengths(%n : tensor<2xi64>)
      flushed(%f : tensor<2xi64>) into(%k : !kc) -> !kc
  %v1 = kvq.append ins(%x : tensor<2x2x1x128xf32>) lengths(%n : tensor<2xi64>)
      into(%v : !vc) -> !vc
  %o = kvq.attention ins(%q, %k1, %v1 : tensor<2x8x512x128xf32>, !kc, !vc)
      lengths(%m : tensor<2xi64>) key_flushed(%f : tensor<2xi64>)
      outs(%init : tensor<2x8x512x128xf32>)
      {scale = 0.125 : f32, causal} -> tensor<2x8x512x128xf32>
  return %o, %k1, %v1 : tensor<2x8x512x128xf32>, !kc, !vc
}

// -----

#k = #kvq.format<codes = ui8, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f32>

// Dequantized keys and values, fused; a ring of more than max-bytes that no
// token is in.
func.func @fused(%q: tensor<8x32x1x128xf32>, %kb: tensor<8x8x?x128xi8>,
    %ks: tensor<8x8x?x128xf16>, %kz: tensor<8x8x?x128xf16>, %vb: tensor<8x8x?x64xi8>,
    %vs: tensor<8x8x?x4xf32>, %n: tensor<8xi64>, %init: tensor<8x32x1x128xf32>)
    -> tensor<8x32x1x128xf32> {
  %c2 = arith.constant 2 : index
  %tokens = tensor.dim %kb, %c2 : tensor<8x8x?x128xi8>
  %k0 = tensor.empty(%tokens) : tensor<8x8x?x128xf16>
  %k = kvq.dequantize #k
      ins(%kb, %ks, %kz : tensor<8x8x?x128xi8>, tensor<8x8x?x128xf16>, tensor<8x8x?x128xf16>)
      outs(%k0 : tensor<8x8x?x128xf16>) -> tensor<8x8x?x128xf16>
  %vc0 = tensor.empty(%tokens) : tensor<8x8x?x128xi8>
  %vc = kvq.unpack #v ins(%vb : tensor<8x8x?x64xi8>) outs(%vc0 : tensor<8x8x?x128xi8>)
      -> tensor<8x8x?x128xi8>
  %v0 = tensor.empty(%tokens) : tensor<8x8x?x128xf16>
  %v = kvq.dequantize #v ins(%vc, %vs : tensor<8x8x?x128xi8>, tensor<8x8x?x4xf32>)
      outs(%v0 : tensor<8x8x?x128xf16>) -> tensor<8x8x?x128xf16>
  %o = kvq.attention ins(%q, %k, %v : tensor<8x32x1x128xf32>, tensor<8x8x?x128xf16>, tensor<8x8x?x128xf16>)
      lengths(%n : tensor<8xi64>) outs(%init : tensor<8x32x1x128xf32>)
      {scale = 0.125 : f32} -> tensor<8x32x1x128xf32>
  return %o : tensor<8x32x1x128xf32>
}
