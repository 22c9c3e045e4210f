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

// -----

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
func.func @open_layout(%q: tensor<1x4x1x64xf32>, %c: !open, %n: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
  // expected-error @+1 {{'kvq.attention' op expected a layout of bytes, which kvq-assign-layout chooses, got layout = auto in}}
  %o = kvq.attention ins(%q, %c, %c : tensor<1x4x1x64xf32>, !open, !open) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x64xf32>) {scale = 1.0 : f32} -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>>
func.func @two_schedules(%q: tensor<1x4x1x64xf32>, %c: !c, %n: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
  %0 = kvq.attention ins(%q, %c, %c : tensor<1x4x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x64xf32>) {scale = 1.0 : f32, schedule = #kvq.schedule<prefetch = 1>} -> tensor<1x4x1x64xf32>
  // expected-error @+1 {{expected vector width and prefetch distance of the function's others, #kvq.schedule<prefetch = 1>, got #kvq.schedule<prefetch = 2>}}
  %1 = kvq.attention ins(%q, %c, %c : tensor<1x4x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%0 : tensor<1x4x1x64xf32>) {scale = 1.0 : f32, schedule = #kvq.schedule<prefetch = 2>} -> tensor<1x4x1x64xf32>
  return %1 : tensor<1x4x1x64xf32>
}
