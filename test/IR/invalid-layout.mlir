// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{expected planar, planar<n>, stream, stream<n, s> or reversed, got 'diagonal'}}
#a = #kvq.layout<codes = diagonal>

// -----

// expected-error@+1 {{field 'codes' is given twice}}
#a = #kvq.layout<codes = planar, codes = stream>

// -----

// expected-error@+1 {{expected an order of at least 1 element, got 0}}
#a = #kvq.layout<codes = planar<0>>

// -----

// expected-error@+1 {{stride 3 does not divide the 8 elements of its order}}
#a = #kvq.layout<codes = stream<8, 3>>

// -----

// expected-error@+1 {{expected a stride of at least 1, got 0}}
#a = #kvq.layout<codes = stream<8, 0>>

// -----

// expected-error@+1 {{expected one of codes, high, bias, block, tile, record, row, got 'nibbles'}}
#a = #kvq.layout<nibbles = high>

// -----

// expected-error@+1 {{expected one of 'record' and 'row', got both}}
#a = #kvq.layout<record = [scale, codes], row = [scale, codes]>

// -----

// expected-error@+1 {{expected one of codes, high, scale, zero, scale_zero, values, skip<bytes>, got 'norm'}}
#a = #kvq.layout<record = [scale, norm]>

// -----

// expected-error@+1 {{field 'scale' of a record is given twice}}
#a = #kvq.layout<record = [scale, scale]>

// -----

// expected-error@+1 {{expected a record of at least two fields, got 1}}
#a = #kvq.layout<record = [codes]>

// -----

// expected-error@+1 {{expected one of the fields 'scale_zero' and 'zero', got both}}
#a = #kvq.layout<record = [scale_zero, zero]>

// -----

// expected-error@+1 {{layout with bias needs signed integer codes, got ui4}}
#a = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, layout = #kvq.layout<bias>>

// -----

// expected-error@+1 {{layout with 'high' needs planar codes of 3, 5 or 6 bits, got planar codes i4 of 4 bits}}
#a = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<high = stream>>

// -----

// expected-error@+1 {{layout with reversed codes needs codes of 1, 2, 4 or 8 bits, got i5 of 5}}
#a = #kvq.format<codes = i5, group = [1, 32], scale = f16, layout = #kvq.layout<codes = reversed>>

// -----

// expected-error@+1 {{codes of 5 bits are cut into the fields 'codes' and 'high': expected both in the record or neither, got only 'codes'}}
#a = #kvq.format<codes = i5, group = [1, 32], scale = f16, layout = #kvq.layout<record = [scale, codes]>>

// -----

// expected-error@+1 {{expected no field 'high' in the record: codes i4 are not cut}}
#a = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<record = [scale, high, codes]>>

// -----

// expected-error@+1 {{a record is that of a group: with codes in it expected blocks of 32 tokens, got 1}}
#a = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, layout = #kvq.layout<record = [scale, codes]>>

// -----

// expected-error@+1 {{expected no field 'zero' in the record: the format has no zero}}
#a = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<record = [scale, zero, codes]>>

// -----

// expected-error@+1 {{field 'scale_zero' of a record needs 'scale = f32' and a zero point of integers, got scale 'f16' and zero min}}
#a = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16, layout = #kvq.layout<record = [scale_zero, codes]>>

// -----

// expected-error@+1 {{invalid kind of attribute specified}}
#a = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = 3>

// -----

// expected-error@+1 {{expected codes = none with a layout of a row of 'values' and 'skip<bytes>' alone, got #kvq.layout<codes = planar>}}
#a = #kvq.format<codes = none, layout = #kvq.layout<codes = planar>>

// -----

// expected-error@+1 {{order of 48 elements does not divide head_dim 64}}
func.func private @f(!kvq.cache<1x1x8x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar<48>>>>)

// -----

// expected-error@+1 {{5-bit codes fill whole bytes only if 8 divides the channels of a record, got 4}}
func.func private @f(!kvq.cache<1x1x8x64xf16, #kvq.format<codes = i5, group = [1, 4], scale = f16, layout = #kvq.layout<high = stream, record = [scale, high, codes]>>>)

// -----

// expected-error@+1 {{3-bit codes fill whole bytes only if 8 divides the elements of an order, got 4}}
func.func private @f(!kvq.cache<1x1x8x64xf16, #kvq.format<codes = i3, group = [1, 4], scale = f16, layout = #kvq.layout<codes = stream<4, 1>>>>)

// -----

// expected-error@+1 {{expected no field 'scale' in a record with range static: no token has metadata of its own}}
#a = #kvq.format<codes = i8, group = [*, 32], scale = f16, range = static, layout = #kvq.layout<record = [scale, codes]>>

// -----

// expected-error@+1 {{expected groups of one KV head with a record, which is one head's: expected no 'heads'}}
#a = #kvq.format<codes = i4, group = [1, 32], heads = *, scale = f16, layout = #kvq.layout<record = [scale, codes]>>

// -----

#q4 = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<record = [scale, codes]>>
func.func @pack_without_scales(%c: tensor<8x64xi8>, %r: tensor<8x36xi8>) {
  // expected-error@+1 {{'kvq.pack' op expected 2 inputs of types 'tensor<8x64xi8>', 'tensor<8x2xf16>', got 1}}
  %0 = kvq.pack #q4 ins(%c : tensor<8x64xi8>) outs(%r : tensor<8x36xi8>) -> tensor<8x36xi8>
  return
}

// -----

#q4 = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<record = [scale, codes]>>
func.func @records_of_another_size(%c: tensor<8x64xi8>, %s: tensor<8x2xf16>, %r: tensor<8x32xi8>) {
  // expected-error@+1 {{'kvq.unpack' op expected inputs of type 'tensor<8x36xi8>', got 'tensor<8x32xi8>'}}
  %0:2 = kvq.unpack #q4 ins(%r : tensor<8x32xi8>) outs(%c, %s : tensor<8x64xi8>, tensor<8x2xf16>)
      -> tensor<8x64xi8>, tensor<8x2xf16>
  return
}

// -----

// Records of metadata have a row for each group of tokens.

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16,
                 layout = #kvq.layout<record = [scale, zero]>>
func.func @rows_of_records(%c: tensor<64x16xi8>, %s: tensor<2x16xf16>, %b: tensor<64x8xi8>, %r: tensor<64x64xi8>) {
  // expected-error@+1 {{'kvq.pack' op expected outputs of type 'tensor<2x64xi8>', got 'tensor<64x64xi8>'}}
  %0:2 = kvq.pack #k ins(%c, %s, %s : tensor<64x16xi8>, tensor<2x16xf16>, tensor<2x16xf16>)
      outs(%b, %r : tensor<64x8xi8>, tensor<64x64xi8>) -> tensor<64x8xi8>, tensor<64x64xi8>
  return
}

// -----

// expected-error@+1 {{expected no field 'scale' in a record with range static: no token has metadata of its own}}
#f = #kvq.format<codes = i8, group = [*, *], scale = f32, range = static, layout = #kvq.layout<record = [codes, scale]>>

// -----

// expected-error@+1 {{expected channel_pairs<T>, token_pairs<T> or fragments<T>, got 'pairs'}}
func.func private @f() attributes {l = #kvq.layout<codes = planar, tile = pairs<64>>}

// -----

// expected-error@+1 {{expected a tile of an even number of tokens, got 33}}
func.func private @f() attributes {l = #kvq.layout<codes = planar, tile = token_pairs<33>>}

// -----

// expected-error@+1 {{expected fragments of a multiple of 16 tokens, got 24}}
func.func private @f() attributes {l = #kvq.layout<codes = planar, tile = fragments<24>>}

// -----

// expected-error@+1 {{expected integer codes of 2, 4 or 8 bits in fragments, got f8E4M3FN}}
#f = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = fragments<64>>>

// -----

// expected-error@+1 {{expected integer codes of 2, 4 or 8 bits in fragments, got i5}}
#f = #kvq.format<codes = i5, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = fragments<64>>>

// -----

#f = #kvq.format<codes = i2, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = fragments<64>>>
// expected-error@+1 {{expected rows of a multiple of 16 bytes in fragments, got 96 codes of 2 bits}}
func.func private @f(!kvq.cache<1x8x?x96xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = fragments<64>>>
// expected-error@+1 {{expected a page of whole tiles of 64 tokens, got 96}}
func.func private @f(!kvq.cache<1x8x?x64xf16, #f, page = 96>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = fragments<64>>>
// expected-error@+1 {{expected no ring with rows in tiles}}
func.func private @f(!kvq.cache<1x8x?x64xf16, #f, ring = 128>)

// -----

// expected-error@+1 {{expected planar codes in a tile, of a row together}}
func.func private @f() attributes {l = #kvq.layout<codes = stream, tile = token_pairs<64>>}

// -----

// expected-error@+1 {{expected no 'record' in a tile}}
func.func private @f() attributes {l = #kvq.layout<codes = planar, tile = token_pairs<64>, record = [scale, codes]>}

// -----

// expected-error@+1 {{expected groups of one token and one KV head, with a range of their own, in a tile}}
#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
// expected-error@+1 {{expected pairs of bytes in the rows of a tile, got 10 codes of 4 bits}}
func.func private @f(!kvq.cache<1x8x?x10xf16, #f>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
// expected-error@+1 {{expected a page of whole tiles of 64 tokens, got 16}}
func.func private @f(!kvq.cache<1x8x?x64xf16, #f, page = 16>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
// expected-error@+1 {{segment [0:64]: expected no tiles in a segment}}
func.func private @f(!kvq.cache<1x8x?x96xf16, #kvq.segments<[0:64] = #f, [64:96] = none>>)

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x8x?x64xf16, #f>
func.func @as_tile_without_tiles(%c: !c, %i: index) {
  // expected-error@+1 {{as_tile needs a range within_page, of codes that lie in tiles}}
  %0:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i] {as_tile} : !c -> tensor<?x64xi8>, tensor<?x1xf16>
  return
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
!c = !kvq.cache<1x8x?x64xf16, #f>
func.func @packed_bytes_of_one_code(%c: !c, %i: index) {
  // expected-error@+1 {{packed needs a range as_tile, of codes of which several share a byte}}
  %0:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i] {as_tile, packed, within_page} : !c -> tensor<32x64x2xi8>, tensor<1x64xf16>
  return
}

// -----

// expected-error@+1 {{expected a block of at least 1 token, got 0}}
#a = #kvq.layout<block = [0, *]>

// -----

// expected-error@+1 {{expected a block of at least 1 channel or '*', got 0}}
#a = #kvq.layout<block = [4, 0]>

// -----

// expected-error@+1 {{expected '*' as the channels of a block of one token, whose channels lie in order anyway, got 4}}
#a = #kvq.layout<block = [1, 4]>

// -----

// expected-error@+1 {{expected to skip at least 1 byte, got 0}}
#a = #kvq.layout<row = [codes, skip<0>]>

// -----

// expected-error@+1 {{expected a record with a field beside what it skips}}
#a = #kvq.layout<row = [skip<3>, skip<4>]>

// -----

// expected-error@+1 {{block of 12 tokens does not divide the 32 tokens of a group}}
#a = #kvq.format<codes = ui2, group = [32, 1], scale = f16, zero = min f16, layout = #kvq.layout<block = [12, 1]>>

// -----

// expected-error@+1 {{block of 16 tokens does not divide the 1 tokens of a group}}
#a = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<block = [16, 1]>>

// -----

// expected-error@+1 {{a record is that of a group: with codes in it expected blocks of 32 tokens, got 16}}
#a = #kvq.format<codes = ui2, group = [32, 1], scale = f16, zero = min f16, layout = #kvq.layout<block = [16, *], row = [scale, zero, codes]>>

// -----

// expected-error@+1 {{expected no field 'values' in the record, which is for codes = none, got i4}}
#a = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<row = [values, skip<3>]>>

// -----

#f = #kvq.format<codes = ui2, group = [32, 1], scale = f16, zero = min f16, layout = #kvq.layout<codes = stream, block = [16, 3]>>
// expected-error@+1 {{block of 3 channels does not divide head_dim 64}}
func.func private @f(!kvq.cache<1x1x8x64xf16, #f, recent = 0>)

// -----

#f = #kvq.format<codes = ui3, group = [2, 1], scale = f16, zero = min f16, layout = #kvq.layout<codes = stream, block = [2, 1]>>
// expected-error@+1 {{3-bit codes fill whole bytes only if 8 divides the elements of a block, got 4}}
func.func private @f(!kvq.cache<1x1x8x2xf16, #f, recent = 0>)

// -----

#f = #kvq.format<codes = ui2, group = [32, 1], scale = f16, zero = min f16, layout = #kvq.layout<codes = stream, block = [16, 1]>>
func.func @parts_of_rows(%c: tensor<24x64xi8>, %b: tensor<2x256xi8>) {
  // expected-error@+1 {{'kvq.pack' op rows of codes of 16 tokens do not hold 24 tokens}}
  %0 = kvq.pack #f ins(%c : tensor<24x64xi8>) outs(%b : tensor<2x256xi8>) -> tensor<2x256xi8>
  return
}

// -----

func.func @exact_without_a_record(%c: tensor<8x64xf16>, %b: tensor<8x128xi8>) {
  // expected-error@+1 {{'kvq.pack' op exact elements are stored as they are: expected a format with codes, or with a record}}
  %0 = kvq.pack #kvq.format<codes = none> ins(%c : tensor<8x64xf16>) outs(%b : tensor<8x128xi8>) -> tensor<8x128xi8>
  return
}

// -----

#f = #kvq.format<codes = none, layout = #kvq.layout<row = [values, skip<4>]>>
func.func @exact_integers(%c: tensor<8x64xi8>, %b: tensor<8x68xi8>) {
  // expected-error@+1 {{'kvq.pack' op expected exact elements of f16, bf16 or f32, got 'tensor<8x64xi8>'}}
  %0 = kvq.pack #f ins(%c : tensor<8x64xi8>) outs(%b : tensor<8x68xi8>) -> tensor<8x68xi8>
  return
}
