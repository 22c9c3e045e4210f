// RUN: kvq-opt %s --kvq-split-tokens --split-input-file --verify-diagnostics
// RUN: not kvq-opt %s --kvq-split-tokens=splits=0 2>&1 | FileCheck %s
// RUN: not kvq-opt %s --kvq-split-tokens=query-tile=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not kvq-opt %s --kvq-split-tokens=query-tile=9223372036854775807 2>&1 | FileCheck %s --check-prefix=MANY

// CHECK: kvq-split-tokens: expected at least 1 split, got 0
// NEGATIVE: kvq-split-tokens: expected 1 to 4096 query tokens in a work item, or 0, got -1
// MANY: kvq-split-tokens: expected 1 to 4096 query tokens in a work item, or 0, got 9223372036854775807

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
