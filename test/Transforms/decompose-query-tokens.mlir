// RUN: kvq-opt %s --kvq-decompose-attention=dequantize-rows=16 --canonicalize --cse --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-decompose-attention --kvq-fold-scales --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=CODES

// Sixteen rows: they lie side by side, in the query, which is transposed before
// the loop, in scores and in probabilities; tiles are dequantized once for all.

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x8x?x128xf16, #f>

// CHECK-DAG: #[[$T:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$Q:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[$K:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$S:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @causal(
// CHECK-SAME:  %[[QUERY:[^:]+]]: tensor<16x128xf32>,
// CHECK-SAME:  %{{[^:]+}}: index, %[[LO:[^:]+]]: index, %[[HI:[^:]+]]: index, %[[P:[^:]+]]: index,
// CHECK-DAG:   %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:   %[[C4:.+]] = arith.constant 4 : index
// CHECK-DAG:   %[[C7:.+]] = arith.constant -997 : index
// CHECK-DAG:   %[[LOWEST:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:   %[[HIDDEN:.+]] = arith.constant -0.000000e+00 : f32
// CHECK:       %[[ROWS:.+]] = linalg.generic {indexing_maps = [#[[$T]], {{.*}} ins(%[[QUERY]] : tensor<16x128xf32>) outs(%{{.+}} : tensor<128x16xf32>)
// CHECK:       scf.for
// CHECK:         %[[KEYS:.+]] = kvq.dequantize {{.*}} -> tensor<?x128xf32>
// CHECK:         %[[SCORES:.+]] = linalg.generic {indexing_maps = [#[[$Q]], #[[$K]], #[[$S]]], {{.*}} ins(%[[ROWS]], %[[KEYS]] : {{.*}}) outs(%{{.+}} : tensor<?x16xf32>)

// Where a token stands from the first query, less the number of the row's query.
// CHECK:         %[[FROM:.+]] = arith.subi %{{.+}}, %[[P]]
// CHECK:         arith.remui %{{.+}}, %[[C4]]
// CHECK:         linalg.generic {{.*}} outs(%[[SCORES]] : tensor<?x16xf32>)
// CHECK-NEXT:    ^bb0(%[[D:.+]]: i32, %[[N:.+]]: i32, %[[SCORE:.+]]: f32):
// CHECK-NEXT:      %[[DISTANCE:.+]] = arith.subi %[[D]], %[[N]]
// CHECK-NEXT:      %[[LATER:.+]] = arith.cmpi sgt, %[[DISTANCE]], %c0_i32
// CHECK-NEXT:      %[[SEEN:.+]] = arith.select %[[LATER]], %[[LOWEST]], %[[SCORE]]
// CHECK-NEXT:      %[[EARLIER:.+]] = arith.cmpi sle, %[[DISTANCE]], %c-1000_i32
// CHECK-NEXT:      arith.select %[[EARLIER]], %[[LOWEST]], %[[SEEN]]
// The first exp2 weighs the old state.
// CHECK:         math.exp2
// CHECK:         %[[WEIGHT:.+]] = math.exp2
// CHECK-NEXT:    %[[IS:.+]] = arith.cmpf oeq, %{{.+}}, %[[LOWEST]]
// CHECK-NEXT:    arith.select %[[IS]], %[[HIDDEN]], %[[WEIGHT]]

// What hidden tokens hold is kept out of sums where the tile has such tokens and
// a value that is not finite.
// CHECK:         %[[VALUES:.+]] = kvq.dequantize {{.*}} -> tensor<?x128xf32>
// CHECK:         %[[FIRST:.+]] = arith.addi %[[P]], %[[C1]]
// CHECK:         %[[AFTER:.+]] = arith.cmpi sgt, %{{.+}}, %[[FIRST]]
// CHECK:         %[[OLDEST:.+]] = arith.addi %[[P]], %[[C7]]
// CHECK:         %[[BEFORE:.+]] = arith.cmpi sle, %{{.+}}, %[[OLDEST]]
// CHECK:         %[[MAY:.+]] = arith.ori %[[AFTER]], %[[BEFORE]]
// CHECK:         %[[MUST:.+]] = scf.if %[[MAY]] -> (i1) {
// CHECK:           linalg.generic {{.*}} iterator_types = ["reduction", "reduction"]} ins(%[[VALUES]] :
// CHECK:         scf.if %[[MUST]] -> (tensor<16x128xf32>) {
// CHECK:           linalg.generic {{.*}} ins(%{{.+}}, %[[VALUES]] : tensor<?x16xf32>, tensor<?x128xf32>)
// CHECK:             arith.bitcast
// CHECK:         } else {
// CHECK:           linalg.generic {{.*}} ins(%{{.+}}, %[[VALUES]] : tensor<?x16xf32>, tensor<?x128xf32>)
// CHECK-NOT:         arith.bitcast
// CHECK:         }

// Otherwise rows see the codes, and only tiles with hidden tokens weigh them one
// by one.
// CODES-LABEL: func @causal(
// CODES-NOT:     kvq.dequantize
// CODES:         %[[MAY:.+]] = arith.ori
// CODES:         scf.if %[[MAY]] -> (tensor<16x128xf32>) {
func.func @causal(%q: tensor<16x128xf32>, %k: !c, %v: !c, %h: index, %lo: index, %hi: index, %p: index,
                  %acc: tensor<16x128xf32>, %max: tensor<16xf32>, %sum: tensor<16xf32>)
    -> (tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %r:3 = scf.for %t = %lo to %hi step %c64 iter_args(%a = %acc, %m = %max, %s = %sum)
      -> (tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>) {
    %next = arith.addi %t, %c64 : index
    %end = arith.minsi %next, %hi : index
    %u:3 = kvq.partial_attention ins(%q, %k, %v : tensor<16x128xf32>, !c, !c)
        at [%c0, %h] tokens [%t to %end] flushed [%hi, %hi] position [%p]
        outs(%a, %m, %s : tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>)
        {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<codes>,
         query_tokens = 4 : i64, causal, window = 1000 : i64}
        -> tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>
    scf.yield %u#0, %u#1, %u#2 : tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// Exact tiles are widened once. A mask of fewer query tokens is for the first
// ones of each head; heads share it.

!c = !kvq.cache<1x8x?x64xf16, #kvq.format<codes = none>>

// CHECK-LABEL: func @mask(
// CHECK-SAME:    %[[MASK:[^:]+]]: tensor<1x?x?xf16>
// CHECK:       kvq.load_tile
// CHECK:       %[[KEYS:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<?x64xf32>)
// CHECK:       %[[SCORES:.+]] = linalg.generic {{.*}} ins(%{{.+}}, %[[KEYS]] :
// CHECK:       %[[SPLIT:.+]] = tensor.expand_shape %[[SCORES]] {{\[\[}}0], [1, 2]] output_shape [%{{.+}}, 2, 8]
// CHECK:       %[[QUERIES:.+]] = tensor.dim %[[MASK]], %{{.+}}
// CHECK:       %[[PART:.+]] = tensor.extract_slice %[[SPLIT]][0, 0, 0] [%{{.+}}, 2, %[[QUERIES]]]
// CHECK:       %[[OF:.+]] = tensor.extract_slice %[[MASK]][0, 0, %{{.+}}] [1, %[[QUERIES]], %{{.+}}] {{.*}} to tensor<?x?xf16>
// CHECK:       %[[MASKED:.+]] = linalg.generic {{.*}} ins(%[[OF]] : {{.*}}) outs(%[[PART]] :
// CHECK:       tensor.insert_slice %[[MASKED]] into %[[SPLIT]]
func.func @mask(%q: tensor<16x64xf32>, %k: !c, %v: !c, %h: index, %lo: index, %hi: index, %m: tensor<1x?x?xf16>,
                %acc: tensor<16x64xf32>, %max: tensor<16xf32>, %sum: tensor<16xf32>)
    -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) {
  %c0 = arith.constant 0 : index
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<16x64xf32>, !c, !c)
      at [%c0, %h] tokens [%lo to %hi] flushed [%hi, %hi] mask(%m : tensor<1x?x?xf16>)
      outs(%acc, %max, %sum : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
      {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<codes>, query_tokens = 8 : i64}
      -> tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0, %r#1, %r#2 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
}
