// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @query_rank(%q: tensor<4x?x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<4x?x16xf32>) {
  // expected-error@+1 {{expected a query of rank 4, batch x query_heads x query_tokens x head_dim, got rank 3}}
  %r = kvq.attention ins(%q, %k, %v : tensor<4x?x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<4x?x16xf32>) {scale = 1.0 : f32} -> tensor<4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @query_dynamic(%q: tensor<?x4x1x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<?x4x1x16xf32>) {
  // expected-error@+1 {{expected a query with only query_tokens dynamic, got 'tensor<?x4x1x16xf32>'}}
  %r = kvq.attention ins(%q, %k, %v : tensor<?x4x1x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<?x4x1x16xf32>) {scale = 1.0 : f32} -> tensor<?x4x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @output_rank(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<4x?x16xf32>) {
  // expected-error@+1 {{expected an output of rank 4, got rank 3}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<4x?x16xf32>) {scale = 1.0 : f32} -> tensor<4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @result_type(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected a result of the output's type 'tensor<1x4x?x16xf32>', got 'tensor<1x4x2x16xf32>'}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @key_rank(%q: tensor<1x4x?x16xf32>, %k: tensor<2x?x16xf32>, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected a key of rank 4, batch x kv_heads x tokens x head_dim, got rank 3}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, tensor<2x?x16xf32>, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @value_rank(%q: tensor<1x4x?x16xf32>, %k: !c, %v: tensor<2x?x16xf32>, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected a value of rank 4, batch x kv_heads x tokens x head_dim, got rank 3}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, tensor<2x?x16xf32>)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<2x2x64x16xf16, #f>
func.func @key_batch(%q: tensor<1x4x?x16xf32>, %k: !d, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected the query's batch for keys 1, got 2}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !d, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<2x2x64x16xf16, #f>
func.func @value_batch(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !d, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected the query's batch for values 1, got 2}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !d)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<1x2x64x32xf16, #f>
func.func @key_head_dim(%q: tensor<1x4x?x16xf32>, %k: !d, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected keys with the query's head_dim 16, got 32}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !d, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<1x4x64x16xf16, #f>
func.func @value_heads(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !d, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected values with the keys' kv_heads 2, got 4}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !d)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<1x2x64x32xf16, #f>
func.func @output_head_dim(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !d, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected an output with the values' head_dim 32, got 16}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !d)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @output_tokens(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x1x16xf32>) {
  // expected-error@+1 {{expected an output with the query's extent on axis 2 ?, got 1}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x1x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @ratio(%q: tensor<1x3x1x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<1x3x1x16xf32>) {
  // expected-error@+1 {{query_heads 3 is not a multiple of kv_heads 2}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x3x1x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x3x1x16xf32>) {scale = 1.0 : f32} -> tensor<1x3x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @ratio_33(%q: tensor<1x33x1x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<1x33x1x16xf32>) {
  // expected-error@+1 {{query_heads 33 is not a multiple of kv_heads 2}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x33x1x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x33x1x16xf32>) {scale = 1.0 : f32} -> tensor<1x33x1x16xf32>
  return
}

// -----

func.func @ratio_tensors(%q: tensor<1x33x1x16xf32>, %k: tensor<1x2x?x16xf32>, %n: tensor<1xi64>, %o: tensor<1x33x1x16xf32>) {
  // expected-error@+1 {{query_heads 33 is not a multiple of kv_heads 2}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x33x1x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x33x1x16xf32>) {scale = 1.0 : f32} -> tensor<1x33x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x4x64x16xf16, #f>
func.func @fewer_query_heads(%q: tensor<1x2x1x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<1x2x1x16xf32>) {
  // expected-error@+1 {{query_heads 2 is not a multiple of kv_heads 4}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x2x1x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x2x1x16xf32>) {scale = 1.0 : f32} -> tensor<1x2x1x16xf32>
  return
}

// -----

func.func @no_heads(%q: tensor<1x4x?x16xf32>, %k: tensor<1x0x?x16xf32>, %v: tensor<1x0x?x16xf32>, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected at least 1 KV head, static, got 0}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, tensor<1x0x?x16xf32>, tensor<1x0x?x16xf32>)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

func.func @dynamic_heads(%q: tensor<1x4x?x16xf32>, %k: tensor<1x?x?x16xf32>, %v: tensor<1x?x?x16xf32>, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected at least 1 KV head, static, got ?}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, tensor<1x?x?x16xf32>, tensor<1x?x?x16xf32>)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @lengths(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !c, %n: tensor<2xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{expected lengths for 1 sequences, got 2}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !c)
      lengths(%n : tensor<2xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!w = !kvq.cache<1x2x64x16xf16, #f, recent = 8>
func.func @key_flushed_missing(%q: tensor<1x4x?x16xf32>, %k: !w, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{a cache with a recent window needs key_flushed}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !w, !c)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!w = !kvq.cache<1x2x64x16xf16, #f, recent = 8>
func.func @value_flushed_missing(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !w, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>) {
  // expected-error@+1 {{a cache with a recent window needs value_flushed}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !w)
      lengths(%n : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @key_flushed_given(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>, %kf: tensor<1xi64>) {
  // expected-error@+1 {{key_flushed is given for a cache without a recent window: every token is flushed at once}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      key_flushed(%kf : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @value_flushed_given(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !c, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>, %vf: tensor<1xi64>) {
  // expected-error@+1 {{value_flushed is given for a cache without a recent window: every token is flushed at once}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !c)
      lengths(%n : tensor<1xi64>)
      value_flushed(%vf : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!w = !kvq.cache<1x2x64x16xf16, #f, recent = 8>
func.func @flushed_count(%q: tensor<1x4x?x16xf32>, %k: !c, %v: !w, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>, %vf: tensor<2xi64>) {
  // expected-error@+1 {{expected value_flushed for 1 sequences, got 2}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !c, !w)
      lengths(%n : tensor<1xi64>)
      value_flushed(%vf : tensor<2xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [32, 1], scale = f16>
!k = !kvq.cache<1x2x?x16xf16, #f, exact_first = 4, recent = 32>
!v = !kvq.cache<1x2x?x16xf16, #f, recent = 32>
func.func @origins(%q: tensor<1x4x?x16xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %o: tensor<1x4x?x16xf32>, %kf: tensor<1xi64>, %vf: tensor<1xi64>) {
  // expected-error@+1 {{unsupported pair: token groups of 32 and 32 must start at the same token, but exact_first is 4 for keys and 0 for values}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !k, !v)
      lengths(%n : tensor<1xi64>)
      key_flushed(%kf : tensor<1xi64>)
      value_flushed(%vf : tensor<1xi64>)
      outs(%o : tensor<1x4x?x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x16xf32>
  return
}

// -----

!c = !kvq.cache<1x2x64x64xf16, #kvq.format<codes = none>>

func.func @misspelt(%q: tensor<1x2x1x64xf32>, %c: !c, %n: tensor<1xi64>) -> tensor<1x2x1x64xf32> {
  // expected-error@+1 {{'kvq.attention' op has no attribute 'casual': expected one of causal, query_codes, rope_style, scale}}
  %0 = kvq.attention ins(%q, %c, %c : tensor<1x2x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x2x1x64xf32>) {scale = 1.0 : f32, casual} -> tensor<1x2x1x64xf32>
  return %0 : tensor<1x2x1x64xf32>
}

// -----

#int = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #int>
func.func @query_codes_of_another_width(%q: tensor<1x2x1x64xf32>, %c: !c, %n: tensor<1xi64>) {
  // expected-error@+1 {{expected query_codes i8, i16 or f8E4M3FN, got 'i4'}}
  %0 = kvq.attention ins(%q, %c, %c : tensor<1x2x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x2x1x64xf32>) {scale = 1.0 : f32, query_codes = i4} -> tensor<1x2x1x64xf32>
  return
}

// -----

#int = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #int>
func.func @query_codes_of_floats_with_integers(%q: tensor<1x2x1x64xf32>, %c: !c, %n: tensor<1xi64>) {
  // expected-error@+1 {{query_codes needs codes of f8E4M3FN or f8E5M2 of keys or of values, got #kvq.format<codes = i8}}
  %0 = kvq.attention ins(%q, %c, %c : tensor<1x2x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x2x1x64xf32>) {scale = 1.0 : f32, query_codes = f8E4M3FN} -> tensor<1x2x1x64xf32>
  return
}

// -----

#float = #kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #float>
!e = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>
func.func @query_codes_without_integers(%q: tensor<1x2x1x64xf32>, %c: !c, %e: !e, %n: tensor<1xi64>) {
  // expected-error@+1 {{query_codes needs integer codes of keys or of values, got #kvq.format<codes = f8E4M3FN}}
  %0 = kvq.attention ins(%q, %c, %e : tensor<1x2x1x64xf32>, !c, !e) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x2x1x64xf32>) {scale = 1.0 : f32, query_codes = i16} -> tensor<1x2x1x64xf32>
  return
}

// -----

// expected-error@+1 {{expected kvq.query_codes as i8 or i16 of a linalg.generic, got i16 of 'func.func'}}
func.func private @query_codes_of_a_function() attributes {kvq.query_codes = i16}
