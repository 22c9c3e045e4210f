// RUN: kvq-opt %s -kvq-expand-caches -verify-diagnostics -split-input-file

// A layout that kvq-assign-layout has not chosen is an error of whatever needs bytes.

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
// expected-error @+1 {{'func.func' op expected a layout of bytes, which kvq-assign-layout chooses, got layout = auto in '!kvq.cache}}
func.func private @signature(!open)

// -----

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
func.func @components(%c: tensor<1x2x?x32xi8>, %s: tensor<1x2x?x2xf16>) {
  // expected-error @+1 {{'kvq.from_components' op expected a layout of bytes}}
  %0 = kvq.from_components %c, %s : tensor<1x2x?x32xi8>, tensor<1x2x?x2xf16> -> !open
  return
}

// -----

#open = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>
func.func @pack(%c: tensor<4x64xi8>, %p: tensor<4x32xi8>) {
  // expected-error @+1 {{'kvq.pack' op expected a layout of bytes}}
  %0 = kvq.pack #open ins(%c : tensor<4x64xi8>) outs(%p : tensor<4x32xi8>) -> tensor<4x32xi8>
  return
}

// -----

#open = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>
func.func @unpack(%c: tensor<4x64xi8>, %p: tensor<4x32xi8>) {
  // expected-error @+1 {{'kvq.unpack' op expected a layout of bytes}}
  %0 = kvq.unpack #open ins(%p : tensor<4x32xi8>) outs(%c : tensor<4x64xi8>) -> tensor<4x64xi8>
  return
}

// -----

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
func.func @load(%c: !open, %i: index) {
  // expected-error @+1 {{'kvq.load_tile' op expected a layout of bytes}}
  %0:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i] {tile = 8} : !open -> tensor<?x64xi8>, tensor<?x2xf16>
  return
}

// -----

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
func.func @partial(%q: tensor<2x64xf32>, %c: !open, %i: index, %m: tensor<2xf32>) {
  // expected-error @+1 {{'kvq.partial_attention' op expected a layout of bytes}}
  %0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<2x64xf32>, !open, !open) at [%i, %i] tokens [%i to %i]
      flushed [%i, %i] outs(%q, %m, %m : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>
  return
}
