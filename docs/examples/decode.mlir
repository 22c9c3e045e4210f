#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>  // per channel, 32 tokens
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>                   // per token, 32 channels
!keys = !kvq.cache<1x8x?x128xf16, #k, recent = 32>
!values = !kvq.cache<1x8x?x128xf16, #v>

func.func @decode(%q: tensor<1x32x1x128xf32>, %k: !keys, %v: !values,
                  %length: tensor<1xi64>, %flushed: tensor<1xi64>,
                  %out: tensor<1x32x1x128xf32>) -> tensor<1x32x1x128xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x32x1x128xf32>, !keys, !values)
      lengths(%length : tensor<1xi64>) key_flushed(%flushed : tensor<1xi64>)
      outs(%out : tensor<1x32x1x128xf32>)
      {scale = 0.0883883461 : f32, causal} -> tensor<1x32x1x128xf32>
  return %0 : tensor<1x32x1x128xf32>
}
