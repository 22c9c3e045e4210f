#format = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>
#format1 = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax>
!cache = !kvq.cache<2x2x?x16xf16, #format, residual = 64, page = 32>
!cache1 = !kvq.cache<2x2x?x16xf16, #format1, page = 16>
!cache2 = !kvq.cache<2x2x256x16xf16, #format, exact_first = 4, recent = 64, page = 96>
!cache3 = !kvq.cache<2x2x?x16xf16, #format1>
!cache4 = !kvq.cache<2x2x?x16xf16, #format, residual = 64, page = 32, ring = 200, keep_first = 3>
module {
  func.func @ops(%arg0: tensor<2x2x?x16xf16>, %arg1: tensor<?x2x16xf16>, %arg2: tensor<2xi64>, %arg3: tensor<2x?xi64>, %arg4: tensor<2x4xi64>, %arg5: tensor<3xi64>, %arg6: tensor<?xi64>, %arg7: index, %arg8: !cache, %arg9: tensor<2x4x1x16xf32>, %arg10: tensor<2x16xf32>, %arg11: tensor<2xf32>) -> (!cache1, !cache2, tensor<2x4x1x16xf32>) {
    %0 = kvq.empty pages(%arg7) : !cache1
    %1 = kvq.empty pages(%arg7) : !cache2
    %result = kvq.append ins(%arg0 : tensor<2x2x?x16xf16>) lengths(%arg2 : tensor<2xi64>) pages(%arg3 : tensor<2x?xi64>) into(%0 : !cache1) -> !cache1
    %result_0 = kvq.append ins(%arg1 : tensor<?x2x16xf16>) lengths(%arg2 : tensor<2xi64>) flushed(%arg2 : tensor<2xi64>) pages(%arg4 : tensor<2x4xi64>) starts(%arg5 : tensor<3xi64>) into(%1 : !cache2) -> !cache2
    %result_1 = kvq.append ins(%arg1 : tensor<?x2x16xf16>) slots(%arg6 : tensor<?xi64>) into(%result : !cache1) -> !cache1
    %result_2 = kvq.attention ins(%arg9, %result_0, %result_1 : tensor<2x4x1x16xf32>, !cache2, !cache1) lengths(%arg2 : tensor<2xi64>) key_flushed(%arg2 : tensor<2xi64>) key_pages(%arg4 : tensor<2x4xi64>) value_pages(%arg3 : tensor<2x?xi64>) outs(%arg9 : tensor<2x4x1x16xf32>) {scale = 1.000000e+00 : f32} -> tensor<2x4x1x16xf32>
    %2 = kvq.empty(%arg7) : !cache3
    %accResult, %maxResult, %sumResult = kvq.partial_attention ins(%arg10, %2, %result_1 : tensor<2x16xf32>, !cache3, !cache1) at[%arg7, %arg7] tokens[%arg7 to %arg7] flushed[%arg7, %arg7] value_pages(%arg3 : tensor<2x?xi64>) outs(%arg10, %arg11, %arg11 : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
    %3:2 = kvq.load_tile %result_1 <codes> at[%arg7, %arg7] tokens[%arg7 to %arg7] pages(%arg3 : tensor<2x?xi64>) {tile = 8 : i64} : !cache1 -> tensor<?x16xi8>, tensor<?x1xf16>
    %4 = kvq.load_tile %arg8 <recent> at[%arg7, %arg7] tokens[%arg7 to %arg7] : !cache -> tensor<?x16xf16>
    %5 = kvq.empty pages(%arg7) : !cache1
    %6 = kvq.reorder ins(%result_1 : !cache1) sources(%arg2 : tensor<2xi64>) lengths(%arg2 : tensor<2xi64>) pages(%arg3 : tensor<2x?xi64>) to_pages(%arg3 : tensor<2x?xi64>) shared(%arg2 : tensor<2xi64>) into(%5 : !cache1) -> !cache1
    return %6, %result_0, %result_2 : !cache1, !cache2, tensor<2x4x1x16xf32>
  }
  func.func @shift(%arg0: !cache1, %arg1: !cache2, %arg2: tensor<2xi64>, %arg3: tensor<2x?xi64>, %arg4: tensor<2x4xi64>) -> (!cache1, !cache2) {
    %0 = kvq.shift drop(%arg2, %arg2 : tensor<2xi64>, tensor<2xi64>) lengths(%arg2 : tensor<2xi64>) pages(%arg3 : tensor<2x?xi64>) into(%arg0 : !cache1) -> !cache1
    %1 = kvq.shift drop(%arg2, %arg2 : tensor<2xi64>, tensor<2xi64>) lengths(%arg2 : tensor<2xi64>) flushed(%arg2 : tensor<2xi64>) pages(%arg4 : tensor<2x4xi64>) into(%arg1 : !cache2) -> !cache2
    return %0, %1 : !cache1, !cache2
  }
  func.func @ring_of_pages(%arg0: index) -> !cache4 {
    %0 = kvq.empty pages(%arg0) : !cache4
    return %0 : !cache4
  }
}

