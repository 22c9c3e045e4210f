// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-decompose-values),canonicalize,cse,one-shot-bufferize{bufferize-function-boundaries},canonicalize,cse,canonicalize,func.func(convert-linalg-to-loops,convert-vector-to-scf),expand-strided-metadata,lower-affine,convert-scf-to-cf,convert-vector-to-llvm,convert-ub-to-llvm,convert-math-to-llvm,convert-arith-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)' \
// RUN: | mlir-runner -e main --entry-point-result=void --shared-libs=%mlir_c_runner_utils \
// RUN: | FileCheck %s

// The value-level ops, executed through upstream lowerings. The numbers follow
// from the rules of docs/Semantics.md, worked out by hand.

#signed = #kvq.format<codes = i4, group = [1, *], scale = f32>
#unsigned = #kvq.format<codes = ui4, group = [1, *], scale = f32, zero = min f32>
#two_bit = #kvq.format<codes = i2, group = [1, *], scale = f32>
#narrow = #kvq.format<codes = i4, group = [1, *], scale = f16>
#tokens = #kvq.format<codes = i8, group = [2, 1], scale = f32>

func.func private @print_codes(%codes: tensor<1x16xi8>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %v = vector.transfer_read %codes[%zero, %zero], %pad
      : tensor<1x16xi8>, vector<16xi8>
  vector.print %v : vector<16xi8>
  return
}

func.func private @print_f32(%values: tensor<1x16xf32>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %values[%zero, %zero], %pad
      : tensor<1x16xf32>, vector<16xf32>
  vector.print %v : vector<16xf32>
  return
}

// R13: the low nibble of a byte is the first element.
func.func private @nibbles(%bytes: tensor<1x1xi8>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %init = tensor.empty() : tensor<1x2xi8>
  %s = kvq.unpack #signed ins(%bytes : tensor<1x1xi8>)
      outs(%init : tensor<1x2xi8>) -> tensor<1x2xi8>
  %u = kvq.unpack #unsigned ins(%bytes : tensor<1x1xi8>)
      outs(%init : tensor<1x2xi8>) -> tensor<1x2xi8>
  %vs = vector.transfer_read %s[%zero, %zero], %pad : tensor<1x2xi8>, vector<2xi8>
  %vu = vector.transfer_read %u[%zero, %zero], %pad : tensor<1x2xi8>, vector<2xi8>
  vector.print str "signed "
  vector.print %vs : vector<2xi8>
  vector.print str "unsigned "
  vector.print %vu : vector<2xi8>
  return
}

// x[i] = 5 + 0.1 (i mod 16): one row of 96 elements has the codes i mod 16.
func.func private @ramp() {
  %sixteen = arith.constant 16 : index
  %tenth = arith.constant 0.1 : f32
  %five = arith.constant 5.0 : f32
  %x0 = tensor.empty() : tensor<1x96xf32>
  %x = linalg.generic {
      indexing_maps = [affine_map<(t, c) -> (t, c)>],
      iterator_types = ["parallel", "parallel"]} outs(%x0 : tensor<1x96xf32>) {
  ^bb0(%out: f32):
    %c = linalg.index 1 : index
    %r = arith.remui %c, %sixteen : index
    %ri = arith.index_cast %r : index to i32
    %rf = arith.sitofp %ri : i32 to f32
    %m = arith.mulf %rf, %tenth : f32
    %e = arith.addf %five, %m : f32
    linalg.yield %e : f32
  } -> tensor<1x96xf32>
  %c0 = tensor.empty() : tensor<1x96xi8>
  %m0 = tensor.empty() : tensor<1x1xf32>
  %m1 = tensor.empty() : tensor<1x1xf32>
  %codes, %scale, %min = kvq.quantize #unsigned ins(%x : tensor<1x96xf32>)
      outs(%c0, %m0, %m1 : tensor<1x96xi8>, tensor<1x1xf32>, tensor<1x1xf32>)
      -> tensor<1x96xi8>, tensor<1x1xf32>, tensor<1x1xf32>
  %p0 = tensor.empty() : tensor<1x48xi8>
  %packed = kvq.pack #unsigned ins(%codes : tensor<1x96xi8>)
      outs(%p0 : tensor<1x48xi8>) -> tensor<1x48xi8>
  %unpacked = kvq.unpack #unsigned ins(%packed : tensor<1x48xi8>)
      outs(%c0 : tensor<1x96xi8>) -> tensor<1x96xi8>
  %y0 = tensor.empty() : tensor<1x96xf32>
  %y = kvq.dequantize #unsigned
      ins(%unpacked, %scale, %min : tensor<1x96xi8>, tensor<1x1xf32>, tensor<1x1xf32>)
      outs(%y0 : tensor<1x96xf32>) -> tensor<1x96xf32>
  vector.print str "ramp codes\n"
  %first = tensor.extract_slice %codes[0, 0] [1, 16] [1, 1]
      : tensor<1x96xi8> to tensor<1x16xi8>
  call @print_codes(%first) : (tensor<1x16xi8>) -> ()
  %last = tensor.extract_slice %unpacked[0, 80] [1, 16] [1, 1]
      : tensor<1x96xi8> to tensor<1x16xi8>
  call @print_codes(%last) : (tensor<1x16xi8>) -> ()
  // Byte j holds elements j and j + 48, both with the code j mod 16.
  %bytes = tensor.extract_slice %packed[0, 0] [1, 16] [1, 1]
      : tensor<1x48xi8> to tensor<1x16xi8>
  call @print_codes(%bytes) : (tensor<1x16xi8>) -> ()
  %values = tensor.extract_slice %y[0, 0] [1, 16] [1, 1]
      : tensor<1x96xf32> to tensor<1x16xf32>
  call @print_f32(%values) : (tensor<1x16xf32>) -> ()
  return
}

// Signed codes stay within ±(2^(b-1)-1), halves go to the even code.
func.func private @halves(%x: tensor<1x16xf32>) {
  %c0 = tensor.empty() : tensor<1x16xi8>
  %m0 = tensor.empty() : tensor<1x1xf32>
  %codes, %scale = kvq.quantize #signed ins(%x : tensor<1x16xf32>)
      outs(%c0, %m0 : tensor<1x16xi8>, tensor<1x1xf32>)
      -> tensor<1x16xi8>, tensor<1x1xf32>
  %p0 = tensor.empty() : tensor<1x8xi8>
  %packed = kvq.pack #signed ins(%codes : tensor<1x16xi8>)
      outs(%p0 : tensor<1x8xi8>) -> tensor<1x8xi8>
  %c1 = tensor.empty() : tensor<1x16xi8>
  %unpacked = kvq.unpack #signed ins(%packed : tensor<1x8xi8>)
      outs(%c1 : tensor<1x16xi8>) -> tensor<1x16xi8>
  vector.print str "halves\n"
  call @print_codes(%codes) : (tensor<1x16xi8>) -> ()
  call @print_codes(%unpacked) : (tensor<1x16xi8>) -> ()
  return
}

// R1, R4, R8: infinities, scales that underflow, zeros and NaN.
func.func private @edge(%x: tensor<1x16xf32>) {
  %c0 = tensor.empty() : tensor<1x16xi8>
  %m0 = tensor.empty() : tensor<1x1xf16>
  %codes, %scale = kvq.quantize #narrow ins(%x : tensor<1x16xf32>)
      outs(%c0, %m0 : tensor<1x16xi8>, tensor<1x1xf16>)
      -> tensor<1x16xi8>, tensor<1x1xf16>
  call @print_codes(%codes) : (tensor<1x16xi8>) -> ()
  %zero = arith.constant 0 : index
  %s = tensor.extract %scale[%zero, %zero] : tensor<1x1xf16>
  %wide = arith.extf %s : f16 to f32
  vector.print %wide : f32
  return
}

// 2 bits: four planes of four elements.
func.func private @two_bits(%codes: tensor<1x16xi8>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0 : i8
  %p0 = tensor.empty() : tensor<1x4xi8>
  %packed = kvq.pack #two_bit ins(%codes : tensor<1x16xi8>)
      outs(%p0 : tensor<1x4xi8>) -> tensor<1x4xi8>
  %c0 = tensor.empty() : tensor<1x16xi8>
  %unpacked = kvq.unpack #two_bit ins(%packed : tensor<1x4xi8>)
      outs(%c0 : tensor<1x16xi8>) -> tensor<1x16xi8>
  %v = vector.transfer_read %packed[%zero, %zero], %pad : tensor<1x4xi8>, vector<4xi8>
  vector.print str "two bits\n"
  vector.print %v : vector<4xi8>
  call @print_codes(%unpacked) : (tensor<1x16xi8>) -> ()
  return
}

// Groups of two tokens: the fifth token is alone in the third group.
func.func private @partial_group(%codes: tensor<?x2xi8>, %scales: tensor<?x2xf32>,
                                 %init: tensor<?x2xf32>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %y = kvq.dequantize #tokens ins(%codes, %scales : tensor<?x2xi8>, tensor<?x2xf32>)
      outs(%init : tensor<?x2xf32>) -> tensor<?x2xf32>
  %v = vector.transfer_read %y[%zero, %zero], %pad : tensor<?x2xf32>, vector<5x2xf32>
  vector.print str "partial group\n"
  vector.print %v : vector<5x2xf32>
  return
}

func.func @main() {
  // CHECK: signed ( -1, -8 )
  // CHECK: unsigned ( 15, 8 )
  %bytes = arith.constant dense<0x8F> : tensor<1x1xi8>
  call @nibbles(%bytes) : (tensor<1x1xi8>) -> ()

  // CHECK: ramp codes
  // CHECK-NEXT: ( 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 )
  // CHECK-NEXT: ( 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 )
  // CHECK-NEXT: ( 0, 17, 34, 51, 68, 85, 102, 119, -120, -103, -86, -69, -52, -35, -18, -1 )
  // CHECK-NEXT: ( 5, 5.1, 5.2, 5.3, 5.4, 5.5, 5.6, 5.7, 5.8, 5.9, 6, 6.1, 6.2, 6.3, 6.4, 6.5 )
  call @ramp() : () -> ()

  // The scale is 2: 7/2 is 3.5, and 14/2 is 7.
  // CHECK: halves
  // CHECK-NEXT: ( 7, -7, 0, 0, 2, -2, 2, -2, 4, -4, 1, -1, 0, 6, -6, 3 )
  // CHECK-NEXT: ( 7, -7, 0, 0, 2, -2, 2, -2, 4, -4, 1, -1, 0, 6, -6, 3 )
  %halves = arith.constant dense<[[14.0, -14.0, 1.0, -1.0, 3.0, -3.0, 5.0, -5.0,
      7.0, -7.0, 2.0, -2.0, 0.0, 11.0, -12.0, 6.5]]> : tensor<1x16xf32>
  call @halves(%halves) : (tensor<1x16xf32>) -> ()

  vector.print str "edge\n"
  // CHECK: edge
  // +-inf count as the largest f32, whose scale is cut to the largest f16.
  // CHECK-NEXT: ( 7, -7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 )
  // CHECK-NEXT: 65504
  %inf = arith.constant dense<[[0x7F800000, 0xFF800000, 65504.0, 1.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<1x16xf32>
  call @edge(%inf) : (tensor<1x16xf32>) -> ()
  // 8 units of f16 (2^-24) over 7 codes: the scale is rounded up to 2 units.
  // CHECK-NEXT: ( 4, -4, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 )
  // CHECK-NEXT: 1.19209e-07
  %tiny = arith.constant dense<[[0x35000000, 0xB5000000, 0x34800000, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<1x16xf32>
  call @edge(%tiny) : (tensor<1x16xf32>) -> ()
  // CHECK-NEXT: ( 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 )
  // CHECK-NEXT: 0
  %zeros = arith.constant dense<-0.0> : tensor<1x16xf32>
  call @edge(%zeros) : (tensor<1x16xf32>) -> ()
  // CHECK-NEXT: ( 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 )
  // CHECK-NEXT: {{-?}}nan
  %nan = arith.constant dense<[[1.0, 2.0, 0x7FC00000, 3.0, 4.0, 5.0, 6.0, 7.0,
      1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]]> : tensor<1x16xf32>
  call @edge(%nan) : (tensor<1x16xf32>) -> ()

  // Byte 0: elements 0, 4, 8, 12 = 1, 0, -1, 1: 0b01110001.
  // CHECK: two bits
  // CHECK-NEXT: ( 113, 28, -57, -15 )
  // CHECK-NEXT: ( 1, 0, -1, 1, 0, -1, 1, 0, -1, 1, 0, -1, 1, 0, -1, -1 )
  %two = arith.constant dense<[[1, 0, -1, 1, 0, -1, 1, 0, -1, 1, 0, -1, 1, 0, -1, -1]]>
      : tensor<1x16xi8>
  call @two_bits(%two) : (tensor<1x16xi8>) -> ()

  // CHECK: partial group
  // CHECK-NEXT: ( ( 1, -2 ), ( 2, -4 ), ( 30, 12 ), ( -40, 16 ), ( 500, -6 ) )
  %codes = arith.constant dense<[[1, -1], [2, -2], [3, 3], [-4, 4], [5, -3]]> : tensor<5x2xi8>
  %scales = arith.constant dense<[[1.0, 2.0], [10.0, 4.0], [100.0, 2.0]]> : tensor<3x2xf32>
  %init = tensor.empty() : tensor<5x2xf32>
  %dc = tensor.cast %codes : tensor<5x2xi8> to tensor<?x2xi8>
  %ds = tensor.cast %scales : tensor<3x2xf32> to tensor<?x2xf32>
  %di = tensor.cast %init : tensor<5x2xf32> to tensor<?x2xf32>
  call @partial_group(%dc, %ds, %di)
      : (tensor<?x2xi8>, tensor<?x2xf32>, tensor<?x2xf32>) -> ()
  return
}
