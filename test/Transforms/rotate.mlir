// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-split-regions,kvq-tile-attention))' | FileCheck %s --check-prefix=TILE
// RUN: kvq-opt %s -split-input-file -kvq-cpu-pipeline -o /dev/null
// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales),kvq-expand-caches,func.func(kvq-decompose-values),canonicalize,kvq-bufferize-pipeline,kvq-verify-fused)' | FileCheck %s --check-prefix=BUFFER

// The query is rotated once for all tiles of codes, and has a bias for the mean
// of the keys; exact keys see it as it is. Codes of values have a state of their
// own, whose accumulator is rotated back before it is merged.

#k = #kvq.format<codes = i8, group = [1, 32], scale = f16, rotate = hadamard<64>, center = f16>
#v = #kvq.format<codes = i8, group = [1, *], scale = f16, rotate = hadamard<32>>
!kc = !kvq.cache<1x2x?x64xf16, #k, recent = 16>
!vc = !kvq.cache<1x2x?x64xf16, #v, recent = 16>

// TILE-LABEL: func.func @attention
// TILE-SAME:    %[[Q:[^:]*]]: tensor<4x64xf32>, %[[K:[^:]*]]: !{{[^,]*}}, %[[V:[^:]*]]: !{{[^,]*}}, {{.*}}%[[ACC:[^:]*]]: tensor<4x64xf32>
// TILE:         %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<4x64xf32>
// TILE:         %[[SIGNS:.*]] = kvq.load_given %[[K]] <signs>
// TILE:         %[[HQ:.*]] = kvq.rotate hadamard<64> ins(%[[Q]], %[[SIGNS]]
// TILE:         %[[MEANS:.*]] = kvq.load_given %[[K]] <means>
// TILE:         %[[MU:.*]] = tensor.collapse_shape %[[MEANS]]
// TILE:         %[[BIAS:.*]] = linalg.generic {{.*}} ins(%[[Q]], %[[MU]] : tensor<4x64xf32>, tensor<64xf16>)
// Codes with codes, and codes with recent values.
// TILE:         %[[CC:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[ZERO]],
// TILE:           kvq.partial_attention ins(%[[HQ]], {{.*}} bias(%[[BIAS]] : tensor<4xf32>) {{.*}} {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<codes>}
// TILE:         %[[CR:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[ACC]],
// TILE:           kvq.partial_attention ins(%[[HQ]], {{.*}} bias(%[[BIAS]] : tensor<4xf32>) {{.*}} {key_region = #kvq.region<codes>, tile = 64 : i64, value_region = #kvq.region<recent>}
// TILE:         %[[RC:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[CC]]#0,
// TILE:           kvq.partial_attention ins(%[[Q]], {{.*}}] outs({{.*}} {key_region = #kvq.region<recent>, tile = 64 : i64, value_region = #kvq.region<codes>}
// TILE:         %[[RR:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[CR]]#0,
// TILE:           kvq.partial_attention ins(%[[Q]], {{.*}}] outs({{.*}} {key_region = #kvq.region<recent>, tile = 64 : i64, value_region = #kvq.region<recent>}
// TILE:         %[[VS:.*]] = kvq.load_given %[[V]] <signs>
// TILE:         %[[BACK:.*]] = kvq.rotate hadamard<32> inverse ins(%[[RC]]#0, %[[VS]]
// TILE:         %[[PART:.*]] = tensor.expand_shape %[[BACK]]
// TILE:         %[[R:.*]]:3 = kvq.merge_partials ins(%[[PART]], {{.*}} outs(%[[RR]]#0, %[[RR]]#1, %[[RR]]#2
// TILE:         return %[[R]]#0

func.func @attention(%q: tensor<4x64xf32>, %k: !kc, %v: !vc, %b: index, %h: index, %lo: index, %hi: index,
    %kf: index, %vf: index, %acc: tensor<4x64xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x64xf32>, !kc, !vc)
      at [%b, %h] tokens [%lo to %hi] flushed [%kf, %vf]
      outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
}

// Nothing is allocated on the heap, and no accumulator copied.
// BUFFER-LABEL: func.func @decode
// BUFFER-NOT:     memref.alloc(
// BUFFER-NOT:     memref.copy {{.*}}memref<4x64xf32>
// BUFFER:         return
func.func @decode(%q: tensor<1x8x1x64xf32>, %k: !kc, %v: !vc, %n: tensor<1xi64>, %kf: tensor<1xi64>, %vf: tensor<1xi64>,
    %out: tensor<1x8x1x64xf32>) -> tensor<1x8x1x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !kc, !vc) lengths(%n : tensor<1xi64>)
      key_flushed(%kf : tensor<1xi64>) value_flushed(%vf : tensor<1xi64>)
      outs(%out : tensor<1x8x1x64xf32>) {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %r : tensor<1x8x1x64xf32>
}

// -----

// What acts before quantization is that of each segment: channels that are not
// rotated are copied into the query that codes see, the bias is the sum of all
// means, and each segment of the accumulator is taken back by itself.

#a = #kvq.format<codes = i8, group = [1, *], scale = f16, rotate = hadamard<32>>
#b = #kvq.format<codes = i8, group = [1, *], scale = f16, center = f16>
!c = !kvq.cache<1x2x?x72xf16, #kvq.segments<[0:32] = #a, [32:40] = none, [40:72] = #b>>

// TILE-LABEL: func.func @segments
// TILE-SAME:    %[[Q:[^:]*]]: tensor<4x72xf32>, %[[C:[^:]*]]: !{{[^,]*}},
// TILE:         %[[K0:.*]] = kvq.extract_segment %[[C]][0]
// TILE:         %[[K2:.*]] = kvq.extract_segment %[[C]][2]
// TILE:         %[[V0:.*]] = kvq.extract_segment %[[C]][0]
// TILE:         %[[V2:.*]] = kvq.extract_segment %[[C]][2]
// TILE:         %[[Q0:.*]] = tensor.extract_slice %[[Q]][0, 0] [4, 32]
// TILE:         %[[P0:.*]] = tensor.extract_slice %[[STORED:.*]][0, 0] [4, 32]
// TILE:         %[[SIGNS:.*]] = kvq.load_given %[[K0]] <signs>
// TILE:         %[[HQ:.*]] = kvq.rotate hadamard<32> ins(%[[Q0]], %[[SIGNS]] : {{.*}}) outs(%[[P0]] :
// TILE:         %[[S0:.*]] = tensor.insert_slice %[[HQ]] into %[[STORED]][0, 0] [4, 32]
// TILE:         %[[Q1:.*]] = tensor.extract_slice %[[Q]][0, 32] [4, 8]
// TILE:         %[[COPY:.*]] = linalg.copy ins(%[[Q1]]
// TILE:         %[[S1:.*]] = tensor.insert_slice %[[COPY]] into %[[S0]][0, 32] [4, 8]
// TILE:         %[[S2:.*]] = tensor.insert_slice %{{.*}} into %[[S1]][0, 40] [4, 32]
// TILE:         %[[Q2:.*]] = tensor.extract_slice %[[Q]][0, 40] [4, 32]
// TILE:         %[[MEANS:.*]] = kvq.load_given %[[K2]] <means>
// TILE:         %[[MU:.*]] = tensor.collapse_shape %[[MEANS]]
// TILE:         %[[BIAS:.*]] = linalg.generic {{.*}} ins(%[[Q2]], %[[MU]] : tensor<4x32xf32>, tensor<32xf16>)
// TILE:         %[[LOOP:.*]]:3 = scf.for
// TILE:           kvq.partial_attention ins(%[[S2]], {{.*}} bias(%[[BIAS]] : tensor<4xf32>)
// TILE:         %[[A0:.*]] = tensor.extract_slice %[[LOOP]]#0[0, 0] [4, 32]
// TILE:         %[[VS:.*]] = kvq.load_given %[[V0]] <signs>
// TILE:         %[[BACK:.*]] = kvq.rotate hadamard<32> inverse ins(%[[A0]], %[[VS]]
// TILE:         %[[ACC:.*]] = tensor.insert_slice %[[BACK]] into %[[LOOP]]#0[0, 0] [4, 32]
// TILE:         %[[A2:.*]] = tensor.extract_slice %[[ACC]][0, 40] [4, 32]
// TILE:         %[[VM:.*]] = kvq.load_given %[[V2]] <means>
// TILE:         linalg.generic {{.*}} ins(%[[LOOP]]#2, %{{.*}} : tensor<4xf32>, tensor<32xf16>) outs(%[[A2]]
// TILE:         tensor.insert_slice %{{.*}} into %[[ACC]][0, 40] [4, 32]
// TILE:         kvq.merge_partials

// BUFFER-LABEL: func.func @segments
func.func @segments(%q: tensor<4x72xf32>, %c: !c, %b: index, %h: index, %lo: index, %hi: index, %f: index,
    %acc: tensor<4x72xf32>, %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x72xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x72xf32>, !c, !c)
      at [%b, %h] tokens [%lo to %hi] flushed [%f, %f]
      outs(%acc, %max, %sum : tensor<4x72xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x72xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x72xf32>, tensor<4xf32>, tensor<4xf32>
}
