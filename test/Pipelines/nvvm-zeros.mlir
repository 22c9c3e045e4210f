// RUN: kvq-compile %s --emit=ptx --chip=sm_80 | FileCheck %s

// Zeros of four groups are operands of products: of keys, as lanes load a pair
// of a token's; of values, as matrices that are transposed.

#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16>
!c = !kvq.cache<1x2x256x128xf16, #f, page = 64>

// CHECK-LABEL: .entry decode
// CHECK:       mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
// CHECK:       ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16
// CHECK-COUNT-2: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
func.func @decode(%q: tensor<1x8x1x128xf32>, %k: !c, %v: !c, %lengths: tensor<1xi64>, %pages: tensor<1x4xi64>,
                  %out: tensor<1x8x1x128xf32>) -> tensor<1x8x1x128xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x128xf32>, !c, !c) lengths(%lengths : tensor<1xi64>)
    key_pages(%pages : tensor<1x4xi64>) value_pages(%pages : tensor<1x4xi64>)
    outs(%out : tensor<1x8x1x128xf32>) {scale = 0.125 : f32} -> tensor<1x8x1x128xf32>
  return %0 : tensor<1x8x1x128xf32>
}
