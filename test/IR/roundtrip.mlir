// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --mlir-print-op-generic %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

// Every attribute form, type form and op prints what it was parsed from, with
// the range spelled out.

// CHECK-DAG: #[[I2:[a-z0-9]+]] = #kvq.format<codes = i2, group = [1, 8], scale = f16, range = absmax>
// CHECK-DAG: #[[I4:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, *], scale = f16, range = absmax>
// CHECK-DAG: #[[I8:[a-z0-9]+]] = #kvq.format<codes = i8, group = [32, 1], scale = f32, range = absmax>
// CHECK-DAG: #[[U2:[a-z0-9]+]] = #kvq.format<codes = ui2, group = [1, 8], scale = f16, zero = min f32, range = minmax>
// CHECK-DAG: #[[U4:[a-z0-9]+]] = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>
// CHECK-DAG: #[[U8:[a-z0-9]+]] = #kvq.format<codes = ui8, group = [1, *], scale = f32, zero = min f32, range = minmax>
// CHECK-DAG: #[[I3:[a-z0-9]+]] = #kvq.format<codes = i3, group = [1, 8], scale = bf16, range = absmax>
// CHECK-DAG: #[[U5:[a-z0-9]+]] = #kvq.format<codes = ui5, group = [1, 8], scale = f16, zero = min bf16, range = minmax>
// CHECK-DAG: #[[F8:[a-z0-9]+]] = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f32, range = absmax>
// CHECK-DAG: #[[F4:[a-z0-9]+]] = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN, range = absmax>
// CHECK-DAG: #[[NVFP4:[a-z0-9]+]] = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32, range = absmax>
// CHECK-DAG: #[[MX:[a-z0-9]+]] = #kvq.format<codes = f6E3M2FN, group = [1, 16], scale = f8E8M0FNU, range = absmax>
// CHECK-DAG: #[[POINT:[a-z0-9]+]] = #kvq.format<codes = ui8, group = [1, 16], scale = f16, zero = point ui8, range = minmax>
// CHECK-DAG: #[[BLOCK:[a-z0-9]+]] = #kvq.format<codes = ui6, group = [32, *], scale = f16, zero = point f32, range = minmax>
// CHECK-DAG: #[[CLIP:[a-z0-9]+]] = #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = min f16, range = clip<0.9>>
// CHECK-DAG: #[[NF4:[a-z0-9]+]] = #kvq.format<codes = #kvq.codebook<nf4>, group = [1, 16], scale = f16, range = absmax>
// CHECK-DAG: #[[GIVEN:[a-z0-9]+]] = #kvq.format<codes = #kvq.codebook<values = [-1.0, 0.0, 0.5]>, group = [1, 16], scale = f16, range = absmax>
// CHECK-DAG: #[[NORM:[a-z0-9]+]] = #kvq.format<codes = #kvq.codebook<lloyd_max = 3>, group = [1, *], scale = f16, range = norm>
// CHECK-DAG: #[[RMS:[a-z0-9]+]] = #kvq.format<codes = #kvq.codebook<lloyd_max = 2>, group = [8, 16], scale = bf16, range = rms>
// CHECK-DAG: #[[SEARCH:[a-z0-9]+]] = #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = point ui8, range = search<20>>
// CHECK-DAG: #[[HEADS:[a-z0-9]+]] = #kvq.format<codes = i4, group = [8, 16], heads = *, scale = f16, range = absmax>
// CHECK-DAG: #[[PAIR:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, *], heads = 2, scale = f16, range = absmax>
// CHECK-DAG: #[[RULE:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax, rule = #kvq.rule<ties = up, quotient = reciprocal, metadata = unrounded, bounds = full, extremum = signed, scale = nearest>>
// CHECK-DAG: #[[RULE2:[a-z0-9]+]] = #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = min f16, range = minmax, rule = #kvq.rule<scale = nearest, least = 1.0e-06, constant = 0.5, fit = end, precision = f16>>
// CHECK-DAG: #[[NONE:[a-z0-9]+]] = #kvq.format<codes = none>
// CHECK-DAG: #[[STATIC:[a-z0-9]+]] = #kvq.format<codes = ui4, group = [*, 8], scale = f16, zero = min f16, range = static>
// CHECK-DAG: #[[BEFORE:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, rotate = hadamard<32>, center = bf16>
// CHECK-DAG: #[[WHOLE:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, rotate = hadamard<*>>
// CHECK-DAG: ![[ROTATED:[a-z0-9]+]] = !kvq.cache<1x2x?x64xf16, #[[BEFORE]]>
// CHECK-DAG: ![[STATIC_CACHE:[a-z0-9]+]] = !kvq.cache<2x3x?x16xf16, #[[STATIC]]>
// CHECK-DAG: ![[EXACT:[a-z0-9]+]] = !kvq.cache<1x2x256x16xf32, #[[NONE]]>
// CHECK-DAG: ![[PLAIN:[a-z0-9]+]] = !kvq.cache<1x2x256x16xf16, #[[I4]]>
// CHECK-DAG: ![[DYNAMIC:[a-z0-9]+]] = !kvq.cache<1x2x?x16xbf16, #[[I2]]>
// CHECK-DAG: ![[WINDOW:[a-z0-9]+]] = !kvq.cache<1x2x?x16xf16, #[[U4]], exact_first = 4, recent = 64>
// CHECK-DAG: ![[FIRST:[a-z0-9]+]] = !kvq.cache<1x2x?x16xf16, #[[I4]], exact_first = 4>
// CHECK-DAG: ![[RECENT0:[a-z0-9]+]] = !kvq.cache<1x2x256x16xf16, #[[I8]], recent = 0>
// CHECK-DAG: ![[RESIDUAL:[a-z0-9]+]] = !kvq.cache<1x2x256x16xf16, #[[I8]], exact_first = 2, residual = 64>
// CHECK-DAG: ![[THREE:[a-z0-9]+]] = !kvq.cache<3x2x64x16xf16, #[[U4]], exact_first = 4, recent = 64>

#i2 = #kvq.format<codes = i2, group = [1, 8], scale = f16>
#i4 = #kvq.format<codes = i4, group = [1, *], scale = f16, range = absmax>
// Fields may come in any order.
#i8 = #kvq.format<scale = f32, group = [32, 1], codes = i8>
#u2 = #kvq.format<codes = ui2, group = [1, 8], scale = f16, zero = min f32>
#u4 = #kvq.format<zero = min f16, codes = ui4, range = minmax, group = [32, 1], scale = f16>
#u8 = #kvq.format<codes = ui8, group = [1, *], scale = f32, zero = min f32>
#none = #kvq.format<codes = none>

// CHECK-LABEL: func.func private @formats
// CHECK-SAME: #[[I2]], #[[I4]], #[[I8]], #[[U2]], #[[U4]], #[[U8]], #[[NONE]]
func.func private @formats() attributes {
  formats = [#i2, #i4, #i8, #u2, #u4, #u8, #none]}

// CHECK-LABEL: func.func private @rotations
// CHECK-SAME: #[[WHOLE]]
func.func private @rotations() attributes {
  formats = [#kvq.format<codes = i4, group = [1, 32], scale = f16, rotate = hadamard<*>>]}

// CHECK-LABEL: func.func private @regions
// CHECK-SAME: [#kvq.region<first>, #kvq.region<codes>, #kvq.region<recent>]
func.func private @regions() attributes {
  regions = [#kvq.region<first>, #kvq.region<codes>, #kvq.region<recent>]}

// Codes, scales, zeros and ranges of each kind.

// CHECK-LABEL: func.func private @kinds
// CHECK-SAME: #[[I3]], #[[U5]], #[[F8]], #[[F4]], #[[NVFP4]], #[[MX]], #[[POINT]], #[[BLOCK]], #[[CLIP]], #[[NF4]], #[[GIVEN]], #[[NORM]], #[[RMS]], #[[SEARCH]], #[[HEADS]], #[[PAIR]], #[[RULE]], #[[RULE2]], #[[I4]]
func.func private @kinds() attributes {kinds = [
  #kvq.format<codes = i3, group = [1, 8], scale = bf16>,
  #kvq.format<codes = ui5, group = [1, 8], scale = f16, zero = min bf16>,
  #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f32>,
  #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN>,
  #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32>,
  #kvq.format<codes = f6E3M2FN, group = [1, 16], scale = f8E8M0FNU>,
  #kvq.format<codes = ui8, group = [1, 16], scale = f16, zero = point ui8>,
  #kvq.format<codes = ui6, group = [32, *], scale = f16, zero = point f32>,
  #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = min f16, range = clip<9.0e-1>>,
  #kvq.format<codes = #kvq.codebook<nf4>, group = [1, 16], scale = f16>,
  #kvq.format<codes = #kvq.codebook<values = [-1.0, 0.0, 0.5]>, group = [1, 16], scale = f16>,
  #kvq.format<codes = #kvq.codebook<lloyd_max = 3>, group = [1, *], scale = f16, range = norm>,
  #kvq.format<codes = #kvq.codebook<lloyd_max = 2>, group = [8, 16], scale = bf16, range = rms>,
  #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = point ui8, range = search<20>>,
  #kvq.format<codes = i4, heads = *, group = [8, 16], scale = f16>,
  #kvq.format<codes = i4, group = [1, *], heads = 2, scale = f16>,
  #kvq.format<codes = i4, group = [1, 16], scale = f16, rule = #kvq.rule<scale = nearest, extremum = signed, bounds = full, metadata = unrounded, ties = up, quotient = reciprocal>>,
  #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = min f16, rule = #kvq.rule<fit = end, scale = nearest, least = 1.0e-6, constant = 0.5, precision = f16>>,
  #kvq.format<codes = i4, group = [1, *], scale = f16, rule = #kvq.rule<ties = even, least = 0.0>>]}

// The values of a name print as the name.

// CHECK-LABEL: func.func private @codebooks
// CHECK-SAME: [#kvq.codebook<nf4>, #kvq.codebook<iq4_nl>, #kvq.codebook<lloyd_max = 1>,
// CHECK-SAME: #kvq.codebook<lloyd_max = 2>, #kvq.codebook<lloyd_max = 4>, #kvq.codebook<iq4_nl>]
func.func private @codebooks() attributes {codebooks = [
  #kvq.codebook<nf4>, #kvq.codebook<iq4_nl>, #kvq.codebook<lloyd_max = 1>,
  #kvq.codebook<lloyd_max = 2>, #kvq.codebook<lloyd_max = 4>,
  #kvq.codebook<values = [-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0,
                          1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0]>]}

!exact = !kvq.cache<1x2x256x16xf32, #none>
!plain = !kvq.cache<1x2x256x16xf16, #i4>
!dynamic = !kvq.cache<1x2x?x16xbf16, #i2>
!window = !kvq.cache<1x2x?x16xf16, #u4, exact_first = 4, recent = 64>
!first = !kvq.cache<1x2x?x16xf16, #i4, exact_first = 4>
!recent0 = !kvq.cache<1x2x256x16xf16, #i8, recent = 0>
!residual = !kvq.cache<1x2x256x16xf16, #i8, residual = 64, exact_first = 2>
!three = !kvq.cache<3x2x64x16xf16, #u4, exact_first = 4, recent = 64>

// CHECK-LABEL: func.func private @caches
// CHECK-SAME: ![[EXACT]]
// CHECK-SAME: ![[PLAIN]]
// CHECK-SAME: ![[DYNAMIC]]
// CHECK-SAME: ![[WINDOW]]
// CHECK-SAME: ![[FIRST]]
// CHECK-SAME: ![[RECENT0]]
// CHECK-SAME: ![[RESIDUAL]]
func.func private @caches(!exact, !plain, !dynamic, !window, !first, !recent0,
    !residual)

// CHECK-LABEL: func.func @value_level
func.func @value_level(%x: tensor<2x?x16xf16>, %codes: tensor<2x?x16xi8>,
    %scales: tensor<2x?x2xf16>, %zeros: tensor<2x?x2xf32>,
    %bytes: tensor<2x?x4xi8>) {
  // CHECK: %{{.*}}:2 = kvq.quantize #[[I2]] ins(%{{.*}} : tensor<2x?x16xf16>) outs(%{{.*}}, %{{.*}} : tensor<2x?x16xi8>, tensor<2x?x2xf16>) -> tensor<2x?x16xi8>, tensor<2x?x2xf16>
  %c0, %s0 = kvq.quantize #i2 ins(%x : tensor<2x?x16xf16>)
      outs(%codes, %scales : tensor<2x?x16xi8>, tensor<2x?x2xf16>)
      -> tensor<2x?x16xi8>, tensor<2x?x2xf16>
  // CHECK: %{{.*}}:3 = kvq.quantize #[[U2]] ins(%{{.*}} : tensor<2x?x16xf16>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>) -> tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>
  %c1, %s1, %z1 = kvq.quantize #u2 ins(%x : tensor<2x?x16xf16>)
      outs(%codes, %scales, %zeros
        : tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>)
      -> tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>
  // CHECK: %{{.*}} = kvq.dequantize #[[U2]] ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>) outs(%{{.*}} : tensor<2x?x16xf16>) -> tensor<2x?x16xf16>
  %y = kvq.dequantize #u2
      ins(%c1, %s1, %z1
        : tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>)
      outs(%x : tensor<2x?x16xf16>) -> tensor<2x?x16xf16>
  // CHECK: %{{.*}} = kvq.count_saturated #[[U2]] ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x16xf16>, tensor<2x?x2xf16>, tensor<2x?x2xf32>) outs(%{{.*}} : tensor<2xi64>) -> tensor<2xi64>
  %none_yet = arith.constant dense<0> : tensor<2xi64>
  %saturated = kvq.count_saturated #u2
      ins(%x, %s1, %z1 : tensor<2x?x16xf16>, tensor<2x?x2xf16>, tensor<2x?x2xf32>)
      outs(%none_yet : tensor<2xi64>) -> tensor<2xi64>
  // CHECK: %{{.*}} = kvq.pack #[[U2]] ins(%{{.*}} : tensor<2x?x16xi8>) outs(%{{.*}} : tensor<2x?x4xi8>) -> tensor<2x?x4xi8>
  %p = kvq.pack #u2 ins(%c1 : tensor<2x?x16xi8>)
      outs(%bytes : tensor<2x?x4xi8>) -> tensor<2x?x4xi8>
  // CHECK: %{{.*}} = kvq.unpack #[[U2]] ins(%{{.*}} : tensor<2x?x4xi8>) outs(%{{.*}} : tensor<2x?x16xi8>) -> tensor<2x?x16xi8>
  %u = kvq.unpack #u2 ins(%p : tensor<2x?x4xi8>)
      outs(%codes : tensor<2x?x16xi8>) -> tensor<2x?x16xi8>
  return
}

// CHECK-LABEL: func.func @cache_level
func.func @cache_level(%tokens: tensor<1x2x?x16xf16>, %n: tensor<1xi64>,
    %f: tensor<1xi64>, %capacity: index, %q: tensor<1x4x?x16xf32>,
    %keys: tensor<1x2x?x16xf32>, %values: tensor<1x2x?x16xf32>,
    %codes: tensor<1x2x256x8xi8>, %scales: tensor<1x2x256x1xf16>,
    %three: !three, %n3: tensor<3xi64>) {
  // CHECK: kvq.empty : ![[PLAIN]]
  %plain = kvq.empty : !plain
  // CHECK: kvq.empty(%{{.*}}) : ![[WINDOW]]
  %window = kvq.empty(%capacity) : !window
  // CHECK: kvq.from_components %{{.*}}, %{{.*}} : tensor<1x2x256x8xi8>, tensor<1x2x256x1xf16> -> ![[PLAIN]]
  %given = kvq.from_components %codes, %scales
      : tensor<1x2x256x8xi8>, tensor<1x2x256x1xf16> -> !plain
  // CHECK: kvq.append ins(%{{.*}} : tensor<1x2x?x16xf16>) lengths(%{{.*}} : tensor<1xi64>) into(%{{.*}} : ![[PLAIN]]) -> ![[PLAIN]]
  %k = kvq.append ins(%tokens : tensor<1x2x?x16xf16>)
      lengths(%n : tensor<1xi64>) into(%plain : !plain) -> !plain
  // CHECK: kvq.append ins(%{{.*}}) lengths(%{{.*}} : tensor<1xi64>) flushed(%{{.*}} : tensor<1xi64>) counts(%{{.*}} : tensor<1xi64>) into(
  %v = kvq.append ins(%tokens : tensor<1x2x?x16xf16>)
      lengths(%n : tensor<1xi64>) flushed(%f : tensor<1xi64>)
      counts(%n : tensor<1xi64>) into(%window : !window) -> !window
  // CHECK: kvq.append ins(%{{.*}}) lengths(%{{.*}} : tensor<1xi64>) saturated(%{{.*}} : tensor<1x2xi64>) into(%{{.*}} : ![[PLAIN]]) -> ![[PLAIN]], tensor<1x2xi64>
  %saturated = arith.constant dense<0> : tensor<1x2xi64>
  %counted:2 = kvq.append ins(%tokens : tensor<1x2x?x16xf16>)
      lengths(%n : tensor<1xi64>) saturated(%saturated : tensor<1x2xi64>)
      into(%plain : !plain) -> !plain, tensor<1x2xi64>
  // CHECK: kvq.truncate ![[PLAIN]] lengths(%{{.*}} : tensor<1xi64>) to(%{{.*}} : tensor<1xi64>) -> tensor<1xi64>{{$}}
  %n0 = kvq.truncate !plain lengths(%n : tensor<1xi64>)
      to(%f : tensor<1xi64>) -> tensor<1xi64>
  // CHECK: kvq.truncate ![[WINDOW]] lengths(%{{.*}} : tensor<1xi64>) flushed(%{{.*}} : tensor<1xi64>) to(%{{.*}} : tensor<1xi64>) -> tensor<1xi64>, tensor<1xi64>
  %n1, %f1 = kvq.truncate !window lengths(%n : tensor<1xi64>)
      flushed(%f : tensor<1xi64>) to(%n : tensor<1xi64>)
      -> tensor<1xi64>, tensor<1xi64>
  // CHECK: kvq.reorder ins(%{{.*}} : ![[PLAIN]]) sources(%{{.*}} : tensor<1xi64>) lengths(%{{.*}} : tensor<1xi64>) into(%{{.*}} : ![[PLAIN]]) -> ![[PLAIN]]
  %r0 = kvq.reorder ins(%plain : !plain) sources(%n : tensor<1xi64>)
      lengths(%n : tensor<1xi64>) into(%given : !plain) -> !plain
  // CHECK: kvq.reorder ins(%{{.*}} : ![[THREE]]) sources(%{{.*}} : tensor<1xi64>) lengths(%{{.*}} : tensor<3xi64>) flushed(%{{.*}} : tensor<3xi64>) into(%{{.*}} : ![[WINDOW]]) -> ![[WINDOW]]
  %r1 = kvq.reorder ins(%three : !three)
      sources(%n : tensor<1xi64>) lengths(%n3 : tensor<3xi64>)
      flushed(%n3 : tensor<3xi64>) into(%window : !window) -> !window
  // CHECK: kvq.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x?x16xf32>, ![[PLAIN]], ![[WINDOW]]) lengths(%{{.*}} : tensor<1xi64>) value_flushed(%{{.*}} : tensor<1xi64>) outs(%{{.*}} : tensor<1x4x?x16xf32>) {causal, scale = 2.500000e-01 : f32} -> tensor<1x4x?x16xf32>
  %o0 = kvq.attention ins(%q, %k, %v : tensor<1x4x?x16xf32>, !plain, !window)
      lengths(%n : tensor<1xi64>) value_flushed(%f : tensor<1xi64>)
      outs(%q : tensor<1x4x?x16xf32>) {scale = 0.25 : f32, causal}
      -> tensor<1x4x?x16xf32>
  // CHECK: kvq.attention ins({{.*}}) lengths(%{{.*}} : tensor<1xi64>) key_flushed(%{{.*}} : tensor<1xi64>) outs({{.*}}) {query_codes = i16, scale = 2.500000e-01 : f32}
  %o1 = kvq.attention ins(%q, %v, %k : tensor<1x4x?x16xf32>, !window, !plain)
      lengths(%n : tensor<1xi64>) key_flushed(%f : tensor<1xi64>)
      outs(%q : tensor<1x4x?x16xf32>) {scale = 0.25 : f32, query_codes = i16}
      -> tensor<1x4x?x16xf32>
  // CHECK: kvq.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
  %o2 = kvq.attention ins(%q, %keys, %values : tensor<1x4x?x16xf32>,
        tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
      lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x?x16xf32>) {scale = 0.25 : f32}
      -> tensor<1x4x?x16xf32>
  return
}

// CHECK-LABEL: func.func @tile_level
func.func @tile_level(%k: !plain, %v: !window, %q: tensor<2x16xf32>,
    %acc: tensor<2x16xf32>, %max: tensor<2xf32>, %sum: tensor<2xf32>,
    %accs: tensor<4x2x16xf32>, %maxes: tensor<4x2xf32>,
    %sums: tensor<4x2xf32>, %i: index) {
  // CHECK: kvq.partial_attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x16xf32>, {{.*}}) at[%{{.*}}, %{{.*}}] tokens[%{{.*}} to %{{.*}}] flushed[%{{.*}}, %{{.*}}] outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  %p:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !plain, !window)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%acc, %max, %sum : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  // CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<recent>} ->
  %t:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x16xf32>, !plain, !window)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i]
      outs(%acc, %max, %sum : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      {key_region = #kvq.region<codes>, value_region = #kvq.region<recent>,
       tile = 64 : i64}
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  // CHECK: kvq.merge_partials ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4x2x16xf32>, tensor<4x2xf32>, tensor<4x2xf32>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  %m:3 = kvq.merge_partials
      ins(%accs, %maxes, %sums : tensor<4x2x16xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
      outs(%acc, %max, %sum : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  // CHECK: kvq.load_tile %{{.*}} <codes> at[%{{.*}}, %{{.*}}] tokens[%{{.*}} to %{{.*}}] : ![[PLAIN]] -> tensor<?x16xi8>, tensor<?x1xf16>
  %l:2 = kvq.load_tile %k <codes> at [%i, %i] tokens [%i to %i]
      : !plain -> tensor<?x16xi8>, tensor<?x1xf16>
  // With several tokens in a group, one row of metadata serves the tile.
  // CHECK: kvq.load_tile {{.*}} -> tensor<?x16xi8>, tensor<1x16xf16>, tensor<1x16xf16>
  %w:3 = kvq.load_tile %v <codes> at [%i, %i] tokens [%i to %i]
      : !window -> tensor<?x16xi8>, tensor<1x16xf16>, tensor<1x16xf16>
  // CHECK: kvq.load_tile %{{.*}} <recent> {{.*}} -> tensor<?x16xf16>
  %r = kvq.load_tile %v <recent> at [%i, %i] tokens [%i to %i]
      : !window -> tensor<?x16xf16>
  return
}

// Ranges that are given: the metadata is an operand of the value-level ops, a
// component of the cache, and no result of a tile.

#static = #kvq.format<range = static, codes = ui4, group = [*, 8], scale = f16, zero = min f16>
!static = !kvq.cache<2x3x?x16xf16, #static>

// CHECK-LABEL: func.func @given
func.func @given(%x: tensor<2x3x?x16xf16>, %s: tensor<1x3x1x2xf16>,
    %c: tensor<2x3x?x16xi8>, %y: tensor<2x3x?x16xf32>, %k: !static, %i: index) {
  // CHECK: kvq.quantize #[[STATIC]] ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x3x?x16xf16>, tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) outs(%{{.*}} : tensor<2x3x?x16xi8>) -> tensor<2x3x?x16xi8>
  %q = kvq.quantize #static ins(%x, %s, %s : tensor<2x3x?x16xf16>, tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>)
      outs(%c : tensor<2x3x?x16xi8>) -> tensor<2x3x?x16xi8>
  // CHECK: kvq.dequantize #[[STATIC]] ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x3x?x16xi8>, tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) outs(
  %d = kvq.dequantize #static ins(%q, %s, %s : tensor<2x3x?x16xi8>, tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>)
      outs(%y : tensor<2x3x?x16xf32>) -> tensor<2x3x?x16xf32>
  // CHECK: kvq.empty(%{{.*}}) given(%{{.*}}, %{{.*}} : tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) : ![[STATIC_CACHE]]
  %e = kvq.empty(%i) given(%s, %s : tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) : !static
  // CHECK: kvq.load_tile %{{.*}} <codes> at[%{{.*}}, %{{.*}}] tokens[%{{.*}} to %{{.*}}] : ![[STATIC_CACHE]] -> tensor<?x16xi8>
  %l = kvq.load_tile %k <codes> at [%i, %i] tokens [%i to %i] : !static -> tensor<?x16xi8>
  // CHECK: kvq.load_given %{{.*}} <scales> at[%{{.*}}] : ![[STATIC_CACHE]] -> tensor<1x2xf16>
  %g = kvq.load_given %k <scales> at [%i] : !static -> tensor<1x2xf16>
  return
}

// What acts before quantization.

!rotated = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, center = bf16, rotate = hadamard<32>>>

// CHECK-LABEL: func.func @before
func.func @before(%x: tensor<4x64xf32>, %c: !rotated, %i: index, %acc: tensor<4x64xf32>, %row: tensor<4xf32>) {
  // CHECK: %[[S:.*]] = kvq.load_given %{{.*}} <signs> at[%{{.*}}] : ![[ROTATED]] -> tensor<1x64xi8>
  %s = kvq.load_given %c <signs> at [%i] : !rotated -> tensor<1x64xi8>
  // CHECK: kvq.load_given %{{.*}} <means> at[%{{.*}}] : ![[ROTATED]] -> tensor<1x64xbf16>
  %m = kvq.load_given %c <means> at [%i] : !rotated -> tensor<1x64xbf16>
  // CHECK: kvq.rotate hadamard<32> ins(%{{.*}}, %[[S]] : tensor<4x64xf32>, tensor<1x64xi8>) outs(%{{.*}} : tensor<4x64xf32>) -> tensor<4x64xf32>
  %y = kvq.rotate hadamard<32> ins(%x, %s : tensor<4x64xf32>, tensor<1x64xi8>)
      outs(%x : tensor<4x64xf32>) -> tensor<4x64xf32>
  // CHECK: kvq.rotate hadamard<64> inverse ins(
  %z = kvq.rotate hadamard<64> inverse ins(%y, %s : tensor<4x64xf32>, tensor<1x64xi8>)
      outs(%x : tensor<4x64xf32>) -> tensor<4x64xf32>
  // CHECK: kvq.partial_attention {{.*}} flushed[%{{.*}}, %{{.*}}] bias(%{{.*}} : tensor<4xf32>) outs(
  %p:3 = kvq.partial_attention ins(%x, %c, %c : tensor<4x64xf32>, !rotated, !rotated)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] bias(%row : tensor<4xf32>)
      outs(%acc, %row, %row : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return
}
