// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @rank(%x: tensor<64xf16>, %c: tensor<64xi8>, %s: tensor<2xf16>) {
  // expected-error@+1 {{expected a tensor ... x tokens x head_dim with a static head_dim, got 'tensor<64xf16>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<64xf16>)
      outs(%c, %s : tensor<64xi8>, tensor<2xf16>) -> tensor<64xi8>, tensor<2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @dynamic_head_dim(%x: tensor<4x?xf16>, %c: tensor<4x?xi8>, %s: tensor<4x?xf16>) {
  // expected-error@+1 {{expected a tensor ... x tokens x head_dim with a static head_dim, got 'tensor<4x?xf16>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x?xf16>)
      outs(%c, %s : tensor<4x?xi8>, tensor<4x?xf16>) -> tensor<4x?xi8>, tensor<4x?xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
func.func @no_channels(%x: tensor<4x0xf16>, %c: tensor<4x0xi8>, %s: tensor<4x1xf16>) {
  // expected-error@+1 {{expected a head_dim of at least 1, got 0}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x0xf16>)
      outs(%c, %s : tensor<4x0xi8>, tensor<4x1xf16>) -> tensor<4x0xi8>, tensor<4x1xf16>
  return
}

// -----

#f = #kvq.format<codes = none>
func.func @exact(%x: tensor<4x64xf16>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{exact elements are not quantized: expected a format with codes}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x64xf16>)
      outs(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) -> tensor<4x64xi8>, tensor<4x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @group(%x: tensor<4x80xf16>, %c: tensor<4x80xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{group of 32 channels does not divide head_dim 80}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x80xf16>)
      outs(%c, %s : tensor<4x80xi8>, tensor<4x2xf16>) -> tensor<4x80xi8>, tensor<4x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i8, group = [32, 1], scale = f16>
func.func @tokens(%x: tensor<40x64xf16>, %c: tensor<40x64xi8>, %s: tensor<2x64xf16>) {
  // expected-error@+1 {{group of 32 tokens does not divide 40 tokens}}
  %r:2 = kvq.quantize #f ins(%x : tensor<40x64xf16>)
      outs(%c, %s : tensor<40x64xi8>, tensor<2x64xf16>) -> tensor<40x64xi8>, tensor<2x64xf16>
  return
}

// -----

#f = #kvq.format<codes = i8, group = [32, 1], scale = f16>
func.func @output_tokens(%x: tensor<?x64xf16>, %c: tensor<40x64xi8>, %s: tensor<?x64xf16>) {
  // expected-error@+1 {{group of 32 tokens does not divide 40 tokens}}
  %r:2 = kvq.quantize #f ins(%x : tensor<?x64xf16>)
      outs(%c, %s : tensor<40x64xi8>, tensor<?x64xf16>) -> tensor<40x64xi8>, tensor<?x64xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @float_type(%x: tensor<4x64xf64>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{expected one tensor of f16, bf16 or f32 as inputs, got 'tensor<4x64xf64>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x64xf64>)
      outs(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) -> tensor<4x64xi8>, tensor<4x2xf16>
  return
}

// -----

#f = #kvq.format<codes = ui4, group = [1, 32], scale = f16, zero = min f16>
func.func @output_count(%x: tensor<4x64xf16>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{expected 3 outputs of types 'tensor<4x64xi8>', 'tensor<4x2xf16>', 'tensor<4x2xf16>', got 2}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x64xf16>)
      outs(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) -> tensor<4x64xi8>, tensor<4x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @output_type(%x: tensor<4x64xf16>, %c: tensor<4x64xi8>, %s: tensor<4x2xf32>) {
  // expected-error@+1 {{expected outputs of type 'tensor<4x2xf16>', got 'tensor<4x2xf32>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x64xf16>)
      outs(%c, %s : tensor<4x64xi8>, tensor<4x2xf32>) -> tensor<4x64xi8>, tensor<4x2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @output_shape(%x: tensor<4x64xf16>, %c: tensor<4x64xi8>, %s: tensor<4x4xf16>) {
  // expected-error@+1 {{expected outputs of type 'tensor<4x2xf16>', got 'tensor<4x4xf16>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x64xf16>)
      outs(%c, %s : tensor<4x64xi8>, tensor<4x4xf16>) -> tensor<4x64xi8>, tensor<4x4xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @result_type(%x: tensor<4x64xf16>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{expected results of the outputs' types 'tensor<4x64xi8>', 'tensor<4x2xf16>', got 'tensor<?x64xi8>', 'tensor<4x2xf16>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<4x64xf16>)
      outs(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) -> tensor<?x64xi8>, tensor<4x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @no_input(%c: tensor<4x64xi8>, %s: tensor<4x2xf16>) {
  // expected-error@+1 {{expected inputs, got none}}
  %r:2 = "kvq.quantize"(%c, %s) {format = #f, operandSegmentSizes = array<i32: 0, 2>}
      : (tensor<4x64xi8>, tensor<4x2xf16>) -> (tensor<4x64xi8>, tensor<4x2xf16>)
  return
}

// -----

#f = #kvq.format<codes = i8, group = [32, 1], scale = f16>
func.func @dequantize_rows(%c: tensor<40x64xi8>, %s: tensor<1x64xf16>, %y: tensor<40x64xf32>) {
  // Of 40 tokens, 8 lie in a second group.
  // expected-error@+1 {{expected inputs of type 'tensor<2x64xf16>', got 'tensor<1x64xf16>'}}
  %r = kvq.dequantize #f ins(%c, %s : tensor<40x64xi8>, tensor<1x64xf16>)
      outs(%y : tensor<40x64xf32>) -> tensor<40x64xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @dequantize_output(%c: tensor<4x64xi8>, %s: tensor<4x2xf16>, %y: tensor<4x32xf32>) {
  // expected-error@+1 {{expected outputs of type 'tensor<4x64xf32>', got 'tensor<4x32xf32>'}}
  %r = kvq.dequantize #f ins(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>)
      outs(%y : tensor<4x32xf32>) -> tensor<4x32xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @dequantize_no_input(%y: tensor<4x64xf32>) {
  // expected-error@+1 {{expected inputs, got none}}
  %r = "kvq.dequantize"(%y) {format = #f, operandSegmentSizes = array<i32: 0, 1>}
      : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return
}

// -----

#f = #kvq.format<codes = i2, group = [1, 32], scale = f16>
func.func @pack_bytes(%c: tensor<4x64xi8>, %b: tensor<4x32xi8>) {
  // expected-error@+1 {{expected outputs of type 'tensor<4x16xi8>', got 'tensor<4x32xi8>'}}
  %r = kvq.pack #f ins(%c : tensor<4x64xi8>) outs(%b : tensor<4x32xi8>) -> tensor<4x32xi8>
  return
}

// -----

#f = #kvq.format<codes = i2, group = [1, *], scale = f16>
func.func @pack_whole_bytes(%c: tensor<4x6xi8>, %b: tensor<4x2xi8>) {
  // expected-error@+1 {{2-bit codes fill whole bytes only if 4 divides head_dim, got 6}}
  %r = kvq.pack #f ins(%c : tensor<4x6xi8>) outs(%b : tensor<4x2xi8>) -> tensor<4x2xi8>
  return
}

// -----

#f = #kvq.format<codes = i2, group = [1, *], scale = f16>
func.func @pack_no_input(%b: tensor<4x2xi8>) {
  // expected-error@+1 {{expected inputs, got none}}
  %r = "kvq.pack"(%b) {format = #f, operandSegmentSizes = array<i32: 0, 1>}
      : (tensor<4x2xi8>) -> tensor<4x2xi8>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @unpack_bytes(%b: tensor<4x64xi8>, %c: tensor<4x64xi8>) {
  // expected-error@+1 {{expected inputs of type 'tensor<4x32xi8>', got 'tensor<4x64xi8>'}}
  %r = kvq.unpack #f ins(%b : tensor<4x64xi8>) outs(%c : tensor<4x64xi8>) -> tensor<4x64xi8>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @unpack_no_output(%b: tensor<4x32xi8>) {
  // expected-error@+1 {{expected outputs, got none}}
  "kvq.unpack"(%b) {format = #f, operandSegmentSizes = array<i32: 1, 0>}
      : (tensor<4x32xi8>) -> ()
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @count_without_scales(%x: tensor<2x8x64xf16>, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected 1 metadata of types 'tensor<2x8x2xf16>', got 0}}
  %r = kvq.count_saturated #f ins(%x : tensor<2x8x64xf16>) outs(%n : tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
func.func @count_of_other_rows(%x: tensor<2x8x64xf16>, %s: tensor<2x8x2xf16>, %n: tensor<3xi64>) {
  // expected-error@+1 {{expected an output of type 'tensor<2xi64>', got 'tensor<3xi64>'}}
  %r = kvq.count_saturated #f ins(%x, %s : tensor<2x8x64xf16>, tensor<2x8x2xf16>) outs(%n : tensor<3xi64>) -> tensor<3xi64>
  return
}

// -----

func.func @count_of_exact(%x: tensor<8x64xf16>, %n: tensor<i64>) {
  // expected-error@+1 {{exact elements are not quantized: expected a format with codes}}
  %r = kvq.count_saturated #kvq.format<codes = none> ins(%x : tensor<8x64xf16>) outs(%n : tensor<i64>) -> tensor<i64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [4, 32], scale = f16>
func.func @count_of_part_of_a_group(%x: tensor<6x64xf16>, %s: tensor<2x2xf16>, %n: tensor<i64>) {
  // expected-error@+1 {{group of 4 tokens does not divide 6 tokens}}
  %r = kvq.count_saturated #f ins(%x, %s : tensor<6x64xf16>, tensor<2x2xf16>) outs(%n : tensor<i64>) -> tensor<i64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], heads = 2, scale = f16>
func.func @quantize_one_of_two_heads(%x: tensor<8x64xf16>, %c: tensor<8x64xi8>, %s: tensor<8x2xf16>) {
  // expected-error@+1 {{expected ... x heads x tokens x head_dim with a static number of heads, which share metadata in #kvq.format<codes = i4, group = [1, 32], heads = 2, scale = f16, range = absmax>, got 'tensor<8x64xf16>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<8x64xf16>) outs(%c, %s : tensor<8x64xi8>, tensor<8x2xf16>) -> tensor<8x64xi8>, tensor<8x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], heads = *, scale = f16>
func.func @dequantize_one_of_all_heads(%x: tensor<8x64xf16>, %c: tensor<8x64xi8>, %s: tensor<8x2xf16>) {
  // expected-error@+1 {{expected ... x heads x tokens x head_dim with a static number of heads, which share metadata in}}
  %r = kvq.dequantize #f ins(%c, %s : tensor<8x64xi8>, tensor<8x2xf16>) outs(%x : tensor<8x64xf16>) -> tensor<8x64xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], heads = 4, scale = f16>
func.func @heads_do_not_divide(%x: tensor<6x8x64xf16>, %c: tensor<6x8x64xi8>, %s: tensor<2x8x2xf16>) {
  // expected-error@+1 {{group of 4 heads does not divide 6 KV heads}}
  %r:2 = kvq.quantize #f ins(%x : tensor<6x8x64xf16>) outs(%c, %s : tensor<6x8x64xi8>, tensor<2x8x2xf16>) -> tensor<6x8x64xi8>, tensor<2x8x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], heads = *, scale = f16>
func.func @shared_scale_for_each_head(%x: tensor<6x8x64xf16>, %c: tensor<6x8x64xi8>, %s: tensor<6x8x2xf16>) {
  // expected-error@+1 {{expected outputs of type 'tensor<1x8x2xf16>', got 'tensor<6x8x2xf16>'}}
  %r:2 = kvq.quantize #f ins(%x : tensor<6x8x64xf16>) outs(%c, %s : tensor<6x8x64xi8>, tensor<6x8x2xf16>) -> tensor<6x8x64xi8>, tensor<6x8x2xf16>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16, rule = #kvq.rule<metadata = unrounded, scale = nearest>>
func.func @count_unrounded(%x: tensor<8x64xf16>, %s: tensor<8x2xf16>, %n: tensor<i64>) {
  // expected-error@+1 {{elements are counted under stored metadata: expected a rule with metadata = stored, got #kvq.format<}}
  %r = kvq.count_saturated #f ins(%x, %s : tensor<8x64xf16>, tensor<8x2xf16>) outs(%n : tensor<i64>) -> tensor<i64>
  return
}
