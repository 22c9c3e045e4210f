// Appends different numbers of tokens to two sequences: what lies beyond them
// stays as it was, padding is not read, infinities become the largest value.

// RUN: kvq-opt %s \
// RUN:     -pass-pipeline='builtin.module(kvq-expand-caches, \
// RUN:         func.func(kvq-decompose-values), kvq-bufferize-pipeline, \
// RUN:         func.func(convert-linalg-to-loops), convert-scf-to-cf, \
// RUN:         expand-strided-metadata, lower-affine, convert-to-llvm, \
// RUN:         reconcile-unrealized-casts)' \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:     -shared-libs=%mlir_runner_utils,%mlir_c_runner_utils,%mlir_float16_utils \
// RUN: | FileCheck %s

!cache = !kvq.cache<2x1x8x4xf16, #kvq.format<codes = i8, group = [1, 4], scale = f32>,
    exact_first = 2>

#matrix = affine_map<(r, c) -> (r, c)>

func.func private @printMemrefI32(tensor<*xi32>)
func.func private @printMemrefF32(tensor<*xf32>)

func.func private @print_codes(%codes: tensor<?x4xi8>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %codes, %c0 : tensor<?x4xi8>
  %empty = tensor.empty(%n) : tensor<?x4xi32>
  %i32 = linalg.generic {indexing_maps = [#matrix, #matrix],
      iterator_types = ["parallel", "parallel"]}
      ins(%codes : tensor<?x4xi8>) outs(%empty : tensor<?x4xi32>) {
  ^bb0(%x: i8, %out: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<?x4xi32>
  %any = tensor.cast %i32 : tensor<?x4xi32> to tensor<*xi32>
  call @printMemrefI32(%any) : (tensor<*xi32>) -> ()
  return
}

func.func private @print_values(%values: tensor<?x4xf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %values, %c0 : tensor<?x4xf16>
  %empty = tensor.empty(%n) : tensor<?x4xf32>
  %f32 = linalg.generic {indexing_maps = [#matrix, #matrix],
      iterator_types = ["parallel", "parallel"]}
      ins(%values : tensor<?x4xf16>) outs(%empty : tensor<?x4xf32>) {
  ^bb0(%x: f16, %out: f32):
    %y = arith.extf %x : f16 to f32
    linalg.yield %y : f32
  } -> tensor<?x4xf32>
  %any = tensor.cast %f32 : tensor<?x4xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}

func.func private @print_scales(%scales: tensor<?x1xf32>) {
  %any = tensor.cast %scales : tensor<?x1xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}

func.func private @append(%x: tensor<2x1x6x4xf32>, %c: !cache) -> !cache {
  %lengths = arith.constant dense<[0, 3]> : tensor<2xi64>
  %counts = arith.constant dense<[5, 1]> : tensor<2xi64>
  %0 = kvq.append ins(%x : tensor<2x1x6x4xf32>) lengths(%lengths : tensor<2xi64>)
      counts(%counts : tensor<2xi64>) into(%c : !cache) -> !cache
  return %0 : !cache
}

func.func @main() {
  %x = arith.constant dense<[
    [[[1.0, 2.0, 0xFF800000, 0x7FC00000],
      [70000.0, 65519.0, 0.0, 1.0001],
      [1.0, -2.0, 4.0, 12.7],
      [0x7F800000, 0.0, -70000.0, 1.0],
      [0.0, 0.0, 0.0, 0.0],
      [99.0, 99.0, 99.0, 99.0]]],
    [[[3.0, -3.0, 1.0, 0.0],
      [99.0, 99.0, 99.0, 99.0],
      [99.0, 99.0, 99.0, 99.0],
      [99.0, 99.0, 99.0, 99.0],
      [99.0, 99.0, 99.0, 99.0],
      [99.0, 99.0, 99.0, 99.0]]]]> : tensor<2x1x6x4xf32>
  %i77 = arith.constant 77 : i8
  %f77 = arith.constant 77.0 : f32
  %h77 = arith.constant 77.0 : f16
  %no_codes = tensor.empty() : tensor<2x1x6x4xi8>
  %no_scales = tensor.empty() : tensor<2x1x6x1xf32>
  %no_first = tensor.empty() : tensor<2x1x2x4xf16>
  %codes = linalg.fill ins(%i77 : i8) outs(%no_codes : tensor<2x1x6x4xi8>) -> tensor<2x1x6x4xi8>
  %scales = linalg.fill ins(%f77 : f32) outs(%no_scales : tensor<2x1x6x1xf32>) -> tensor<2x1x6x1xf32>
  %first = linalg.fill ins(%h77 : f16) outs(%no_first : tensor<2x1x2x4xf16>) -> tensor<2x1x2x4xf16>
  %c = kvq.from_components %codes, %scales, %first
      : tensor<2x1x6x4xi8>, tensor<2x1x6x1xf32>, tensor<2x1x2x4xf16> -> !cache
  %0 = call @append(%x, %c) : (tensor<2x1x6x4xf32>, !cache) -> !cache

  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index

  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}1, 2, -65504, {{-?}}nan],
  // CHECK-NEXT: [65504, 65504, 0, 1]]
  %first0 = kvq.load_tile %0 <first> at [%c0, %c0] tokens [%c0 to %c2] {tile = 2} : !cache -> tensor<?x4xf16>
  call @print_values(%first0) : (tensor<?x4xf16>) -> ()

  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}10, -20, 40, 127],
  // CHECK-NEXT: [127, 0, -127, 0],
  // CHECK-NEXT: [0, 0, 0, 0],
  // CHECK-NEXT: [77, 77, 77, 77],
  // CHECK-NEXT: [77, 77, 77, 77],
  // CHECK-NEXT: [77, 77, 77, 77]]
  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}0.100025],
  // CHECK-NEXT: [515.78],
  // CHECK-NEXT: [0],
  // CHECK-NEXT: [77],
  %codes0:2 = kvq.load_tile %0 <codes> at [%c0, %c0] tokens [%c2 to %c8] {tile = 6} : !cache -> tensor<?x4xi8>, tensor<?x1xf32>
  call @print_codes(%codes0#0) : (tensor<?x4xi8>) -> ()
  call @print_scales(%codes0#1) : (tensor<?x1xf32>) -> ()

  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}77, 77, 77, 77],
  // CHECK-NEXT: [77, 77, 77, 77]]
  %first1 = kvq.load_tile %0 <first> at [%c1, %c0] tokens [%c0 to %c2] {tile = 2} : !cache -> tensor<?x4xf16>
  call @print_values(%first1) : (tensor<?x4xf16>) -> ()

  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}77, 77, 77, 77],
  // CHECK-NEXT: [127, -127, 42, 0],
  // CHECK-NEXT: [77, 77, 77, 77],
  // CHECK-NEXT: [77, 77, 77, 77],
  // CHECK-NEXT: [77, 77, 77, 77],
  // CHECK-NEXT: [77, 77, 77, 77]]
  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}77],
  // CHECK-NEXT: [0.023622],
  // CHECK-NEXT: [77],
  %codes1:2 = kvq.load_tile %0 <codes> at [%c1, %c0] tokens [%c2 to %c8] {tile = 6} : !cache -> tensor<?x4xi8>, tensor<?x1xf32>
  call @print_codes(%codes1#0) : (tensor<?x4xi8>) -> ()
  call @print_scales(%codes1#1) : (tensor<?x1xf32>) -> ()
  return
}
