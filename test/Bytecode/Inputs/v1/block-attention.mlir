#format = #kvq.format<codes = i8, group = [1, *], scale = f16, range = absmax>
!cache = !kvq.cache<1x2x?x64xf16, #format, page = 64>
module {
  func.func @block(%arg0: tensor<4x64xf32>, %arg1: !cache, %arg2: tensor<1x8xi64>, %arg3: index, %arg4: tensor<4xf32>, %arg5: tensor<4x64xf32>, %arg6: tensor<4xf32>, %arg7: tensor<4xf32>) -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0:3 = kvq.block_attention ins(%arg0 : tensor<4x64xf32>) keys(%arg1 : !cache) values(%arg1 : !cache) at[%arg3, %arg3] tokens[%arg3 to %arg3] key_pages(%arg2 : tensor<1x8xi64>) value_pages(%arg2 : tensor<1x8xi64>) slopes(%arg4 : tensor<4xf32>) position[%arg3] outs(%arg5, %arg6, %arg7 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {causal, key_region = #kvq.region<codes>, key_type = !cache, query_tokens = 2 : i64, shared_bytes = 65536 : i64, softcap = 2.000000e+01 : f32, value_region = #kvq.region<codes>, value_type = !cache, window = 9 : i64} -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
    return %0#0, %0#1, %0#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

