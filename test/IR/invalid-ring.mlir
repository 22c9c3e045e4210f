// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected a ring of at least 1 token, got 0}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, ring = 0>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected a ring of at most 1099511627776 tokens, got 1099511627777}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, ring = 1099511627777>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected keep_first of at least 0, got -1}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, ring = 8, keep_first = -1>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected a ring beside keep_first = 4: without one all tokens are kept}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, keep_first = 4>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected a ring of more tokens than keep_first = 8, got 8}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, ring = 8, keep_first = 8>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected keep_first of at least exact_first = 3, got 2}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, exact_first = 3, ring = 8, keep_first = 2>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected an exact window of at most the 6 newest tokens that the ring keeps, got 7}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = 7, ring = 8, keep_first = 2>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
func.func @capacity(%i: index) {
  // expected-error@+1 {{expected no capacity operand, as the storage of a ring does not depend on it}}
  %c = kvq.empty(%i) : !kvq.cache<1x8x?x128xf16, #f, ring = 8>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!k = !kvq.cache<2x2x?x16xf16, #f, ring = 8, keep_first = 2>
!v = !kvq.cache<2x2x?x16xf16, #f, ring = 8>
func.func @other_ring(%q: tensor<2x2x1x16xf32>, %k: !k, %v: !v, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected keys and values that keep the same tokens, got ring = 8, keep_first = 2 for keys and ring = 8, keep_first = 0 for values}}
  %r = kvq.attention ins(%q, %k, %v : tensor<2x2x1x16xf32>, !k, !v) lengths(%n : tensor<2xi64>)
      outs(%q : tensor<2x2x1x16xf32>) {scale = 1.0 : f32} -> tensor<2x2x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!k = !kvq.cache<2x2x?x16xf16, #f, ring = 8>
!v = !kvq.cache<2x2x?x16xf16, #f>
func.func @no_ring(%q: tensor<2x2x1x16xf32>, %k: !k, %v: !v, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected keys and values that keep the same tokens, got ring = 8, keep_first = 0 for keys and no ring for values}}
  %r = kvq.attention ins(%q, %k, %v : tensor<2x2x1x16xf32>, !k, !v) lengths(%n : tensor<2xi64>)
      outs(%q : tensor<2x2x1x16xf32>) {scale = 1.0 : f32} -> tensor<2x2x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!k = !kvq.cache<2x2x?x16xf16, #f, ring = 8, keep_first = 2>
func.func @queries(%q: tensor<2x2x7x16xf32>, %k: !k, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected a ring of at least 9 tokens, keep_first = 2 and those of 7 queries, got 8}}
  %r = kvq.attention ins(%q, %k, %k : tensor<2x2x7x16xf32>, !k, !k) lengths(%n : tensor<2xi64>)
      outs(%q : tensor<2x2x7x16xf32>) {scale = 1.0 : f32, causal} -> tensor<2x2x7x16xf32>
  return
}
