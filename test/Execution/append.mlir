// Appends 16 tokens to a cache with every kind of component, at once and in
// pieces of each size, and compares the bytes.

// RUN: kvq-opt %s \
// RUN:     -pass-pipeline='builtin.module(kvq-expand-caches, \
// RUN:         func.func(kvq-decompose-values), kvq-bufferize-pipeline, \
// RUN:         func.func(convert-linalg-to-loops), convert-scf-to-cf, \
// RUN:         expand-strided-metadata, lower-affine, convert-to-llvm, \
// RUN:         reconcile-unrealized-casts)' \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:     -shared-libs=%mlir_runner_utils,%mlir_c_runner_utils,%mlir_float16_utils \
// RUN: | FileCheck %s

// 2 + 8 + 6 of 16 tokens: exact first ones, two quantized groups, a full ring.
!cache = !kvq.cache<1x2x16x8xf16,
    #kvq.format<codes = ui4, group = [4, 1], scale = f16, zero = min f16>,
    exact_first = 2, recent = 3>

#all = affine_map<(b, h, r, c) -> (b, h, r, c)>
#matrix = affine_map<(r, c) -> (r, c)>
#scalar = affine_map<(r, c) -> ()>

func.func private @printMemrefI32(tensor<*xi32>)
func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printI64(i64)
func.func private @printNewline()

// Token t of head h: t + 32 h + c/8 in channel c.
func.func private @tokens() -> tensor<1x2x16x8xf32> {
  %empty = tensor.empty() : tensor<1x2x16x8xf32>
  %x = linalg.generic {indexing_maps = [#all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%empty : tensor<1x2x16x8xf32>) {
  ^bb0(%out: f32):
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %h = linalg.index 1 : index
    %t = linalg.index 2 : index
    %c = linalg.index 3 : index
    %h32 = arith.muli %h, %c32 : index
    %th = arith.addi %h32, %t : index
    %th8 = arith.muli %th, %c8 : index
    %n = arith.addi %th8, %c : index
    %i = arith.index_cast %n : index to i32
    %f = arith.sitofp %i : i32 to f32
    %eighth = arith.constant 0.125 : f32
    %v = arith.mulf %f, %eighth : f32
    linalg.yield %v : f32
  } -> tensor<1x2x16x8xf32>
  return %x : tensor<1x2x16x8xf32>
}

// Appends the tokens `chunk` at a time.
func.func private @append(%x: tensor<1x2x16x8xf32>, %chunk: index, %cache: !cache) -> !cache {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  %appended = scf.for %length = %c0 to %c16 step %chunk iter_args(%current = %cache) -> !cache {
    %rest = arith.subi %c16, %length : index
    %count = arith.minsi %chunk, %rest : index
    %new = tensor.extract_slice %x[0, 0, %length, 0] [1, 2, %count, 8] [1, 1, 1, 1]
        : tensor<1x2x16x8xf32> to tensor<1x2x?x8xf32>
    %beyond = arith.subi %length, %c5 : index
    %leaving = arith.maxsi %beyond, %c0 : index
    %groups = arith.divui %leaving, %c4 : index
    %flushed = arith.muli %groups, %c4 : index
    %length64 = arith.index_cast %length : index to i64
    %flushed64 = arith.index_cast %flushed : index to i64
    %lengths = tensor.from_elements %length64 : tensor<1xi64>
    %flusheds = tensor.from_elements %flushed64 : tensor<1xi64>
    %next = kvq.append ins(%new : tensor<1x2x?x8xf32>)
        lengths(%lengths : tensor<1xi64>) flushed(%flusheds : tensor<1xi64>)
        into(%current : !cache) -> !cache
    scf.yield %next : !cache
  }
  return %appended : !cache
}

func.func private @different_codes(%a: tensor<?x8xi8>, %b: tensor<?x8xi8>) -> i64 {
  %zero = arith.constant 0 : i64
  %init = tensor.from_elements %zero : tensor<i64>
  %n = linalg.generic {indexing_maps = [#matrix, #matrix, #scalar],
      iterator_types = ["reduction", "reduction"]}
      ins(%a, %b : tensor<?x8xi8>, tensor<?x8xi8>) outs(%init : tensor<i64>) {
  ^bb0(%x: i8, %y: i8, %sum: i64):
    %different = arith.cmpi ne, %x, %y : i8
    %one = arith.extui %different : i1 to i64
    %next = arith.addi %sum, %one : i64
    linalg.yield %next : i64
  } -> tensor<i64>
  %count = tensor.extract %n[] : tensor<i64>
  return %count : i64
}

func.func private @different_values(%a: tensor<?x8xf16>, %b: tensor<?x8xf16>) -> i64 {
  %zero = arith.constant 0 : i64
  %init = tensor.from_elements %zero : tensor<i64>
  %n = linalg.generic {indexing_maps = [#matrix, #matrix, #scalar],
      iterator_types = ["reduction", "reduction"]}
      ins(%a, %b : tensor<?x8xf16>, tensor<?x8xf16>) outs(%init : tensor<i64>) {
  ^bb0(%x: f16, %y: f16, %sum: i64):
    %i = arith.bitcast %x : f16 to i16
    %j = arith.bitcast %y : f16 to i16
    %different = arith.cmpi ne, %i, %j : i16
    %one = arith.extui %different : i1 to i64
    %next = arith.addi %sum, %one : i64
    linalg.yield %next : i64
  } -> tensor<i64>
  %count = tensor.extract %n[] : tensor<i64>
  return %count : i64
}

// Elements that differ between two caches of 16 tokens.
func.func private @different(%a: !cache, %b: !cache) -> i64 {
  %zero = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  %total = scf.for %h = %c0 to %c2 step %c1 iter_args(%sum0 = %zero) -> i64 {
    %af = kvq.load_tile %a <first> at [%c0, %h] tokens [%c0 to %c2] {tile = 2} : !cache -> tensor<?x8xf16>
    %bf = kvq.load_tile %b <first> at [%c0, %h] tokens [%c0 to %c2] {tile = 2} : !cache -> tensor<?x8xf16>
    %nf = func.call @different_values(%af, %bf) : (tensor<?x8xf16>, tensor<?x8xf16>) -> i64
    %sum1 = arith.addi %sum0, %nf : i64
    %ar = kvq.load_tile %a <recent> at [%c0, %h] tokens [%c10 to %c16] {tile = 8} : !cache -> tensor<?x8xf16>
    %br = kvq.load_tile %b <recent> at [%c0, %h] tokens [%c10 to %c16] {tile = 8} : !cache -> tensor<?x8xf16>
    %nr = func.call @different_values(%ar, %br) : (tensor<?x8xf16>, tensor<?x8xf16>) -> i64
    %sum2 = arith.addi %sum1, %nr : i64
    %sum = scf.for %t = %c2 to %c10 step %c4 iter_args(%sum3 = %sum2) -> i64 {
      %end = arith.addi %t, %c4 : index
      %ac:3 = kvq.load_tile %a <codes> at [%c0, %h] tokens [%t to %end] {tile = 4} : !cache -> tensor<?x8xi8>, tensor<1x8xf16>, tensor<1x8xf16>
      %bc:3 = kvq.load_tile %b <codes> at [%c0, %h] tokens [%t to %end] {tile = 4} : !cache -> tensor<?x8xi8>, tensor<1x8xf16>, tensor<1x8xf16>
      %as = tensor.cast %ac#1 : tensor<1x8xf16> to tensor<?x8xf16>
      %bs = tensor.cast %bc#1 : tensor<1x8xf16> to tensor<?x8xf16>
      %az = tensor.cast %ac#2 : tensor<1x8xf16> to tensor<?x8xf16>
      %bz = tensor.cast %bc#2 : tensor<1x8xf16> to tensor<?x8xf16>
      %nc = func.call @different_codes(%ac#0, %bc#0) : (tensor<?x8xi8>, tensor<?x8xi8>) -> i64
      %ns = func.call @different_values(%as, %bs) : (tensor<?x8xf16>, tensor<?x8xf16>) -> i64
      %nz = func.call @different_values(%az, %bz) : (tensor<?x8xf16>, tensor<?x8xf16>) -> i64
      %sum4 = arith.addi %sum3, %nc : i64
      %sum5 = arith.addi %sum4, %ns : i64
      %sum6 = arith.addi %sum5, %nz : i64
      scf.yield %sum6 : i64
    }
    scf.yield %sum : i64
  }
  return %total : i64
}

func.func private @print_values(%values: tensor<?x8xf16>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %values, %c0 : tensor<?x8xf16>
  %empty = tensor.empty(%n) : tensor<?x8xf32>
  %f32 = linalg.generic {indexing_maps = [#matrix, #matrix],
      iterator_types = ["parallel", "parallel"]}
      ins(%values : tensor<?x8xf16>) outs(%empty : tensor<?x8xf32>) {
  ^bb0(%x: f16, %out: f32):
    %y = arith.extf %x : f16 to f32
    linalg.yield %y : f32
  } -> tensor<?x8xf32>
  %any = tensor.cast %f32 : tensor<?x8xf32> to tensor<*xf32>
  call @printMemrefF32(%any) : (tensor<*xf32>) -> ()
  return
}

func.func private @print_codes(%codes: tensor<?x8xi8>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %codes, %c0 : tensor<?x8xi8>
  %empty = tensor.empty(%n) : tensor<?x8xi32>
  %i32 = linalg.generic {indexing_maps = [#matrix, #matrix],
      iterator_types = ["parallel", "parallel"]}
      ins(%codes : tensor<?x8xi8>) outs(%empty : tensor<?x8xi32>) {
  ^bb0(%x: i8, %out: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<?x8xi32>
  %any = tensor.cast %i32 : tensor<?x8xi32> to tensor<*xi32>
  call @printMemrefI32(%any) : (tensor<*xi32>) -> ()
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  %x = call @tokens() : () -> tensor<1x2x16x8xf32>
  %empty = kvq.empty : !cache
  %once = call @append(%x, %c16, %empty) : (tensor<1x2x16x8xf32>, index, !cache) -> !cache

  // Head 1: tokens from 32 on.
  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}32, 32.125, 32.25, 32.375, 32.5, 32.625, 32.75, 32.875]
  // CHECK-NEXT: [33, 33.125, 33.25, 33.375, 33.5, 33.625, 33.75, 33.875]
  %first = kvq.load_tile %once <first> at [%c0, %c1] tokens [%c0 to %c2] {tile = 2} : !cache -> tensor<?x8xf16>
  call @print_values(%first) : (tensor<?x8xf16>) -> ()

  // Four tokens in steps of 1 over codes 0 to 15.
  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}0, 0, 0, 0, 0, 0, 0, 0]
  // CHECK-NEXT: [5, 5, 5, 5, 5, 5, 5, 5]
  // CHECK-NEXT: [10, 10, 10, 10, 10, 10, 10, 10]
  // CHECK-NEXT: [15, 15, 15, 15, 15, 15, 15, 15]
  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}0.199951, 0.199951, 0.199951, 0.199951, 0.199951, 0.199951, 0.199951, 0.199951]
  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}38, 38.125, 38.25, 38.375, 38.5, 38.625, 38.75, 38.875]
  %codes:3 = kvq.load_tile %once <codes> at [%c0, %c1] tokens [%c6 to %c10] {tile = 4} : !cache -> tensor<?x8xi8>, tensor<1x8xf16>, tensor<1x8xf16>
  call @print_codes(%codes#0) : (tensor<?x8xi8>) -> ()
  %scales = tensor.cast %codes#1 : tensor<1x8xf16> to tensor<?x8xf16>
  call @print_values(%scales) : (tensor<?x8xf16>) -> ()
  %zeros = tensor.cast %codes#2 : tensor<1x8xf16> to tensor<?x8xf16>
  call @print_values(%zeros) : (tensor<?x8xf16>) -> ()

  // The ring starts in its third slot.
  // CHECK: data =
  // CHECK-NEXT: {{\[\[}}42, 42.125
  // CHECK-NEXT: [43, 43.125
  // CHECK-NEXT: [44, 44.125
  // CHECK-NEXT: [45, 45.125
  // CHECK-NEXT: [46, 46.125
  // CHECK-NEXT: [47, 47.125
  %recent = kvq.load_tile %once <recent> at [%c0, %c1] tokens [%c10 to %c16] {tile = 8} : !cache -> tensor<?x8xf16>
  call @print_values(%recent) : (tensor<?x8xf16>) -> ()

  // CHECK-COUNT-15: {{^}}0{{$}}
  scf.for %chunk = %c1 to %c16 step %c1 {
    %fresh = kvq.empty : !cache
    %streamed = func.call @append(%x, %chunk, %fresh) : (tensor<1x2x16x8xf32>, index, !cache) -> !cache
    %n = func.call @different(%once, %streamed) : (!cache, !cache) -> i64
    func.call @printI64(%n) : (i64) -> ()
    func.call @printNewline() : () -> ()
  }

  // Another cache differs: the comparison can tell.
  // CHECK-NEXT: {{^[1-9]}}
  %other = kvq.empty : !cache
  %added = linalg.add ins(%x, %x : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      outs(%x : tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
  %different = call @append(%added, %c16, %other) : (tensor<1x2x16x8xf32>, index, !cache) -> !cache
  %n = call @different(%once, %different) : (!cache, !cache) -> i64
  call @printI64(%n) : (i64) -> ()
  call @printNewline() : () -> ()
  return
}
