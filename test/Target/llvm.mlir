// RUN: kvq-compile %s --emit=llvm --cpu=haswell -o - | FileCheck %s
// RUN: kvq-compile %s --emit=llvm --cpu=x86-64 --features=+avx,+f16c -o - \
// RUN:   | FileCheck %s --check-prefix=FEATURES

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!cache = !kvq.cache<1x2x?x64xf16, #i8>

// A cache comes as its components: codes, then scales, each a rank-4 memref of
// eleven arguments. Nothing is returned.
// CHECK: target triple = "x86_64
// CHECK-LABEL: define void @append
// CHECK-COUNT-44: {{i64|ptr}}
// CHECK: fdiv
// CHECK-NOT: fdiv {{.*}}fast
// CHECK: ret void
// CHECK: "target-cpu"="haswell"

// FEATURES: "target-cpu"="x86-64"
// FEATURES-SAME: "target-features"="+avx,+f16c,-avx512bf16,-avxneconvert"
func.func @append(%tokens: tensor<1x2x?x64xf32>, %cache: !cache,
                  %lengths: tensor<1xi64>) -> !cache {
  %0 = kvq.append ins(%tokens : tensor<1x2x?x64xf32>)
    lengths(%lengths : tensor<1xi64>) into(%cache : !cache) -> !cache
  return %0 : !cache
}
