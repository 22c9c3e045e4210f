// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,cse,one-shot-bufferize{bufferize-function-boundaries},canonicalize,cse,canonicalize,func.func(convert-linalg-to-loops,convert-vector-to-scf),expand-strided-metadata,lower-affine,convert-scf-to-cf,convert-vector-to-llvm,convert-ub-to-llvm,convert-math-to-llvm,convert-arith-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)' \
// RUN: | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_c_runner_utils \
// RUN: | FileCheck %s

// Codes, scales and zeros of each kind, executed through upstream lowerings. The
// numbers follow from the rules of docs/Semantics.md, worked out by hand.

#e4m3 = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f32>
#clipped = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f32, range = clip<4.8828125e-4>>
#mx_e4m3 = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f8E8M0FNU>
#mx_e5m2 = #kvq.format<codes = f8E5M2, group = [1, *], scale = f8E8M0FNU>
#mx_e2m3 = #kvq.format<codes = f6E2M3FN, group = [1, *], scale = f8E8M0FNU>
#mx_e3m2 = #kvq.format<codes = f6E3M2FN, group = [1, *], scale = f8E8M0FNU>
#fp4 = #kvq.format<codes = f4E2M1FN, group = [1, *], scale = f8E4M3FN>
#up = #kvq.format<codes = i8, group = [1, *], scale = f8E8M0FNU>
#point = #kvq.format<codes = ui8, group = [1, *], scale = f32, zero = point ui8, range = clip<0.5>>
#table = #kvq.format<codes = #kvq.codebook<values = [-1.0, -0.5, 0.0, 2.0]>, group = [1, *], scale = f32>
#three = #kvq.format<codes = i3, group = [1, *], scale = f32>
#five = #kvq.format<codes = ui5, group = [1, *], scale = f32, zero = min f32>
#six = #kvq.format<codes = i6, group = [1, *], scale = f32>
#block = #kvq.format<codes = i4, group = [2, 4], scale = f32>

func.func private @print_codes(%codes: tensor<1x8xi8>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %v = vector.transfer_read %codes[%zero, %zero], %pad : tensor<1x8xi8>, vector<8xi8>
  vector.print %v : vector<8xi8>
  return
}

func.func private @print_f32(%values: tensor<1x8xf32>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %values[%zero, %zero], %pad : tensor<1x8xf32>, vector<8xf32>
  vector.print %v : vector<8xf32>
  return
}

// Saturation and rounding to nearest even, once.
func.func private @round_e4m3(%x: tensor<1x8xf32>) {
  %c0 = tensor.empty() : tensor<1x8xi8>
  %m0 = tensor.empty() : tensor<1x1xf32>
  %c, %s = kvq.quantize #e4m3 ins(%x : tensor<1x8xf32>)
      outs(%c0, %m0 : tensor<1x8xi8>, tensor<1x1xf32>) -> tensor<1x8xi8>, tensor<1x1xf32>
  %y0 = tensor.empty() : tensor<1x8xf32>
  %y = kvq.dequantize #e4m3 ins(%c, %s : tensor<1x8xi8>, tensor<1x1xf32>)
      outs(%y0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  call @print_f32(%y) : (tensor<1x8xf32>) -> ()
  return
}

func.func private @saturate_e4m3(%x: tensor<1x8xf32>) {
  %c0 = tensor.empty() : tensor<1x8xi8>
  %m0 = tensor.empty() : tensor<1x1xf32>
  %c, %s = kvq.quantize #clipped ins(%x : tensor<1x8xf32>)
      outs(%c0, %m0 : tensor<1x8xi8>, tensor<1x1xf32>) -> tensor<1x8xi8>, tensor<1x1xf32>
  call @print_codes(%c) : (tensor<1x8xi8>) -> ()
  return
}

func.func private @decode_mx_e4m3(%c: tensor<1x8xi8>, %e: i8) {
  %exponent = arith.bitcast %e : i8 to f8E8M0FNU
  %s = tensor.from_elements %exponent : tensor<1x1xf8E8M0FNU>
  %y0 = tensor.empty() : tensor<1x8xf32>
  %y = kvq.dequantize #mx_e4m3 ins(%c, %s : tensor<1x8xi8>, tensor<1x1xf8E8M0FNU>)
      outs(%y0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  call @print_f32(%y) : (tensor<1x8xf32>) -> ()
  return
}

func.func private @decode_mx_e5m2(%c: tensor<1x8xi8>, %e: i8) {
  %exponent = arith.bitcast %e : i8 to f8E8M0FNU
  %s = tensor.from_elements %exponent : tensor<1x1xf8E8M0FNU>
  %y0 = tensor.empty() : tensor<1x8xf32>
  %y = kvq.dequantize #mx_e5m2 ins(%c, %s : tensor<1x8xi8>, tensor<1x1xf8E8M0FNU>)
      outs(%y0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  call @print_f32(%y) : (tensor<1x8xf32>) -> ()
  return
}

func.func private @decode_mx_e2m3(%c: tensor<1x8xi8>, %e: i8) {
  %exponent = arith.bitcast %e : i8 to f8E8M0FNU
  %s = tensor.from_elements %exponent : tensor<1x1xf8E8M0FNU>
  %y0 = tensor.empty() : tensor<1x8xf32>
  %y = kvq.dequantize #mx_e2m3 ins(%c, %s : tensor<1x8xi8>, tensor<1x1xf8E8M0FNU>)
      outs(%y0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  call @print_f32(%y) : (tensor<1x8xf32>) -> ()
  return
}

func.func private @decode_mx_e3m2(%c: tensor<1x8xi8>, %e: i8) {
  %exponent = arith.bitcast %e : i8 to f8E8M0FNU
  %s = tensor.from_elements %exponent : tensor<1x1xf8E8M0FNU>
  %y0 = tensor.empty() : tensor<1x8xf32>
  %y = kvq.dequantize #mx_e3m2 ins(%c, %s : tensor<1x8xi8>, tensor<1x1xf8E8M0FNU>)
      outs(%y0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  call @print_f32(%y) : (tensor<1x8xf32>) -> ()
  return
}

// Quantizes, prints codes and the byte of the scale.
func.func private @fp4_e4m3(%x: tensor<1x8xf32>) {
  %zero = arith.constant 0 : index
  %c0 = tensor.empty() : tensor<1x8xi8>
  %m0 = tensor.empty() : tensor<1x1xf8E4M3FN>
  %c, %s = kvq.quantize #fp4 ins(%x : tensor<1x8xf32>)
      outs(%c0, %m0 : tensor<1x8xi8>, tensor<1x1xf8E4M3FN>) -> tensor<1x8xi8>, tensor<1x1xf8E4M3FN>
  call @print_codes(%c) : (tensor<1x8xi8>) -> ()
  %scale = tensor.extract %s[%zero, %zero] : tensor<1x1xf8E4M3FN>
  %byte = arith.bitcast %scale : f8E4M3FN to i8
  vector.print %byte : i8
  return
}

func.func private @round_up(%x: tensor<1x8xf32>) {
  %zero = arith.constant 0 : index
  %c0 = tensor.empty() : tensor<1x8xi8>
  %m0 = tensor.empty() : tensor<1x1xf8E8M0FNU>
  %c, %s = kvq.quantize #up ins(%x : tensor<1x8xf32>)
      outs(%c0, %m0 : tensor<1x8xi8>, tensor<1x1xf8E8M0FNU>) -> tensor<1x8xi8>, tensor<1x1xf8E8M0FNU>
  call @print_codes(%c) : (tensor<1x8xi8>) -> ()
  %scale = tensor.extract %s[%zero, %zero] : tensor<1x1xf8E8M0FNU>
  %byte = arith.bitcast %scale : f8E8M0FNU to i8
  vector.print %byte : i8
  return
}

func.func private @zero_point(%x: tensor<1x8xf32>) {
  %zero = arith.constant 0 : index
  %c0 = tensor.empty() : tensor<1x8xi8>
  %m0 = tensor.empty() : tensor<1x1xf32>
  %z0 = tensor.empty() : tensor<1x1xi8>
  %c, %s, %z = kvq.quantize #point ins(%x : tensor<1x8xf32>)
      outs(%c0, %m0, %z0 : tensor<1x8xi8>, tensor<1x1xf32>, tensor<1x1xi8>)
      -> tensor<1x8xi8>, tensor<1x1xf32>, tensor<1x1xi8>
  call @print_codes(%c) : (tensor<1x8xi8>) -> ()
  %point = tensor.extract %z[%zero, %zero] : tensor<1x1xi8>
  vector.print %point : i8
  %y0 = tensor.empty() : tensor<1x8xf32>
  %y = kvq.dequantize #point ins(%c, %s, %z : tensor<1x8xi8>, tensor<1x1xf32>, tensor<1x1xi8>)
      outs(%y0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  call @print_f32(%y) : (tensor<1x8xf32>) -> ()
  return
}

func.func private @codebook(%x: tensor<1x8xf32>) {
  %c0 = tensor.empty() : tensor<1x8xi8>
  %m0 = tensor.empty() : tensor<1x1xf32>
  %c, %s = kvq.quantize #table ins(%x : tensor<1x8xf32>)
      outs(%c0, %m0 : tensor<1x8xi8>, tensor<1x1xf32>) -> tensor<1x8xi8>, tensor<1x1xf32>
  call @print_codes(%c) : (tensor<1x8xi8>) -> ()
  %y0 = tensor.empty() : tensor<1x8xf32>
  %y = kvq.dequantize #table ins(%c, %s : tensor<1x8xi8>, tensor<1x1xf32>)
      outs(%y0 : tensor<1x8xf32>) -> tensor<1x8xf32>
  call @print_f32(%y) : (tensor<1x8xf32>) -> ()
  return
}

func.func private @pack_three(%c: tensor<1x8xi8>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %b0 = tensor.empty() : tensor<1x3xi8>
  %b = kvq.pack #three ins(%c : tensor<1x8xi8>) outs(%b0 : tensor<1x3xi8>) -> tensor<1x3xi8>
  %c0 = tensor.empty() : tensor<1x8xi8>
  %u = kvq.unpack #three ins(%b : tensor<1x3xi8>) outs(%c0 : tensor<1x8xi8>) -> tensor<1x8xi8>
  %v = vector.transfer_read %b[%zero, %zero], %pad : tensor<1x3xi8>, vector<3xi8>
  vector.print %v : vector<3xi8>
  call @print_codes(%u) : (tensor<1x8xi8>) -> ()
  return
}

func.func private @pack_five(%c: tensor<1x8xi8>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %b0 = tensor.empty() : tensor<1x5xi8>
  %b = kvq.pack #five ins(%c : tensor<1x8xi8>) outs(%b0 : tensor<1x5xi8>) -> tensor<1x5xi8>
  %c0 = tensor.empty() : tensor<1x8xi8>
  %u = kvq.unpack #five ins(%b : tensor<1x5xi8>) outs(%c0 : tensor<1x8xi8>) -> tensor<1x8xi8>
  %v = vector.transfer_read %b[%zero, %zero], %pad : tensor<1x5xi8>, vector<5xi8>
  vector.print %v : vector<5xi8>
  call @print_codes(%u) : (tensor<1x8xi8>) -> ()
  return
}

func.func private @pack_six(%c: tensor<1x8xi8>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %b0 = tensor.empty() : tensor<1x6xi8>
  %b = kvq.pack #six ins(%c : tensor<1x8xi8>) outs(%b0 : tensor<1x6xi8>) -> tensor<1x6xi8>
  %c0 = tensor.empty() : tensor<1x8xi8>
  %u = kvq.unpack #six ins(%b : tensor<1x6xi8>) outs(%c0 : tensor<1x8xi8>) -> tensor<1x8xi8>
  %v = vector.transfer_read %b[%zero, %zero], %pad : tensor<1x6xi8>, vector<6xi8>
  vector.print %v : vector<6xi8>
  call @print_codes(%u) : (tensor<1x8xi8>) -> ()
  return
}

// Two groups of two tokens and four channels.
func.func private @blocks(%x: tensor<2x8xf32>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %padf = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<2x8xi8>
  %m0 = tensor.empty() : tensor<1x2xf32>
  %c, %s = kvq.quantize #block ins(%x : tensor<2x8xf32>)
      outs(%c0, %m0 : tensor<2x8xi8>, tensor<1x2xf32>) -> tensor<2x8xi8>, tensor<1x2xf32>
  %v = vector.transfer_read %c[%zero, %zero], %pad : tensor<2x8xi8>, vector<2x8xi8>
  vector.print %v : vector<2x8xi8>
  %w = vector.transfer_read %s[%zero, %zero], %padf : tensor<1x2xf32>, vector<1x2xf32>
  vector.print %w : vector<1x2xf32>
  return
}

func.func @main() {
  // The scale is 1. 1.0625 is half way between 1 and 1.125, and goes to the even
  // 1; what is above it by less than any f16 shows goes up. 2^-10 is half of the
  // smallest subnormal, 0.0147 goes up to the smallest normal, and -0 stays.
  // CHECK: ( 448, 1, 1.125, 0, 0.00195312, 0.015625, -0, 240 )
  %round = arith.constant dense<[[448.0, 1.0625, 1.06250095, 0.0009765625, 0.00097656257, 0.0147, -0.0, 247.9]]> : tensor<1x8xf32>
  call @round_e4m3(%round) : (tensor<1x8xf32>) -> ()
  // The range is cut to 448, its scale is 1: 126 is the code of 448, -2 that of
  // -448. inf counts as the largest f32 where the element type is f32.
  // CHECK-NEXT: ( 126, 126, 126, 126, 126, -2, -2, 126 )
  %saturate = arith.constant dense<[[448.0, 464.0, 465.0, 500.0, 917504.0, -917504.0, -470.0, 432.1]]> : tensor<1x8xf32>
  call @saturate_e4m3(%saturate) : (tensor<1x8xf32>) -> ()

  // OCP MX: the numbers 1, -2.5, ~.3, 7, 0, -.0625, and what has no finite value.
  // CHECK-NEXT: ( 1, -2.5, 0.3125, 7, 0, -0.0625, {{-?}}nan, {{-?}}nan )
  %c1 = arith.constant dense<[[0x68, 0xF2, 0x5A, 0x7E, 0x00, 0xC8, 0x7F, 0xFF]]> : tensor<1x8xi8>
  %e1 = arith.constant 0x79 : i8
  call @decode_mx_e4m3(%c1, %e1) : (tensor<1x8xi8>, i8) -> ()
  // CHECK-NEXT: ( 1, -2.5, 0.3125, 7, 0, -0.0625, {{-?}}nan, -inf )
  %c2 = arith.constant dense<[[0x70, 0xF5, 0x69, 0x7B, 0x00, 0xE0, 0x7E, 0xFC]]> : tensor<1x8xi8>
  %e2 = arith.constant 0x72 : i8
  call @decode_mx_e5m2(%c2, %e2) : (tensor<1x8xi8>, i8) -> ()
  // CHECK-NEXT: ( 1, -2.5, 0.25, 7, 0, -0, 7.5, -7.5 )
  %c3 = arith.constant dense<[[0x08, 0x32, 0x02, 0x1E, 0x00, 0x20, 0x1F, 0x3F]]> : tensor<1x8xi8>
  %e3 = arith.constant 0x7F : i8
  call @decode_mx_e2m3(%c3, %e3) : (tensor<1x8xi8>, i8) -> ()
  // CHECK-NEXT: ( 1, -2.5, 0.3125, 7, 0, -0.0625, 0.015625, 7 )
  %c4 = arith.constant dense<[[0x14, 0x39, 0x0D, 0x1F, 0x00, 0x24, 0x01, 0x1F]]> : tensor<1x8xi8>
  %e4 = arith.constant 0x7D : i8
  call @decode_mx_e3m2(%c4, %e4) : (tensor<1x8xi8>, i8) -> ()
  // The pattern 0xFF of an exponent is NaN, 0 is 2^-127.
  // CHECK-NEXT: ( {{-?}}nan, {{-?}}nan,
  %e5 = arith.constant 0xFF : i8
  call @decode_mx_e3m2(%c4, %e5) : (tensor<1x8xi8>, i8) -> ()
  // CHECK-NEXT: ( 5.87747e-39, -1.46937e-38,
  %e6 = arith.constant 0 : i8
  call @decode_mx_e2m3(%c3, %e6) : (tensor<1x8xi8>, i8) -> ()

  // Scale .5 is the pattern 48. .25 is half a step: to the even 0; .75 to 1.
  // CHECK-NEXT: ( 0, 1, 2, 11, 4, 5, 14, 7 )
  // CHECK-NEXT: 48
  %fp4 = arith.constant dense<[[0.0, 0.25, 0.5, -0.75, 1.0, 1.5, -2.0, 3.0]]> : tensor<1x8xf32>
  call @fp4_e4m3(%fp4) : (tensor<1x8xf32>) -> ()

  // 127.5 / 127 goes up to 2: nothing saturates. -127 / 127 is one already.
  // CHECK-NEXT: ( 64, 50, 0, 0, -32, 1, 2, 64 )
  // CHECK-NEXT: -128
  %above = arith.constant dense<[[127.5, 100.0, 0.0, 1.0, -64.0, 2.0, 3.0, 127.0]]> : tensor<1x8xf32>
  call @round_up(%above) : (tensor<1x8xf32>) -> ()
  // CHECK-NEXT: ( -127, 100, 0, 1, -64, 2, 3, 127 )
  // CHECK-NEXT: 127
  %at = arith.constant dense<[[-127.0, 100.0, 0.0, 1.0, -64.0, 2.0, 3.0, 127.0]]> : tensor<1x8xf32>
  call @round_up(%at) : (tensor<1x8xf32>) -> ()
  // A group of zeros: the smallest exponent, as there is no 0.
  // CHECK-NEXT: ( 0, 0, 0, 0, 0, 0, 0, 0 )
  // CHECK-NEXT: 0
  %none = arith.constant dense<0.0> : tensor<1x8xf32>
  call @round_up(%none) : (tensor<1x8xf32>) -> ()

  // Ends of -40 and 980 are cut to -20 and 490: scale 2, zero point 10. 3.9 has
  // the code 12, and 980 saturates at 255, which is -1 as an i8.
  // CHECK-NEXT: ( 0, 12, 10, -1, -1, 0, 11, 110 )
  // CHECK-NEXT: 10
  // CHECK-NEXT: ( -20, 4, 0, 490, 490, -20, 2, 200 )
  %affine = arith.constant dense<[[-40.0, 3.9, 0.0, 980.0, 600.0, -20.9, 2.0, 200.0]]> : tensor<1x8xf32>
  call @zero_point(%affine) : (tensor<1x8xf32>) -> ()

  // Scale 2. Middles are at -1.5, -.5 and 2: they belong to the lower value.
  // CHECK-NEXT: ( 3, 0, 0, 1, 1, 2, 2, 3 )
  // CHECK-NEXT: ( 4, -2, -2, -1, -1, 0, 0, 4 )
  %numbers = arith.constant dense<[[4.0, -3.0, -1.5, -1.49, -0.5, -0.49, 2.0, 2.01]]> : tensor<1x8xf32>
  call @codebook(%numbers) : (tensor<1x8xf32>) -> ()

  // Low two bits of 1 2 3 -1 -2 -3 0 1 in two bytes (elements 0, 2, 4, 6 and 1, 3,
  // 5, 7), then their signs in one: bits 3, 4 and 5.
  // CHECK-NEXT: ( 45, 94, 56 )
  // CHECK-NEXT: ( 1, 2, 3, -1, -2, -3, 0, 1 )
  %small = arith.constant dense<[[1, 2, 3, -1, -2, -3, 0, 1]]> : tensor<1x8xi8>
  call @pack_three(%small) : (tensor<1x8xi8>) -> ()
  // Nibbles of 0 17 2 19 31 5 16 7 and their fifth bits: 1, 3, 4 and 6.
  // CHECK-NEXT: ( -16, 81, 2, 115, 90 )
  // CHECK-NEXT: ( 0, 17, 2, 19, 31, 5, 16, 7 )
  %medium = arith.constant dense<[[0, 17, 2, 19, 31, 5, 16, 7]]> : tensor<1x8xi8>
  call @pack_five(%medium) : (tensor<1x8xi8>) -> ()
  // Nibbles, then pairs: elements 0, 2, 4, 6 and 1, 3, 5, 7.
  // CHECK-NEXT: ( 15, -31, 16, 25, 17, 126 )
  // CHECK-NEXT: ( 31, -31, 0, -7, 16, -2, 1, 17 )
  %large = arith.constant dense<[[31, -31, 0, -7, 16, -2, 1, 17]]> : tensor<1x8xi8>
  call @pack_six(%large) : (tensor<1x8xi8>) -> ()

  // CHECK-NEXT: ( ( 7, 1, 0, 2, 0, 0, 0, 0 ), ( -1, -7, 4, 3, 7, -1, 4, 2 ) )
  // CHECK-NEXT: ( ( 1, 2 ) )
  %block = arith.constant dense<[[7.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], [-1.0, -7.0, 4.0, 3.0, 14.0, -2.0, 8.0, 4.0]]> : tensor<2x8xf32>
  call @blocks(%block) : (tensor<2x8xf32>) -> ()
  return
}
