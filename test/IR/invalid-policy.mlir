// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{expected field 'format'}}
module attributes {kvq.policy = #kvq.policy<<side = keys>>} {}

// -----

// expected-error@+1 {{expected a format or #kvq.segments, got 7 : i64}}
module attributes {kvq.policy = #kvq.policy<<format = 7>>} {}

// -----

// expected-error@+1 {{expected one of side, layers, heads, format, exact_first, recent, residual, got 'layer'}}
module attributes {kvq.policy = #kvq.policy<<layer = 3, format = #kvq.format<codes = none>>>} {}

// -----

// expected-error@+1 {{field 'recent' is given twice}}
module attributes {kvq.policy = #kvq.policy<<recent = 3, recent = 4, format = #kvq.format<codes = none>>>} {}

// -----

// expected-error@+1 {{expected side keys or values, got 'key'}}
module attributes {kvq.policy = #kvq.policy<<side = key, format = #kvq.format<codes = none>>>} {}

// -----

// expected-error@+1 {{expected a number below 9223372036854775807}}
module attributes {kvq.policy = #kvq.policy<<layers = [9223372036854775807], format = #kvq.format<codes = none>>>} {}

// -----

// expected-error@+1 {{expected a number of at least 0, got -1}}
module attributes {kvq.policy = #kvq.policy<<layers = [-1], format = #kvq.format<codes = none>>>} {}

// -----

// expected-error@+1 {{expected a range that ends beyond 4, got 4:4}}
module attributes {kvq.policy = #kvq.policy<<heads = [4:4], format = #kvq.format<codes = none>>>} {}

// -----

// expected-error@+1 {{expected at least one number or range}}
module attributes {kvq.policy = #kvq.policy<<layers = [], format = #kvq.format<codes = none>>>} {}

// -----

// expected-error@+1 {{layer 3 is named twice by one entry}}
module attributes {kvq.policy = #kvq.policy<<layers = [3, 2:5], format = #kvq.format<codes = none>>>} {}

// -----

#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>

// expected-error@+1 {{keys of layer 3 are named twice, by entries 0 and 2}}
module attributes {kvq.policy = #kvq.policy<
  <side = keys, layers = [0:4], format = #v>, <format = #v>, <layers = [3], format = #v>>} {}

// -----

#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>

// expected-error@+1 {{values of all other layers are named twice, by entries 0 and 1}}
module attributes {kvq.policy = #kvq.policy<
  <side = values, format = #v>, <format = #v>>} {}

// -----

#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>

// expected-error@+1 {{head 5 of the keys of layer 2 is named twice, by entries 1 and 2}}
module attributes {kvq.policy = #kvq.policy<
  <layers = [2], format = #v>, <layers = [2], heads = [0:6], format = #v>, <layers = [2], heads = [5], format = #v>>} {}

// -----

// expected-error@+1 {{expected kvq.policy as a #kvq.policy<...> of a module, got 3 : i64 of 'builtin.module'}}
module attributes {kvq.policy = 3} {}

// -----

// expected-error@+1 {{expected kvq.policy as a #kvq.policy<...> of a module}}
func.func private @policy() attributes {kvq.policy = #kvq.policy<<format = #kvq.format<codes = none>>>}

// -----

// expected-error@+1 {{argument 0: expected kvq.layer as an i64 of at least 0, got -2 : i64}}
func.func private @layer(!kvq.cache<1x8x?x128xf16, #kvq.format<codes = none>> {kvq.layer = -2})

// -----

// expected-error@+1 {{expected kvq.layer as an i64 of at least 0, got 2 : i32}}
func.func private @layer() attributes {kvq.layer = 2 : i32}

// -----

// expected-error@+1 {{argument 0: expected kvq.side as #kvq.side<keys> or #kvq.side<values>, got "keys"}}
func.func private @side(!kvq.cache<1x8x?x128xf16, #kvq.format<codes = none>> {kvq.side = "keys"})

// -----

// expected-error@+1 {{argument 1: expected an attribute of kvq.layer, kvq.side, got "kvq.layers"}}
func.func private @unknown(i1, i1 {kvq.layers = 2})

// -----

// expected-error@+1 {{expected an attribute of kvq.layer, kvq.policy, kvq.query_codes, kvq.schedule, kvq.side, kvq.unfused, got "kvq.fused"}}
func.func private @unknown() attributes {kvq.fused}

// -----

// expected-error@+1 {{expected kvq.unfused as a unit attribute of a function, got true of 'func.func'}}
func.func private @unfused() attributes {kvq.unfused = true}
