// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{segments overlap: expected the next one to begin at channel 512, got 500}}
#s = #kvq.segments<[0:512] = #a, [500:576] = none>

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{segments leave a gap: expected the next one to begin at channel 512, got 520}}
#s = #kvq.segments<[0:512] = #a, [520:576] = none>

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{segments leave a gap: expected the next one to begin at channel 0, got 64}}
#s = #kvq.segments<[64:512] = #a, [512:576] = none>

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{expected a segment from channel 512 to end after it, got 512}}
#s = #kvq.segments<[0:512] = #a, [512:512] = none>

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{expected at least 2 segments, got 1}}
#s = #kvq.segments<[0:512] = #a>

// -----

// expected-error@+1 {{expected a segment with codes: exact rows need no segments}}
#s = #kvq.segments<[0:512] = none, [512:576] = none>

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
#b = #kvq.format<codes = i8, group = [8, *], scale = f32>
// expected-error@+1 {{expected quantized segments with as many tokens in a group, got 1 and 8}}
#s = #kvq.segments<[0:512] = #a, [512:576] = #b>

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
#s = #kvq.segments<[0:512] = #a, [512:576] = none>
// expected-error@+1 {{expected segments up to head_dim 640, the last one ends at 576}}
func.func private @f(!kvq.cache<1x1x8x640xf16, #s>)

// -----

#a = #kvq.format<codes = i8, group = [1, 128], scale = f32>
#s = #kvq.segments<[0:500] = #a, [500:576] = none>
// expected-error@+1 {{segment [0:500]: group of 128 channels does not divide head_dim 500}}
func.func private @f(!kvq.cache<1x1x8x576xf16, #s>)

// -----

// expected-error@+1 {{expected a format or #kvq.segments, got 7 : i64}}
func.func private @f(!kvq.cache<1x1x8x576xf16, 7>)

// -----

!c = !kvq.cache<1x1x8x64xf16, #kvq.format<codes = i8, group = [1, *], scale = f32>>
func.func @segment_of_a_whole(%c: !c) {
  // expected-error@+1 {{expected a cache with segments, got '!kvq.cache<1x1x8x64xf16}}
  %0 = kvq.extract_segment %c[0] : !c -> !c
  return
}

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
!c = !kvq.cache<1x1x8x576xf16, #kvq.segments<[0:512] = #a, [512:576] = none>>
!a = !kvq.cache<1x1x8x512xf16, #a>
func.func @segment_beyond(%c: !c) {
  // expected-error@+1 {{expected a segment below 2, got 2}}
  %0 = kvq.extract_segment %c[2] : !c -> !a
  return
}

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
!c = !kvq.cache<1x1x8x576xf16, #kvq.segments<[0:512] = #a, [512:576] = none>>
!a = !kvq.cache<1x1x8x512xf16, #a>
func.func @other_segment(%c: !c, %a: !a) {
  // expected-error@+1 {{expected a segment's cache of type '!kvq.cache<1x1x8x64xf16, #kvq.format<codes = none>>', got '!kvq.cache<1x1x8x512xf16}}
  %0 = kvq.insert_segment %a into %c[1] : !a into !c
  return
}

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{expected field 'scale.0' once in the row of all segments, got it 0 times}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.segments<[0:64] = #a, [64:96] = none, row = [codes.0, values.1]>>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{expected the 3 fields of the segments in their row, got 4}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.segments<[0:64] = #a, [64:96] = none, row = [codes.0, scale.0, zero.0, values.1]>>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{expected a field and its segment, codes.0, high.0, scale.0, zero.0, scale_zero.0 or values.0, got 'codes'}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.segments<[0:64] = #a, [64:96] = none, row = [codes, values.1]>>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
// expected-error@+1 {{field 'row' is given twice}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.segments<[0:64] = #a, [64:96] = none, row = [codes.0, scale.0, values.1], row = [codes.0]>>)

// -----

#a = #kvq.format<codes = ui4, group = [8, 1], scale = f16, zero = min f16>
// expected-error@+1 {{a row of all segments is one token's: expected groups of one token, got 8}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.segments<[0:64] = #a, [64:96] = none, row = [codes.0, scale.0, zero.0, values.1]>, recent = 0>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32, layout = #kvq.layout<row = [codes, scale]>>
// expected-error@+1 {{segments of a row have no record of their own, got #kvq.layout<codes = planar, row = [codes, scale]>}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #kvq.segments<[0:64] = #a, [64:96] = none, row = [codes.0, scale.0, values.1]>>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
#s = #kvq.segments<[0:64] = #a, [64:96] = none, row = [codes.0, scale.0, values.1]>
// expected-error@+1 {{tokens that are exact have no row of all segments: expected none of exact_first, recent and residual}}
func.func private @f(!kvq.cache<1x1x8x96xf16, #s, recent = 4>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
!c = !kvq.cache<1x1x8x576xf16, #kvq.segments<[0:512] = #a, [512:576] = none>>
func.func @tile_of_segments(%c: !c, %i: index) {
  // expected-error@+1 {{expected one segment of the cache, got}}
  %0 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i] : !c -> tensor<?x576xf16>
  return
}

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
#s = #kvq.segments<[0:512] = #a, [512:576] = none>
// expected-error@+1 {{segment [0:512]: expected a ring of more tokens than keep_first = 64, got 64}}
func.func private @f(!kvq.cache<1x1x8x576xf16, #s, ring = 64, keep_first = 64>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32>
#s = #kvq.segments<[0:512] = #a, [512:576] = none>
// expected-error@+1 {{segment [512:576]: exact elements in pages hold other tokens than codes beside an exact window: expected none of exact_first, recent and residual}}
func.func private @f(!kvq.cache<1x1x8x576xf16, #s, recent = 4, page = 16>)

// -----

#a = #kvq.format<codes = i8, group = [1, *], scale = f32, rotate = hadamard<64>>
#s = #kvq.segments<[0:480] = #a, [480:576] = none>
// expected-error@+1 {{segment [0:480]: rotation of 64 channels does not divide head_dim 480}}
func.func private @f(!kvq.cache<1x1x8x576xf16, #s>)

// -----

#a = #kvq.format<codes = i8, group = [*, *], scale = f32, range = static>
!c = !kvq.cache<1x1x8x576xf16, #kvq.segments<[0:512] = #a, [512:576] = none>>
func.func @given_of_segments(%c: !c, %i: index) {
  // expected-error@+1 {{expected one segment of the cache, got}}
  %0 = kvq.load_given %c <scales> at [%i] : !c -> tensor<1x1xf32>
  return
}
