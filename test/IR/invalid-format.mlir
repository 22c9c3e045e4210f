// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// Syntax.

// expected-error@+1 {{expected a group extent of at least 1 or '*', got 0}}
#f = #kvq.format<codes = i4, group = [0, 32], scale = f16>

// -----

// expected-error@+1 {{expected a group extent of at least 1 or '*', got -32}}
#f = #kvq.format<codes = i4, group = [1, -32], scale = f16>

// -----

// expected-error@+1 {{expected range absmax, minmax, clip<ratio>, search<steps>, rms, norm or static, got 'mean'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = mean>

// -----

// expected-error@+1 {{expected 'min' or 'point' and a type as the zero, got 'mean'}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = mean f16>

// -----

// expected-error@+1 {{expected 'min' or 'point' and a type as the zero, got 'none'}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = none f16>

// -----

// expected-error@+1 {{field 'scale' is given twice}}
#f = #kvq.format<codes = i4, scale = f16, group = [1, 32], scale = f32>

// -----

// expected-error@+1 {{expected one of codes, group, heads, scale, zero, range, rotate, center, rope, rule, layout, got 'scales'}}
#f = #kvq.format<codes = i4, group = [1, 32], scales = f16>

// -----

// expected-error@+1 {{expected field 'codes'}}
#f = #kvq.format<group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected no other field but rope and layout with codes = none: exact elements have no group, heads, scale, zero, range, rotate, center or rule}}
#f = #kvq.format<codes = none, scale = f16>

// -----

// expected-error@+1 {{expected field 'scale' with quantized codes}}
#f = #kvq.format<codes = i4, group = [1, 32]>

// -----

// expected-error@+1 {{expected field 'group' with quantized codes}}
#f = #kvq.format<codes = i4, scale = f16>

// -----

// Checks.

// expected-error@+1 {{expected codes of i2, i3, i4, i5, i6, i8, ui2, ui3, ui4, ui5, ui6, ui8, f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN, a #kvq.codebook or none, got i7}}
#f = #kvq.format<codes = i7, group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected codes of i2, i3, i4, i5, i6, i8, ui2, ui3, ui4, ui5, ui6, ui8, f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN, a #kvq.codebook or none, got si4}}
#f = #kvq.format<codes = si4, group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected codes of i2, i3, i4, i5, i6, i8, ui2, ui3, ui4, ui5, ui6, ui8, f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN, a #kvq.codebook or none, got f8E4M3}}
#f = #kvq.format<codes = f8E4M3, group = [1, 32], scale = f16>

// -----

// expected-error-re@+1 {{expected codes of {{.*}} a #kvq.codebook or none, got "nf4"}}
#f = #kvq.format<codes = "nf4", group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected scale f16, bf16, f32, f8E8M0FNU or f8E4M3FN, got 'f64'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f64>

// -----

// expected-error@+1 {{expected scale f16, bf16, f32, f8E8M0FNU or f8E4M3FN, got 'f8E5M2'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f8E5M2>

// -----

// expected-error@+1 {{expected zero 'min T' of f16, bf16 or f32, got 'min 'i8''}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min i8>

// -----

// expected-error@+1 {{unsigned codes ui4 need a zero: expected 'zero = min T' or 'zero = point T'}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{a zero needs unsigned codes: expected ui2, ui3, ui4, ui5, ui6 or ui8, got i4}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, zero = min f16>

// -----

// expected-error@+1 {{a zero needs unsigned codes: expected ui2, ui3, ui4, ui5, ui6 or ui8, got f8E4M3FN}}
#f = #kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f16, zero = point f16>

// -----

// expected-error@+1 {{a zero needs unsigned codes: expected ui2, ui3, ui4, ui5, ui6 or ui8, got #kvq.codebook<nf4>}}
#f = #kvq.format<codes = #kvq.codebook<nf4>, group = [1, 32], scale = f16, zero = min f16>

// -----

// expected-error@+1 {{expected zero 'point T' of i8, ui8, f16, bf16 or f32, got 'point 'i4''}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = point i4>

// -----

// expected-error@+1 {{zero points in i8 go to 127, codes ui8 to 255: expected 'zero = point ui8'}}
#f = #kvq.format<codes = ui8, group = [1, 32], scale = f16, zero = point i8>

// -----

// expected-error@+1 {{range minmax needs a zero; without one expected range absmax, clip, search or static}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = minmax>

// -----

// expected-error@+1 {{range absmax takes no zero; with 'min 'f16'' expected range minmax, clip, search or static}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, range = absmax>

// -----

// expected-error@+1 {{a group over all tokens needs a static range, since its range is never known at append: expected 'range = static' or a number of tokens, got range absmax and '*'}}
#f = #kvq.format<codes = i4, group = [*, 1], scale = f16>

// -----

// expected-error@+1 {{expected two levels of scales as f8E4M3FN of f32, got 'f16' of 'f32'}}
#f = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f16 of f32>

// -----

// expected-error@+1 {{expected two levels of scales as f8E4M3FN of f32, got 'f8E4M3FN' of 'f16'}}
#f = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f16>

// -----

// expected-error@+1 {{a static range is that of a group over all tokens: expected '*' for tokens, got 32}}
#f = #kvq.format<codes = i4, group = [32, 1], scale = f16, range = static>

// -----

// expected-error@+1 {{a group over all tokens needs a static range, since its range is never known at append: expected 'range = static' or a number of tokens, got range clip and '*'}}
#f = #kvq.format<codes = i4, group = [*, *], scale = f16, range = clip<0.9>>

// -----

// expected-error@+1 {{expected a clip ratio above 0 and at most 1, got 0}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = clip<0.0>>

// -----

// expected-error@+1 {{expected a clip ratio above 0 and at most 1, got 1.5}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, range = clip<1.5>>

// -----

// Codebooks.

// expected-error@+1 {{expected codebook nf4, iq4_nl, lloyd_max = bits or values = [...], got 'nf5'}}
#c = #kvq.codebook<nf5>

// -----

// expected-error@+1 {{expected lloyd_max of 1 to 4 bits, got 5}}
#c = #kvq.codebook<lloyd_max = 5>

// -----

// expected-error@+1 {{expected a codebook of 2 to 16 values, got 1}}
#c = #kvq.codebook<values = [1.0]>

// -----

// expected-error@+1 {{expected a codebook of 2 to 16 values, got 17}}
#c = #kvq.codebook<values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]>

// -----

// expected-error@+1 {{expected strictly increasing values in a codebook, got 0.5 after 0.5}}
#c = #kvq.codebook<values = [-1.0, 0.5, 0.5]>

// -----

// expected-error-re@+1 {{expected finite values in a codebook, got {{.*}}}}
#c = #kvq.codebook<values = [0.0, 0x7F800000]>

// -----

// expected-error@+1 {{scale f8E8M0FNU is never 0, and neither is a value of #kvq.codebook<lloyd_max = 2>: expected another scale, or a value 0.0, for groups of zeros}}
#f = #kvq.format<codes = #kvq.codebook<lloyd_max = 2>, group = [1, 32], scale = f8E8M0FNU>

// -----

// Rows.

// expected-error@+1 {{3-bit codes fill whole bytes only if 8 divides head_dim, got 36}}
func.func private @f(!kvq.cache<1x1x8x36xf16, #kvq.format<codes = i3, group = [1, 4], scale = f16>>)

// -----

// expected-error@+1 {{5-bit codes fill whole bytes only if 8 divides head_dim, got 20}}
func.func private @f(!kvq.cache<1x1x8x20xf16, #kvq.format<codes = i5, group = [1, *], scale = f16>>)

// -----

// expected-error@+1 {{6-bit codes fill whole bytes only if 4 divides head_dim, got 18}}
func.func private @f(!kvq.cache<1x1x8x18xf16, #kvq.format<codes = f6E2M3FN, group = [1, *], scale = f16>>)

// -----

// expected-error@+1 {{1-bit codes fill whole bytes only if 8 divides head_dim, got 12}}
func.func private @f(!kvq.cache<1x1x8x12xf16, #kvq.format<codes = #kvq.codebook<lloyd_max = 1>, group = [1, *], scale = f16>>)

// -----

// expected-error@+1 {{group of 48 channels does not divide head_dim 64}}
func.func private @f(!kvq.cache<1x1x8x64xf16, #kvq.format<codes = i4, group = [8, 48], scale = f16>, recent = 8>)

// -----

// expected-error@+1 {{expected 1 to 8388608 steps of search, got 0}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = search<0>>

// -----

// expected-error@+1 {{range rms needs a #kvq.codebook as codes, got i4}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = rms>

// -----

// expected-error@+1 {{range norm needs a #kvq.codebook as codes, got ui4}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, range = norm>

// -----

#f = #kvq.format<codes = #kvq.codebook<values = [0.0, 1.0e-45, 1.0]>, group = [1, *], scale = f16, range = norm>
// expected-error@+1 {{range norm over 64 elements makes 0.0 of both 0.0 and 1.0e-45: expected values farther apart}}
func.func private @f(!kvq.cache<1x1x8x64xf16, #f>)

// -----

// Rotations and means.

// expected-error@+1 {{expected a rotation of a power of two of channels, such as 128, got 96}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rotate = hadamard<96>>

// -----

// expected-error@+1 {{expected a rotation of 2 or more channels, got 0}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rotate = hadamard<0>>

// -----

// expected-error@+1 {{expected rotation hadamard<channels>, got 'givens'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rotate = givens<64>>

// -----

// expected-error@+1 {{expected a center of f16, bf16 or f32, got 'f64'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, center = f64>

// -----

// expected-error@+1 {{rotation of 64 channels does not divide head_dim 96}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, rotate = hadamard<64>>>)

// -----

// expected-error@+1 {{expected a group extent of at least 1 or '*', got 0}}
#f = #kvq.format<codes = i4, group = [1, 32], heads = 0, scale = f16>

// -----

// expected-error@+1 {{expected no other field but rope and layout with codes = none: exact}}
#f = #kvq.format<codes = none, heads = *>

// -----

#f = #kvq.format<codes = i4, group = [1, 32], heads = 3, scale = f16>
// expected-error@+1 {{group of 3 heads does not divide 8 KV heads}}
func.func private @f(!kvq.cache<1x8x8x64xf16, #f>)

// -----

// expected-error@+1 {{rotation of all channels needs a head_dim that is a power of two, got 96}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, rotate = hadamard<*>>>)
