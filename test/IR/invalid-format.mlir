// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// Syntax.

// expected-error@+1 {{expected a group extent of at least 1 or '*', got 0}}
#f = #kvq.format<codes = i4, group = [0, 32], scale = f16>

// -----

// expected-error@+1 {{expected a group extent of at least 1 or '*', got -32}}
#f = #kvq.format<codes = i4, group = [1, -32], scale = f16>

// -----

// expected-error@+1 {{expected range absmax or minmax, got 'mean'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = mean>

// -----

// expected-error@+1 {{expected 'min' and a type as the zero, got 'point'}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = point f16>

// -----

// expected-error@+1 {{field 'scale' is given twice}}
#f = #kvq.format<codes = i4, scale = f16, group = [1, 32], scale = f32>

// -----

// expected-error@+1 {{expected one of codes, group, scale, zero, range, got 'scales'}}
#f = #kvq.format<codes = i4, group = [1, 32], scales = f16>

// -----

// expected-error@+1 {{expected field 'codes'}}
#f = #kvq.format<group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected no other field with codes = none: exact elements have no group, scale, zero or range}}
#f = #kvq.format<codes = none, scale = f16>

// -----

// expected-error@+1 {{expected field 'scale' with quantized codes}}
#f = #kvq.format<codes = i4, group = [1, 32]>

// -----

// expected-error@+1 {{expected field 'group' with quantized codes}}
#f = #kvq.format<codes = i4, scale = f16>

// -----

// Checks.

// expected-error@+1 {{expected codes i2, i4, i8, ui2, ui4, ui8 or none, got 'i3'}}
#f = #kvq.format<codes = i3, group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected codes i2, i4, i8, ui2, ui4, ui8 or none, got 'si4'}}
#f = #kvq.format<codes = si4, group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected codes i2, i4, i8, ui2, ui4, ui8 or none, got 'f8E4M3FN'}}
#f = #kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{expected scale f16 or f32, got 'bf16'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = bf16>

// -----

// expected-error@+1 {{expected zero 'min f16' or 'min f32', got 'min 'i8''}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min i8>

// -----

// expected-error@+1 {{unsigned codes 'ui4' need a zero: expected 'zero = min f16' or 'zero = min f32'}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16>

// -----

// expected-error@+1 {{a zero needs unsigned codes: expected ui4, got 'i4'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, zero = min f16>

// -----

// expected-error@+1 {{range minmax needs a zero; without one expected range absmax}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = minmax>

// -----

// expected-error@+1 {{range absmax takes no zero; with 'min 'f16'' expected range minmax}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, range = absmax>

// -----

// expected-error@+1 {{a group over all tokens needs a static range, since its range is never known at append: expected a number of tokens, got '*'}}
#f = #kvq.format<codes = i4, group = [*, 1], scale = f16>

// -----

// expected-error@+1 {{a group of 32 tokens must have 1 channel, got 8}}
#f = #kvq.format<codes = i4, group = [32, 8], scale = f16>

// -----

// expected-error@+1 {{a group of 32 tokens must have 1 channel, got *}}
#f = #kvq.format<codes = i4, group = [32, *], scale = f16>
