// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @query_static(%q: tensor<?x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected a static f32 query, rows x head_dim, got 'tensor<?x16xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<?x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @query_type(%q: tensor<2x16xf16>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected a static f32 query, rows x head_dim, got 'tensor<2x16xf16>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf16>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @query_rank(%q: tensor<1x2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected a static f32 query, rows x head_dim, got 'tensor<1x2x16xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<1x2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @query_head_dim(%q: tensor<2x32xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected a query with the keys' head_dim 16, got 32}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x32xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<1x4x64x16xf16, #f>
func.func @value_heads(%q: tensor<2x16xf32>, %k: !c, %v: !d, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected values with the keys' kv_heads 2, got 4}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !d)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<3x2x64x16xf16, #f>
func.func @value_batch(%q: tensor<2x16xf32>, %k: !c, %v: !d, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected values with the keys' batch 1, got 3}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !d)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @accumulator(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<4x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected an accumulator of 2 x 16, got 'tensor<4x16xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<4x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<4x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @maximum(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<3xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected a maximum and a sum for 2 rows, got 'tensor<3xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<3xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<3xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @sum(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<3xf32>, %i: index) {
  // expected-error@+1 {{expected a maximum and a sum for 2 rows, got 'tensor<3xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<3xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<3xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @result(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected a result of type 'tensor<2x16xf32>', got 'tensor<?x16xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<?x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @regions(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected both key_region and value_region or neither}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      {key_region = #kvq.region<codes>}
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @tile(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index) {
  // expected-error@+1 {{expected a tile of at least 1 token, got -1}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      {tile = -1 : i64}
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @inputs(%a0: tensor<4x2x16xf32>, %a1: tensor<4x2xf32>, %b0: tensor<2x16xf32>, %b1: tensor<2xf32>, %b2: tensor<2xf32>) {
  // expected-error@+1 {{expected acc, max and sum as inputs, got 2 inputs}}
  %r:3 = kvq.merge_partials
      ins(%a0, %a1 : tensor<4x2x16xf32>, tensor<4x2xf32>)
      outs(%b0, %b1, %b2 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @outputs(%a0: tensor<4x2x16xf32>, %a1: tensor<4x2xf32>, %a2: tensor<4x2xf32>, %b0: tensor<2x16xf32>, %b1: tensor<2xf32>) {
  // expected-error@+1 {{expected acc, max and sum as outputs, got 2 outputs}}
  %r:2 = kvq.merge_partials
      ins(%a0, %a1, %a2 : tensor<4x2x16xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
      outs(%b0, %b1 : tensor<2x16xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>
  return
}

// -----

func.func @results(%a0: tensor<4x2x16xf32>, %a1: tensor<4x2xf32>, %a2: tensor<4x2xf32>, %b0: tensor<2x16xf32>, %b1: tensor<2xf32>, %b2: tensor<2xf32>) {
  // expected-error@+1 {{expected acc, max and sum as results, got 2 results}}
  %r:2 = kvq.merge_partials
      ins(%a0, %a1, %a2 : tensor<4x2x16xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
      outs(%b0, %b1, %b2 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>
  return
}

// -----

func.func @rank(%a0: tensor<4xf32>, %a1: tensor<4x2xf32>, %a2: tensor<4x2xf32>, %b0: tensor<2x16xf32>, %b1: tensor<2xf32>, %b2: tensor<2xf32>) {
  // expected-error@+1 {{expected partial accumulators of rank 2 or more, splits x ... x head_dim, got 'tensor<4xf32>'}}
  %r:3 = kvq.merge_partials
      ins(%a0, %a1, %a2 : tensor<4xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
      outs(%b0, %b1, %b2 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @input_max(%a0: tensor<4x2x16xf32>, %a1: tensor<4x3xf32>, %a2: tensor<4x2xf32>, %b0: tensor<2x16xf32>, %b1: tensor<2xf32>, %b2: tensor<2xf32>) {
  // expected-error@+1 {{expected the max of 'tensor<4x2x16xf32>' without head_dim, got 'tensor<4x3xf32>'}}
  %r:3 = kvq.merge_partials
      ins(%a0, %a1, %a2 : tensor<4x2x16xf32>, tensor<4x3xf32>, tensor<4x2xf32>)
      outs(%b0, %b1, %b2 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @output_sum(%a0: tensor<4x2x16xf32>, %a1: tensor<4x2xf32>, %a2: tensor<4x2xf32>, %b0: tensor<2x16xf32>, %b1: tensor<2xf32>, %b2: tensor<4xf32>) {
  // expected-error@+1 {{expected the output sum of 'tensor<4x2xf32>' without splits, got 'tensor<4xf32>'}}
  %r:3 = kvq.merge_partials
      ins(%a0, %a1, %a2 : tensor<4x2x16xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
      outs(%b0, %b1, %b2 : tensor<2x16xf32>, tensor<2xf32>, tensor<4xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<4xf32>
  return
}

// -----

func.func @merge_result(%a0: tensor<4x2x16xf32>, %a1: tensor<4x2xf32>, %a2: tensor<4x2xf32>, %b0: tensor<2x16xf32>, %b1: tensor<2xf32>, %b2: tensor<2xf32>) {
  // expected-error@+1 {{expected a result of type 'tensor<2xf32>', got 'tensor<?xf32>'}}
  %r:3 = kvq.merge_partials
      ins(%a0, %a1, %a2 : tensor<4x2x16xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
      outs(%b0, %b1, %b2 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<?xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @no_first(%c: !c, %i: index) {
  // expected-error@+1 {{the cache has no region 'first': exact_first is 0}}
  %r = kvq.load_tile %c <first> at [%i, %i] tokens [%i to %i]
      : !c -> tensor<?x16xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @no_recent(%c: !c, %i: index) {
  // expected-error@+1 {{the cache has no region 'recent'}}
  %r = kvq.load_tile %c <recent> at [%i, %i] tokens [%i to %i]
      : !c -> tensor<?x16xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @tile_types(%c: !c, %i: index) {
  // expected-error@+1 {{expected tile types 'tensor<?x16xi8>', 'tensor<?x1xf16>', got 'tensor<?x16xi8>', 'tensor<1x16xf16>'}}
  %r:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i]
      : !c -> tensor<?x16xi8>, tensor<1x16xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @slopes(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index, %x: tensor<3xf32>) {
  // expected-error@+1 {{expected slopes for 2 rows, got 'tensor<3xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] slopes(%x : tensor<3xf32>) position[%i]
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @query_tokens(%q: tensor<4x16xf32>, %k: !c, %v: !c, %a: tensor<4x16xf32>, %m: tensor<4xf32>, %s: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{expected query_tokens that divide the 4 rows, got 3}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {query_tokens = 3 : i64}
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @no_query_tokens(%q: tensor<4x16xf32>, %k: !c, %v: !c, %a: tensor<4x16xf32>, %m: tensor<4xf32>, %s: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{expected query_tokens that divide the 4 rows, got 0}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {query_tokens = 0 : i64}
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @window(%q: tensor<4x16xf32>, %k: !c, %v: !c, %a: tensor<4x16xf32>, %m: tensor<4xf32>, %s: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{expected a window of at least 1 token, got 0}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] position [%i]
      outs(%a, %m, %s : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {window = 0 : i64}
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @window_first(%q: tensor<4x16xf32>, %k: !c, %v: !c, %a: tensor<4x16xf32>, %m: tensor<4xf32>, %s: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{expected window_first of at least 0, with a window, got 2}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {window_first = 2 : i64}
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @no_position(%q: tensor<4x16xf32>, %k: !c, %v: !c, %a: tensor<4x16xf32>, %m: tensor<4xf32>, %s: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{expected a position, that of the first query token, for slopes, causal or a window}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%a, %m, %s : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {causal}
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @position(%q: tensor<4x16xf32>, %k: !c, %v: !c, %a: tensor<4x16xf32>, %m: tensor<4xf32>, %s: tensor<4xf32>, %i: index) {
  // expected-error@+1 {{expected no position without slopes, causal and a window}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] position [%i]
      outs(%a, %m, %s : tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>) {query_tokens = 2 : i64}
      -> tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @mask(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index, %x: tensor<3x1x64xf32>) {
  // expected-error@+1 {{expected a mask of 1 or 2 heads x at most 1 query tokens x tokens, got 'tensor<3x1x64xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] mask(%x : tensor<3x1x64xf32>)
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @channels(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index, %x: index) {
  // expected-error@+1 {{expected an accumulator of 2 x 8, got 'tensor<2x16xf32>'}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] 
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) {value_channels = array<i64: 0, 8>}
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @channels_cut(%q: tensor<2x16xf32>, %k: !c, %v: !c, %a: tensor<2x16xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>, %i: index, %x: index) {
  // expected-error@+1 {{value_channels = [0, 8] cut a group of 16 channels at channel 8}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] 
      outs(%a, %m, %s : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) {value_channels = array<i64: 0, 8>}
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}
