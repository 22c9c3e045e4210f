// RUN: kvq-opt %s --transform-interpreter --canonicalize --cse -split-input-file | FileCheck %s

// The partial reduction interface of kvq.partial_attention, through the upstream
// transform dialect: token ranges are attended to apart, each from the identity,
// and merged into the state that the op had.

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #f>
!vc = !kvq.cache<1x8x?x64xf16, #f>

// Four ranges of equal extent.

// CHECK-DAG: #[[$EXTENT:.+]] = affine_map<()[s0, s1] -> (-s0 + s1, 0)>
// CHECK-DAG: #[[$BEGIN:.+]] = affine_map<(d0)[s0, s1] -> (d0 * (s0 ceildiv 4) + s1, s1)>
// CHECK-DAG: #[[$END:.+]] = affine_map<(d0, d1)[s0, s1, s2] -> (d0 + s1 + d1 * (s0 ceildiv 4), s2)>
// CHECK-LABEL: func @num_threads(
// CHECK-SAME:  %[[Q:[^:]+]]: tensor<4x128xf32>, %{{[^:]+}}: !cache, %{{[^:]+}}: !cache1, %[[B:[^:]+]]: index, %[[H:[^:]+]]: index, %[[F:[^:]+]]: index, %[[LO:[^:]+]]: index, %[[HI:[^:]+]]: index, %[[ACC:[^:]+]]: tensor<4x64xf32>, %[[MAX:[^:]+]]: tensor<4xf32>, %[[SUM:[^:]+]]: tensor<4xf32>)
// CHECK-DAG:   %[[LOWEST:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:   %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK:       %[[N:.+]] = affine.max #[[$EXTENT]]()[%[[LO]], %[[HI]]]
// CHECK-DAG:   %[[ACC0:.+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.+}} : tensor<4x4x64xf32>)
// CHECK-DAG:   %[[MAX0:.+]] = linalg.fill ins(%[[LOWEST]] : f32) outs(%{{.+}} : tensor<4x4xf32>)
// CHECK-DAG:   %[[SUM0:.+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.+}} : tensor<4x4xf32>)
// CHECK:       %[[PARTS:.+]]:3 = scf.forall (%[[I:.+]]) in (4) shared_outs(%[[A:.+]] = %[[ACC0]], %[[M:.+]] = %[[MAX0]], %[[S:.+]] = %[[SUM0]])
// CHECK-DAG:     %[[AI:.+]] = tensor.extract_slice %[[A]][%[[I]], 0, 0] [1, 4, 64]
// CHECK-DAG:     %[[MI:.+]] = tensor.extract_slice %[[M]][%[[I]], 0] [1, 4]
// CHECK-DAG:     %[[SI:.+]] = tensor.extract_slice %[[S]][%[[I]], 0] [1, 4]
// CHECK:         %[[BEGIN:.+]] = affine.max #[[$BEGIN]](%[[I]])[%[[N]], %[[LO]]]
// CHECK:         %[[CUT:.+]] = affine.min #[[$END]](%{{.+}}, %[[I]])[%[[N]], %[[LO]], %[[HI]]]
// A range behind the tokens, where there are fewer than ranges, is empty.
// CHECK:         %[[END:.+]] = affine.max #{{.+}}(%[[CUT]], %[[I]])[%[[N]], %[[LO]]]
// CHECK:         %[[RA:.+]], %[[RM:.+]], %[[RS:.+]] = kvq.partial_attention ins(%[[Q]], {{.*}}) at[%[[B]], %[[H]]] tokens[%[[BEGIN]] to %[[END]]] flushed[%[[F]], %[[F]]] outs(%[[AI]], %[[MI]], %[[SI]] :
// CHECK:         scf.forall.in_parallel
// CHECK-DAG:       tensor.parallel_insert_slice %[[RA]] into %[[A]][%[[I]], 0, 0] [1, 4, 64]
// CHECK-DAG:       tensor.parallel_insert_slice %[[RM]] into %[[M]][%[[I]], 0] [1, 4]
// CHECK-DAG:       tensor.parallel_insert_slice %[[RS]] into %[[S]][%[[I]], 0] [1, 4]
// CHECK:       %[[R:.+]]:3 = kvq.merge_partials ins(%[[PARTS]]#0, %[[PARTS]]#1, %[[PARTS]]#2 : {{.*}}) outs(%[[ACC]], %[[MAX]], %[[SUM]] :
// CHECK:       return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @num_threads(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %b: index,
                       %h: index, %f: index, %lo: index, %hi: index,
                       %acc: tensor<4x64xf32>, %max: tensor<4xf32>,
                       %sum: tensor<4xf32>)
    -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%b, %h] tokens [%lo to %hi] flushed [%f, %f]
      outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.partial_attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %fills:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op
        by num_threads = [4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op,
                                  !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Ranges of a given extent, as many as there are. In a region of codes with 32
// tokens in a group they start at group borders, counted from token 4: here the
// domain begins at the last border before the op's tokens, and the first range is
// clipped to them.

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #k, exact_first = 4, recent = 32>
!vc = !kvq.cache<1x8x?x128xf16, #v>

// CHECK-DAG: #[[$EXTENT:.+]] = affine_map<()[s0, s1] -> (s1 - ((s0 - 4) floordiv 32) * 32 - 4, 0)>
// CHECK-DAG: #[[$COUNT:.+]] = affine_map<()[s0] -> (s0 ceildiv 256)>
// CHECK-DAG: #[[$INDEX:.+]] = affine_map<()[s0] -> (s0 floordiv 256)>
// CHECK-DAG: #[[$BEGIN:.+]] = affine_map<(d0)[s0] -> (d0 + ((s0 - 4) floordiv 32) * 32 + 4, s0)>
// CHECK-LABEL: func @tile_sizes(
// CHECK-SAME:  %[[LO:[^:]+]]: index, %[[HI:[^:]+]]: index, %{{[^:]+}}: tensor<4x128xf32>, %{{[^:]+}}: tensor<4xf32>, %{{[^:]+}}: tensor<4xf32>)
// CHECK:       %[[N:.+]] = affine.max #[[$EXTENT]]()[%[[LO]], %[[HI]]]
// CHECK:       %[[COUNT:.+]] = affine.apply #[[$COUNT]]()[%[[N]]]
// CHECK:       tensor.empty(%[[COUNT]]) : tensor<?x4x128xf32>
// CHECK:       scf.forall (%[[I:.+]]) = (0) to (%[[N]]) step (256) shared_outs(%[[A:[^ ]+]] =
// CHECK:         %[[S:.+]] = affine.apply #[[$INDEX]]()[%[[I]]]
// CHECK:         tensor.extract_slice %[[A]][%[[S]], 0, 0] [1, 4, 128]
// CHECK:         %[[BEGIN:.+]] = affine.max #[[$BEGIN]](%[[I]])[%[[LO]]]
// CHECK:         kvq.partial_attention {{.*}} tokens[%[[BEGIN]] to %{{.+}}] {{.*}} {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>}
// CHECK:       kvq.merge_partials ins({{.*}} : tensor<?x4x128xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
func.func @tile_sizes(%q: tensor<4x128xf32>, %k: !kc, %v: !vc, %b: index,
                      %h: index, %kf: index, %vf: index, %lo: index, %hi: index,
                      %acc: tensor<4x128xf32>, %max: tensor<4xf32>,
                      %sum: tensor<4xf32>)
    -> (tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
      at [%b, %h] tokens [%lo to %hi] flushed [%kf, %vf]
      outs(%acc, %max, %sum : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>}
      -> tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
  return %r#0, %r#1, %r#2 : tensor<4x128xf32>, tensor<4xf32>, tensor<4xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["kvq.partial_attention"]} in %root
        : (!transform.any_op) -> !transform.any_op
    %fills:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op
        by tile_sizes = [256]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op,
                                  !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
