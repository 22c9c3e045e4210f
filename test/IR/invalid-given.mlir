// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// What is given to ops and caches.

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @missing(%x: tensor<4x16xf16>, %c: tensor<4x16xi8>) {
  // expected-error@+1 {{expected 1 given inputs and one or more before them, got 1 inputs}}
  %r = kvq.quantize #f ins(%x : tensor<4x16xf16>) outs(%c : tensor<4x16xi8>) -> tensor<4x16xi8>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
func.func @not_asked_for(%x: tensor<4x16xf16>, %s: tensor<1x2xf16>, %c: tensor<4x16xi8>, %t: tensor<4x2xf16>) {
  // expected-error@+1 {{expected one tensor of f16, bf16 or f32 as inputs, got}}
  %r:2 = kvq.quantize #f ins(%x, %s : tensor<4x16xf16>, tensor<1x2xf16>)
      outs(%c, %t : tensor<4x16xi8>, tensor<4x2xf16>) -> tensor<4x16xi8>, tensor<4x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @count(%x: tensor<4x16xf16>, %s: tensor<1x4xf16>, %c: tensor<4x16xi8>) {
  // expected-error@+1 {{expected given scales of type 'tensor<1x2xf16>' (leading extents may be 1), got 'tensor<1x4xf16>'}}
  %r = kvq.quantize #f ins(%x, %s : tensor<4x16xf16>, tensor<1x4xf16>) outs(%c : tensor<4x16xi8>) -> tensor<4x16xi8>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @type(%x: tensor<4x16xf16>, %s: tensor<1x2xf32>, %c: tensor<4x16xi8>) {
  // expected-error@+1 {{expected given scales of type 'tensor<1x2xf16>' (leading extents may be 1), got 'tensor<1x2xf32>'}}
  %r = kvq.dequantize #f ins(%c, %s : tensor<4x16xi8>, tensor<1x2xf32>) outs(%x : tensor<4x16xf16>) -> tensor<4x16xf16>
  return
}

// -----

#f = #kvq.format<codes = ui4, group = [*, 8], scale = f16, zero = point ui8, range = static>
func.func @leading(%x: tensor<4x3x5x16xf16>, %s: tensor<1x3x1x2xf16>, %z: tensor<2x3x1x2xi8>, %c: tensor<4x3x5x16xi8>) {
  // expected-error@+1 {{expected given zeros of type 'tensor<4x3x1x2xi8>' (leading extents may be 1), got 'tensor<2x3x1x2xi8>'}}
  %r = kvq.quantize #f ins(%x, %s, %z : tensor<4x3x5x16xf16>, tensor<1x3x1x2xf16>, tensor<2x3x1x2xi8>)
      outs(%c : tensor<4x3x5x16xi8>) -> tensor<4x3x5x16xi8>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @tokens(%x: tensor<4x16xf16>, %s: tensor<4x2xf16>, %c: tensor<4x16xi8>) {
  // expected-error@+1 {{expected given scales of type 'tensor<1x2xf16>' (leading extents may be 1), got 'tensor<4x2xf16>'}}
  %r = kvq.quantize #f ins(%x, %s : tensor<4x16xf16>, tensor<4x2xf16>) outs(%c : tensor<4x16xi8>) -> tensor<4x16xi8>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @empty_count() {
  // expected-error@+1 {{expected 1 given components, got 0}}
  %c = kvq.empty : !kvq.cache<1x2x64x16xf16, #f>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
func.func @empty_without(%s: tensor<1x2x1x2xf16>) {
  // expected-error@+1 {{expected 0 given components, got 1}}
  %c = kvq.empty given(%s : tensor<1x2x1x2xf16>) : !kvq.cache<1x2x64x16xf16, #f>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @empty_type(%s: tensor<1x3x1x2xf16>) {
  // expected-error@+1 {{expected scales of type 'tensor<1x2x1x2xf16>', got 'tensor<1x3x1x2xf16>'}}
  %c = kvq.empty given(%s : tensor<1x3x1x2xf16>) : !kvq.cache<1x2x64x16xf16, #f>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
func.func @load_computed(%c: !kvq.cache<1x2x64x16xf16, #f>, %h: index) {
  // expected-error@+1 {{the cache has no given component 'scales'}}
  %s = kvq.load_given %c <scales> at [%h] : !kvq.cache<1x2x64x16xf16, #f> -> tensor<1x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @load_absent(%c: !kvq.cache<1x2x64x16xf16, #f>, %h: index) {
  // expected-error@+1 {{the cache has no given component 'zeros'}}
  %s = kvq.load_given %c <zeros> at [%h] : !kvq.cache<1x2x64x16xf16, #f> -> tensor<1x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [*, 8], scale = f16, range = static>
func.func @load_type(%c: !kvq.cache<1x2x64x16xf16, #f>, %h: index) {
  // expected-error@+1 {{expected a row of type 'tensor<1x2xf16>', got 'tensor<2x2xf16>'}}
  %s = kvq.load_given %c <scales> at [%h] : !kvq.cache<1x2x64x16xf16, #f> -> tensor<2x2xf16>
  return
}
