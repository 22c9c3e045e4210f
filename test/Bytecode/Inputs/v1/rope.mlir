#format = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax, rope = pre, layout = #kvq.layout<codes = stream>>
#format1 = #kvq.format<codes = none, rope = pre>
#format2 = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax>
!cache = !kvq.cache<2x2x?x64xf16, #format, exact_first = 2, recent = 8>
!cache1 = !kvq.cache<2x2x?x64xf16, #format1, page = 16>
!cache2 = !kvq.cache<2x2x?x64xf16, #format2, recent = 8>
!cache3 = !kvq.cache<2x2x?x64xf16, #format2, page = 16>
!cache4 = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #format2, [32:48] = none, [48:64] = #format1>>
module {
  func.func @caches(%arg0: !cache, %arg1: !cache1, %arg2: !cache4) {
    return
  }
  func.func @shift(%arg0: !cache2, %arg1: !cache, %arg2: tensor<2xi64>, %arg3: tensor<?x32xf32>, %arg4: tensor<?x32xf32>) {
    %0 = kvq.shift drop(%arg2, %arg2 : tensor<2xi64>, tensor<2xi64>) lengths(%arg2 : tensor<2xi64>) flushed(%arg2 : tensor<2xi64>) rope(%arg3, %arg4 : tensor<?x32xf32>, tensor<?x32xf32>) into(%arg0 : !cache2) -> !cache2
    %1 = kvq.shift drop(%arg2, %arg2 : tensor<2xi64>, tensor<2xi64>) lengths(%arg2 : tensor<2xi64>) flushed(%arg2 : tensor<2xi64>) rope(%arg3, %arg4 : tensor<?x32xf32>, tensor<?x32xf32>) into(%0 : !cache2) {rope_style = #kvq.rope_style<interleaved>} -> !cache2
    %2 = kvq.shift drop(%arg2, %arg2 : tensor<2xi64>, tensor<2xi64>) lengths(%arg2 : tensor<2xi64>) flushed(%arg2 : tensor<2xi64>) into(%arg1 : !cache) -> !cache
    return
  }
  func.func @append(%arg0: tensor<2x2x?x64xf32>, %arg1: tensor<?x2x64xf16>, %arg2: !cache2, %arg3: !cache3, %arg4: !cache4, %arg5: tensor<2xi64>, %arg6: tensor<?xi64>, %arg7: tensor<2x?xi64>, %arg8: tensor<?x32xf32>, %arg9: tensor<?x32xf32>, %arg10: tensor<?x5xf32>, %arg11: tensor<2x2xi64>) {
    %result, %newSaturated = kvq.append ins(%arg0 : tensor<2x2x?x64xf32>) lengths(%arg5 : tensor<2xi64>) flushed(%arg5 : tensor<2xi64>) counts(%arg5 : tensor<2xi64>) rope(%arg8, %arg9 : tensor<?x32xf32>, tensor<?x32xf32>) saturated(%arg11 : tensor<2x2xi64>) into(%arg2 : !cache2) -> !cache2, tensor<2x2xi64>
    %result_0 = kvq.append ins(%arg1 : tensor<?x2x64xf16>) slots(%arg6 : tensor<?xi64>) positions(%arg6 : tensor<?xi64>) rope(%arg8, %arg9 : tensor<?x32xf32>, tensor<?x32xf32>) into(%arg3 : !cache3) {rope_style = #kvq.rope_style<interleaved>} -> !cache3
    %result_1 = kvq.append ins(%arg0 : tensor<2x2x?x64xf32>) lengths(%arg5 : tensor<2xi64>) rope(%arg10, %arg10 : tensor<?x5xf32>, tensor<?x5xf32>) into(%arg4 : !cache4) {rope_segment = 1 : i64} -> !cache4
    return
  }
  func.func @attention(%arg0: tensor<2x4x1x64xf32>, %arg1: !cache1, %arg2: !cache4, %arg3: !cache2, %arg4: tensor<2xi64>, %arg5: tensor<2x?xi64>, %arg6: tensor<?x20xf32>, %arg7: tensor<?x20xf32>, %arg8: tensor<?x8xf32>, %arg9: tensor<2x4x1x64xf32>) {
    %result = kvq.attention ins(%arg0, %arg1, %arg3 : tensor<2x4x1x64xf32>, !cache1, !cache2) lengths(%arg4 : tensor<2xi64>) value_flushed(%arg4 : tensor<2xi64>) key_pages(%arg5 : tensor<2x?xi64>) rope(%arg6, %arg7 : tensor<?x20xf32>, tensor<?x20xf32>) outs(%arg9 : tensor<2x4x1x64xf32>) {rope_style = #kvq.rope_style<interleaved>, scale = 1.250000e-01 : f32} -> tensor<2x4x1x64xf32>
    %result_0 = kvq.attention ins(%arg0, %arg2, %arg3 : tensor<2x4x1x64xf32>, !cache4, !cache2) lengths(%arg4 : tensor<2xi64>) value_flushed(%arg4 : tensor<2xi64>) rope(%arg8, %arg8 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%arg9 : tensor<2x4x1x64xf32>) {scale = 1.250000e-01 : f32} -> tensor<2x4x1x64xf32>
    return
  }
  func.func @partial(%arg0: tensor<2x64xf32>, %arg1: !cache, %arg2: !cache2, %arg3: index, %arg4: tensor<2x64xf32>, %arg5: tensor<2xf32>, %arg6: tensor<?x32xf32>) {
    %accResult, %maxResult, %sumResult = kvq.partial_attention ins(%arg0, %arg1, %arg2 : tensor<2x64xf32>, !cache, !cache2) at[%arg3, %arg3] tokens[%arg3 to %arg3] flushed[%arg3, %arg3] rope(%arg6, %arg6 : tensor<?x32xf32>, tensor<?x32xf32>) outs(%arg4, %arg5, %arg5 : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>) {rope_style = #kvq.rope_style<half>} -> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>
    return
  }
}

