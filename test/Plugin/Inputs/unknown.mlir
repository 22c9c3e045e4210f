#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!cache = !kvq.cache<1x2x64x64xf16, #i8>

func.func @attend(%q: tensor<1x2x1x64xf32>, %k: !cache, %v: !cache, %n: tensor<1xi64>,
                  %out: tensor<1x2x1x64xf32>) {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !cache, !cache)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x2x1x64xf32>)
      {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  "other.op"(%0) {kept = 1 : i32} : (tensor<1x2x1x64xf32>) -> ()
  return
}
