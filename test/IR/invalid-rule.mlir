// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{duplicate or unknown struct parameter name: tie}}
#r = #kvq.rule<tie = up>

// -----

// expected-error@+2 {{expected one of [even, away, up, lower] for the code of a number in the middle between two, got: down}}
// expected-error@+1 {{failed to parse KVQ_RuleAttr parameter 'ties'}}
#r = #kvq.rule<ties = down>

// -----

// expected-error@+1 {{expected positive numbers as 'least' and 'constant' of a rule, got -1.0}}
#r = #kvq.rule<scale = nearest, least = -1.0>

// -----

// expected-error@+1 {{expected precision f16 or bf16, or none for f32, got 'f8E5M2'}}
#r = #kvq.rule<scale = nearest, precision = f8E5M2>

// -----

// expected-error@+1 {{'metadata', 'extremum', 'least', 'constant', 'fit' and 'precision' of a rule need scale = nearest, got covering}}
#r = #kvq.rule<least = 1.0e-6>

// -----

// expected-error@+1 {{'metadata', 'extremum', 'least', 'constant', 'fit' and 'precision' of a rule need scale = nearest, got exponent}}
#r = #kvq.rule<scale = exponent, metadata = unrounded>

// -----

// expected-error@+1 {{fit = squares needs metadata = unrounded, as codes are not computed with the scale that is stored}}
#r = #kvq.rule<scale = nearest, fit = squares>

// -----

// Rules that do not fit a format.

// expected-error@+1 {{scale f8E8M0FNU is not rounded to nearest: expected a rule with scale = covering or exponent}}
#f = #kvq.format<codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU, rule = #kvq.rule<scale = nearest>>

// -----

// expected-error@+1 {{a rule with scale = exponent needs scale f8E8M0FNU, got 'f16'}}
#f = #kvq.format<codes = f4E2M1FN, group = [1, 32], scale = f16, rule = #kvq.rule<scale = exponent>>

// -----

// expected-error@+1 {{ties = away has no meaning for codes f4E2M1FN; expected even, away or up for integers, even or lower for floats, even or up for codebooks}}
#f = #kvq.format<codes = f4E2M1FN, group = [1, 32], scale = f16, rule = #kvq.rule<ties = away>>

// -----

// expected-error@+1 {{ties = lower has no meaning for codes i4}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rule = #kvq.rule<ties = lower>>

// -----

// expected-error@+1 {{ties = away has no meaning for codes #kvq.codebook<nf4>}}
#f = #kvq.format<codes = #kvq.codebook<nf4>, group = [1, 32], scale = f16, rule = #kvq.rule<ties = away>>

// -----

// expected-error@+1 {{bounds = full needs signed integer codes, got ui4}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, rule = #kvq.rule<bounds = full>>

// -----

// expected-error@+1 {{extremum = signed takes no zero, got 'min 'f16''}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, rule = #kvq.rule<extremum = signed, scale = nearest>>

// -----

// expected-error@+1 {{fit = squares takes no zero, got 'min 'f16''}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, rule = #kvq.rule<fit = squares, metadata = unrounded, scale = nearest>>

// -----

// expected-error@+1 {{fit = end needs 'zero = min T', got no zero}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rule = #kvq.rule<fit = end, scale = nearest>>

// -----

// expected-error@+1 {{span = elements needs 'zero = point T', got 'min 'f16''}}
#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, rule = #kvq.rule<span = elements>>

// -----

// expected-error@+1 {{quotient = fused needs 'zero = point T', got no zero}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rule = #kvq.rule<quotient = fused>>

// -----

// expected-error@+1 {{scales that may be negative need scale f16, bf16 or f32, got 'f8E4M3FN'}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f8E4M3FN, rule = #kvq.rule<extremum = signed, scale = nearest>>

// -----

// expected-error@+1 {{expected no other field but rope and layout with codes = none: exact elements have no group, heads, scale, zero, range, rotate, center or rule}}
#f = #kvq.format<codes = none, rule = #kvq.rule<ties = up>>

// -----

// expected-error@+1 {{extremum = signed and scale = exponent have no meaning with range rms, whose scale is no end of a range}}
#f = #kvq.format<codes = #kvq.codebook<nf4>, group = [1, 32], scale = f16, range = rms, rule = #kvq.rule<extremum = signed, scale = nearest>>

// -----

// expected-error@+1 {{range search finds stored metadata: expected a rule with metadata = stored}}
#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = search<4>, rule = #kvq.rule<metadata = unrounded, scale = nearest>>
