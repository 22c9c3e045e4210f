// What code is made of follows from the features of the processor; vectors have
// 512 bits from Ice Lake on, unless they are not to. Compiled only:
// test/python/test_processors.py runs what can be run.

// RUN: kvq-compile %s --emit=asm --cpu=x86-64 --target=x86_64-linux-gnu -o %t.sse2
// RUN: FileCheck %s --check-prefix=SSE2 < %t.sse2
// RUN: FileCheck %s --check-prefix=CALLS < %t.sse2
// RUN: kvq-compile %s --emit=asm --cpu=x86-64-v3 --target=x86_64-linux-gnu -o %t.avx2
// RUN: FileCheck %s --check-prefix=AVX2 < %t.avx2
// RUN: FileCheck %s --check-prefix=CALLS < %t.avx2
// RUN: kvq-compile %s --emit=asm --cpu=sapphirerapids --features=+prefer-256-bit --target=x86_64-linux-gnu -o %t.vnni
// RUN: FileCheck %s --check-prefix=VNNI < %t.vnni
// RUN: FileCheck %s --check-prefix=CALLS < %t.vnni
// RUN: kvq-compile %s --emit=asm --cpu=sapphirerapids --target=x86_64-linux-gnu -o %t.zmm
// RUN: FileCheck %s --check-prefix=ZMM < %t.zmm
// RUN: kvq-compile %s --emit=asm --cpu=cascadelake --target=x86_64-linux-gnu -o %t.ymm
// RUN: FileCheck %s --check-prefix=YMM --implicit-check-not=zmm < %t.ymm
// RUN: kvq-compile %s --emit=asm --cpu=alderlake --target=x86_64-linux-gnu -o %t.avxvnni
// RUN: FileCheck %s --check-prefix=AVXVNNI < %t.avxvnni
// RUN: kvq-compile %s --emit=asm --target=aarch64-linux-gnu -o %t.neon
// RUN: FileCheck %s --check-prefix=NEON < %t.neon
// RUN: FileCheck %s --check-prefix=CALLS < %t.neon
// RUN: kvq-compile %s --emit=asm --target=aarch64-linux-gnu --features=+dotprod -o %t.dotprod
// RUN: FileCheck %s --check-prefix=DOTPROD < %t.dotprod
// RUN: kvq-compile %s --emit=asm --target=aarch64-linux-gnu --cpu=neoverse-n2 -o %t.i8mm
// RUN: FileCheck %s --check-prefix=I8MM < %t.i8mm
// RUN: kvq-compile %s --emit=asm --target=riscv64-linux-gnu --features=+m,+a,+f,+d -o %t.portable
// RUN: FileCheck %s --check-prefix=CALLS < %t.portable

// Objects, too, with the machine in their header.
// RUN: kvq-compile %s --target=aarch64-linux-gnu -o %t.o
// RUN: llvm-readobj --file-headers %t.o | FileCheck %s --check-prefix=OBJECT
// OBJECT: Format: elf64-littleaarch64

// No lane calls the library: only memory is set, and allocated for splits.
// CALLS-NOT: {{(call|callq|bl)[[:space:]]+}}{{_?_?(ext|trunc|fma|round|ceil|floor|exp|gnu|mul|div)}}

#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
#k = #kvq.format<codes = i8, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
#t = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
!kc = !kvq.cache<1x2x?x64xf16, #k>
!tc = !kvq.cache<1x2x?x64xf16, #t>
!vc = !kvq.cache<1x2x?x64xf16, #v>

// Sums of pairs.
// SSE2-LABEL:    pairs:
// SSE2-COUNT-16: pmaddwd %xmm
// SSE2:          .size pairs
// AVX2-LABEL:    pairs:
// AVX2-COUNT-8:  vpmaddwd {{.*}}%ymm
// AVX2:          .size pairs
// VNNI-LABEL:    pairs:
// VNNI-COUNT-8:  vpdpwssd
// VNNI:          .size pairs
// NEON-LABEL:    pairs:
// NEON-COUNT-8:  smlal{{2?}} v{{[0-9]+}}.4s
// NEON:          .size pairs
func.func @pairs(%q: tensor<1x4x1x64xf32>, %k: !kc, %v: !vc, %n: tensor<1xi64>, %out: tensor<1x4x1x64xf32>)
    -> tensor<1x4x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !kc, !vc)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x4x1x64xf32>)
      {scale = 0.1 : f32, query_codes = i16} -> tensor<1x4x1x64xf32>
  return %0 : tensor<1x4x1x64xf32>
}

// Sums of four, of nibbles: as signed bytes on AArch64, they are small.
// AVX2-LABEL:    nibbles:
// AVX2:          vpmaddwd
// VNNI-LABEL:    nibbles:
// VNNI-COUNT-4:  vpdpbusd {{.*}}%ymm
// YMM-LABEL:     nibbles:
// YMM-COUNT-4:   vpdpbusd {{.*}}%ymm
// ZMM-LABEL:     nibbles:
// ZMM-COUNT-4:   vpdpbusd {{.*}}%zmm
// AVXVNNI-LABEL: nibbles:
// AVXVNNI-COUNT-4: {vex} vpdpbusd {{.*}}%ymm
// DOTPROD-LABEL: nibbles:
// DOTPROD-COUNT-8: sdot v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}.16b
// DOTPROD:       .size nibbles
// I8MM-LABEL:    nibbles:
// I8MM-COUNT-8:  usdot v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}.16b
// I8MM:          .size nibbles
func.func @nibbles(%q: tensor<1x4x1x64xf32>, %k: !tc, %v: !vc, %n: tensor<1xi64>, %out: tensor<1x4x1x64xf32>)
    -> tensor<1x4x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !tc, !vc)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x4x1x64xf32>)
      {scale = 0.1 : f32, query_codes = i8} -> tensor<1x4x1x64xf32>
  return %0 : tensor<1x4x1x64xf32>
}

// Of bytes: what is above 127 as well.
// VNNI-LABEL:    bytes:
// VNNI:          vpdpbusd
// NEON-LABEL:    bytes:
// NEON-NOT:      {{[us]}}dot
// NEON:          .size bytes
// DOTPROD-LABEL: bytes:
// DOTPROD-COUNT-24: sdot
// DOTPROD:       .size bytes
// I8MM-LABEL:    bytes:
// I8MM-COUNT-8:  usdot
// I8MM-NOT:      sdot
// I8MM:          .size bytes
func.func @bytes(%q: tensor<1x4x1x64xf32>, %k: !kc, %v: !vc, %n: tensor<1xi64>, %out: tensor<1x4x1x64xf32>)
    -> tensor<1x4x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !kc, !vc)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x4x1x64xf32>)
      {scale = 0.1 : f32, query_codes = i8} -> tensor<1x4x1x64xf32>
  return %0 : tensor<1x4x1x64xf32>
}

// Floats: products and sums at once where the processor has them.
// SSE2-LABEL:    floats:
// SSE2-NOT:      cvtph2ps
// SSE2:          mulps
// SSE2:          addps
// SSE2:          .size floats
// AVX2-LABEL:    floats:
// AVX2:          vfmadd{{[0-9]+}}ps
// NEON-LABEL:    floats:
// NEON:          fmla v{{[0-9]+}}.4s
func.func @floats(%q: tensor<1x4x1x64xf32>, %k: !kc, %v: !vc, %n: tensor<1xi64>, %out: tensor<1x4x1x64xf32>)
    -> tensor<1x4x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !kc, !vc)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x4x1x64xf32>)
      {scale = 0.1 : f32, softcap = 20.0 : f32} -> tensor<1x4x1x64xf32>
  return %0 : tensor<1x4x1x64xf32>
}

// Codes are the same everywhere: divided, not multiplied by a reciprocal.
// SSE2-LABEL:    append:
// SSE2:          divps
// SSE2:          .size append
// AVX2-LABEL:    append:
// AVX2:          vdivps
// AVX2:          vroundps
// AVX2:          .size append
// NEON-LABEL:    append:
// NEON:          fdiv v{{[0-9]+}}.4s
// NEON:          frintn v{{[0-9]+}}.4s
// NEON:          .size append
func.func @append(%x: tensor<1x2x?x64xf32>, %c: !vc, %n: tensor<1xi64>) -> !vc {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf32>) lengths(%n : tensor<1xi64>) into(%c : !vc) -> !vc
  return %0 : !vc
}
