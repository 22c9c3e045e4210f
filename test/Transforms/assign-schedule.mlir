// RUN: kvq-opt %s -kvq-assign-schedule | FileCheck %s
// RUN: kvq-opt %s -kvq-assign-schedule -kvq-split-tokens | FileCheck %s --check-prefix=PASSED
// RUN: kvq-opt %s -kvq-assign-schedule=threads=8 | FileCheck %s --check-prefix=THREADS
// RUN: kvq-opt %s "-kvq-assign-schedule=tile-tokens=128 splits=3 prefetch=0" | FileCheck %s --check-prefix=GIVEN
// RUN: kvq-opt %s "-kvq-assign-schedule=l1-bytes=8192 vector-width=256" | FileCheck %s --check-prefix=SMALL
// RUN: kvq-opt %s -kvq-assign-schedule=vector-width=16 | FileCheck %s --check-prefix=WIDE
// RUN: kvq-opt %s -kvq-assign-schedule=query-tile=4 | FileCheck %s --check-prefix=ROWS
// RUN: kvq-opt %s "-kvq-assign-schedule=l2-bytes=32768 vector-width=256" | FileCheck %s --check-prefix=SHORT
// RUN: kvq-opt %s -kvq-assign-schedule=tile-tokens=32 --remarks-filter=kvq-assign-schedule \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: kvq-opt %s -kvq-assign-schedule --remarks-filter=kvq-assign-schedule \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=QUIET --implicit-check-not=remark:

// QUIET: func.func
// REMARK: remark: [Missed] AssignSchedule | Category:kvq-assign-schedule | {{.*}}Reason="tiles of 32 tokens cut those of 64 that they are stored in", Remark="keys are read row by row"

// What the cost model chooses: splits where threads have no other work, smaller
// tiles where rows of the query are few and where their scratch would not fit,
// prefetches farther ahead where tiles take less time than memory does, as far
// as there is room for them.

#i4 = #kvq.format<codes = i4, group = [1, 32], scale = f16>
#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!i4 = !kvq.cache<1x1x?x128xf16, #i4>
!i8 = !kvq.cache<1x1x?x128xf16, #i8>
#tiles = #kvq.format<codes = i8, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
!tiles = !kvq.cache<1x1x?x128xf16, #tiles>
!short = !kvq.cache<1x1x1024x128xf16, #i8>
!many = !kvq.cache<4x2x?x128xf16, #i8>
!q = tensor<1x4x1x128xf32>
!n = tensor<1xi64>

// What is of loops goes to each function, also where the pass runs on a module.
//
// PASSED-LABEL: func.func @unpacked
// PASSED-SAME:  kvq.schedule = #kvq.schedule<prefetch = 1>

// CHECK-LABEL: @unpacked
// CHECK: schedule = #kvq.schedule<tile = 32, splits = 1, heads_inside = 0, prefetch = 1>
// THREADS-LABEL: @unpacked
// THREADS: schedule = #kvq.schedule<tile = 32, splits = 8, heads_inside = 0, prefetch = 1>
// GIVEN-LABEL: @unpacked
// GIVEN: schedule = #kvq.schedule<tile = 128, splits = 3, heads_inside = 0, prefetch = 0>
// SMALL-LABEL: @unpacked
// SMALL: schedule = #kvq.schedule<tile = 16, splits = 1, heads_inside = 0, prefetch = 10>
// SHORT-LABEL: @unpacked
// SHORT: schedule = #kvq.schedule<tile = 32, splits = 1, heads_inside = 0, prefetch = 3>
func.func @unpacked(%q: !q, %c: !i4, %n: !n) -> !q {
  %o = kvq.attention ins(%q, %c, %c : !q, !i4, !i4) lengths(%n : !n) outs(%q : !q) {scale = 1.0 : f32} -> !q
  return %o : !q
}

// Codes that are bytes need no scratch.
// SMALL-LABEL: @bytes
// SMALL: schedule = #kvq.schedule<tile = 32, splits = 1, heads_inside = 0, prefetch = 5>
func.func @bytes(%q: !q, %c: !i8, %n: !n) -> !q {
  %o = kvq.attention ins(%q, %c, %c : !q, !i8, !i8) lengths(%n : !n) outs(%q : !q) {scale = 1.0 : f32} -> !q
  return %o : !q
}

// A split has 512 tokens at least.
// THREADS-LABEL: @short
// THREADS: splits = 2,
func.func @short(%q: !q, %c: !short, %n: !n) -> !q {
  %o = kvq.attention ins(%q, %c, %c : !q, !short, !short) lengths(%n : !n) outs(%q : !q) {scale = 1.0 : f32} -> !q
  return %o : !q
}

// As many work items as threads.
// THREADS-LABEL: @many
// THREADS: splits = 1,
func.func @many(%q: tensor<4x4x1x128xf32>, %c: !many, %n: tensor<4xi64>) -> tensor<4x4x1x128xf32> {
  %o = kvq.attention ins(%q, %c, %c : tensor<4x4x1x128xf32>, !many, !many) lengths(%n : tensor<4xi64>)
      outs(%q : tensor<4x4x1x128xf32>) {scale = 1.0 : f32} -> tensor<4x4x1x128xf32>
  return %o : tensor<4x4x1x128xf32>
}

// Of eight rows, of heads or of query tokens, and of a layout's tiles as many.
// CHECK-LABEL: @eight_heads
// CHECK: tile = 64,
func.func @eight_heads(%q: tensor<1x8x1x128xf32>, %c: !i8, %n: !n) -> tensor<1x8x1x128xf32> {
  %o = kvq.attention ins(%q, %c, %c : tensor<1x8x1x128xf32>, !i8, !i8) lengths(%n : !n)
      outs(%q : tensor<1x8x1x128xf32>) {scale = 1.0 : f32} -> tensor<1x8x1x128xf32>
  return %o : tensor<1x8x1x128xf32>
}

// CHECK-LABEL: @query_tokens
// CHECK: tile = 32,
// ROWS-LABEL: @query_tokens
// ROWS: tile = 64,
func.func @query_tokens(%q: tensor<1x4x?x128xf32>, %c: !i8, %n: !n) -> tensor<1x4x?x128xf32> {
  %o = kvq.attention ins(%q, %c, %c : tensor<1x4x?x128xf32>, !i8, !i8) lengths(%n : !n)
      outs(%q : tensor<1x4x?x128xf32>) {scale = 1.0 : f32} -> tensor<1x4x?x128xf32>
  return %o : tensor<1x4x?x128xf32>
}

// CHECK-LABEL: @tiles
// CHECK: tile = 64,
func.func @tiles(%q: !q, %k: !tiles, %v: !i8, %n: !n) -> !q {
  %o = kvq.attention ins(%q, %k, %v : !q, !tiles, !i8) lengths(%n : !n) outs(%q : !q) {scale = 1.0 : f32} -> !q
  return %o : !q
}

// One row of integers over rows of codes: vectors of 8.
// CHECK-LABEL: @one_row
// CHECK-NOT: vector_width
// WIDE-LABEL: @tiles
// WIDE-NOT: vector_width
// WIDE-LABEL: @one_row
// WIDE: vector_width = 8
func.func @one_row(%q: tensor<1x1x1x128xf32>, %c: !i8, %n: !n) -> tensor<1x1x1x128xf32> {
  %o = kvq.attention ins(%q, %c, %c : tensor<1x1x1x128xf32>, !i8, !i8) lengths(%n : !n)
      outs(%q : tensor<1x1x1x128xf32>) {scale = 1.0 : f32, query_codes = i16} -> tensor<1x1x1x128xf32>
  return %o : tensor<1x1x1x128xf32>
}

// Fields that the op has stay.
// CHECK-LABEL: @own
// GIVEN-LABEL: @own
// GIVEN: schedule = #kvq.schedule<tile = 16, splits = 3, heads_inside = 0, vector_width = 4, prefetch = 0>
func.func @own(%q: !q, %c: !i8, %n: !n) -> !q {
  %o = kvq.attention ins(%q, %c, %c : !q, !i8, !i8) lengths(%n : !n) outs(%q : !q)
      {scale = 1.0 : f32, schedule = #kvq.schedule<tile = 16, vector_width = 4>} -> !q
  return %o : !q
}
