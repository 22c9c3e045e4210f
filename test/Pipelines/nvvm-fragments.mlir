// RUN: kvq-compile %s --emit=ptx --chip=sm_80 | FileCheck %s

// Values in fragments are operands of products as lanes load them: no bytes of
// two tokens are brought together. (Pairs of rows take two prmt a word.)

#i4 = #kvq.format<codes = i4, group = [1, *], scale = f16>
#f4 = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = fragments<64>>>
!k = !kvq.cache<1x2x256x128xf16, #i4, page = 64>
!v = !kvq.cache<1x2x256x128xf16, #f4, page = 64>

// CHECK-LABEL: .entry decode
// CHECK-NOT:   prmt
// CHECK:       ld.shared.v4
// CHECK-NOT:   prmt
// CHECK:       mma.sync.aligned.m16n8k16
// CHECK-NOT:   prmt
func.func @decode(%q: tensor<1x8x1x128xf32>, %k: !k, %v: !v, %lengths: tensor<1xi64>, %pages: tensor<1x4xi64>,
                  %out: tensor<1x8x1x128xf32>) -> tensor<1x8x1x128xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x128xf32>, !k, !v) lengths(%lengths : tensor<1xi64>)
    key_pages(%pages : tensor<1x4xi64>) value_pages(%pages : tensor<1x4xi64>)
    outs(%out : tensor<1x8x1x128xf32>) {scale = 0.125 : f32} -> tensor<1x8x1x128xf32>
  return %0 : tensor<1x8x1x128xf32>
}
