// RUN: kvq-compile %s --emit=manifest --chip=sm_80 | FileCheck %s
// RUN: kvq-compile %s --emit=manifest --chip=sm_80 --query-tile=1 | FileCheck %s --check-prefix=ONE

// A block has as many of the 8 query tokens as have 16 rows of 128 channels: 4,
// of 4 query heads each. There are two KV heads.
// CHECK:      "grid": [
// CHECK-NEXT:   4,
// CHECK-NEXT:   1,
// CHECK-NEXT:   1
// ONE:      "grid": [
// ONE-NEXT:   16,
// ONE-NEXT:   1,
// ONE-NEXT:   1
#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x256x128xf16, #i8>

func.func @prompt(%q: tensor<1x8x8x128xf32>, %k: !c, %v: !c,
                  %lengths: tensor<1xi64>, %out: tensor<1x8x8x128xf32>)
    -> tensor<1x8x8x128xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x8x128xf32>, !c, !c)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x8x128xf32>)
    {scale = 0.125 : f32, causal} -> tensor<1x8x8x128xf32>
  return %0 : tensor<1x8x8x128xf32>
}
