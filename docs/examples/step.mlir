// One layer of a decoder for programs in C: step.c appends to its caches and
// attends. A capacity in the type makes all sizes of the caches constants.
#format = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!cache = !kvq.cache<1x2x256x64xf16, #format>

func.func @append(%tokens: tensor<1x2x?x64xf32> {bufferization.writable = false}, %cache: !cache,
                  %lengths: tensor<1xi64> {bufferization.writable = false}) -> !cache {
  %0 = kvq.append ins(%tokens : tensor<1x2x?x64xf32>) lengths(%lengths : tensor<1xi64>) into(%cache : !cache) -> !cache
  return %0 : !cache
}

func.func @attend(%query: tensor<1x8x1x64xf32> {bufferization.writable = false}, %keys: !cache, %values: !cache,
                  %lengths: tensor<1xi64> {bufferization.writable = false},
                  %out: tensor<1x8x1x64xf32>) -> tensor<1x8x1x64xf32> {
  %0 = kvq.attention ins(%query, %keys, %values : tensor<1x8x1x64xf32>, !cache, !cache)
      lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x1x64xf32>)
      {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %0 : tensor<1x8x1x64xf32>
}
