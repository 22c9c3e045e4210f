// RUN: kvq-opt %s --kvq-nvvm-pipeline=format=isa | FileCheck %s --check-prefix=PTX
// RUN: kvq-opt %s --kvq-cpu-pipeline | FileCheck %s --check-prefix=CPU

// An explicit layout holds on every target: attention over records of 5-bit
// codes whose high bits lie apart, and over streams of 3-bit ones.

#k = #kvq.format<codes = i5, group = [1, 32], scale = f16,
                 layout = #kvq.layout<high = stream, bias, record = [scale, high, codes]>>
#v = #kvq.format<codes = i3, group = [1, *], scale = f32, layout = #kvq.layout<codes = stream, row = [codes, scale]>>
!k = !kvq.cache<1x2x256x64xf16, #k>
!v = !kvq.cache<1x2x256x64xf16, #v>

// PTX: gpu.binary @kernels
// PTX-SAME: .visible .entry decode_kernel

// CPU: llvm.func @decode
// CPU: llvm.load %{{.*}} : !llvm.ptr -> vector<4xi8>
// CPU: llvm.shufflevector {{.*}} [0, 0, 0, 0, 0, 0, 0, 0, 1,
// CPU: llvm.load %{{.*}} : !llvm.ptr -> vector<6xi8>
// CPU: llvm.shufflevector {{.*}} [0, 0, 0, 1, 1, 1, 2, 2, 3,
func.func @decode(%q: tensor<1x4x1x64xf32>, %kc: !k, %vc: !v, %n: tensor<1xi64>, %init: tensor<1x4x1x64xf32>)
    -> tensor<1x4x1x64xf32> {
  %o = kvq.attention ins(%q, %kc, %vc : tensor<1x4x1x64xf32>, !k, !v)
      lengths(%n : tensor<1xi64>) outs(%init : tensor<1x4x1x64xf32>)
      {scale = 0.125 : f32, causal} -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}
