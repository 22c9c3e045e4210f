// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-split-regions,kvq-map-to-tensor-cores))' | FileCheck %s
// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-split-regions,kvq-map-to-tensor-cores{chip=sm_89}))' | FileCheck %s --check-prefix=ADA
// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-split-regions,kvq-map-to-tensor-cores))' \
// RUN:   --remarks-filter=kvq-map-to-tensor-cores --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// What a block may take is what the chip has; scratch is taken off later.

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #i8, recent = 32>
!vc = !kvq.cache<1x8x?x128xf16, #i8>

// CHECK-LABEL: func.func @regions(
// CHECK:         %[[R:.*]]:3 = kvq.block_attention ins(%arg0 : tensor<4x128xf32>) keys(%arg1 : !cache) values(%arg2 : !cache1)
// CHECK-SAME:      {key_region = #kvq.region<codes>, key_type = !cache, shared_bytes = 166912 : i64, value_region = #kvq.region<codes>
// CHECK:         kvq.block_attention
// CHECK-SAME:      outs(%[[R]]#0, %[[R]]#1, %[[R]]#2
// CHECK-SAME:      key_region = #kvq.region<recent>
// ADA-LABEL: func.func @regions(
// ADA:         shared_bytes = 101376 : i64
func.func @regions(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                   %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Sums that begin as zeros are not read: their memory may hold something else
// until they are written.

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #i8>

// CHECK-LABEL: func.func @zeros(
// CHECK:         %[[ACC:.*]] = tensor.empty() : tensor<4x128xf32>
// CHECK-NEXT:    kvq.block_attention
// CHECK-SAME:      outs(%[[ACC]], %arg
// CHECK-SAME:      overwrites
// ADA-LABEL: func.func @zeros(
func.func @zeros(%q: tensor<4x128xf32>, %c: !c, %h: index, %lo: index, %hi: index,
                 %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>) -> tensor<4x128xf32> {
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%acc : tensor<4x128xf32>) -> tensor<4x128xf32>
  %0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x128xf32>, !c, !c)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%zeros, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0 : tensor<4x128xf32>
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
#i5 = #kvq.format<codes = i5, group = [1, *], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #i8>
!vc = !kvq.cache<1x8x?x128xf16, #i5>

// CHECK-LABEL: func.func @bits(
// CHECK:         kvq.partial_attention
// CHECK-SAME:      {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>}
// REMARK: Reason="values have codes of other than 2, 4 or 8 bits", Remark="attention is not for tensor cores"
func.func @bits(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Where the chip has no instruction for it, f8E4M3FN is converted bit by bit.

#f8 = #kvq.format<codes = f8E4M3FN, group = [1, *], scale = f32>
!c = !kvq.cache<1x8x?x128xf16, #f8>

// CHECK-LABEL: func.func @fp8(
// CHECK:         kvq.block_attention
// CHECK-SAME:      moves_fp8
// ADA-LABEL: func.func @fp8(
// ADA:         kvq.block_attention
// ADA-NOT:     moves_fp8
func.func @fp8(%q: tensor<4x128xf32>, %c: !c, %h: index, %lo: index, %hi: index,
               %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x128xf32>, !c, !c)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The query and the output are multiplied by scales of all tokens, whichever
// heads share them.

#i4 = #kvq.format<codes = i4, group = [*, 16], heads = 4, scale = f8E4M3FN of f32, range = static>
#ui8 = #kvq.format<codes = ui8, group = [*, 1], scale = f16, zero = point ui8, range = static>
!kc = !kvq.cache<1x8x?x128xf16, #i4>
!vc = !kvq.cache<1x8x?x128xf16, #ui8>

// CHECK-LABEL: func.func @static(
// CHECK:         kvq.block_attention
func.func @static(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                  %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#f4 = #kvq.format<codes = f4E2M1FN, group = [1, 32], scale = f16>
#nf4 = #kvq.format<codes = #kvq.codebook<nf4>, group = [1, *], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #f4>
!vc = !kvq.cache<1x8x?x128xf16, #nf4>

// CHECK-LABEL: func.func @sixteen_numbers(
// CHECK:         kvq.block_attention
func.func @sixteen_numbers(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                           %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
#f6 = #kvq.format<codes = f6E2M3FN, group = [1, *], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #f6>
!vc = !kvq.cache<1x8x?x128xf16, #i8>

// CHECK-LABEL: func.func @floats(
// CHECK:         kvq.partial_attention
// REMARK: Reason="keys have codes other than integers, floats of 4 and 8 bits, and numbers of a codebook of 4 bits"
func.func @floats(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                  %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A scale of 8 bits is converted, too.

#i4 = #kvq.format<codes = i4, group = [1, 32], scale = f8E4M3FN of f32>
#f8 = #kvq.format<codes = f8E5M2, group = [1, 32], scale = f8E8M0FNU>
!kc = !kvq.cache<1x8x?x128xf16, #i4>
!vc = !kvq.cache<1x8x?x128xf16, #f8>

// CHECK-LABEL: func.func @small_scales(
// CHECK:         kvq.block_attention
// CHECK-SAME:      moves_fp8
// ADA-LABEL: func.func @small_scales(
// ADA:         kvq.block_attention
// ADA-NOT:     moves_fp8
func.func @small_scales(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                        %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
#ui4 = #kvq.format<codes = ui4, group = [1, *], scale = f8E4M3FN of f32, zero = min f16>
!kc = !kvq.cache<1x8x?x128xf16, #i8>
!vc = !kvq.cache<1x8x?x128xf16, #ui4>

// CHECK-LABEL: func.func @zeros(
// CHECK:         kvq.partial_attention
// REMARK: Reason="values have zeros beside scales of two levels", Remark="attention is not for tensor cores"
func.func @zeros(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                 %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #i8>

// Each query head and token has a row of it.

// CHECK-LABEL: func.func @mask(
// CHECK:         kvq.block_attention
// CHECK-SAME:      mask(%{{.*}} : tensor<2x?x?xf16>)
// CHECK-SAME:      query_tokens = 2
func.func @mask(%q: tensor<4x128xf32>, %c: !c, %h: index, %lo: index, %hi: index, %mask: tensor<2x?x?xf16>,
                %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x128xf32>, !c, !c)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo] mask(%mask : tensor<2x?x?xf16>)
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {query_tokens = 2}
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#centred = #kvq.format<codes = i8, group = [1, *], scale = f16, center = f16>
#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #centred, recent = 32>
!vc = !kvq.cache<1x8x?x128xf16, #i8>

// The query times the mean of keys, for their codes alone.

// CHECK-LABEL: func.func @means(
// CHECK:         %[[BIAS:.*]] = linalg.generic
// CHECK:         kvq.block_attention
// CHECK-SAME:      bias(%[[BIAS]] : tensor<4xf32>)
// CHECK-SAME:      key_region = #kvq.region<codes>
// CHECK:         kvq.block_attention
// CHECK-NOT:       bias
// CHECK-SAME:      key_region = #kvq.region<recent>
func.func @means(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index, %lo: index, %hi: index,
                 %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, 64], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #i8>

// CHECK-LABEL: func.func @value_channels(
// CHECK:         kvq.partial_attention
// REMARK: Reason="its values are among the channels of keys", Remark="attention is not for tensor cores"
func.func @value_channels(%q: tensor<4x128xf32>, %c: !c, %h: index, %lo: index, %hi: index,
                          %acc: tensor<4x64xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x128xf32>, !c, !c)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      {value_channels = array<i64: 0, 64>}
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #i8, ring = 1028, keep_first = 4>

// 1024 rows go round.

// CHECK-LABEL: func.func @ring(
// CHECK:         kvq.block_attention
func.func @ring(%q: tensor<4x128xf32>, %c: !c, %h: index, %lo: index, %hi: index,
                %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x128xf32>, !c, !c)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #i8, ring = 1000>

// CHECK-LABEL: func.func @ring_between_steps(
// CHECK:         kvq.partial_attention
// REMARK: Reason="keys have a ring of 1000 tokens", Remark="attention is not for tensor cores"
func.func @ring_between_steps(%q: tensor<4x128xf32>, %c: !c, %h: index, %lo: index, %hi: index,
                              %acc: tensor<4x128xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x128xf32>, !c, !c)
      at [%h, %h] tokens [%lo to %hi] flushed [%lo, %lo]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}
