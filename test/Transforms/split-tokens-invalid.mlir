// RUN: kvq-opt %s --kvq-split-tokens --split-input-file --verify-diagnostics
// RUN: not kvq-opt %s --kvq-split-tokens=splits=0 2>&1 | FileCheck %s

// CHECK: kvq-split-tokens: expected at least 1 split, got 0

!vc = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>
func.func @unfused(%q: tensor<1x2x1x64xf32>, %k: tensor<1x2x?x64xf32>, %v: !vc,
                   %n: tensor<1xi64>, %out: tensor<1x2x1x64xf32>)
    -> tensor<1x2x1x64xf32> {
  // expected-error @below {{expected a cache as the key, got 'tensor<1x2x?x64xf32>': attention over tensors has no unfused lowering}}
  %r = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, tensor<1x2x?x64xf32>, !vc)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x2x1x64xf32>)
      {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %r : tensor<1x2x1x64xf32>
}
