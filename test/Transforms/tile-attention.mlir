// RUN: kvq-opt %s --kvq-split-regions --kvq-tile-attention --canonicalize --cse --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-split-regions --kvq-tile-attention=tile-tokens=48 --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=TILE48
// RUN: not kvq-opt %s --kvq-split-regions --kvq-tile-attention=tile-tokens=0 --split-input-file 2>&1 | FileCheck %s --check-prefix=TILE0

// TILE0: kvq-tile-attention: expected tiles of at least 1 token, got 0

#k = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #k>

// Without windows all tokens are codes: one loop, one op in it.
//
// CHECK-LABEL: func @codes(
// CHECK-SAME: %[[LO:.+]]: index, %[[HI:.+]]: index, %[[ACC:.+]]: tensor<4x128xf32>, %[[MAX:.+]]: tensor<4xf32>, %[[SUM:.+]]: tensor<4xf32>)
// CHECK: scf.for %{{.+}} = %c0 to %{{.+}} step %c64 iter_args(%[[A:.+]] = %[[ACC]], %[[M:.+]] = %[[MAX]], %[[S:.+]] = %[[SUM]])
// CHECK: kvq.partial_attention {{.*}} outs(%[[A]], %[[M]], %[[S]] : {{.*}}) {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<codes>}
// CHECK-NOT: kvq.partial_attention
// TILE48: step %c48
// TILE48: tile = 48 : i64
func.func @codes(%q: tensor<4x128xf32>, %k: !kc, %v: !kc, %h: index, %f: index,
                 %lo: index, %hi: index, %acc: tensor<4x128xf32>,
                 %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !kc)
      at [%c0, %h] tokens [%lo to %hi] flushed [%f, %f]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #k, exact_first = 4, recent = 64>
!vc = !kvq.cache<1x8x?x128xf16, #v>

// Keys lie in three regions and values in one. Tiles of codes start at a token
// group of the keys, counted from token 4, and hold no more than one group.
//
// CHECK: affine_map<{{.*}}(({{.*}} - 4) floordiv 32) * 32
// CHECK-LABEL: func @windows(
// CHECK: scf.for {{.*}} step %c64
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<first>, tile = 64 : i64, value_region = #kvq.region<codes>}
// CHECK: scf.for {{.*}} step %c32
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<codes>, tile = 32 : i64, value_region = #kvq.region<codes>}
// CHECK: scf.for {{.*}} step %c64
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<recent>, tile = 64 : i64, value_region = #kvq.region<codes>}
// CHECK-NOT: kvq.partial_attention
// TILE48-LABEL: func @windows(
// TILE48: tile = 32 : i64, value_region = #kvq.region<codes>
func.func @windows(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index,
                   %kf: index, %vf: index, %lo: index, %hi: index,
                   %acc: tensor<4x128xf32>, %max: tensor<4xf32>,
                   %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%c0, %h] tokens [%lo to %hi] flushed [%kf, %vf]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#k = #kvq.format<codes = i4, group = [48, 1], scale = f16>
#v = #kvq.format<codes = i4, group = [64, 1], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #k, recent = 0>
!vc = !kvq.cache<1x8x?x128xf16, #v, recent = 0>

// Groups of 48 and 64 tokens: a tile of 16 lies in one of each.
//
// CHECK-LABEL: func @two_groups(
// CHECK: {key_region = #kvq.region<codes>, tile = 16 : i64, value_region = #kvq.region<codes>}
// CHECK: {key_region = #kvq.region<codes>, tile = 48 : i64, value_region = #kvq.region<recent>}
// CHECK: {key_region = #kvq.region<recent>, tile = 64 : i64, value_region = #kvq.region<codes>}
// CHECK: {key_region = #kvq.region<recent>, tile = 64 : i64, value_region = #kvq.region<recent>}
func.func @two_groups(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %h: index,
                      %kf: index, %vf: index, %lo: index, %hi: index,
                      %acc: tensor<4x128xf32>, %max: tensor<4xf32>,
                      %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%c0, %h] tokens [%lo to %hi] flushed [%kf, %vf]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!c = !kvq.cache<1x8x?x128xf16, #f, exact_first = 4, recent = 64>

// As many first tokens on both sides: they are codes or recent on neither.
//
// CHECK-LABEL: func @both_windows(
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<first>, tile = 64 : i64, value_region = #kvq.region<first>}
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<codes>, tile = 32 : i64, value_region = #kvq.region<codes>}
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<codes>, tile = 32 : i64, value_region = #kvq.region<recent>}
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<recent>, tile = 32 : i64, value_region = #kvq.region<codes>}
// CHECK: kvq.partial_attention {{.*}} {key_region = #kvq.region<recent>, tile = 64 : i64, value_region = #kvq.region<recent>}
// CHECK-NOT: kvq.partial_attention
func.func @both_windows(%q: tensor<4x128xf32>, %k: !c, %v: !c, %h: index,
                        %kf: index, %vf: index, %lo: index, %hi: index,
                        %acc: tensor<4x128xf32>, %max: tensor<4xf32>,
                        %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !c, !c)
      at [%c0, %h] tokens [%lo to %hi] flushed [%kf, %vf]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!four = !kvq.cache<1x8x?x128xf16, #f, exact_first = 4>
!two = !kvq.cache<1x8x?x128xf16, #f, exact_first = 2>

// Of the first four keys the last two have values in codes.
//
// CHECK-LABEL: func @first_tokens(
// CHECK: {key_region = #kvq.region<first>, tile = 64 : i64, value_region = #kvq.region<first>}
// CHECK: {key_region = #kvq.region<first>, tile = 64 : i64, value_region = #kvq.region<codes>}
// CHECK: {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<codes>}
// CHECK-NOT: kvq.partial_attention
func.func @first_tokens(%q: tensor<4x128xf32>, %k: !four, %v: !two, %h: index,
                        %f: index, %lo: index, %hi: index,
                        %acc: tensor<4x128xf32>, %max: tensor<4xf32>,
                        %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !four, !two)
      at [%c0, %h] tokens [%lo to %hi] flushed [%f, %f]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}
