// pipeline: builtin.module(kvq-cpu-pipeline)
!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>
func.func @attend(%q: tensor<1x4x1x64xf32>, %k: !c, %v: !c, %n: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
  %o = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}
