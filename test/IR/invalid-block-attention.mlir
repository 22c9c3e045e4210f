// RUN: kvq-opt %s -split-input-file -verify-diagnostics

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @components(%q: memref<4x64xf32>, %codes: memref<1x2x128x64xi8>, %c: !c, %i: index,
                      %m: memref<4xf32>) {
  // expected-error @below {{expected keys to be a '!kvq.cache<1x2x128x64xf16, #kvq.format<codes = i8, group = [1, *], scale = f16, range = absmax>>' or its 2 components, got 'memref<1x2x128x64xi8>'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%codes : memref<1x2x128x64xi8>) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @query(%q: memref<4x32xf32>, %c: !c, %i: index, %m: memref<4xf32>) {
  // expected-error @below {{expected a static query, rows x 64, got 'memref<4x32xf32>'}}
  kvq.block_attention ins(%q : memref<4x32xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x32xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @position(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>) {
  // expected-error @below {{expected a position with slopes, causal or a window, and none without}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>, causal,
       value_region = #kvq.region<codes>, shared_bytes = 65536}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8, page = 64>

func.func @pages(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>) {
  // expected-error @below {{expected key_pages with a paged cache and none without, got none with '!kvq.cache<}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @state(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<3xf32>) {
  // expected-error @below {{expected a maximum, a sum, a bias and slopes for 4 rows, got 'memref<3xf32>'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x64xf32>, memref<3xf32>, memref<3xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @results(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>, %t: tensor<4xf32>) {
  // expected-error @below {{expected a result for each tensor that is written, none for buffers}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %t : memref<4x64xf32>, memref<4xf32>, tensor<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @integers(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>) {
  // expected-error @below {{expected query_codes f8E4M3FN, got 'i8'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, query_codes = i8}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @floats_with_integers(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>) {
  // expected-error @below {{query_codes needs codes of f8E4M3FN or f8E5M2 of keys or of values, got #kvq.format<codes = i8}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, query_codes = f8E4M3FN}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @bias(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>, %b: memref<3xf32>) {
  // expected-error @below {{expected a maximum, a sum, a bias and slopes for 4 rows, got 'memref<3xf32>'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] bias(%b : memref<3xf32>)
      outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, query_tokens = 2}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @mask_of_heads(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>, %b: memref<3x2x?xi8>) {
  // expected-error @below {{expected a mask of 1 or 2 heads x at most 2 query tokens x tokens, got 'memref<3x2x?xi8>'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] mask(%b : memref<3x2x?xi8>)
      outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, query_tokens = 2}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @mask_of_query_tokens(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>, %b: memref<1x3x?xi8>) {
  // expected-error @below {{expected a mask of 1 or 2 heads x at most 2 query tokens x tokens, got 'memref<1x3x?xi8>'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] mask(%b : memref<1x3x?xi8>)
      outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, query_tokens = 2}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @mask_by_token(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>, %b: memref<1x2x?xf16, strided<[?, ?, ?]>>) {
  // expected-error @below {{expected a mask in which the elements of tokens lie together, got 'memref<1x2x?xf16, strided<[?, ?, ?]>>'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] mask(%b : memref<1x2x?xf16, strided<[?, ?, ?]>>)
      outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, query_tokens = 2}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>

func.func @held(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>) {
  // expected-error @below {{expected held_bytes from 0 to shared_bytes, 65536, got 65537}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i] outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, held_bytes = 65537}
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8, page = 64>

func.func @table(%q: memref<4x64xf32>, %c: !c, %i: index, %m: memref<4xf32>,
                 %pages: memref<1x2xi64, strided<[4, 2]>>) {
  // expected-error @below {{expected a page table in which the pages of a sequence lie together, got 'memref<1x2xi64, strided<[4, 2]>>'}}
  kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i]
      key_pages(%pages : memref<1x2xi64, strided<[4, 2]>>) value_pages(%pages : memref<1x2xi64, strided<[4, 2]>>)
      outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536}
  return
}
