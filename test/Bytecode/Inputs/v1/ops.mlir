#format = #kvq.format<codes = i2, group = [1, 8], scale = f16, range = absmax>
#format1 = #kvq.format<codes = i4, group = [1, *], scale = f16, range = absmax>
#format2 = #kvq.format<codes = i8, group = [32, 1], scale = f32, range = absmax>
#format3 = #kvq.format<codes = ui2, group = [1, 8], scale = f16, zero = min f32, range = minmax>
#format4 = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>
#format5 = #kvq.format<codes = ui8, group = [1, *], scale = f32, zero = min f32, range = minmax>
#format6 = #kvq.format<codes = none>
#format7 = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, rotate = hadamard<*>>
#format8 = #kvq.format<codes = i3, group = [1, 8], scale = bf16, range = absmax>
#format9 = #kvq.format<codes = ui5, group = [1, 8], scale = f16, zero = min bf16, range = minmax>
#format10 = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f32, range = absmax>
#format11 = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN, range = absmax>
#format12 = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32, range = absmax>
#format13 = #kvq.format<codes = f6E3M2FN, group = [1, 16], scale = f8E8M0FNU, range = absmax>
#format14 = #kvq.format<codes = ui8, group = [1, 16], scale = f16, zero = point ui8, range = minmax>
#format15 = #kvq.format<codes = ui6, group = [32, *], scale = f16, zero = point f32, range = minmax>
#format16 = #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = min f16, range = clip<0.9>>
#format17 = #kvq.format<codes = #kvq.codebook<nf4>, group = [1, 16], scale = f16, range = absmax>
#format18 = #kvq.format<codes = #kvq.codebook<values = [-1.0, 0.0, 0.5]>, group = [1, 16], scale = f16, range = absmax>
#format19 = #kvq.format<codes = #kvq.codebook<lloyd_max = 3>, group = [1, *], scale = f16, range = norm>
#format20 = #kvq.format<codes = #kvq.codebook<lloyd_max = 2>, group = [8, 16], scale = bf16, range = rms>
#format21 = #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = point ui8, range = search<20>>
#format22 = #kvq.format<codes = i4, group = [8, 16], heads = *, scale = f16, range = absmax>
#format23 = #kvq.format<codes = i4, group = [1, *], heads = 2, scale = f16, range = absmax>
#format24 = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax, rule = #kvq.rule<ties = up, quotient = reciprocal, metadata = unrounded, bounds = full, extremum = signed, scale = nearest>>
#format25 = #kvq.format<codes = ui4, group = [1, 16], scale = f16, zero = min f16, range = minmax, rule = #kvq.rule<scale = nearest, least = 1.0e-06, constant = 0.5, fit = end, precision = f16>>
#format26 = #kvq.format<codes = ui4, group = [*, 8], scale = f16, zero = min f16, range = static>
#format27 = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, rotate = hadamard<32>, center = bf16>
!cache = !kvq.cache<1x2x256x16xf32, #format6>
!cache1 = !kvq.cache<1x2x256x16xf16, #format1>
!cache2 = !kvq.cache<1x2x?x16xbf16, #format>
!cache3 = !kvq.cache<1x2x?x16xf16, #format4, exact_first = 4, recent = 64>
!cache4 = !kvq.cache<1x2x?x16xf16, #format1, exact_first = 4>
!cache5 = !kvq.cache<1x2x256x16xf16, #format2, recent = 0>
!cache6 = !kvq.cache<1x2x256x16xf16, #format2, exact_first = 2, residual = 64>
!cache7 = !kvq.cache<3x2x64x16xf16, #format4, exact_first = 4, recent = 64>
!cache8 = !kvq.cache<2x3x?x16xf16, #format26>
!cache9 = !kvq.cache<1x2x?x64xf16, #format27>
module {
  func.func private @formats() attributes {formats = [#format, #format1, #format2, #format3, #format4, #format5, #format6]}
  func.func private @rotations() attributes {formats = [#format7]}
  func.func private @regions() attributes {regions = [#kvq.region<first>, #kvq.region<codes>, #kvq.region<recent>]}
  func.func private @kinds() attributes {kinds = [#format8, #format9, #format10, #format11, #format12, #format13, #format14, #format15, #format16, #format17, #format18, #format19, #format20, #format21, #format22, #format23, #format24, #format25, #format1]}
  func.func private @codebooks() attributes {codebooks = [#kvq.codebook<nf4>, #kvq.codebook<iq4_nl>, #kvq.codebook<lloyd_max = 1>, #kvq.codebook<lloyd_max = 2>, #kvq.codebook<lloyd_max = 4>, #kvq.codebook<iq4_nl>]}
  func.func private @caches(!cache, !cache1, !cache2, !cache3, !cache4, !cache5, !cache6)
  func.func @value_level(%arg0: tensor<2x?x16xf16>, %arg1: tensor<2x?x16xi8>, %arg2: tensor<2x?x2xf16>, %arg3: tensor<2x?x2xf32>, %arg4: tensor<2x?x4xi8>) {
    %0:2 = kvq.quantize #format ins(%arg0 : tensor<2x?x16xf16>) outs(%arg1, %arg2 : tensor<2x?x16xi8>, tensor<2x?x2xf16>) -> tensor<2x?x16xi8>, tensor<2x?x2xf16>
    %1:3 = kvq.quantize #format3 ins(%arg0 : tensor<2x?x16xf16>) outs(%arg1, %arg2, %arg3 : tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>) -> tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>
    %2 = kvq.dequantize #format3 ins(%1#0, %1#1, %1#2 : tensor<2x?x16xi8>, tensor<2x?x2xf16>, tensor<2x?x2xf32>) outs(%arg0 : tensor<2x?x16xf16>) -> tensor<2x?x16xf16>
    %cst = arith.constant dense<0> : tensor<2xi64>
    %3 = kvq.count_saturated #format3 ins(%arg0, %1#1, %1#2 : tensor<2x?x16xf16>, tensor<2x?x2xf16>, tensor<2x?x2xf32>) outs(%cst : tensor<2xi64>) -> tensor<2xi64>
    %4 = kvq.pack #format3 ins(%1#0 : tensor<2x?x16xi8>) outs(%arg4 : tensor<2x?x4xi8>) -> tensor<2x?x4xi8>
    %5 = kvq.unpack #format3 ins(%4 : tensor<2x?x4xi8>) outs(%arg1 : tensor<2x?x16xi8>) -> tensor<2x?x16xi8>
    return
  }
  func.func @cache_level(%arg0: tensor<1x2x?x16xf16>, %arg1: tensor<1xi64>, %arg2: tensor<1xi64>, %arg3: index, %arg4: tensor<1x4x?x16xf32>, %arg5: tensor<1x2x?x16xf32>, %arg6: tensor<1x2x?x16xf32>, %arg7: tensor<1x2x256x8xi8>, %arg8: tensor<1x2x256x1xf16>, %arg9: !cache7, %arg10: tensor<3xi64>) {
    %0 = kvq.empty : !cache1
    %1 = kvq.empty(%arg3) : !cache3
    %2 = kvq.from_components %arg7, %arg8 : tensor<1x2x256x8xi8>, tensor<1x2x256x1xf16> -> !cache1
    %result = kvq.append ins(%arg0 : tensor<1x2x?x16xf16>) lengths(%arg1 : tensor<1xi64>) into(%0 : !cache1) -> !cache1
    %result_0 = kvq.append ins(%arg0 : tensor<1x2x?x16xf16>) lengths(%arg1 : tensor<1xi64>) flushed(%arg2 : tensor<1xi64>) counts(%arg1 : tensor<1xi64>) into(%1 : !cache3) -> !cache3
    %cst = arith.constant dense<0> : tensor<1x2xi64>
    %result_1, %newSaturated = kvq.append ins(%arg0 : tensor<1x2x?x16xf16>) lengths(%arg1 : tensor<1xi64>) saturated(%cst : tensor<1x2xi64>) into(%0 : !cache1) -> !cache1, tensor<1x2xi64>
    %newLengths = kvq.truncate !cache1 lengths(%arg1 : tensor<1xi64>) to(%arg2 : tensor<1xi64>) -> tensor<1xi64>
    %newLengths_2, %newFlushed = kvq.truncate !cache3 lengths(%arg1 : tensor<1xi64>) flushed(%arg2 : tensor<1xi64>) to(%arg1 : tensor<1xi64>) -> tensor<1xi64>, tensor<1xi64>
    %3 = kvq.reorder ins(%0 : !cache1) sources(%arg1 : tensor<1xi64>) lengths(%arg1 : tensor<1xi64>) into(%2 : !cache1) -> !cache1
    %4 = kvq.reorder ins(%arg9 : !cache7) sources(%arg1 : tensor<1xi64>) lengths(%arg10 : tensor<3xi64>) flushed(%arg10 : tensor<3xi64>) into(%1 : !cache3) -> !cache3
    %result_3 = kvq.attention ins(%arg4, %result, %result_0 : tensor<1x4x?x16xf32>, !cache1, !cache3) lengths(%arg1 : tensor<1xi64>) value_flushed(%arg2 : tensor<1xi64>) outs(%arg4 : tensor<1x4x?x16xf32>) {causal, scale = 2.500000e-01 : f32} -> tensor<1x4x?x16xf32>
    %result_4 = kvq.attention ins(%arg4, %result_0, %result : tensor<1x4x?x16xf32>, !cache3, !cache1) lengths(%arg1 : tensor<1xi64>) key_flushed(%arg2 : tensor<1xi64>) outs(%arg4 : tensor<1x4x?x16xf32>) {query_codes = i16, scale = 2.500000e-01 : f32} -> tensor<1x4x?x16xf32>
    %result_5 = kvq.attention ins(%arg4, %arg5, %arg6 : tensor<1x4x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) lengths(%arg1 : tensor<1xi64>) outs(%arg4 : tensor<1x4x?x16xf32>) {scale = 2.500000e-01 : f32} -> tensor<1x4x?x16xf32>
    return
  }
  func.func @tile_level(%arg0: !cache1, %arg1: !cache3, %arg2: tensor<2x16xf32>, %arg3: tensor<2x16xf32>, %arg4: tensor<2xf32>, %arg5: tensor<2xf32>, %arg6: tensor<4x2x16xf32>, %arg7: tensor<4x2xf32>, %arg8: tensor<4x2xf32>, %arg9: index) {
    %accResult, %maxResult, %sumResult = kvq.partial_attention ins(%arg2, %arg0, %arg1 : tensor<2x16xf32>, !cache1, !cache3) at[%arg9, %arg9] tokens[%arg9 to %arg9] flushed[%arg9, %arg9] outs(%arg3, %arg4, %arg5 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
    %accResult_0, %maxResult_1, %sumResult_2 = kvq.partial_attention ins(%arg2, %arg0, %arg1 : tensor<2x16xf32>, !cache1, !cache3) at[%arg9, %arg9] tokens[%arg9 to %arg9] flushed[%arg9, %arg9] outs(%arg3, %arg4, %arg5 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<recent>} -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
    %0:3 = kvq.merge_partials ins(%arg6, %arg7, %arg8 : tensor<4x2x16xf32>, tensor<4x2xf32>, tensor<4x2xf32>) outs(%arg3, %arg4, %arg5 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
    %1:2 = kvq.load_tile %arg0 <codes> at[%arg9, %arg9] tokens[%arg9 to %arg9] : !cache1 -> tensor<?x16xi8>, tensor<?x1xf16>
    %2:3 = kvq.load_tile %arg1 <codes> at[%arg9, %arg9] tokens[%arg9 to %arg9] : !cache3 -> tensor<?x16xi8>, tensor<1x16xf16>, tensor<1x16xf16>
    %3 = kvq.load_tile %arg1 <recent> at[%arg9, %arg9] tokens[%arg9 to %arg9] : !cache3 -> tensor<?x16xf16>
    return
  }
  func.func @given(%arg0: tensor<2x3x?x16xf16>, %arg1: tensor<1x3x1x2xf16>, %arg2: tensor<2x3x?x16xi8>, %arg3: tensor<2x3x?x16xf32>, %arg4: !cache8, %arg5: index) {
    %0 = kvq.quantize #format26 ins(%arg0, %arg1, %arg1 : tensor<2x3x?x16xf16>, tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) outs(%arg2 : tensor<2x3x?x16xi8>) -> tensor<2x3x?x16xi8>
    %1 = kvq.dequantize #format26 ins(%0, %arg1, %arg1 : tensor<2x3x?x16xi8>, tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) outs(%arg3 : tensor<2x3x?x16xf32>) -> tensor<2x3x?x16xf32>
    %2 = kvq.empty(%arg5) given(%arg1, %arg1 : tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) : !cache8
    %3 = kvq.load_tile %arg4 <codes> at[%arg5, %arg5] tokens[%arg5 to %arg5] : !cache8 -> tensor<?x16xi8>
    %4 = kvq.load_given %arg4 <scales> at[%arg5] : !cache8 -> tensor<1x2xf16>
    return
  }
  func.func @before(%arg0: tensor<4x64xf32>, %arg1: !cache9, %arg2: index, %arg3: tensor<4x64xf32>, %arg4: tensor<4xf32>) {
    %0 = kvq.load_given %arg1 <signs> at[%arg2] : !cache9 -> tensor<1x64xi8>
    %1 = kvq.load_given %arg1 <means> at[%arg2] : !cache9 -> tensor<1x64xbf16>
    %2 = kvq.rotate hadamard<32> ins(%arg0, %0 : tensor<4x64xf32>, tensor<1x64xi8>) outs(%arg0 : tensor<4x64xf32>) -> tensor<4x64xf32>
    %3 = kvq.rotate hadamard<64> inverse ins(%2, %0 : tensor<4x64xf32>, tensor<1x64xi8>) outs(%arg0 : tensor<4x64xf32>) -> tensor<4x64xf32>
    %accResult, %maxResult, %sumResult = kvq.partial_attention ins(%arg0, %arg1, %arg1 : tensor<4x64xf32>, !cache9, !cache9) at[%arg2, %arg2] tokens[%arg2 to %arg2] flushed[%arg2, %arg2] bias(%arg4 : tensor<4xf32>) outs(%arg3, %arg4, %arg4 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
    return
  }
}

