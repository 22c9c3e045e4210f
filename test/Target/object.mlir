// RUN: kvq-compile %s --cpu=haswell -o %t.o
// RUN: llvm-readobj --file-headers --symbols %t.o | FileCheck %s
// RUN: kvq-compile %s --emit=obj --cpu=haswell --splits=2 --tile-tokens=32 \
// RUN:   --vector-width=4 -o %t.other.o
// RUN: not cmp -s %t.o %t.other.o
// RUN: kvq-compile --cpu=haswell -o %t.again.o < %s
// RUN: cmp %t.o %t.again.o

#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!kc = !kvq.cache<1x2x?x64xf16, #k, recent = 32>
!vc = !kvq.cache<1x2x?x64xf16, #v>

// CHECK: Format: elf64-x86-64
// CHECK: Type: Relocatable
// CHECK: Name: attention
// CHECK: Binding: Global
// CHECK-NEXT: Type: Function
func.func @attention(%q: tensor<1x4x?x64xf32>, %k: !kc, %v: !vc,
                     %lengths: tensor<1xi64>, %flushed: tensor<1xi64>,
                     %out: tensor<1x4x?x64xf32>) -> tensor<1x4x?x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x4x?x64xf32>, !kc, !vc)
    lengths(%lengths : tensor<1xi64>) key_flushed(%flushed : tensor<1xi64>)
    outs(%out : tensor<1x4x?x64xf32>)
    {scale = 0.125 : f32, causal} -> tensor<1x4x?x64xf32>
  return %0 : tensor<1x4x?x64xf32>
}
