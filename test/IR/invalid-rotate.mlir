// RUN: kvq-opt %s -verify-diagnostics -split-input-file

func.func @size(%x: tensor<4x96xf32>, %s: tensor<1x96xi8>) {
  // expected-error@+1 {{expected a rotation of a power of two of channels, 2 or more, got 96}}
  %y = kvq.rotate hadamard<96> ins(%x, %s : tensor<4x96xf32>, tensor<1x96xi8>) outs(%x : tensor<4x96xf32>) -> tensor<4x96xf32>
  return
}

// -----

func.func @divides(%x: tensor<4x96xf32>, %s: tensor<1x96xi8>) {
  // expected-error@+1 {{rotation of 64 channels does not divide head_dim 96}}
  %y = kvq.rotate hadamard<64> ins(%x, %s : tensor<4x96xf32>, tensor<1x96xi8>) outs(%x : tensor<4x96xf32>) -> tensor<4x96xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<4x?xf32>, %s: tensor<1x64xi8>) {
  // expected-error@+1 {{expected a tensor with a static head_dim as its last extent, got 'tensor<4x?xf32>'}}
  %y = kvq.rotate hadamard<64> ins(%x, %s : tensor<4x?xf32>, tensor<1x64xi8>) outs(%x : tensor<4x?xf32>) -> tensor<4x?xf32>
  return
}

// -----

func.func @signs(%x: tensor<4x64xf32>, %s: tensor<64xi8>) {
  // expected-error@+1 {{expected signs of type 'tensor<1x64xi8>', got 'tensor<64xi8>'}}
  %y = kvq.rotate hadamard<64> ins(%x, %s : tensor<4x64xf32>, tensor<64xi8>) outs(%x : tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// -----

func.func @output(%x: tensor<4x64xf32>, %z: tensor<5x64xf32>, %s: tensor<1x64xi8>) {
  // expected-error@+1 {{expected an output and a result of the input's type 'tensor<4x64xf32>', got 'tensor<5x64xf32>' and 'tensor<5x64xf32>'}}
  %y = kvq.rotate hadamard<64> ins(%x, %s : tensor<4x64xf32>, tensor<1x64xi8>) outs(%z : tensor<5x64xf32>) -> tensor<5x64xf32>
  return
}

// -----

// What acts before quantization is no part of it.

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16, rotate = hadamard<32>>
func.func @not_core(%x: tensor<4x64xf32>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{a mean and a rotation act before codes are computed: expected a format without them, got}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x64xf32>) outs(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) -> tensor<4x64xi8>, tensor<4x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16, center = f16>
func.func @not_core_either(%x: tensor<4x64xf32>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{a mean and a rotation act before codes are computed: expected a format without them, got}}
  %r = kvq.dequantize #f ins(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) outs(%x : tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// -----

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #f>
func.func @bias(%x: tensor<4x64xf32>, %c: !c, %i: index, %row: tensor<4xf32>, %other: tensor<5xf32>) {
  // expected-error@+1 {{expected a bias for 4 rows, got 'tensor<5xf32>'}}
  %p:3 = kvq.partial_attention ins(%x, %c, %c : tensor<4x64xf32>, !c, !c)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] bias(%other : tensor<5xf32>)
      outs(%x, %row, %row : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return
}
