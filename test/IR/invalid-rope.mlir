// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{expected rope post or pre, got 'none'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rope = none>

// -----

// expected-error@+1 {{keys before RoPE cannot be rotated as well, since RoPE turns them as they are read: expected no 'rotate' with rope = pre, got hadamard<32>}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rotate = hadamard<32>, rope = pre>

// -----

// expected-error@+1 {{the product of a query and a mean depends on positions before RoPE: expected no 'center' with rope = pre, got 'bf16'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, center = bf16, rope = pre>

// -----

// expected-error@+1 {{field 'rope' is given twice}}
#f = #kvq.format<codes = none, rope = pre, rope = pre>

// -----

// expected-error@+1 {{expected no other field but rope and layout with codes = none}}
#f = #kvq.format<codes = none, rope = pre, scale = f16>

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rope = pre>
func.func @quantize(%x: tensor<4x32xf32>, %c: tensor<4x32xi8>, %s: tensor<4x1xf16>) {
  // expected-error@+1 {{RoPE turns keys that are read from a cache: expected a format without rope = pre, got #kvq.format<codes = i4}}
  %0:2 = kvq.quantize #f ins(%x : tensor<4x32xf32>) outs(%c, %s : tensor<4x32xi8>, tensor<4x1xf16>) -> tensor<4x32xi8>, tensor<4x1xf16>
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @types(%c: !c, %n: tensor<2xi64>, %cos: tensor<?x32xf32>, %sin: tensor<8x32xf32>) {
  // expected-error@+1 {{expected tables of RoPE of one type, got 'tensor<?x32xf32>' and 'tensor<8x32xf32>'}}
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) rope(%cos, %sin : tensor<?x32xf32>, tensor<8x32xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @wide(%c: !c, %n: tensor<2xi64>, %t: tensor<?x33xf32>) {
  // expected-error@+1 {{expected tables of RoPE with 1 to 32 angles a position, one for each pair of 64 channels, got 33}}
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x33xf32>, tensor<?x33xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @dynamic(%c: !c, %n: tensor<2xi64>, %t: tensor<?x?xf32>) {
  // expected-error@+1 {{expected tables of RoPE with 1 to 32 angles a position, one for each pair of 64 channels, got ?}}
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x?xf32>, tensor<?x?xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @style(%c: !c, %n: tensor<2xi64>) {
  // expected-error@+1 {{rope_style is given without tables of RoPE}}
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) into(%c : !c) {rope_style = #kvq.rope_style<half>} -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none, rope = pre>>
func.func @before(%c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf32>) {
  // expected-error@+1 {{keys before RoPE do not depend on positions: expected no tables of RoPE with rope = pre, got}}
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !c) -> !c
  return
}

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
!c = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #a, [32:64] = none>>
func.func @segments(%c: !c, %n: tensor<2xi64>, %t: tensor<?x16xf32>) {
  // expected-error@+1 {{RoPE turns the first channels of rows of one format: expected no tables with segments, got}}
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x16xf32>, tensor<?x16xf32>) into(%c : !c) -> !c
  return
}

// -----

!k = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none, rope = pre>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @missing(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{keys with rope = pre need tables of RoPE, 'rope(%cos, %sin)': '!kvq.cache<1x1x?x64xf16, #kvq.format<codes = none, rope = pre>>'}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return
}

// -----

!k = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @given(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: tensor<?x32xf32>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{tables of RoPE are given for keys without rope = pre, which are read as they are:}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return
}

// -----

!k = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @unused_style(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{rope_style is given without tables of RoPE}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32, rope_style = #kvq.rope_style<half>} -> tensor<1x2x1x64xf32>
  return
}

// -----

!k = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none, rope = pre>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @too_wide(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: tensor<?x40xf32>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{expected tables of RoPE with 1 to 32 angles a position, one for each pair of 64 channels, got 40}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) rope(%t, %t : tensor<?x40xf32>, tensor<?x40xf32>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return
}

// -----

!k = !kvq.cache<1x1x100x64xf16, #kvq.format<codes = none, rope = pre>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @too_few(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: tensor<99x32xf32>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{expected tables of RoPE with a row for each of 100 positions, got 99}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) rope(%t, %t : tensor<99x32xf32>, tensor<99x32xf32>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return
}

// -----

!k = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none, rope = pre>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none, rope = pre>>
func.func @values(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: tensor<?x32xf32>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{RoPE turns keys only: expected values without rope = pre, got '!kvq.cache}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return
}

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
!k = !kvq.cache<1x1x?x64xf16, #kvq.segments<[0:48] = #a, [48:64] = #kvq.format<codes = none, rope = pre>>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @of_segment(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: tensor<?x9xf32>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{expected tables of RoPE with 1 to 8 angles a position, one for each pair of 16 channels, got 9}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) rope(%t, %t : tensor<?x9xf32>, tensor<?x9xf32>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return
}

// -----

!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @of_tensor(%q: tensor<1x2x1x64xf32>, %k: tensor<1x1x8x64xf32>, %v: !v, %n: tensor<1xi64>, %t: tensor<?x33xf32>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{expected tables of RoPE with 1 to 32 angles a position, one for each pair of 64 channels, got 33}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, tensor<1x1x8x64xf32>, !v) lengths(%n : tensor<1xi64>) rope(%t, %t : tensor<?x33xf32>, tensor<?x33xf32>) outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return
}

// -----

!c = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none, rope = pre>>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @partial(%q: tensor<2x64xf32>, %k: !c, %v: !v, %b: index, %acc: tensor<2x64xf32>, %max: tensor<2xf32>) {
  // expected-error@+1 {{keys with rope = pre need tables of RoPE, 'rope(%cos, %sin)':}}
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x64xf32>, !c, !v) at [%b, %b] tokens [%b to %b] flushed [%b, %b]
      outs(%acc, %max, %max : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#r = #kvq.format<codes = none, rope = pre>
#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
!k = !kvq.cache<1x1x?x64xf16, #kvq.segments<[0:48] = #a, [48:64] = #r>>
func.func @channels(%q: tensor<1x2x1x64xf32>, %k: !k, %n: tensor<1xi64>, %t: tensor<?x8xf32>, %out: tensor<1x2x1x16xf32>) {
  // expected-error@+1 {{value_channels = [48, 64] choose from channels that RoPE turns as they are read}}
  %0 = kvq.attention ins(%q, %k, %k : tensor<1x2x1x64xf32>, !k, !k) lengths(%n : tensor<1xi64>)
      rope(%t, %t : tensor<?x8xf32>, tensor<?x8xf32>)
      outs(%out : tensor<1x2x1x16xf32>) {scale = 0.125 : f32, value_channels = array<i64: 48, 64>} -> tensor<1x2x1x16xf32>
  return
}

// -----

// Codes that RoPE turns are multiplied as floats.

#a = #kvq.format<codes = i8, group = [1, *], scale = f32, rope = pre>
!k = !kvq.cache<1x1x?x64xf16, #a>
!v = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @integers(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: tensor<?x8xf32>, %out: tensor<1x2x1x64xf32>) {
  // expected-error@+1 {{query_codes needs integer codes of keys or of values, got #kvq.format<codes = i8}}
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>)
      rope(%t, %t : tensor<?x8xf32>, tensor<?x8xf32>)
      outs(%out : tensor<1x2x1x64xf32>) {scale = 0.125 : f32, query_codes = i16} -> tensor<1x2x1x64xf32>
  return
}

// -----

// Keys may be turned before they are stored.

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @append_wide(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x33xf32>) {
  // expected-error@+1 {{expected tables of RoPE with 1 to 32 angles a position, one for each pair of 64 channels, got 33}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x33xf32>, tensor<?x33xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @append_types(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %cos: tensor<?x32xf32>, %sin: tensor<?x16xf32>) {
  // expected-error@+1 {{expected tables of RoPE of one type, got 'tensor<?x32xf32>' and 'tensor<?x16xf32>'}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%cos, %sin : tensor<?x32xf32>, tensor<?x16xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @append_halves(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf16>) {
  // expected-error@+1 {{operand #3 must be 2D tensor of 32-bit float values, but got 'tensor<?x32xf16>'}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf16>, tensor<?x32xf16>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x100x64xf16, #kvq.format<codes = none>>
func.func @append_few(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<99x32xf32>) {
  // expected-error@+1 {{expected tables of RoPE with a row for each of 100 positions, got 99}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<99x32xf32>, tensor<99x32xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @append_style(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>) {
  // expected-error@+1 {{rope_style is given without tables of RoPE}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) into(%c : !c) {rope_style = #kvq.rope_style<half>} -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none, rope = pre>>
func.func @append_before(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf32>) {
  // expected-error@+1 {{keys with rope = pre are stored before RoPE: expected no tables, got}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @append_values(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf32>) {
  // expected-error@+1 {{RoPE turns keys only: expected no tables with kvq.side = #kvq.side<values>}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !c) {kvq.side = #kvq.side<values>} -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @append_positions(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf32>) {
  // expected-error@+1 {{positions are for tokens with slots that RoPE turns: expected none without both}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) positions(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>, page = 16>
func.func @append_slots(%x: tensor<?x2x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf32>) {
  // expected-error@+1 {{expected positions beside slots, which do not say which rows of the tables turn tokens}}
  %0 = kvq.append ins(%x : tensor<?x2x64xf16>) slots(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>, page = 16>
func.func @append_more(%x: tensor<3x2x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{expected a position for each of 3 tokens, got 2}}
  %0 = kvq.append ins(%x : tensor<3x2x64xf16>) slots(%s : tensor<?xi64>) positions(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>, page = 16>
func.func @append_unused(%x: tensor<?x2x64xf16>, %c: !c, %n: tensor<2xi64>) {
  // expected-error@+1 {{positions are for tokens with slots that RoPE turns: expected none without both}}
  %0 = kvq.append ins(%x : tensor<?x2x64xf16>) slots(%n : tensor<2xi64>) positions(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #kvq.format<codes = i8, group = [1, *], scale = f32>, [32:64] = none>>
func.func @append_which(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x16xf32>) {
  // expected-error@+1 {{expected rope_segment, which of the segments RoPE turns, for}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x16xf32>, tensor<?x16xf32>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
func.func @append_whole(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x32xf32>) {
  // expected-error@+1 {{rope_segment = 0 is given for a cache without segments}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !c) {rope_segment = 0 : i64} -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #kvq.format<codes = i8, group = [1, *], scale = f32>, [32:64] = none>>
func.func @append_none(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x16xf32>) {
  // expected-error@+1 {{expected a rope_segment below 2, the number of segments, got 2}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x16xf32>, tensor<?x16xf32>) into(%c : !c) {rope_segment = 2 : i64} -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #kvq.format<codes = i8, group = [1, *], scale = f32>, [32:64] = none>>
func.func @append_lone(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>) {
  // expected-error@+1 {{rope_segment is given without tables of RoPE}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) into(%c : !c) {rope_segment = 1 : i64} -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #kvq.format<codes = i8, group = [1, *], scale = f32>, [32:64] = none>>
func.func @append_of_segment(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x17xf32>) {
  // expected-error@+1 {{expected tables of RoPE with 1 to 16 angles a position, one for each pair of 32 channels, got 17}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x17xf32>, tensor<?x17xf32>) into(%c : !c) {rope_segment = 1 : i64} -> !c
  return
}

// -----

!c = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #kvq.format<codes = i8, group = [1, *], scale = f32>, [32:64] = #kvq.format<codes = none, rope = pre>>>
func.func @append_segment_before(%x: tensor<2x2x?x64xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<?x16xf32>) {
  // expected-error@+1 {{keys with rope = pre are stored before RoPE: expected no tables, got}}
  %0 = kvq.append ins(%x : tensor<2x2x?x64xf16>) lengths(%n : tensor<2xi64>) rope(%t, %t : tensor<?x16xf32>, tensor<?x16xf32>) into(%c : !c) {rope_segment = 1 : i64} -> !c
  return
}
