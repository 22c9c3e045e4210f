// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt %s -emit-bytecode | kvq-opt | FileCheck %s

// Fields in any order, those that are absent stay so.
// CHECK: func.func private @loops() attributes {kvq.schedule = #kvq.schedule<vector_width = 16, prefetch = 0>}
func.func private @loops() attributes {kvq.schedule = #kvq.schedule<prefetch = 0, vector_width = 16>}

!c = !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
func.func @f(%q: tensor<1x4x1x64xf32>, %c: !c, %n: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
  // CHECK: {scale = 1.000000e+00 : f32, schedule = #kvq.schedule<tile = 64, splits = 4>}
  %o = kvq.attention ins(%q, %c, %c : tensor<1x4x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x64xf32>) {scale = 1.0 : f32, schedule = #kvq.schedule<splits = 4, tile = 64>}
      -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}
