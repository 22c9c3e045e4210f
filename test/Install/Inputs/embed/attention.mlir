// Attention of a dialect of the compiler's own, of 8 query heads over 2 KV heads.
func.func @causal(%q: tensor<1x2x8x64xf16>, %k: tensor<1x2x128x64xf16>, %v: tensor<1x2x128x64xf16>)
    -> tensor<1x2x8x64xf16> {
  %o = "host.attention"(%q, %k, %v) {scale = 0.125 : f32, causal}
      : (tensor<1x2x8x64xf16>, tensor<1x2x128x64xf16>, tensor<1x2x128x64xf16>) -> tensor<1x2x8x64xf16>
  return %o : tensor<1x2x8x64xf16>
}

func.func @masked(%q: tensor<1x2x8x64xf16>, %k: tensor<1x2x128x64xf16>, %v: tensor<1x2x128x64xf16>, %m: tensor<2x128xf32>)
    -> tensor<1x2x8x64xf16> {
  %o = "host.attention"(%q, %k, %v, %m) {scale = 1.0 : f32, softcap = 20.0 : f32}
      : (tensor<1x2x8x64xf16>, tensor<1x2x128x64xf16>, tensor<1x2x128x64xf16>, tensor<2x128xf32>) -> tensor<1x2x8x64xf16>
  return %o : tensor<1x2x8x64xf16>
}
