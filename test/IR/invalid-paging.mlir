// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// Pages, page tables and packed tokens.

#f = #kvq.format<codes = i4, group = [32, 1], scale = f16>
// expected-error@+1 {{expected a page of whole groups of 32 tokens, got 48}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, recent = 0, page = 48>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected a page of at least 1 token, got 0}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, page = 0>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected a page of at least 1 token, got -4}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, page = -4>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{expected a page of at most 1099511627776 tokens, got 1099511627777}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, page = 1099511627777>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
// expected-error@+1 {{parameter 'page' is given twice}}
func.func private @f(!kvq.cache<1x8x?x128xf16, #f, page = 4, page = 4>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @empty_pages() {
  // expected-error@+1 {{expected the number of pages, as the cache is paged}}
  %c = kvq.empty : !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @empty_capacity(%i: index) {
  // expected-error@+1 {{expected no capacity operand, as the storage of a paged cache is its pages}}
  %c = kvq.empty(%i) pages(%i) : !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @empty_unpaged(%i: index) {
  // expected-error@+1 {{expected no pages, as the cache is not paged}}
  %c = kvq.empty pages(%i) : !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @append_table(%x: tensor<2x2x4x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{a cache with pages of 8 tokens needs pages}}
  %r = kvq.append ins(%x : tensor<2x2x4x16xf16>) lengths(%n : tensor<2xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @append_no_pages(%x: tensor<2x2x4x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{pages is given for a cache without pages}}
  %r = kvq.append ins(%x : tensor<2x2x4x16xf16>) lengths(%n : tensor<2xi64>) pages(%t : tensor<2x?xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @append_table_batch(%x: tensor<2x2x4x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected pages for 2 sequences, got 1}}
  %r = kvq.append ins(%x : tensor<2x2x4x16xf16>) lengths(%n : tensor<2xi64>) pages(%one : tensor<1x8xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x60x16xf16, #f, page = 8>
func.func @append_short_table(%x: tensor<2x2x4x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected pages of at least 8 pages for 60 tokens, got 7}}
  %r = kvq.append ins(%x : tensor<2x2x4x16xf16>) lengths(%n : tensor<2xi64>) pages(%short : tensor<2x7xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @append_lengths(%x: tensor<2x2x4x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected lengths, which only an append to slots does without}}
  %r = kvq.append ins(%x : tensor<2x2x4x16xf16>) 
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @packed_neither(%x: tensor<4x2x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected either starts or slots with packed tokens, got neither}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) lengths(%n : tensor<2xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @packed_both(%x: tensor<4x2x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected either starts or slots with packed tokens, got both}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) lengths(%n : tensor<2xi64>) starts(%s : tensor<3xi64>) slots(%u : tensor<4xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @packed_counts(%x: tensor<4x2x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{counts are given for packed tokens, whose starts or slots say where they belong}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) lengths(%n : tensor<2xi64>) counts(%n : tensor<2xi64>) starts(%s : tensor<3xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @packed_starts(%x: tensor<4x2x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected 3 starts for 2 sequences, got 2}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) lengths(%n : tensor<2xi64>) starts(%n : tensor<2xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @packed_rank(%x: tensor<2x2x4x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected packed tokens of rank 3 with starts, got rank 4}}
  %r = kvq.append ins(%x : tensor<2x2x4x16xf16>) lengths(%n : tensor<2xi64>) starts(%s : tensor<3xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @packed_heads(%x: tensor<4x3x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected tokens with the cache's kv_heads 2, got 3}}
  %r = kvq.append ins(%x : tensor<4x3x16xf16>) lengths(%n : tensor<2xi64>) starts(%s : tensor<3xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @packed_dim(%x: tensor<4x2x?xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected tokens with the cache's head_dim 16, got ?}}
  %r = kvq.append ins(%x : tensor<4x2x?xf16>) lengths(%n : tensor<2xi64>) starts(%s : tensor<3xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @slots_count(%x: tensor<4x2x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{expected a slot for each of 4 tokens, got 3}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) slots(%s : tensor<3xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @slots_unpaged(%x: tensor<4x2x16xf16>, %c: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{slots are rows of pages: expected a paged cache, got}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) slots(%u : tensor<4xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @slots_lengths(%x: tensor<4x2x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{lengths are given beside slots, which say where tokens lie}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) lengths(%n : tensor<2xi64>) slots(%u : tensor<4xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @slots_pages(%x: tensor<4x2x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{pages are given beside slots, which say where tokens lie}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) pages(%t : tensor<2x?xi64>) slots(%u : tensor<4xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, exact_first = 1, recent = 2, page = 8>
func.func @slots_window(%x: tensor<4x2x16xf16>, %c: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
    %short: tensor<2x7xi64>, %one: tensor<1x8xi64>, %s: tensor<3xi64>, %u: tensor<4xi64>) {
  // expected-error@+1 {{slots need a cache without exact windows, got exact_first = 1 and a recent window of 2 tokens}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) slots(%u : tensor<4xi64>)
      into(%c : !p) -> !p
  return
}

// -----

#g = #kvq.format<codes = i4, group = [4, 1], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #g, recent = 0, page = 8>
func.func @slots_group(%x: tensor<4x2x16xf16>, %c: !p, %u: tensor<4xi64>) {
  // expected-error@+1 {{slots need groups of 1 token, as tokens are stored one by one, got groups of 4}}
  %r = kvq.append ins(%x : tensor<4x2x16xf16>) slots(%u : tensor<4xi64>) into(%c : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @attention_table(%q: tensor<2x2x1x16xf32>, %k: !p, %v: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{a cache with pages of 8 tokens needs key_pages}}
  %r = kvq.attention ins(%q, %k, %v : tensor<2x2x1x16xf32>, !p, !c) lengths(%n : tensor<2xi64>)
      
      outs(%q : tensor<2x2x1x16xf32>) {scale = 1.0 : f32} -> tensor<2x2x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @attention_unpaged(%q: tensor<2x2x1x16xf32>, %k: !p, %v: !c, %n: tensor<2xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{value_pages is given for a cache without pages}}
  %r = kvq.attention ins(%q, %k, %v : tensor<2x2x1x16xf32>, !p, !c) lengths(%n : tensor<2xi64>)
      key_pages(%t : tensor<2x?xi64>) value_pages(%t : tensor<2x?xi64>)
      outs(%q : tensor<2x2x1x16xf32>) {scale = 1.0 : f32} -> tensor<2x2x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @attention_tensor(%q: tensor<2x2x1x16xf32>, %k: !c, %v: tensor<2x2x8x16xf16>, %n: tensor<2xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{value_pages is given for a tensor}}
  %r = kvq.attention ins(%q, %k, %v : tensor<2x2x1x16xf32>, !c, tensor<2x2x8x16xf16>) lengths(%n : tensor<2xi64>)
      value_pages(%t : tensor<2x?xi64>)
      outs(%q : tensor<2x2x1x16xf32>) {scale = 1.0 : f32} -> tensor<2x2x1x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @partial(%q: tensor<2x16xf32>, %m: tensor<2xf32>, %k: !p, %i: index, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{a cache with pages of 8 tokens needs value_pages}}
  %r:3 = kvq.partial_attention ins(%q, %k, %k : tensor<2x16xf32>, !p, !p) at [%i, %i] tokens [%i to %i]
      flushed [%i, %i] key_pages(%t : tensor<2x?xi64>) outs(%q, %m, %m : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @load(%c: !p, %i: index) {
  // expected-error@+1 {{a cache with pages of 8 tokens needs pages}}
  %r:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i] : !p -> tensor<?x16xi8>, tensor<?x1xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, exact_first = 4, page = 8>
func.func @load_first(%c: !p, %i: index, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{pages are given for a region without pages, 'first'}}
  %r = kvq.load_tile %c <first> at [%i, %i] tokens [%i to %i] pages(%t : tensor<2x?xi64>) : !p -> tensor<?x16xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @reorder_pages(%c: !p, %d: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>, %s: tensor<3xi64>) {
  // expected-error@+1 {{a cache with pages of 8 tokens needs pages}}
  %r = kvq.reorder ins(%c : !p) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      to_pages(%t : tensor<2x?xi64>)
      into(%d : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @reorder_to_pages(%c: !p, %d: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>, %s: tensor<3xi64>) {
  // expected-error@+1 {{a cache with pages of 8 tokens needs to_pages}}
  %r = kvq.reorder ins(%c : !p) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>)
      into(%d : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, page = 8>
func.func @reorder_shared_count(%c: !p, %d: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>, %s: tensor<3xi64>) {
  // expected-error@+1 {{expected shared for 2 sequences, got 3}}
  %r = kvq.reorder ins(%c : !p) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) to_pages(%t : tensor<2x?xi64>) shared(%s : tensor<3xi64>)
      into(%d : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x64x16xf16, #f>
func.func @reorder_shared(%c: !p, %d: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>, %s: tensor<3xi64>) {
  // expected-error@+1 {{shared is given for caches without pages}}
  %r = kvq.reorder ins(%c : !p) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      shared(%n : tensor<2xi64>)
      into(%d : !p) -> !p
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f>
func.func @load_within(%c: !p, %i: index) {
  // expected-error@+1 {{within_page is given for a region without pages, 'codes'}}
  %r:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i] {within_page} : !p -> tensor<?x16xi8>, tensor<?x1xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!p = !kvq.cache<2x2x?x16xf16, #f, exact_first = 4, page = 8>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @partial_within(%q: tensor<2x16xf32>, %m: tensor<2xf32>, %k: !p, %v: !c, %i: index, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{within_pages is given for tokens of regions without pages}}
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !p, !c) at [%i, %i] tokens [%i to %i]
      flushed [%i, %i] key_pages(%t : tensor<2x?xi64>) outs(%q, %m, %m : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      {key_region = #kvq.region<first>, value_region = #kvq.region<codes>, tile = 8, within_pages}
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  return
}
