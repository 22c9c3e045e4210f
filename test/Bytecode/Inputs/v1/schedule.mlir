#format = #kvq.format<codes = none>
!cache = !kvq.cache<1x1x?x64xf16, #format>
module {
  func.func private @loops() attributes {kvq.schedule = #kvq.schedule<vector_width = 16, prefetch = 0>}
  func.func @f(%arg0: tensor<1x4x1x64xf32>, %arg1: !cache, %arg2: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
    %result = kvq.attention ins(%arg0, %arg1, %arg1 : tensor<1x4x1x64xf32>, !cache, !cache) lengths(%arg2 : tensor<1xi64>) outs(%arg0 : tensor<1x4x1x64xf32>) {scale = 1.000000e+00 : f32, schedule = #kvq.schedule<tile = 64, splits = 4>} -> tensor<1x4x1x64xf32>
    return %result : tensor<1x4x1x64xf32>
  }
}

