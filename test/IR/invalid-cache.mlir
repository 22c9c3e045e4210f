// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected 'exact_first', 'recent', 'residual', 'page', 'ring', 'keep_first' or 'token_major', got 'newest'}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, newest = 4>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{parameter 'recent' is given twice}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = 4, recent = 4>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{parameter 'exact_first' is given twice}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, exact_first = 0, exact_first = 4>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a shape of 4 extents, batch x kv_heads x capacity x head_dim, got 3}}
func.func private @f(!kvq.cache<8x?x128xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a static batch, got '?'}}
func.func private @f(!kvq.cache<?x8x?x128xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a kv_heads of at least 1, got 0}}
func.func private @f(!kvq.cache<1x0x?x128xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a batch of at most 1099511627776, got 4611686018427387904}}
func.func private @f(!kvq.cache<4611686018427387904x8x?x128xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a head_dim of at most 1099511627776, got 4611686018427387904}}
func.func private @f(!kvq.cache<1x8x?x4611686018427387904xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a static head_dim, got '?'}}
func.func private @f(!kvq.cache<1x8x?x?xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected element type f16, bf16 or f32, got 'f64'}}
func.func private @f(!kvq.cache<1x8x?x128xf64, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected exact_first of at least 0, got -1}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, exact_first = -1>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected recent of at least 0, got -1}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = -1>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a recent of at most 1099511627776 tokens, got 9223372036854775807}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = 9223372036854775807>)

// -----

#f = #kvq.format<codes = i4, group = [9223372036854775807, 1], scale = f16>
// expected-error@+1 {{expected a token group of at most 1099511627776 tokens, got 9223372036854775807}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = 64>)

// -----

#f = #kvq.format<codes = none>
// expected-error@+1 {{exact elements need no exact window: expected none of exact_first, recent and residual with codes = none}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = 64>)

// -----

#f = #kvq.format<codes = none>
// expected-error@+1 {{exact elements need no exact window}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, exact_first = 4>)

// -----

#f = #kvq.format<codes = i4, group = [32, 1], scale = f16>
// expected-error@+1 {{a group of 32 tokens has no range before all of them are there: expected an exact window ('recent = R' or 'residual = R')}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, exact_first = 4>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{group of 32 channels does not divide head_dim 80}}
func.func private @f(!kvq.cache<1x8x?x80xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{4-bit codes fill whole bytes only if 2 divides head_dim, got 65}}
func.func private @f(!kvq.cache<1x8x?x65xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{parameter 'residual' is given twice}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, residual = 4, residual = 4>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected residual of at least 1, got 0}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, residual = 0>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected one exact window, got recent = 0 and residual = 32}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = 0, residual = 32>)

// -----

#f = #kvq.format<codes = i4, group = [32, 1], scale = f16>
// expected-error@+1 {{expected residual to be whole groups of 32 tokens, got 48}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, residual = 48>)

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
// expected-error@+1 {{expected a residual of at most 1099511627776 tokens, got 9223372036854775807}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, residual = 9223372036854775807>)

// -----

#f = #kvq.format<codes = none>
// expected-error@+1 {{exact elements need no exact window}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, residual = 1>)

// -----

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
// expected-error@+1 {{parameter 'token_major' is given twice}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, token_major, token_major>)

// -----

#f = #kvq.format<codes = i8, group = [1, 32], heads = 2, scale = f16>
// expected-error@+1 {{expected groups of one head with token_major, got 2}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, token_major>)

// -----

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = token_pairs<64>>>
// expected-error@+1 {{expected rows of a head together in tiles, got token_major}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, token_major>)
