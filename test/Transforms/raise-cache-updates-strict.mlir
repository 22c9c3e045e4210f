// RUN: kvq-opt %s --kvq-raise-cache-updates=strict -verify-diagnostics -split-input-file
// RUN: kvq-opt %s --kvq-raise=strict -verify-diagnostics -split-input-file

// A cache that something else reads is an error; the other side is not.
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @read(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: tensor<1x2x64x32xf32>,
    %n: tensor<1xi64>, %i: index) -> (tensor<1x4x1x32xf32>, f32) {
  %kc = kvq.from_components %k : tensor<1x2x64x32xf32> -> !c
  %vc = kvq.from_components %v : tensor<1x2x64x32xf32> -> !c
  // expected-error@+1 {{keys of attention 0 stay a tensor: 'tensor.extract' reads the tensor}}
  %x = tensor.extract %k[%i, %i, %i, %i] : tensor<1x2x64x32xf32>
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %vc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %x : tensor<1x4x1x32xf32>, f32
}

// -----

// What is raised is none.
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @raised(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %n: tensor<1xi64>) -> tensor<1x4x1x32xf32> {
  %kc = kvq.from_components %k : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %kc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o : tensor<1x4x1x32xf32>
}
